"""Large transactions on small tables: they are timed, errors are told, damage is found."""

from __future__ import annotations

import pytest
from damaging import assert_each_damage_is_found
from lying import LyingTarget

from workloads.large_transaction import LargeTransaction, Statement, row_lock_limit

ROWS = 3000


@pytest.fixture
def prepared(target):
    """A workload, and the engine's server that holds its data."""
    workload = LargeTransaction(rows=ROWS)
    workload.prepare(target)
    return workload, target


def count(target, table: str) -> int:
    return target.query(f"SELECT COUNT(*) FROM {table}")[0][0]


def test_each_statement_is_done_and_leaves_the_data_right(prepared):
    workload, target = prepared
    assert workload.check(target) == []
    for statement in (Statement.UPDATE, Statement.INSERT_SELECT, Statement.DELETE):
        outcome = workload.run(target, statement)
        assert outcome.is_done and outcome.seconds > 0
        assert workload.check(target) == []
    assert (count(target, "source"), count(target, "copied")) == (0, ROWS)
    assert target.query("SELECT DISTINCT version FROM copied") == [(1,)]


def test_what_is_rolled_back_is_undone(prepared):
    workload, target = prepared
    before = target.query("CHECKSUM TABLE source, copied")
    for statement in Statement:
        outcome = workload.run_and_roll_back(target, statement)
        assert outcome.is_done, outcome
        assert 0 < outcome.undo_seconds < outcome.seconds
        assert target.query("CHECKSUM TABLE source, copied") == before
    assert workload.check(target) == []


def test_an_error_is_told_and_the_statement_is_undone(prepared):
    workload, target = prepared
    assert workload.run(target, Statement.INSERT_SELECT).is_done
    outcome = workload.run(target, Statement.INSERT_SELECT)
    assert not outcome.is_done
    assert outcome.error_code == 1062 and "Duplicate entry" in outcome.error
    assert workload.check(target) == []


@pytest.mark.parametrize("is_atomic", [True, False])
def test_each_damage_is_found(target, is_atomic):
    assert_each_damage_is_found(target, LargeTransaction(rows=ROWS, is_atomic=is_atomic))


def test_check_finds_an_entry_that_the_index_lacks(prepared):
    workload, target = prepared
    found = workload.check(LyingTarget(target, "by_version", "id = 50"))
    assert ["source: index by_version" in finding for finding in found] == [True]


def test_a_load_is_one_client_that_counts_rows(prepared):
    workload, target = prepared
    load = workload.load(8, 60, 1)
    assert (load.clients[0].threads, load.clients[0].per_event) == (1, ROWS)
    target.sysbench(load.clients[0], events=3)
    assert target.query("SELECT DISTINCT version FROM source") == [(3,)]
    assert workload.check(target) == []


def test_a_limit_of_row_locks_ends_the_statement_on_myrocks_and_not_on_basalt(prepared):
    workload, target = prepared
    if target.engine_name == "InnoDB":
        pytest.skip("InnoDB has no such limit")
    outcome = workload.run(target, Statement.UPDATE, row_lock_limit(100))
    if target.engine.value == "basalt":
        assert outcome.is_done
    else:
        assert not outcome.is_done and "rocksdb_max_row_locks" in outcome.error
        assert target.query("SELECT MAX(version) FROM source") == [(0,)]
    assert workload.check(target) == []


def test_commits_in_the_middle_lift_the_limit_where_the_engine_has_them(prepared):
    workload, target = prepared
    outcome = workload.run_committing_in_the_middle(target, Statement.UPDATE)
    if target.engine.value == "innodb":
        assert outcome is None
        return
    assert outcome.is_done
    assert target.query("SELECT DISTINCT version FROM source") == [(1,)]
    assert workload.check(target) == []


def test_bulk_load_copies_all_rows_where_the_engine_has_it(prepared):
    workload, target = prepared
    outcome = workload.run_with_bulk_load(target)
    if target.engine.value == "innodb":
        assert outcome is None
        return
    assert outcome.is_done, outcome
    assert count(target, "copied") == ROWS
    assert workload.check(target) == []


def test_equal_seeds_prepare_equal_rows(server_of):
    target = server_of("innodb")
    checksums = []
    for seed in (5, 5, 6):
        target.empty()
        LargeTransaction(rows=100, seed=seed).prepare(target)
        checksums.append(target.query("CHECKSUM TABLE source"))
    assert checksums[0] == checksums[1] != checksums[2]
