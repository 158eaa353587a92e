"""What counts as a goal that is reached."""

from __future__ import annotations

import pytest

from lab.results import Results
from lab.study import Verdict
from studies.goals import STUDY
from synthetic import record

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
