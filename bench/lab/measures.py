"""From what was metered to the numbers that are reported; docs/laboratory.md says what each is."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from lab.meter import Reading, Window
from lab.sysbench import ClientResult

# A second below this share of the median is a stall.
_STALLED = 0.1


def of_client(client: ClientResult) -> dict[str, float]:
    """Throughput, its steadiness, and latency of one client."""
    values = {"per_second": client.units / client.seconds if client.seconds else 0.0,
              "errors_per_event": client.errors / max(client.events, 1),
              "queries_per_unit": client.queries / max(client.units, 1)}
    values |= {f"{name}_ms": value for name, value in client.latency.summary().items()
               if name != "count"}
    return values | steadiness(client.rates)


def steadiness(rates: Sequence[float]) -> dict[str, float]:
    """How even a series of 1-second rates is; empty when it is too short to say."""
    if len(rates) < 3 or not any(rates):
        return {}
    median, mean = statistics.median(rates), statistics.fmean(rates)
    values = {"per_second_median": median,
              "cv_percent": 100 * statistics.pstdev(rates) / mean,
              "longest_gap_s": float(_longest_run(rates, _STALLED * median))}
    tenth = max(len(rates) // 10, 1)
    if first := sum(rates[:tenth]):
        values["last_tenth_percent"] = 100 * sum(rates[-tenth:]) / first
    if median:
        ordered = sorted(rates)
        values["p1_of_median_percent"] = 100 * ordered[len(ordered) // 100] / median
        values["seconds_below_half_percent"] = (
            100 * sum(rate < median / 2 for rate in rates) / len(rates))
    return values


def of_window(window: Window, samples: Sequence[Reading], units: float) -> dict[str, float]:
    """Device, processor, memory and disk space of a window in which `units` were done."""
    done = max(units, 1)
    values: dict[str, float] = {"window_s": window.seconds}
    if window.device is not None:
        values |= {"reads_per_unit": window.device.reads / done,
                   "writes_per_unit": window.device.writes / done,
                   "flushes_per_unit": window.device.flushes / done,
                   "read_kb_per_unit": window.device.read_bytes / 1e3 / done,
                   "write_kb_per_unit": window.device.write_bytes / 1e3 / done,
                   "read_mb_per_second": window.device.read_bytes / 1e6 / window.seconds,
                   "write_mb_per_second": window.device.write_bytes / 1e6 / window.seconds}
    if window.server_cpu is not None:
        values["server_cpu_us_per_unit"] = window.server_cpu.total * 1e6 / done
    host = window.host_cpu
    for name in ("user", "system", "iowait", "idle", "steal"):
        values[f"host_{name}_percent"] = 100 * getattr(host, name) / max(host.total, 1e-9)
    if window.memory is not None:
        values |= {"memory_peak_mb": window.memory.peak / 1e6,
                   "memory_rss_mb": window.memory.rss / 1e6,
                   "memory_failures": float(window.memory_failures)}
    return values | _sizes(window, samples)


def as_samples(samples: Sequence[Reading]) -> list[dict[str, float]]:
    """The readings as rows of plain numbers: rates since the row before, levels as they are."""
    rows = []
    for before, now in zip(samples, samples[1:], strict=False):
        seconds = max(now.monotonic - before.monotonic, 1e-3)
        row = {"t": now.monotonic - samples[0].monotonic}
        if before.device and now.device:
            device = now.device.since(before.device)
            row |= {"reads": device.reads / seconds, "writes": device.writes / seconds,
                    "read_bytes": device.read_bytes / seconds,
                    "written_bytes": device.write_bytes / seconds}
        if before.server_cpu and now.server_cpu:
            row["server_cpu"] = (now.server_cpu.total - before.server_cpu.total) / seconds
        if now.memory:
            row["memory_bytes"] = now.memory.usage
        if now.sizes:
            row |= {"data_bytes": now.sizes.data.allocated, "log_bytes": now.sizes.logs.allocated,
                    "binlog_bytes": now.sizes.binlog.allocated}
        rows.append({name: float(f"{value:.5g}") for name, value in row.items()})
    return rows


def data_mb(reading: Reading) -> float:
    """The workload's data on the disk, in megabytes."""
    return reading.sizes.data.allocated / 1e6 if reading.sizes else 0.0


def _sizes(window: Window, samples: Sequence[Reading]) -> dict[str, float]:
    after = window.sizes_after
    if after is None:
        return {}
    peak = max([after.data.allocated,
                *(reading.sizes.data.allocated for reading in samples if reading.sizes)])
    return {"data_mb": after.data.allocated / 1e6, "data_peak_mb": peak / 1e6,
            "log_mb": after.logs.allocated / 1e6, "binlog_mb": after.binlog.allocated / 1e6}


def _longest_run(rates: Sequence[float], limit: float) -> int:
    """The longest run of seconds at or below a limit."""
    longest = run = 0
    for rate in rates:
        run = run + 1 if rate <= limit else 0
        longest = max(longest, run)
    return longest
