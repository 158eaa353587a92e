"""Studies S1 and S0: what the binary log costs."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.judging import cell, ratio_claim
from lab.setup import GIB, SETUPS, Durability, Limits
from lab.study import Claim, Size, Study
from workloads.sysbench_oltp import SMOKE_ROWS, SysbenchOltp

_NONE, _SOMETIMES, _ALWAYS = "no binary log", "sync_binlog = 0", "sync_binlog = 1"
_CLASSES = {_NONE: Durability("log synced at every commit, no binary log", 0, 1, False),
            _SOMETIMES: Durability("log synced at every commit, binary log never", 0, 1),
            _ALWAYS: Durability("both synced at every commit", 1, 1)}
_ROWS = {Size.SMOKE: SMOKE_ROWS, Size.QUICK: 100_000, Size.FULL: 100_000, Size.LONG: 250_000}


class BinlogCost(Study):
    """Writing transactions without a binary log, with one, and with one that is synced."""

    name = "binlog_cost"
    title = "Cost of the binary log"
    question = "What does the binary log take from writing transactions?"
    published = ("M. Callaghan, slides \"MyRocks\", 2017: crash safety with the binary log costs "
                 "MyRocks 5 to 20 %. Percona 2018: without it MyRocks suffers from the "
                 "coordinator of transactions; sync_binlog=0 stalls when the log is rotated.")
    scaling = "sysbench's writing transactions, everything in memory, 8 threads."

    def cells(self, size: Size) -> Sequence[Cell]:
        workload = SysbenchOltp(4, _ROWS[size], "oltp_write_only")
        seconds = {Size.SMOKE: 1, Size.QUICK: 6, Size.FULL: 30, Size.LONG: 30}[size]
        return [Cell(name, workload, SETUPS, {"binlog": name}, Limits(2 * GIB), durability,
                     threads=8, seconds=seconds, warm_seconds=0 if size is Size.SMOKE else 3)
                for name, durability in _CLASSES.items()
                if size is not Size.SMOKE or name == _NONE]

    def claims(self) -> Sequence[Claim]:
        costs = tuple(
            ratio_claim(f"1.7{letter}", f"The binary log costs {title} 5 to 20 %", "x 0.80 to 0.95",
                        cell(_SOMETIMES), setup=setup, base=setup, base_cell=cell(_NONE),
                        at_least=0.7, at_most=1.0)
            for letter, setup, title in (("a", "myrocks", "MyRocks"), ("b", "innodb", "InnoDB")))
        return (*costs,
                ratio_claim("0.13", "Without a binary log MyRocks is held up by the coordinator "
                            "that then decides", "no figure", cell(_NONE), setup="myrocks",
                            base="myrocks", base_cell=cell(_SOMETIMES), at_most=1.0))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions per second"),
                Bars("Server's processor time", metric="server_cpu_us_per_unit",
                     y_label="microseconds per transaction"),
                Bars("Flushes of the device", metric="flushes_per_unit",
                     y_label="per transaction"))


STUDY = BinlogCost()
