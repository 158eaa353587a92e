"""How the goals are measured that are not a load in a window."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from lab.cell import Cell
from lab.metrics import Metric
from lab.server import MeasuredServer
from lab.trial import Trial
from workloads.sysbench_oltp import SysbenchOltp

METRICS: Mapping[str, Metric] = {
    "full_scan_s": Metric("Full scan", "s", 2, True,
                          "Seconds in which all rows of all tables are read, when cached."),
    "index_scan_s": Metric("Index scan", "s", 2, True,
                           "The same for all entries of the secondary indexes."),
    "delete_by_scan_s": Metric("Delete by scan", "s", 2, True,
                               "Seconds in which one statement deletes half of a table's rows by a "
                               "condition that no index has, when cached."),
    "delete_by_join_s": Metric("Delete by join", "s", 2, True,
                               "The same by a join with another table, by primary keys."),
    "worst_ms": Metric("Worst response", "ms", 1, True,
                       "The slowest putting or taking of ten rows; when clients wait for each "
                       "other, so that the queue keeps its length, does not count.")}

# By table, and what is read of it.
_SCANS: Mapping[str, str] = {
    "full_scan_s": "SELECT SUM(LENGTH(pad)) FROM {0} FORCE INDEX (PRIMARY)",
    "index_scan_s": "SELECT SUM(k) FROM {0} FORCE INDEX (k_{1})"}

# The deletions are of these, from sbtest1 on. The last one's rate and costs are the trial's.
TABLES_OF_DELETES = 3
_DELETES: Mapping[str, str] = {
    "delete_by_join_s": "DELETE sbtest2 FROM sbtest2 JOIN sbtest3 USING (id) "
                        "WHERE MOD(sbtest3.id, 2) = 0",
    "delete_by_scan_s": "DELETE FROM sbtest1 WHERE MOD(id, 2) = 0"}


def scans(metric: str, tables: int) -> Sequence[str]:
    """The statements of a scan, one for each table."""
    return [_SCANS[metric].format(f"sbtest{number}", number) for number in range(1, tables + 1)]


def measure_scans(trial: Trial) -> None:
    """Reads everything twice and takes the time of the second."""
    workload = _tables_of(trial)
    with trial.serving() as server:
        for metric in _SCANS:
            for is_warm in (False, True):
                with trial.window(server) as measured:
                    seconds = _seconds_of(server, scans(metric, workload.tables))
                if is_warm:
                    trial.record.values[metric] = seconds
        rows = workload.tables * workload.rows
        trial.keep_window(measured, rows)
        trial.record.unit = "row"
        trial.record.values["per_second"] = rows / trial.record.values["full_scan_s"]
        trial.check(server)


def measure_deletes(trial: Trial) -> None:
    """Each on data of its own: what a deletion leaves to be done would slow down the next one."""
    workload = _tables_of(trial)
    rows = workload.rows // 2
    trial.record.unit = "row"
    for metric, statement in _DELETES.items():
        with trial.serving() as server:
            for scan in _SCANS:
                _seconds_of(server, scans(scan, TABLES_OF_DELETES))
            before = server.meter.read()
            with trial.window(server) as measured:
                seconds = _seconds_of(server, [statement])
            trial.record.values |= {metric: seconds, "per_second": rows / seconds}
            trial.keep_window(measured, rows)
            trial.drain_after(server, before, measured, rows)
            trial.check(server)


def measure_after_writes(trial: Trial, cell: Cell) -> None:
    """Users read what they have just written: nothing is drained or compacted in between."""
    reads = _tables_of(trial).load_of("oltp_read_only", cell.threads, cell.seconds, trial.seed)
    trial.measure_load(cell, reads)


def measure_queue(trial: Trial, cell: Cell) -> None:
    """The standard protocol; and what the worst of the operations took."""
    trial.measure_load(cell)
    trial.record.values["worst_ms"] = max(
        trial.record.latency[operation]["max"] for operation in ("put", "take"))


def _tables_of(trial: Trial) -> SysbenchOltp:
    workload = trial.cell.workload
    assert isinstance(workload, SysbenchOltp)
    return workload


def _seconds_of(server: MeasuredServer, statements: Sequence[str]) -> float:
    started = time.monotonic()
    for statement in statements:
        server.query(statement)
    return time.monotonic() - started
