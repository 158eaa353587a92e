"""Study S2, part 2: InnoDB's doublewrite and durability settings, the others beside it."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.judging import cell, not_here, ratio_claim
from lab.setup import (BASALT, D1, D2, D3, INNODB, MIB, MYROCKS, SETUPS, Durability, Limits,
                       Setup)
from lab.study import Claim, Size, Study
from lab.throttle import IoLimits
from workloads.sysbench_oltp import SMOKE_ROWS, SysbenchOltp

_WITHOUT = INNODB.variant("innodb-no-doublewrite", "InnoDB without doublewrite",
                          options=("--innodb-doublewrite=OFF",))
_CLASSES = {"D1": D1, "D2": D2, "D3": D3}
_ROWS = 500_000
_SLOW = IoLimits(1000, 1000)


class DurabilityStudy(Study):
    """Mixed transactions, data several times the cache, by what is promised at a commit."""

    name = "durability"
    title = "Doublewrite and durability"
    question = "What do safe pages and synced commits cost?"
    published = ("Percona 2018, \"MySQL and Intel Optane\": InnoDB only, 120 GB of data with a "
                 "pool of 32 GB; servers with a parallel doublewrite buffer were 60 % faster, an "
                 "Optane drive 2.5 times as fast as a SATA one.")
    scaling = ("The servers of the article cannot be had; instead InnoDB of one server with and "
               "without doublewrite, in the three durability classes, with the other engines "
               "beside it. 8 tables, data about three times the pool.")

    def cells(self, size: Size) -> Sequence[Cell]:
        workload = (SysbenchOltp(tables=4, rows=SMOKE_ROWS) if size is Size.SMOKE else
                    SysbenchOltp(tables=8, rows=_ROWS))
        seconds = {Size.SMOKE: 1, Size.QUICK: 8, Size.FULL: 30, Size.LONG: 30}[size]

        def of(name: str, durability: Durability, disk: IoLimits,
               setups: Sequence[Setup] = (INNODB, _WITHOUT, MYROCKS, BASALT)) -> Cell:
            return Cell(name, workload, setups,
                        {"class": name}, Limits(384 * MIB, disk), durability, threads=8,
                        seconds=seconds, warm_seconds=0 if size is Size.SMOKE else 4)

        if size is Size.SMOKE:
            return [of("D3", D3, IoLimits())]
        if size is Size.QUICK:
            # The claims are about InnoDB; stock MyRocks with synced commits is in the study
            # constrained_sysbench.
            return [of("D1", D1, IoLimits(), (INNODB, _WITHOUT, BASALT)),
                    of("D3", D3, IoLimits(), SETUPS)]
        return [*(of(name, durability, IoLimits()) for name, durability in _CLASSES.items()),
                of("D1, slow device", D1, _SLOW)]

    def claims(self) -> Sequence[Claim]:
        return (
            not_here("2.9", "A parallel doublewrite buffer makes InnoDB 60 % faster", "x 1.6",
                     "there is no such server here; the next claims are the analogue"),
            ratio_claim("2.9a", "Without doublewrite InnoDB is faster", "x 1.6 at most",
                        cell("D1"), setup="innodb-no-doublewrite", base="innodb", at_least=1.05),
            ratio_claim("1.4", "Without doublewrite InnoDB writes about half", "no figure",
                        cell("D1"), metric="write_kb_per_unit", setup="innodb-no-doublewrite",
                        base="innodb", at_most=0.8),
            ratio_claim("2.9b", "Syncing at every commit costs InnoDB throughput",
                        "no figure", cell("D1"), setup="innodb", base="innodb",
                        base_cell=cell("D3"), at_most=0.95),
            ratio_claim("2.10", "A fast device makes InnoDB more than twice as fast", "x 2.5",
                        cell("D1"), setup="innodb", base="innodb",
                        base_cell=cell("D1, slow device"), at_least=1.5))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions per second"),
                Bars("Written to the device", metric="write_kb_per_unit",
                     y_label="KB per transaction", is_log_y=True))


STUDY = DurabilityStudy()
