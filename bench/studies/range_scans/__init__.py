"""Study S1, slide "concurrent long range scans"."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.judging import cell, ratio_claim
from lab.setup import D1, GIB, SETUPS, Limits
from lab.study import Claim, Size, Study
from workloads.sysbench_oltp import LONG_RANGES, SMOKE_ROWS, SysbenchOltp

_ROWS = {Size.SMOKE: SMOKE_ROWS, Size.QUICK: 100_000, Size.FULL: 100_000, Size.LONG: 250_000}


class RangeScans(Study):
    """Ranges of 10,000 rows, all in memory."""

    name = "range_scans"
    title = "Concurrent long range scans"
    question = "What does reading many rows in order cost, by several clients at once?"
    published = ("M. Callaghan, slides \"MyRocks\", 2017: 6403 scans per second in InnoDB, 3090 in "
                 "an older MyRocks (0.48), 6093 in the then newest (0.95).")
    scaling = "sysbench's four ranges of 10,000 rows per transaction, everything in memory."

    def cells(self, size: Size) -> Sequence[Cell]:
        workload = SysbenchOltp(4, _ROWS[size], "oltp_read_only", options=LONG_RANGES)
        seconds = {Size.SMOKE: 1, Size.QUICK: 8, Size.FULL: 30, Size.LONG: 30}[size]
        return [Cell(f"{threads} clients", workload, SETUPS, {"threads": threads}, Limits(3 * GIB),
                     D1, threads=threads, seconds=seconds,
                     warm_seconds=0 if size is Size.SMOKE else 4)
                for threads in ((2, 4) if size in (Size.FULL, Size.LONG) else (2,))]

    def claims(self) -> Sequence[Claim]:
        return (ratio_claim("1.6", "MyRocks scans nearly as fast as InnoDB", "x 0.95",
                            cell("2 clients"), at_least=0.7),)

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions per second"),
                Bars("Server's processor time", metric="server_cpu_us_per_unit",
                     y_label="microseconds per transaction"))


STUDY = RangeScans()
