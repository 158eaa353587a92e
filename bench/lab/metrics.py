"""What the numbers of a trial mean: their names for people, units, digits, and which way is better.

A study whose trials hold numbers of its own describes them in its attribute `metrics`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
NOTHING = "\N{EN DASH}"


@dataclasses.dataclass(frozen=True)
class Metric:
    """One of a trial's values.

    `digits` are shown behind the point. `is_less_better` is None where neither way is better.
    `meaning` is a sentence for the glossary.
    """

    label: str
    unit: str = ""
    digits: int = 1
    is_less_better: bool | None = None
    meaning: str = ""

    @property
    def heading(self) -> str:
        """The label with its unit."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    def shown(self, value: float | None) -> str:
        """A value as the report prints it, without its unit."""
        return number(value, self.digits)


def number(value: float | None, digits: int) -> str:
    """A number with `digits` behind the point, but never fewer than two that say something."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value and abs(value) < 10 ** -digits:
        return f"{value:.2g}"
    return f"{value:,.{digits}f}".replace(",", NARROW_SPACE)


def factor(value: float) -> str:
    """A ratio's number: two digits behind the point below 10, then three digits in all."""
    if abs(value) < 0.095:
        return f"{value:.2g}"
    return f"{value:.2f}" if abs(value) < 10 else number(value, 1 if abs(value) < 100 else 0)


_LATENCY = "from the client's histogram, over all operations of the first client"

METRICS: Mapping[str, Metric] = {
    "window_s": Metric("Window", "s", 1, None, "Length of the measured window."),
    "per_second": Metric(
        "Throughput", "units/s", 0, False,
        "Units (transactions, rows, operations: what the study counts) done in the window, divided "
        "by its seconds."),
    "per_second_median": Metric(
        "Throughput, median second", "units/s", 0, False,
        "The median of the throughput of single seconds; far from the mean when work is uneven."),
    "cv_percent": Metric(
        "Variation of seconds", "%", 1, True,
        "Coefficient of variation of the 1-second throughput: its standard deviation divided by "
        "its mean."),
    "longest_gap_s": Metric(
        "Longest gap", "s", 0, True,
        "The most seconds in a row with less than a tenth of the median second's throughput."),
    "seconds_below_half_percent": Metric(
        "Seconds below half", "%", 1, True,
        "Share of the seconds with less than half of the median second's throughput."),
    "errors_per_event": Metric(
        "Retries", "", 4, True,
        "Events that met a deadlock, a lock wait timeout or a changed row and were tried again, "
        "by events."),
    "queries_per_unit": Metric("Queries per unit", "", 1, None,
                               "Statements that the clients sent, divided by units."),
    "p1_of_median_percent": Metric(
        "Bad second, of median", "%", 0, False,
        "Throughput of the second that only 1 % of the seconds fall below, relative to the median "
        "second."),
    "last_tenth_percent": Metric(
        "Last tenth, of first", "%", 0, False,
        "Throughput of the last tenth of the window's seconds, relative to the first tenth."),
    "p50_ms": Metric("Latency p50", "ms", 2, True, f"Median latency, {_LATENCY}."),
    "p95_ms": Metric("Latency p95", "ms", 2, True,
                     f"Latency that 5 % of the operations exceed, {_LATENCY}."),
    "p99_ms": Metric("Latency p99", "ms", 2, True,
                     f"Latency that 1 % of the operations exceed, {_LATENCY}."),
    "p999_ms": Metric("Latency p99.9", "ms", 2, True,
                      f"Latency that one operation in a thousand exceeds, {_LATENCY}."),
    "max_ms": Metric("Latency max", "ms", 1, True, f"The slowest operation, {_LATENCY}."),
    "reads_per_unit": Metric(
        "Reads per unit", "", 2, True, "Read operations of the block device, divided by units."),
    "writes_per_unit": Metric(
        "Writes per unit", "", 2, True, "Write operations of the block device in the window, with "
        "logs and binary log, divided by units."),
    "flushes_per_unit": Metric(
        "Flushes per unit", "", 2, True, "Flushes of the device's cache, divided by units."),
    "read_kb_per_unit": Metric(
        "Read per unit", "KB", 1, True, "Kilobytes read from the block device, divided by units."),
    "write_kb_per_unit": Metric(
        "Written per unit", "KB", 1, True, "Kilobytes written to the block device in the window, "
        "with logs and binary log, divided by units."),
    "read_mb_per_second": Metric("Read", "MB/s", 1, None,
                                 "Megabytes read from the block device per second."),
    "write_mb_per_second": Metric("Written", "MB/s", 1, None,
                                  "Megabytes written to the block device per second."),
    "deferred_write_kb_per_unit": Metric(
        "Written later per unit", "KB", 1, True,
        "Kilobytes written after the window until nothing was left to be flushed or compacted, "
        "divided by the units of the window and its warm-up, which owe them."),
    "total_write_kb_per_unit": Metric(
        "Written in all per unit", "KB", 1, True,
        "Kilobytes written from the warm-up's beginning until nothing was left to be done, divided "
        "by the units of that time: what a unit costs in the end."),
    "server_cpu_us_per_unit": Metric(
        "Server CPU per unit", "µs", 0, True,
        "CPU time of the server's control group in the window, background work included, divided "
        "by units."),
    "host_user_percent": Metric(
        "Host CPU, user", "%", 1, None, "Share of all CPUs' time spent in programs, clients too."),
    "host_system_percent": Metric(
        "Host CPU, system", "%", 1, None, "Share of all CPUs' time spent in the kernel."),
    "host_iowait_percent": Metric(
        "Host CPU, waiting", "%", 1, None,
        "Share of all CPUs' time in which they were idle and a disk operation was under way."),
    "host_idle_percent": Metric(
        "Host CPU, idle", "%", 1, None,
        "Share of all CPUs' time in which there was nothing to do."),
    "host_steal_percent": Metric(
        "Host CPU, taken away", "%", 1, True,
        "Share of all CPUs' time that the host of this machine gave to others."),
    "memory_peak_mb": Metric(
        "Memory, peak", "MB", 0, True,
        "The most memory that the server's control group held, its page cache included."),
    "memory_rss_mb": Metric(
        "Memory, own", "MB", 0, True,
        "Memory of the server at the window's end, without the page cache."),
    "memory_failures": Metric(
        "Memory limit reached", "", 0, True,
        "How often the memory limit was reached in the window and pages had to be given back."),
    "template_data_mb": Metric(
        "Data after loading", "MB", 0, True,
        "Allocated size of the loaded and rested data, without logs and binary log."),
    "drained_data_mb": Metric(
        "Data at rest", "MB", 0, True,
        "Allocated size of the data after the window and all later work."),
    "load_seconds": Metric("Time of loading", "s", 0, None,
                           "How long the workload's tables took to fill, with ample memory."),
    "restore_seconds": Metric("Time of copying", "s", 1, None,
                              "How long the copy of the loaded data directory took."),
    "data_mb": Metric(
        "Data", "MB", 0, True,
        "Allocated size of the data directory at the window's end, without logs and binary log."),
    "data_peak_mb": Metric(
        "Data, peak", "MB", 0, True, "The largest size of the data directory in the window."),
    "log_mb": Metric(
        "Log", "MB", 0, None, "Size of the engine's own log (redo log or write-ahead log)."),
    "binlog_mb": Metric("Binary log", "MB", 0, None, "Size of the server's binary log."),
    "deferred_seconds": Metric(
        "Time of later work", "s", 1, True,
        "How long the engine went on flushing and compacting after the load had stopped."),
}


def metric(name: str, own: Mapping[str, Metric] | None = None) -> Metric:
    """What is known of a value; a study's own description comes first."""
    return (own or {}).get(name) or METRICS.get(name) or Metric(name.replace("_", " "), digits=2)
