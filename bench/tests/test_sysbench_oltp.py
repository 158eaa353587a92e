"""sysbench's OLTP scripts on tiny tables: they run, leave right data, and damage is found."""

from __future__ import annotations

import pytest
from damaging import assert_each_damage_is_found, checksums_by_seed
from lying import LyingTarget

from workloads.sysbench_oltp import LONG_RANGES, SCRIPTS, SysbenchBulkInsert, SysbenchOltp


def tables_of(script: str) -> int:
    return 1 if SCRIPTS[script].needs_one_table else 2


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_script_runs_and_leaves_the_data_right(target, script):
    workload = SysbenchOltp(tables=tables_of(script), rows=500, script=script)
    workload.prepare(target)
    assert workload.check(target) == []
    load = workload.load(2, 10, 1)
    target.sysbench(load.clients[0], events=200)
    assert workload.check(target) == []


def test_each_damage_is_found(target):
    assert_each_damage_is_found(target, SysbenchOltp(rows=100, script="oltp_read_write"))


@pytest.mark.parametrize("script", ["oltp_read_only", "oltp_insert", "oltp_delete"])
def test_each_damage_after_other_scripts_is_found(server_of, script):
    assert_each_damage_is_found(server_of("innodb"), SysbenchOltp(rows=100, script=script))


def test_check_finds_an_entry_that_the_index_lacks(target):
    workload = SysbenchOltp(rows=100)
    workload.prepare(target)
    assert workload.check(LyingTarget(target, "k_1", "FALSE")) == []
    found = workload.check(LyingTarget(target, "k_1", "id = 50"))
    assert ["index k_1" in finding for finding in found] == [True]


def test_equal_seeds_prepare_equal_rows(server_of):
    target = server_of("innodb")
    first, second = checksums_by_seed(
        target, lambda seed: SysbenchOltp(tables=3, rows=500, seed=seed),
        "sbtest1, sbtest2, sbtest3")
    assert first == second
    assert len({checksum for _, checksum in first}) == 3


def test_prepared_k_are_spread_over_all_ids(server_of):
    target = server_of("innodb")
    target.empty()
    SysbenchOltp(rows=5000).prepare(target)
    least, greatest, distinct, mean = target.query(
        "SELECT MIN(k), MAX(k), COUNT(DISTINCT k), AVG(k) FROM sbtest1")[0]
    assert least < 20 and greatest > 4980
    assert 3000 < distinct < 3300  # (1 - 1/e) of 5000
    assert 2400 < mean < 2600


def test_ids_are_uniform_by_default_and_pareto_when_asked_for():
    assert SysbenchOltp().load(1, 1, 1).clients[0].options["rand-type"] == "uniform"
    pareto = SysbenchOltp(rand_type="pareto")
    assert pareto.load(1, 1, 1).clients[0].options["rand-type"] == "pareto"


def test_pareto_reaches_sysbench(server_of):
    target = server_of("innodb")
    updated = {}
    for rand_type in ("uniform", "pareto"):
        target.empty()
        workload = SysbenchOltp(rows=1000, script="oltp_update_non_index", rand_type=rand_type)
        workload.prepare(target)
        target.query("CREATE TABLE before_it AS SELECT id, c FROM sbtest1")
        target.sysbench(workload.load(1, 10, 1).clients[0], events=1000)
        updated[rand_type] = target.query("SELECT COUNT(*) FROM sbtest1 JOIN before_it USING (id)"
                                          " WHERE sbtest1.c <> before_it.c")[0][0]
    assert updated["uniform"] > 550 > updated["pareto"] + 100


def test_long_range_scans_run(target):
    workload = SysbenchOltp(tables=2, rows=20000, script="oltp_read_only", options=LONG_RANGES)
    workload.prepare(target)
    client = workload.load(2, 10, 1).clients[0]
    output = target.output_of(client, events=4)
    assert "read:                            16" in output  # no point selects


def test_a_script_that_changes_more_than_the_check_expects_is_refused():
    with pytest.raises(ValueError, match="make a workload with script='oltp_delete'"):
        SysbenchOltp(script="oltp_read_write").load_of("oltp_delete", 1, 1, 1)
    load = SysbenchOltp(script="oltp_read_write").load_of("oltp_point_select", 1, 1, 1)
    assert load.clients[0].unit == "query"


def test_scripts_of_one_table_refuse_more():
    with pytest.raises(ValueError, match="one table"):
        SysbenchOltp(tables=2, script="select_random_points")


def test_unknown_scripts_are_refused():
    with pytest.raises(ValueError, match="no script oltp_everything"):
        SysbenchOltp(script="oltp_everything")


def test_bulk_insert_fills_a_table_for_each_thread(target):
    workload = SysbenchBulkInsert(tables=2)
    workload.prepare(target)
    assert workload.check(target) == []
    target.sysbench(workload.load(2, 10, 1).clients[0], events=5000)
    assert target.query("SELECT (SELECT COUNT(*) FROM sbtest1) + (SELECT COUNT(*) FROM sbtest2)"
                        ) == [(5000,)]
    assert workload.check(target) == []


def test_each_damage_after_bulk_insert_is_found(target):
    workload = SysbenchBulkInsert()
    for damage in workload.damages():
        target.empty()
        workload.prepare(target)
        target.sysbench(workload.load(1, 10, 1).clients[0], events=100)
        assert workload.check(target) == []
        for statement in damage.sql:
            target.query(statement)
        assert any(damage.found_as in finding for finding in workload.check(target))


def test_bulk_insert_needs_a_table_for_each_thread():
    with pytest.raises(ValueError, match="as many tables"):
        SysbenchBulkInsert(tables=2).load(3, 1, 1)
