"""Verdicts: bands at their edges, what was not measured, flat metrics, two cells of one setup."""

from __future__ import annotations

import pytest

from lab.judging import cell, flat_claim, highest, in_band, lowest, not_here, ratio_claim
from lab.results import Ratio, Results
from lab.study import Verdict
from synthetic import rates, record

REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE = Verdict


def verdict(myrocks: float, innodb: float, **band: float) -> Verdict:
    claim = ratio_claim("1", "", "", cell("cell"), **band)
    return claim.judge(rates(myrocks=myrocks, innodb=innodb)).verdict


@pytest.mark.parametrize(("ratio", "expected"), [
    (1.99, NOT_REPRODUCED), (2.0, REPRODUCED), (2.5, REPRODUCED), (3.0, REPRODUCED),
    (3.01, NOT_REPRODUCED)])
def test_a_band_holds_its_edges(ratio, expected):
    assert verdict(100 * ratio, 100, at_least=2, at_most=3) is expected


def test_a_band_may_have_one_edge():
    assert verdict(100, 1, at_least=2) is REPRODUCED
    assert verdict(1, 100, at_least=2) is NOT_REPRODUCED
    assert verdict(1, 100, at_most=2) is REPRODUCED
    assert verdict(201, 100, at_most=2) is NOT_REPRODUCED


def test_a_ratio_of_nothing_is_within_a_band_from_below():
    assert verdict(0, 100, at_most=0.2) is REPRODUCED


def test_the_median_block_decides():
    claim = ratio_claim("1", "", "", cell("cell"), at_least=2)
    finding = claim.judge(rates(myrocks=[500, 190, 180], innodb=[100, 100, 100]))
    assert finding.verdict is NOT_REPRODUCED
    assert finding.measured == "x 1.90 (1.80 to 5.00)"


def test_the_reason_names_the_cell_and_the_band():
    claim = ratio_claim("1", "", "", cell("cell"), at_least=2, at_most=3)
    reason = claim.judge(rates(myrocks=1, innodb=1)).reason
    assert reason == "in the cell cell; expected at least 2 and at most 3"


def test_a_cell_that_was_not_measured_cannot_be_compared():
    finding = ratio_claim("1", "", "", cell("other"), at_least=2).judge(rates(myrocks=1, innodb=1))
    assert (finding.verdict, finding.reason) == (NOT_COMPARABLE, "the cell was not measured")


def test_a_setup_that_was_not_measured_cannot_be_compared_but_ours_is_shown():
    finding = ratio_claim("1", "", "", cell("cell"), at_least=2).judge(rates(basalt=30, innodb=10))
    assert finding.verdict is NOT_COMPARABLE and finding.measured == ""
    assert "not both were measured" in finding.reason and finding.ours == "x 3.00"


def test_failed_trials_are_no_grounds():
    results = Results([record(setup="myrocks", per_second=9, problems=("x",)),
                       record(setup="innodb", per_second=1)])
    assert ratio_claim("1", "", "", cell("cell"), at_least=2).judge(results).verdict \
        is NOT_COMPARABLE


def test_ours_is_put_in_the_place_of_the_setup():
    results = rates(myrocks=20, innodb=10, basalt=50)
    finding = ratio_claim("1", "", "", cell("cell"), at_least=2).judge(results)
    assert (finding.measured, finding.ours) == ("x 2.00", "x 5.00")


def over_memory(**by_setup: dict[int, float]) -> Results:
    return Results([record(f"{mb} MB", setup, axes={"mb": mb}, per_second=rate)
                    for setup, points in by_setup.items() for mb, rate in points.items()])


def gain(at_least: float = 3):
    return ratio_claim("1", "", "", highest("mb"), setup="innodb", base="innodb",
                       base_cell=lowest("mb"), at_least=at_least)


def test_a_gain_is_of_one_setup_over_two_cells():
    results = over_memory(innodb={512: 10, 4096: 70, 1024: 30}, basalt={512: 50, 4096: 60})
    finding = gain().judge(results)
    assert (finding.verdict, finding.measured, finding.ours) == (REPRODUCED, "x 7.00", "x 1.20")


def test_a_gain_is_not_judged_by_one_cell():
    results = over_memory(innodb={512: 10}, basalt={512: 50})
    finding = gain(at_least=1).judge(results)
    assert finding.verdict is NOT_COMPARABLE and "only one" in finding.reason


def test_a_gain_whose_base_cell_was_not_measured_cannot_be_compared():
    claim = ratio_claim("1", "", "", cell("512 MB"), setup="innodb", base="innodb",
                        base_cell=cell("none"), at_least=1)
    assert claim.judge(over_memory(innodb={512: 10})).verdict is NOT_COMPARABLE


def test_lowest_and_highest_compare_numbers_and_leave_out_cells_without_the_axis():
    results = Results([record("none"), *(record(f"{mb}", axes={"mb": mb, "kind": kind})
                                         for mb, kind in ((512, "a"), (1024, "a"), (64, "b")))])
    assert (lowest("mb")(results), highest("mb")(results)) == ("64", "1024")
    assert lowest("mb", kind="a")(results) == "512"
    assert lowest("other")(results) is None


def flat(results: Results, within: float = 1.3):
    return flat_claim("1", "", "", "mb", metric="per_second", within=within).judge(results)


@pytest.mark.parametrize(("highest_rate", "expected"), [(130, REPRODUCED), (131, NOT_REPRODUCED)])
def test_a_flat_metric_may_differ_by_its_factor(highest_rate, expected):
    results = over_memory(myrocks={1: 110, 2: highest_rate, 3: 100}, basalt={1: 20, 2: 10})
    finding = flat(results)
    assert finding.verdict is expected and finding.ours == "x 2.00"


def test_a_flat_metric_needs_two_points():
    assert flat(over_memory(myrocks={1: 110})).verdict is NOT_COMPARABLE
    assert flat(Results([record("a", "myrocks", per_second=5)])).verdict is NOT_COMPARABLE


def test_a_claim_that_cannot_be_tried_says_why():
    finding = not_here("1", "", "", "no such disk").judge(rates(myrocks=1, innodb=1))
    assert (finding.verdict, finding.reason) == (NOT_COMPARABLE, "no such disk")


def test_no_ratio_is_no_verdict():
    assert in_band(None, 1, 2, "here").verdict is NOT_COMPARABLE
    assert in_band(Ratio(1.5, 1, 2, 3), 1, 2, "here").verdict is REPRODUCED
