"""Not a published experiment: what this engine is to reach beside its rivals, cell by cell."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart, SecondsScatter
from lab.judging import cell, in_band, ratio_claim
from lab.metrics import Metric
from lab.results import Ratio, Results
from lab.setup import D1, D2, D3, GIB, MIB, SETUPS, Durability, Limits
from lab.study import Claim, Finding, Size, Study, Verdict
from lab.throttle import IoLimits
from lab.trial import Trial
from lab.workload import Workload
from studies.insert_benchmark import STUDY as INSERTS
from workloads.insert_benchmark import InsertBenchmark
from workloads.sysbench_oltp import SMOKE_ROWS, SysbenchOltp
from workloads.tpcc import SMOKE_SCALE, Tpcc

_TABLES = 8
_ROWS = {Size.SMOKE: SMOKE_ROWS // 4, Size.QUICK: 1_000_000, Size.FULL: 1_000_000,
         Size.LONG: 1_000_000}
_CACHED_ROWS = {Size.SMOKE: SMOKE_ROWS // 4, Size.QUICK: 100_000, Size.FULL: 100_000,
                Size.LONG: 100_000}
_WAREHOUSES = {"tables": 1, "scale": 10}
_AMPLE = Limits(6 * GIB)
_SLOW = IoLimits(read_iops=3000, write_iops=3000)
_SCAN = "scans"


@dataclasses.dataclass(frozen=True)
class _Times:
    """Seconds of windows: of most cells, of inserts, of those that show steadiness."""

    window: float
    warm: float
    inserts: float
    steady: float


_TIMES = {Size.SMOKE: _Times(1, 0, 1, 1), Size.QUICK: _Times(15, 8, 30, 30),
          Size.FULL: _Times(30, 12, 60, 300), Size.LONG: _Times(60, 20, 180, 300)}


class Goals(Study):
    """One cell for each figure that this engine is to reach."""

    name = "goals"
    title = "Goals"
    is_published = False
    question = "How far is this engine from where it is to be?"
    published = ("Nothing: the goals are this project's own, against InnoDB and stock MyRocks as "
                 "they are tuned here, while this engine chooses for itself.")
    scaling = ("sysbench with 8 tables of 1 M rows and 16 threads, of 100,000 rows where all is to "
               "be cached; 10 warehouses and 8 threads; the insert benchmark with 4 clients.")
    metrics: Mapping[str, Metric] = {
        **INSERTS.metrics,
        "full_scan_s": Metric("Full scan", "s", 2, True,
                              "Seconds in which all rows of all tables are read, when cached."),
        "index_scan_s": Metric("Index scan", "s", 2, True,
                               "The same for all entries of the secondary indexes.")}

    def cells(self, size: Size) -> Sequence[Cell]:
        times = _TIMES[size]
        smoke = size is Size.SMOKE

        def of(name: str, workload: Workload, limits: Limits, durability: Durability, threads: int,
               seconds: float, warm: float) -> Cell:
            return Cell(name, workload, SETUPS, {"load": name.partition(",")[0]}, limits,
                        durability, threads=threads, seconds=seconds, warm_seconds=warm)

        def sysbench(name: str, script: str, limits: Limits, *, rows: int = _ROWS[size],
                     threads: int = 16, seconds: float = times.window) -> Cell:
            return of(name, SysbenchOltp(2 if smoke else _TABLES, rows, script), limits, D1,
                      threads, seconds, times.warm)

        def tpcc(name: str, limits: Limits, seconds: float = times.window) -> Cell:
            scale = SMOKE_SCALE if smoke else _WAREHOUSES
            return of(name, Tpcc(**scale), limits, D2, 8, seconds, times.warm)

        def inserts(name: str, memory: int) -> Cell:
            return dataclasses.replace(
                of(name, InsertBenchmark(tables=4), Limits(memory), D3, 4, times.inserts, 0),
                seconds_after=times.inserts / 2)

        cached = _CACHED_ROWS[size]
        cells = [
            sysbench("point select, cached", "oltp_point_select", _AMPLE, rows=cached, threads=1),
            sysbench("point select, cached, 16 clients", "oltp_point_select", _AMPLE, rows=cached),
            sysbench("read-only, cached", "oltp_read_only", _AMPLE, rows=cached),
            sysbench("read-only, 1 GB", "oltp_read_only", Limits(GIB)),
            sysbench("read-only, 512 MB, 3000 IOPS", "oltp_read_only", Limits(512 * MIB, _SLOW)),
            sysbench("mixed, 1 GB", "oltp_read_write", Limits(GIB)),
            sysbench("write-only, 1 GB", "oltp_write_only", Limits(GIB)),
            sysbench("write-only, 512 MB, 3000 IOPS", "oltp_write_only", Limits(512 * MIB, _SLOW)),
            # Twice as long: its size is of interest, too.
            sysbench("write-only, 512 MB, steady", "oltp_write_only", Limits(512 * MIB),
                     seconds=2 * times.steady),
            tpcc("warehouses, 448 MB", Limits(448 * MIB)),
            tpcc("warehouses, 448 MB, 600 IOPS",
                 Limits(448 * MIB, IoLimits(read_iops=600, write_iops=600))),
            tpcc("warehouses, 3 GB", Limits(3 * GIB)),
            tpcc("warehouses, 448 MB, steady", Limits(448 * MIB), times.steady),
            inserts("inserts, 3 GB", 3 * GIB),
            inserts("inserts, 448 MB", 448 * MIB),
            dataclasses.replace(sysbench("scans, cached", "oltp_read_only", _AMPLE, threads=1),
                                axes={"load": _SCAN}, seconds=30, warm_seconds=0)]
        return [each for each in cells if not smoke or each.name in _SMOKE]

    def measure(self, trial: Trial, cell: Cell) -> None:
        """As the load asks for: inserts as their own study measures them, scans by the clock."""
        if isinstance(cell.workload, InsertBenchmark):
            INSERTS.measure(trial, cell)
        elif cell.axes["load"] == _SCAN:
            _measure_scans(trial)
        else:
            trial.measure_load(cell)

    def claims(self) -> Sequence[Claim]:
        return (
            *_beside("G1", "point select, cached", "server's processor time", innodb=1.1,
                     myrocks=0.55, metric="server_cpu_us_per_unit"),
            *_beside("G25", "point select, cached, 16 clients", "server's processor time",
                     innodb=1.1, myrocks=0.55, metric="server_cpu_us_per_unit"),
            *_beside("G2", "read-only, cached", innodb=0.95, myrocks=1.25),
            *_beside("G3", "read-only, 1 GB", innodb=1.0, myrocks=2.5),
            *_beside("G4", "read-only, 512 MB, 3000 IOPS", innodb=1.3, myrocks=1.7),
            *_beside("G5", "mixed, 1 GB", innodb=1.3, myrocks=1.4),
            *_beside("G6", "write-only, 1 GB", innodb=1.5, myrocks=1.7),
            *_beside("G7", "write-only, 512 MB, 3000 IOPS", innodb=4, myrocks=1.8),
            *_beside("G8", "warehouses, 448 MB", innodb=1.0, myrocks=4),
            *_beside("G9", "warehouses, 448 MB, 600 IOPS", innodb=6, myrocks=3),
            *_beside("G10", "warehouses, 3 GB", innodb=0.9, myrocks=1.4),
            *_beside("G11", "read-only, 1 GB", "time of loading", innodb=1.0, myrocks=1 / 1.9,
                     metric="load_seconds"),
            *_beside("G12", "inserts, 3 GB", innodb=1.0, myrocks=1.35),
            *_beside("G13", "inserts, 448 MB", innodb=1.5, myrocks=2.5),
            *_beside("G14", "inserts, 448 MB", "throughput of the last ten seconds", innodb=2.5,
                     myrocks=None, metric="last_per_second"),
            _bound("G15", "inserts, 448 MB", "longest gap, seconds", "longest_gap_s", at_most=0),
            *_beside("G16", "read-only, 1 GB", "size after loading", innodb=0.55, myrocks=0.8,
                     metric="template_data_mb"),
            *_beside("G17", "write-only, 512 MB, steady", "size after minutes of writing",
                     innodb=0.55, myrocks=0.8, metric="drained_data_mb"),
            *_beside("G18", "write-only, 1 GB", "KB written per transaction, with deferred work",
                     innodb=0.1, myrocks=0.8, metric="total_write_kb_per_unit"),
            *_beside("G19", "scans, cached", "full scan", innodb=1.0, myrocks=None,
                     metric="full_scan_s"),
            *_beside("G20", "scans, cached", "index scan", innodb=1.0, myrocks=None,
                     metric="index_scan_s"),
            *(claim for number, name in ((21, "write-only, 512 MB, steady"),
                                         (23, "warehouses, 448 MB, steady"))
              for claim in (
                  *_beside(f"G{number}", name, "variation of seconds", innodb=1.0, myrocks=None,
                           metric="cv_percent"),
                  _bound(f"G{number + 1}", name, "worst second, percent of the median",
                         "p1_of_median_percent", at_least=100 / 3))))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions or rows per second", is_log_y=True),
                Bars("Server's processor time", metric="server_cpu_us_per_unit",
                     y_label="microseconds per transaction or row", is_log_y=True),
                SecondsScatter("Each second's throughput", y_label="per second"))


_SMOKE = {"point select, cached", "scans, cached"}


def _beside(name: str, where: str, what: str = "throughput", *, innodb: float,
            myrocks: float | None, metric: str = "per_second") -> list[Claim]:
    """Goals beside each rival: at least so many times its value; at most, where less is better."""
    is_more_better = metric in ("per_second", "last_per_second")
    claims = []
    for rival, letter, factor in (("innodb", "a", innodb), ("myrocks", "b", myrocks)):
        if factor is None:
            continue
        bound = {"at_least" if is_more_better else "at_most": round(factor, 2)}
        title = "InnoDB" if rival == "innodb" else "stock MyRocks"
        claims.append(ratio_claim(
            f"{name}{letter}", f"{where}: {what}, relative to {title}",
            f"{'at least' if is_more_better else 'at most'} x {factor:.2f}", cell(where),
            metric=metric, setup="basalt", base=rival, **bound))
    return claims


def _bound(name: str, where: str, what: str, metric: str, *, at_least: float | None = None,
           at_most: float | None = None) -> Claim:
    """A goal for this engine's own figure."""
    def judge(results: Results) -> Finding:
        value = results.median(metric, where, "basalt")
        if value is None:
            return Finding(Verdict.NOT_COMPARABLE, "", reason="the cell was not measured")
        found = in_band(Ratio(value, value, value, 1), at_least, at_most, f"in the cell {where}")
        return dataclasses.replace(found, measured=f"{value:.0f}", ours=f"{value:.0f}")
    words = f"at least {at_least:.0f}" if at_least is not None else f"at most {at_most:.0f}"
    return Claim(name, f"{where}: {what}", words, judge)


def _measure_scans(trial: Trial) -> None:
    """Reads everything twice and takes the time of the second."""
    workload = trial.cell.workload
    assert isinstance(workload, SysbenchOltp)
    queries = {"full_scan_s": "SELECT SUM(LENGTH(pad)) FROM {0} FORCE INDEX (PRIMARY)",
               "index_scan_s": "SELECT SUM(k) FROM {0} FORCE INDEX (k_{1})"}
    with trial.serving() as server:
        numbers = range(1, workload.tables + 1)
        for metric, sql in queries.items():
            for is_warm in (False, True):
                with trial.window(server) as measured:
                    started = time.monotonic()
                    for number in numbers:
                        server.query(sql.format(f"sbtest{number}", number))
                    seconds = time.monotonic() - started
                if is_warm:
                    trial.record.values[metric] = seconds
        rows = workload.tables * workload.rows
        trial.keep_window(measured, rows)
        trial.record.unit = "row"
        trial.record.values["per_second"] = rows / trial.record.values["full_scan_s"]
        trial.check(server)


STUDY = Goals()
