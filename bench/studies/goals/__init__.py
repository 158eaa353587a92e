"""Not a published experiment: what this engine is to reach beside its rivals, cell by cell."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart, SecondsScatter
from lab.judging import cell, in_band, ratio_claim
from lab.metrics import Metric
from lab.results import Ratio, Results
from lab.study import Claim, Finding, Size, Study, Verdict
from lab.trial import Trial
from studies.goals import measuring
from studies.goals.cells import AFTER_WRITES, DELETES, QUEUE, SCANS, cells_of
from studies.insert_benchmark import STUDY as INSERTS
from workloads.insert_benchmark import InsertBenchmark


class Goals(Study):
    """One cell for each figure that this engine is to reach."""

    name = "goals"
    title = "Goals"
    is_published = False
    question = "How far is this engine from where it is to be?"
    published = ("Nothing: the goals are this project's own, against InnoDB and stock MyRocks as "
                 "they are tuned here, while this engine chooses for itself.")
    scaling = ("sysbench with 8 tables of 1 M rows and 16 threads; where all is to be cached, 8 of "
               "100,000 rows, or one of 800,000, and 1 to 16 threads; 10 warehouses and 8 threads; "
               "the insert benchmark with 4 clients; 10,000 rows as a queue, or as six "
               "of a name each, with 4 clients at each end.")
    metrics: Mapping[str, Metric] = {**INSERTS.metrics, **measuring.METRICS}

    def cells(self, size: Size) -> Sequence[Cell]:
        return cells_of(size)

    def measure(self, trial: Trial, cell: Cell) -> None:
        """As the load asks for: inserts as their own study measures them, statements by the clock.
        """
        load = cell.axes["load"]
        if isinstance(cell.workload, InsertBenchmark):
            INSERTS.measure(trial, cell)
        elif load == SCANS:
            measuring.measure_scans(trial)
        elif load == DELETES:
            measuring.measure_deletes(trial)
        elif load == AFTER_WRITES:
            measuring.measure_after_writes(trial, cell)
        elif load == QUEUE:
            measuring.measure_queue(trial, cell)
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
            *_beside("G26", "random ranges, cached", innodb=1.0, myrocks=1.0),
            *_beside("G27", "random points, cached", innodb=1.1, myrocks=1.0),
            *_beside("G28", "update non-index, cached", innodb=1.0, myrocks=1.0),
            *_beside("G29", "update index, cached", innodb=1.3, myrocks=1.0),
            *_beside("G30", "read-only, 1 GB, after writes", innodb=1.1, myrocks=1.0),
            *_beside("G31", "read-only, 512 MB, 3000 IOPS, after writes", innodb=1.5,
                     myrocks=1.0),
            *_beside("G32", "read-only, 512 MB, skewed", innodb=1.5, myrocks=1.0),
            *_beside("G33", "mixed, 512 MB, skewed", innodb=1.5, myrocks=1.0),
            *_beside("G34", "deletes, cached", "delete by scan", innodb=1.0, myrocks=1.0,
                     metric="delete_by_scan_s"),
            *_beside("G35", "deletes, cached", "delete by join", innodb=1.0, myrocks=1.0,
                     metric="delete_by_join_s"),
            *_beside("G36", "queue", innodb=1.0, myrocks=1.0),
            *_beside("G37", "queue", "worst response", innodb=1.0, myrocks=1.0,
                     metric="worst_ms"),
            _bound("G38", "queue", "last tenth of the window, percent of the first",
                   "last_tenth_percent", at_least=90),
            *_beside("G39", "queue, 6 names", innodb=1.0, myrocks=1.0),
            _bound("G40", "queue, 6 names", "last tenth of the window, percent of the first",
                   "last_tenth_percent", at_least=90),
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


STUDY = Goals()
