"""When settings made by hand count as better than none."""

from __future__ import annotations

import pytest

from lab.results import Results
from lab.study import Finding, Size, Verdict
from studies.by_hand import STUDY
from synthetic import record

CELL = STUDY.cells(Size.FULL)[0]
CLAIM = STUDY.claims()[0]


def judged(*rates: float) -> Finding:
    """The first rate is that without settings; the others are those of settings, in order."""
    return CLAIM.judge(Results([record(CELL.name, setup.name, per_second=rate)
                                for setup, rate in zip(CELL.setups, rates, strict=False)]))


@pytest.mark.parametrize("best, expected", [(100, Verdict.REPRODUCED),
                                            (101, Verdict.NOT_REPRODUCED)])
def test_the_best_setting_may_win_a_little(best, expected):
    finding = judged(85, 40, best, 50)
    assert finding.verdict is expected
    assert CELL.setups[2].name in finding.reason


def test_without_any_setting_nothing_is_judged():
    assert judged(85).verdict is Verdict.NOT_COMPARABLE


def test_a_setting_is_one_option_away_from_none():
    for cell in STUDY.cells(Size.FULL):
        assert [len(setup.options) for setup in cell.setups] == [0, 1, 1, 1, 1, 1]
