"""Histograms: percentiles by counting, and parts put together."""

from __future__ import annotations

import random

import pytest

from lab.histogram import Histogram


def test_a_percentile_is_the_bound_of_the_bucket_in_which_its_share_is_reached():
    histogram = Histogram({1.0: 50, 2.0: 45, 5.0: 4, 9.0: 1}, 8.5)
    summary = histogram.summary()
    assert summary == {"count": 100, "p50": 1.0, "p95": 2.0, "p99": 5.0, "p999": 8.5, "max": 8.5}


def test_one_operation_more_moves_the_percentile_into_the_next_bucket():
    assert Histogram({1.0: 50, 2.0: 50}, 2.0).percentile(0.5) == 1.0
    assert Histogram({1.0: 50, 2.0: 51}, 2.0).percentile(0.5) == 2.0


def test_no_percentile_exceeds_the_exact_maximum():
    assert Histogram({100.0: 3}, 91.5).percentile(0.5) == 91.5


def test_percentiles_agree_with_the_sorted_values():
    values = [random.Random(5).choice((1, 2, 3, 5, 8, 13)) * 1.0 for _ in range(997)]
    values += [21.0, 34.0, 55.0]
    counts = {value: values.count(value) for value in set(values)}
    histogram = Histogram(counts, max(values))
    for share in (0.001, 0.5, 0.95, 0.99, 0.999, 1.0):
        needed = round(share * len(values) + 0.4999)
        assert histogram.percentile(share) == sorted(values)[needed - 1], share


def test_buckets_may_come_in_any_order():
    assert Histogram({9.0: 1, 1.0: 99}, 9.0).percentile(0.99) == 1.0


def test_nothing_counted_gives_zeros():
    assert set(Histogram({}, 0.0).summary().values()) == {0}


def test_merged_clients_have_the_percentiles_of_all_operations_together():
    fast, slow = Histogram({1.0: 98}, 0.9), Histogram({1.0: 1, 7.0: 1}, 6.5)
    merged = Histogram.merged([fast, slow])
    assert merged == Histogram({1.0: 99, 7.0: 1}, 6.5)
    assert merged.percentile(0.99) == 1.0
    # The mean of the clients' percentiles would be wrong by far.
    assert (fast.percentile(0.99) + slow.percentile(0.99)) / 2 == pytest.approx(3.7)
