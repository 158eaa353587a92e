"""Draining: engines are told to do their deferred work, and it is waited for until they rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import drain as draining
from lab.drain import drain
from lab.setup import BASALT, INNODB, MYROCKS, Setup


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(draining, "time", clock)
    return clock


class Target:
    """An engine whose dirty pages are gone at a certain time."""

    def __init__(self, setup: Setup, clock: Clock, clean_at: float = 0,
                 has_flush: bool = True) -> None:
        self.setup = setup
        self.clock = clock
        self.clean_at = clean_at
        self.has_flush = has_flush
        self.statements: list[str] = []

    def variable(self, name: str) -> str | None:
        return "OFF" if self.has_flush else None

    def query(self, sql: str) -> list[tuple[str, str]]:
        if sql.startswith("SHOW"):
            pages = 5000 if self.clock.now < self.clean_at else 3
            return [("Innodb_buffer_pool_pages_dirty", str(pages)),
                    ("Innodb_history_list_length", "0")]
        self.statements.append(sql)
        return []


def until(clock: Clock, end: float, per_second: float = 50e6) -> Callable[[], int]:
    """A device that is written to until a certain time."""
    return lambda: int(min(clock.now, end) * per_second)


def test_innodb_is_told_to_clean_all_pages_quickly(clock):
    target = Target(INNODB, clock)
    drain(target, until(clock, 0))
    assert "SET GLOBAL innodb_max_dirty_pages_pct = 0" in target.statements
    lowest = target.statements.index("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0")
    assert lowest < target.statements.index("SET GLOBAL innodb_max_dirty_pages_pct = 0")
    assert any("innodb_io_capacity " in each for each in target.statements)


@pytest.mark.parametrize("setup", [MYROCKS, BASALT], ids=["myrocks", "basalt"])
def test_memtables_are_flushed(clock, setup):
    target = Target(setup, clock)
    drain(target, until(clock, 0))
    assert target.statements == ["SET GLOBAL rocksdb_force_flush_memtable_now = 1"]


def test_an_engine_that_cannot_be_told_to_flush_is_waited_for(clock):
    target = Target(BASALT, clock, has_flush=False)
    assert drain(target, until(clock, 7)) == pytest.approx(7, abs=0.5)
    assert target.statements == []


def test_the_seconds_are_those_of_the_work_without_the_proof_of_rest(clock):
    assert drain(Target(BASALT, clock), until(clock, 7)) == pytest.approx(7, abs=0.5)
    assert clock.now > 8.5


def test_the_time_without_a_write_that_counts_as_rest_can_be_shorter(clock):
    drain(Target(BASALT, clock), until(clock, 7), quiet_seconds=0.5)
    assert clock.now == pytest.approx(7.5, abs=0.5)


def test_an_engine_without_debt_needs_no_time(clock):
    assert drain(Target(BASALT, clock), until(clock, 0)) == pytest.approx(0, abs=0.3)


def test_innodb_is_waited_for_until_its_pages_are_clean_even_if_nothing_is_written(clock):
    assert drain(Target(INNODB, clock, clean_at=9), until(clock, 0)) == pytest.approx(9, abs=0.5)


def test_without_rest_before_the_patience_ends_the_debt_is_not_said_to_be_paid(clock):
    assert drain(Target(BASALT, clock), until(clock, 1000), patience=30) is None
    assert clock.now == pytest.approx(30, abs=0.5)


def test_innodbs_pages_that_never_get_clean_end_with_the_patience(clock):
    assert drain(Target(INNODB, clock, clean_at=1000), until(clock, 0), patience=30) is None
    assert clock.now == pytest.approx(30, abs=0.5)


def test_a_pause_of_a_second_between_two_compactions_is_no_rest(clock):
    def written() -> int:
        return int(50e6 * (min(clock.now, 3) + max(0, min(clock.now, 9) - 4.5)))

    assert drain(Target(BASALT, clock), written) == pytest.approx(9, abs=0.5)


def test_what_a_resting_server_writes_is_no_work(clock):
    assert drain(Target(BASALT, clock), until(clock, 1000, per_second=100_000)) == \
        pytest.approx(0, abs=0.3)


def test_slow_steady_work_is_work(clock):
    assert drain(Target(BASALT, clock), until(clock, 20, per_second=1.5e6)) == \
        pytest.approx(20, abs=1)


def test_a_directory_that_shrinks_is_still_worked_on(clock):
    """Templates are watched by their size: a compaction's inputs go when its output is there."""
    def size() -> int:
        return int(500e6 - 20e6 * min(clock.now, 8))

    assert drain(Target(BASALT, clock), size) == pytest.approx(8, abs=0.5)


def test_a_real_innodb_has_clean_pages_afterwards(server_of):
    tiny = server_of("innodb")
    tiny.empty()
    tiny.setup = INNODB
    before = dict(tiny.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN "
                             "('innodb_max_dirty_pages_pct', 'innodb_max_dirty_pages_pct_lwm',"
                             " 'innodb_io_capacity', 'innodb_io_capacity_max')"))
    tiny.query("CREATE TABLE t (a INT PRIMARY KEY, b CHAR(200)) ENGINE=InnoDB")
    tiny.query("INSERT INTO t SELECT seq, REPEAT('x', 200) FROM seq_1_to_20000")
    pages = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'"
    dirty = int(tiny.query(pages)[0][1])
    assert drain(tiny, lambda: 0, patience=20) is not None
    assert dirty > 100 > 20 >= int(tiny.query(pages)[0][1])
    for name in ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm",
                 "innodb_io_capacity_max", "innodb_io_capacity"):
        tiny.query(f"SET GLOBAL {name} = {before[name]}")
