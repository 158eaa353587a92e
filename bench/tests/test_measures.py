"""From what was metered to what is reported."""

from __future__ import annotations

import pytest

from lab import measures
from lab.control_groups import CpuUse, MemoryUse
from lab.counters import DeviceCounters, HostCpu
from lab.directory_size import DirectorySize, Size
from lab.histogram import Histogram
from lab.meter import Reading, between
from lab.sysbench import ClientResult
from lab.workload import Client


def reading(moment: float, *, data: int = 0, is_bare: bool = False) -> Reading:
    """Counters that grow by round numbers per second."""
    device = DeviceCounters(
        reads=int(10 * moment), reads_merged=0, read_bytes=int(40_000 * moment), read_ms=0,
        writes=int(20 * moment), writes_merged=0, write_bytes=int(100_000 * moment), write_ms=0,
        flushes=int(5 * moment), flush_ms=0, queue_ms=0)
    cpu = HostCpu(user=0.5 * moment, system=0.2 * moment, iowait=0.1 * moment, idle=1.2 * moment,
                  steal=0)
    sizes = DirectorySize(Size(1, data, data), Size(1, 7_000_000, 7_000_000),
                          Size(1, 3_000_000, 3_000_000), Size())
    memory = MemoryUse(usage=int(1e6 * moment), peak=int(2e6 * moment), limit=None,
                       failures=int(moment), oom_kills=0, cache=0, rss=500_000, dirty=0,
                       write_back=0)
    if is_bare:
        return Reading(moment, moment, cpu, None, None, None, None)
    return Reading(moment, moment, cpu, device, CpuUse(0.3 * moment, 0, 0), memory, sizes)


def client(rates: list[float], **changes: float) -> ClientResult:
    fields = {"seconds": 10.0, "events": 50, "queries": 1000, "errors": 5, "reconnects": 0,
              **changes}
    return ClientResult(Client("x", "oltp_insert", 1, unit="row", per_event=100), rates=rates,
                        latency=Histogram({1.0: 99, 5.0: 1}, 4.5), operations={}, **fields)


def test_throughput_is_units_by_time_and_not_events():
    values = measures.of_client(client([500.0] * 10))
    assert values["per_second"] == 500
    assert values["errors_per_event"] == 0.1
    assert values["queries_per_unit"] == 0.2
    assert (values["p99_ms"], values["p999_ms"], values["max_ms"]) == (1.0, 4.5, 4.5)


def test_a_client_that_did_nothing_divides_by_nothing():
    values = measures.of_client(client([], seconds=0, events=0, queries=0, errors=0))
    assert values["per_second"] == 0
    assert "cv_percent" not in values


def test_even_seconds_have_no_variation():
    assert measures.steadiness([100.0] * 5) == {
        "per_second_median": 100, "cv_percent": 0, "longest_gap_s": 0,
        "last_tenth_percent": 100, "p1_of_median_percent": 100, "seconds_below_half_percent": 0}


def test_variation_is_the_standard_deviation_by_the_mean():
    # Mean 100, deviations 10 each.
    assert measures.steadiness([90, 110, 90, 110])["cv_percent"] == pytest.approx(10)


def test_the_longest_gap_is_the_longest_run_of_seconds_with_hardly_anything_done():
    rates = [100, 0, 100, 9, 10, 0, 100, 0, 0, 100, 100, 100, 100]
    assert measures.steadiness(rates)["longest_gap_s"] == 3
    assert measures.steadiness([100, 100, 11, 11, 100])["longest_gap_s"] == 0
    assert measures.steadiness([100, 100, 100, 0, 0])["longest_gap_s"] == 2


def test_p1_is_the_second_that_one_percent_are_below():
    rates = [100.0] * 197 + [1.0, 20.0, 30.0]
    assert measures.steadiness(rates)["p1_of_median_percent"] == 30
    # With less than 100 seconds it is the worst one.
    assert measures.steadiness([100, 100, 40])["p1_of_median_percent"] == 40


def test_seconds_below_half_the_median_are_counted():
    values = measures.steadiness([100, 100, 100, 100, 100, 50, 49, 1])
    assert values["seconds_below_half_percent"] == 25


def test_the_last_tenth_of_the_seconds_is_compared_with_the_first():
    rates = [100, 200, *[1000] * 17, 50, 100]
    assert measures.steadiness(rates)["last_tenth_percent"] == 50
    # With less than 20 seconds it is one second of each end.
    assert measures.steadiness([*rates[:18], 40])["last_tenth_percent"] == 40
    assert "last_tenth_percent" not in measures.steadiness([0, 100, 100])


def test_too_few_seconds_or_no_work_say_nothing_of_steadiness():
    assert measures.steadiness([100, 50]) == {}
    assert measures.steadiness([0, 0, 0, 0]) == {}


def test_work_in_less_than_half_of_the_seconds_has_a_gap_but_no_shares():
    values = measures.steadiness([0, 0, 0, 100])
    assert (values["per_second_median"], values["longest_gap_s"]) == (0, 3)
    assert "p1_of_median_percent" not in values


def window(begin: float, end: float, **arguments: bool):
    return between(reading(begin, data=50_000_000, **arguments),
                   reading(end, data=60_000_000, **arguments))


def test_costs_are_differences_of_the_window_by_units():
    values = measures.of_window(window(10, 20), [], units=50)
    assert (values["window_s"], values["reads_per_unit"], values["writes_per_unit"],
            values["flushes_per_unit"]) == (10, 2, 4, 1)
    assert (values["read_kb_per_unit"], values["write_kb_per_unit"]) == (8, 20)
    assert (values["read_mb_per_second"], values["write_mb_per_second"]) == (0.04, 0.1)
    assert values["server_cpu_us_per_unit"] == pytest.approx(60_000)


def test_the_hosts_time_is_in_shares_of_all_of_it():
    values = measures.of_window(window(10, 20), [], units=50)
    assert [round(values[f"host_{name}_percent"]) for name in
            ("user", "system", "iowait", "idle", "steal")] == [25, 10, 5, 60, 0]


def test_memory_is_that_of_the_end_with_the_failures_of_the_window():
    values = measures.of_window(window(10, 20), [], units=50)
    assert (values["memory_peak_mb"], values["memory_rss_mb"], values["memory_failures"]) == (
        40, 0.5, 10)


def test_sizes_are_those_of_the_end_and_the_peak_is_never_below_them():
    samples = [reading(11, data=80_000_000), reading(12, data=55_000_000)]
    values = measures.of_window(window(10, 20), samples, units=50)
    assert (values["data_mb"], values["data_peak_mb"]) == (60, 80)
    assert (values["log_mb"], values["binlog_mb"]) == (7, 3)
    assert measures.of_window(window(10, 20), samples[1:], units=50)["data_peak_mb"] == 60
    assert measures.of_window(window(10, 20), [], units=50)["data_peak_mb"] == 60


def test_no_unit_done_costs_as_much_as_one():
    assert measures.of_window(window(10, 20), [], units=0)["reads_per_unit"] == 100


def test_without_device_group_and_directory_the_hosts_time_is_left():
    values = measures.of_window(window(10, 20, is_bare=True), [], units=50)
    assert set(values) == {"window_s", *(f"host_{name}_percent" for name in (
        "user", "system", "iowait", "idle", "steal"))}


def test_samples_are_rates_since_the_one_before_and_levels_as_they_are():
    rows = measures.as_samples([reading(10), reading(11, data=5), reading(13, data=8)])
    assert rows == [
        {"t": 1, "reads": 10, "writes": 20, "read_bytes": 40_000, "written_bytes": 100_000,
         "server_cpu": 0.3, "memory_bytes": 11e6, "data_bytes": 5, "log_bytes": 7e6,
         "binlog_bytes": 3e6},
        {"t": 3, "reads": 10, "writes": 20, "read_bytes": 40_000, "written_bytes": 100_000,
         "server_cpu": 0.3, "memory_bytes": 13e6, "data_bytes": 8, "log_bytes": 7e6,
         "binlog_bytes": 3e6}]


def test_less_than_two_samples_are_no_rows():
    assert measures.as_samples([]) == measures.as_samples([reading(1)]) == []


def test_samples_without_a_device_have_only_the_time():
    assert measures.as_samples([reading(1, is_bare=True), reading(2, is_bare=True)]) == [{"t": 1}]
