"""What counts as a goal that is reached."""

from __future__ import annotations

import pytest

from lab.results import Results, TrialRecord
from lab.study import Size, Verdict
from studies.goals import STUDY, measuring
from synthetic import record
from workloads.sysbench_oltp import SysbenchOltp

GOALS = {claim.name: claim for claim in STUDY.claims()}
REACHED, MISSED = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED


def verdict(goal: str, cell: str, **by_setup: dict[str, float]) -> Verdict:
    return GOALS[goal].judge(Results([
        record(cell, setup, **values) for setup, values in by_setup.items()])).verdict


@pytest.mark.parametrize("basalt, expected", [(1000, REACHED), (999, MISSED)])
def test_more_throughput_is_better(basalt, expected):
    assert verdict("G3a", "read-only, 1 GB", basalt={"per_second": basalt},
                   innodb={"per_second": 1000}) is expected


@pytest.mark.parametrize("basalt, expected", [(10, REACHED), (10.2, MISSED)])
def test_fewer_bytes_are_better(basalt, expected):
    assert verdict("G18a", "write-only, 1 GB", basalt={"total_write_kb_per_unit": basalt},
                   innodb={"total_write_kb_per_unit": 100}) is expected


@pytest.mark.parametrize("gap, expected", [(0, REACHED), (1, MISSED)])
def test_no_second_is_a_gap(gap, expected):
    assert verdict("G15", "inserts, 448 MB", basalt={"longest_gap_s": gap}) is expected


@pytest.mark.parametrize("worst, expected", [(34, REACHED), (33, MISSED)])
def test_no_second_is_below_a_third_of_the_median(worst, expected):
    assert verdict("G22", "write-only, 512 MB, steady",
                   basalt={"p1_of_median_percent": worst}) is expected


def test_a_cell_without_the_rival_is_not_judged():
    assert verdict("G3a", "read-only, 1 GB", basalt={"per_second": 1}) is Verdict.NOT_COMPARABLE


@pytest.mark.parametrize("last, expected", [(90, REACHED), (89, MISSED)])
def test_a_queue_is_not_to_slow_down(last, expected):
    assert verdict("G38", "queue", basalt={"last_tenth_percent": last}) is expected


@pytest.mark.parametrize("size", list(Size), ids=lambda size: size.value)
def test_each_cell_has_a_goal(size):
    about = [claim.statement for claim in STUDY.claims()]
    for cell in STUDY.cells(size):
        assert any(text.startswith(f"{cell.name}:") for text in about), cell.name


class Loads:
    """A trial that notes the loads it was to measure."""

    def __init__(self, cell) -> None:
        self.cell, self.seed, self.calls = cell, 7, []
        self.record = TrialRecord("goals", cell.name, "basalt", 1, {}, "now")

    def measure_load(self, cell, load=None) -> None:
        self.calls.append((cell.load(cell.warm_seconds, 8).clients[0].script, cell.warm_seconds,
                           load and load.clients[0].script, load and load.seconds))
        self.record.latency = {"put": {"max": 4.0, "p99": 2.0}, "take": {"max": 9.0, "p99": 1.0}}


def measured(name: str, size: Size = Size.FULL) -> Loads:
    cell, = (each for each in STUDY.cells(size) if each.name == name)
    trial = Loads(cell)
    STUDY.measure(trial, cell)
    return trial


@pytest.mark.parametrize("name", ["read-only, 1 GB, after writes",
                                  "read-only, 512 MB, 3000 IOPS, after writes"])
def test_reads_follow_upon_as_many_seconds_of_writes(name):
    assert measured(name).calls == [("oltp_write_only", 30, "oltp_read_only", 30)]


def test_the_worst_response_of_a_queue_is_that_of_either_side():
    assert measured("queue").record.values == {"worst_ms": 9.0}


def test_skewed_cells_ask_for_a_few_rows_most_of_the_time():
    skewed = [cell for cell in STUDY.cells(Size.FULL) if "skewed" in cell.name]
    assert len(skewed) == 2
    for cell in skewed:
        assert cell.load(1, 1).clients[0].options["rand-type"] == "pareto"


def test_deletions_leave_half_of_the_rows_as_the_check_expects(target):
    workload = SysbenchOltp(tables=measuring.TABLES_OF_DELETES, rows=101, script="oltp_delete")
    workload.prepare(target)
    for statement in measuring._DELETES.values():
        target.query(statement)
    left = [target.query(f"SELECT COUNT(*), SUM(id % 2) FROM sbtest{number}")[0]
            for number in (1, 2, 3)]
    assert left == [(51, 51), (51, 51), (101, 51)]
    assert workload.check(target) == []
