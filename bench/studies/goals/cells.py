"""What is measured for the goals: workloads, limits and windows by the size of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lab.cell import Cell
from lab.setup import D1, D2, D3, GIB, MIB, SETUPS, Durability, Limits
from lab.study import Size
from lab.throttle import IoLimits
from lab.workload import Workload
from studies.goals.measuring import TABLES_OF_DELETES
from workloads.insert_benchmark import InsertBenchmark
from workloads.queue import Queue
from workloads.sysbench_oltp import SMOKE_ROWS, SysbenchOltp
from workloads.tpcc import SMOKE_SCALE, Tpcc

# The loads that are measured in ways of their own.
SCANS, DELETES, AFTER_WRITES, QUEUE = "scans", "deletes", "read-only after writes", "queue"
_ROWS, _CACHED_ROWS = 1_000_000, 100_000
_WAREHOUSES = {"tables": 1, "scale": 10}
_AMPLE = Limits(6 * GIB)
_SLOW = IoLimits(read_iops=3000, write_iops=3000)
# Seconds that statements which are timed take, about.
_TIMED = 30


@dataclasses.dataclass(frozen=True)
class _Times:
    """Seconds of windows: of most cells, of inserts, of those that show steadiness, of the queue.
    """

    window: float
    warm: float
    inserts: float
    steady: float
    queue: float


_TIMES = {Size.SMOKE: _Times(1, 0, 1, 1, 1), Size.QUICK: _Times(15, 8, 30, 30, 30),
          Size.FULL: _Times(30, 12, 60, 300, 300), Size.LONG: _Times(60, 20, 180, 300, 1800)}


class Maker:
    """Makes the cells of a size of run. A cell's load is what its name begins with."""

    def __init__(self, size: Size) -> None:
        self.is_smoke = size is Size.SMOKE
        self.times = _TIMES[size]
        self.tables = TABLES_OF_DELETES if self.is_smoke else 8

    def sysbench(self, name: str, script: str, limits: Limits, *, rand_type: str = "uniform",
                 threads: int = 16) -> Cell:
        """One of sysbench's scripts on tables of a million rows."""
        rows = SMOKE_ROWS // 4 if self.is_smoke else _ROWS
        workload = SysbenchOltp(self.tables, rows, script, rand_type)
        return self._cell(name, workload, limits, D1, threads)

    def cached(self, name: str, script: str, *, threads: int = 8, in_one_table: bool = False
               ) -> Cell:
        """The same on so few rows that all are cached."""
        rows = SMOKE_ROWS // 4 if self.is_smoke else _CACHED_ROWS
        tables = 1 if in_one_table else self.tables
        workload = SysbenchOltp(tables, rows * self.tables // tables, script)
        return self._cell(name, workload, _AMPLE, D1, threads)

    def timed(self, name: str, script: str) -> Cell:
        """Statements on cached tables of a million rows; the script says what is left of them."""
        return dataclasses.replace(self.sysbench(name, script, _AMPLE, threads=1),
                                   seconds=1 if self.is_smoke else _TIMED, warm_seconds=0)

    def after_writes(self, name: str, limits: Limits) -> Cell:
        """Reads that follow directly upon as many seconds of writes."""
        return dataclasses.replace(self.sysbench(name, "oltp_write_only", limits),
                                   axes={"load": AFTER_WRITES}, warm_seconds=self.times.window)

    def tpcc(self, name: str, limits: Limits) -> Cell:
        scale = SMOKE_SCALE if self.is_smoke else _WAREHOUSES
        return self._cell(name, Tpcc(**scale), limits, D2, 8)

    def inserts(self, name: str, memory: int) -> Cell:
        return dataclasses.replace(
            self._cell(name, InsertBenchmark(tables=4), Limits(memory), D3, 4),
            seconds=self.times.inserts, warm_seconds=0, seconds_after=self.times.inserts / 2)

    def queue(self, name: str, *, names: int = 1) -> Cell:
        """As long as a queue's deletions need to pile up."""
        rows = 1000 if self.is_smoke else 10_000
        return dataclasses.replace(self._cell(name, Queue(rows, names), _AMPLE, D1, 8),
                                   seconds=self.times.queue, warm_seconds=0)

    def _cell(self, name: str, workload: Workload, limits: Limits, durability: Durability,
              threads: int) -> Cell:
        return Cell(name, workload, SETUPS, {"load": name.partition(",")[0]}, limits, durability,
                    threads=threads, seconds=self.times.window, warm_seconds=self.times.warm)


_SMOKE = {"point select, cached", "scans, cached", "read-only, 1 GB, after writes",
          "deletes, cached", "queue"}


def cells_of(size: Size) -> Sequence[Cell]:
    """One for each figure that is to be reached, in the order of the report."""
    make = Maker(size)
    slow, small = Limits(512 * MIB, _SLOW), Limits(512 * MIB)
    found = [
        make.cached("point select, cached", "oltp_point_select", threads=1),
        make.cached("point select, cached, 16 clients", "oltp_point_select", threads=16),
        make.cached("read-only, cached", "oltp_read_only", threads=16),
        make.sysbench("read-only, 1 GB", "oltp_read_only", Limits(GIB)),
        make.sysbench("read-only, 512 MB, 3000 IOPS", "oltp_read_only", slow),
        make.sysbench("mixed, 1 GB", "oltp_read_write", Limits(GIB)),
        make.sysbench("write-only, 1 GB", "oltp_write_only", Limits(GIB)),
        make.sysbench("write-only, 512 MB, 3000 IOPS", "oltp_write_only", slow),
        # Twice as long: its size is of interest, too.
        dataclasses.replace(
            make.sysbench("write-only, 512 MB, steady", "oltp_write_only", small),
            seconds=2 * make.times.steady),
        make.tpcc("warehouses, 448 MB", Limits(448 * MIB)),
        make.tpcc("warehouses, 448 MB, 600 IOPS",
                  Limits(448 * MIB, IoLimits(read_iops=600, write_iops=600))),
        make.tpcc("warehouses, 3 GB", Limits(3 * GIB)),
        dataclasses.replace(make.tpcc("warehouses, 448 MB, steady", Limits(448 * MIB)),
                            seconds=make.times.steady),
        make.inserts("inserts, 3 GB", 3 * GIB),
        make.inserts("inserts, 448 MB", 448 * MIB),
        make.timed("scans, cached", "oltp_read_only"),
        make.cached("random ranges, cached", "select_random_ranges", in_one_table=True),
        make.cached("random points, cached", "select_random_points", in_one_table=True),
        make.cached("update non-index, cached", "oltp_update_non_index"),
        make.cached("update index, cached", "oltp_update_index"),
        make.after_writes("read-only, 1 GB, after writes", Limits(GIB)),
        make.after_writes("read-only, 512 MB, 3000 IOPS, after writes", slow),
        make.sysbench("read-only, 512 MB, skewed", "oltp_read_only", small, rand_type="pareto"),
        make.sysbench("mixed, 512 MB, skewed", "oltp_read_write", small, rand_type="pareto"),
        make.timed("deletes, cached", "oltp_delete"),
        make.queue("queue"),
        make.queue("queue, 6 names", names=6)]
    return [each for each in found if not make.is_smoke or each.name in _SMOKE]
