"""What is said of bursts: ratios by round, their intervals, and the table."""

from __future__ import annotations

import random
import statistics

import pytest

from lab import burst_ratios
from lab.burst_ratios import lines, with_interval
from lab.bursts import Burst

TITLES = {"innodb": "InnoDB", "basalt": "Basalt"}


def burst(number: int, setup: str, rate: float, cpu: float = 10, others: float = 0) -> Burst:
    return Burst(number, setup, rate, cpu, others, 0)


def test_the_interval_of_equal_ratios_is_their_value():
    ratio = with_interval([1.2] * 20, "x")
    assert (ratio.median, ratio.low, ratio.high, ratio.blocks) == (1.2, 1.2, 1.2, 20)


def test_the_interval_is_the_same_for_the_same_rounds():
    ratios = [1 + number / 10 for number in range(20)]
    assert with_interval(ratios, "x") == with_interval(ratios, "x")
    assert with_interval(ratios, "x").low < 1.95 < with_interval(ratios, "x").high


def test_more_rounds_give_a_narrower_interval():
    draw = random.Random(3)
    widths = []
    for rounds in (10, 40, 160):
        ratio = with_interval([draw.gauss(1, 0.1) for _ in range(rounds)], "x")
        assert ratio.low <= ratio.median <= ratio.high
        widths.append(ratio.high - ratio.low)
    assert widths[0] > widths[1] > widths[2]


def test_the_interval_holds_the_true_median_about_as_often_as_it_says():
    draw = random.Random(5)
    found = 0
    for number in range(100):
        ratio = with_interval([draw.gauss(1, 0.1) for _ in range(20)], str(number))
        found += ratio.low <= 1 <= ratio.high
    # 95 of 100 are expected; 88 or fewer would come by chance once in 200 times.
    assert 89 <= found


def test_one_outlier_does_not_move_the_interval():
    ratios = [1.0 + number / 1000 for number in range(19)]
    assert with_interval([*ratios, 50.0], "x").high < 1.03


def test_without_rounds_there_is_no_ratio():
    assert with_interval([], "x") is None


def test_only_bursts_of_the_same_round_are_compared():
    """The machine is half as fast in the second round, for both."""
    found = [burst(1, "innodb", 1000), burst(1, "basalt", 1100),
             burst(2, "innodb", 500), burst(2, "basalt", 550)]
    base, own = lines("cell", found, ["innodb", "basalt"])
    assert own.rate.median == own.rate.low == own.rate.high == pytest.approx(1.1)
    assert (base.per_second, own.per_second) == (750, 825)
    assert base.rate is None and base.cpu is None


def test_processor_time_is_compared_for_each_unit():
    found = [burst(1, "innodb", 1000, cpu=20), burst(1, "basalt", 1000, cpu=15)]
    assert lines("cell", found, ["innodb", "basalt"])[1].cpu.median == pytest.approx(0.75)


def test_rounds_with_a_burst_that_does_not_count_are_left_out_and_counted():
    found = [burst(1, "innodb", 1000), burst(1, "basalt", 1100),
             burst(2, "innodb", 1000, others=0.3), burst(2, "innodb", 1000, others=0.3),
             burst(2, "basalt", 9000),
             burst(3, "innodb", 100, others=0.3), burst(3, "innodb", 1000),
             burst(3, "basalt", 1300)]
    own = lines("cell", found, ["innodb", "basalt"])[1]
    assert (own.rate.blocks, own.rounds) == (2, 3)
    assert own.rate.median == pytest.approx(statistics.median([1.1, 1.3]))


def test_the_table_has_a_line_for_each_engine_with_what_counts():
    found = [burst(1, "innodb", 1000), burst(1, "basalt", 1100, cpu=5),
             burst(2, "innodb", 1000, others=1), burst(2, "basalt", 1100)]
    text = list(burst_ratios.table(lines("reads", found, ["innodb", "basalt"]), TITLES, "innodb"))
    assert len({line.count("|") for line in text}) == 1
    assert text[2] == "| reads | InnoDB | 1\N{NARROW NO-BREAK SPACE}000 | 10.00 |  |  |  |"
    assert text[3].endswith("| x 1.10 | x 0.50 | 1 of 2 |")


def test_an_engine_of_which_nothing_counts_has_no_ratio_in_the_table():
    found = [burst(1, "innodb", 1000), burst(1, "basalt", 1100, others=1)]
    text = list(burst_ratios.table(lines("reads", found, ["innodb", "basalt"]), TITLES, "innodb"))
    assert text[3] == "| reads | Basalt | \N{EN DASH} | \N{EN DASH} | \N{EN DASH} | \N{EN DASH} " \
                      "| 0 of 1 |"
