"""Study S0: throughput, writes and jitter as the memory shrinks below the data."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Chart, Curves, OverTime, SecondsBoxes, SecondsScatter
from lab.judging import cell, flat_claim, highest, lowest, not_here, ratio_claim
from lab.results import Results
from lab.setup import D2, MIB, MYROCKS, SETUPS, Limits
from lab.study import Claim, Size, Study
from workloads.tpcc import SMOKE_SCALE, Tpcc

_MEMORY = "memory_mb"
_LIMITS = {Size.SMOKE: (512,), Size.QUICK: (384, 640, 1536), Size.FULL: (384, 640, 1536),
           Size.LONG: (384, 1024, 2048, 3072, 4608)}
# InnoDB needs about 92 MB for a warehouse.
_SCALES = {Size.SMOKE: SMOKE_SCALE, Size.QUICK: {"tables": 1, "scale": 10},
           Size.FULL: {"tables": 1, "scale": 10}, Size.LONG: {"tables": 4, "scale": 10}}
_DIRECT = "direct I/O"
# The memory limit of the cell with direct I/O, and its block cache: all that caches there.
_DIRECT_MEMORY = {Size.FULL: (384, "96M"), Size.LONG: (1024, "640M")}


class MemorySweep(Study):
    """The TPC-C-like workload under one memory limit after the other."""

    name = "memory_sweep"
    title = "Memory sweep of the TPC-C-like workload"
    question = "How much memory does each engine need for its throughput?"
    published = ("Percona 2018, \"A Look at MyRocks Performance\": 1000 warehouses, 56 threads, "
                 "caches of 5 to 100 GB. InnoDB went from 850 to 5950 transactions per second, "
                 "MyRocks from 4200 to 4600; the curves crossed between 50 and 60 GB.")
    scaling = ("10 warehouses, 0.9 GB in InnoDB, of which even the smallest memory that a server "
               "can live in holds a quarter (40 in a long run), and 4 threads. The limit is of "
               "the whole server's memory with its page cache, not of the cache alone as in the "
               "study, so it is stricter.")

    def cells(self, size: Size) -> Sequence[Cell]:
        # The study ran the program of March 2018, whose stock level transaction was another.
        workload = Tpcc(**_SCALES[size], stock_level="case2")
        seconds = {Size.SMOKE: 1, Size.QUICK: 10, Size.FULL: 30, Size.LONG: 30}[size]
        warm = {Size.SMOKE: 1, Size.QUICK: 4, Size.FULL: 6, Size.LONG: 20}[size]
        cells = [Cell(f"{limit} MB", workload, SETUPS, {_MEMORY: limit}, Limits(limit * MIB), D2,
                      threads=4, seconds=seconds, warm_seconds=warm) for limit in _LIMITS[size]]
        if size in _DIRECT_MEMORY:
            limit, cache = _DIRECT_MEMORY[size]
            direct = MYROCKS.variant("myrocks-direct", "stock MyRocks, direct I/O", options=(
                "--rocksdb-use-direct-reads=ON",
                "--rocksdb-use-direct-io-for-flush-and-compaction=ON",
                f"--rocksdb-block-cache-size={cache}"))
            cells.append(Cell(_DIRECT, workload, (direct,), {"beside_mb": limit},
                              Limits(limit * MIB), D2, threads=4, seconds=seconds,
                              warm_seconds=warm))
        if size is Size.LONG:
            noise = Tpcc(tables=1, scale=10, stock_level="case2", incompressible=True)
            cells.append(Cell("10 warehouses, incompressible", noise, SETUPS, {},
                              Limits(512 * MIB), D2, threads=4, seconds=seconds,
                              warm_seconds=warm))
        return cells

    def claims(self) -> Sequence[Claim]:
        few, much = lowest(_MEMORY), highest(_MEMORY)
        return (
            ratio_claim("0.1", "MyRocks with LZ4 needs less space than InnoDB", "x 0.23", few,
                        metric="template_data_mb", at_most=0.6),
            ratio_claim("0.2a", "With little memory MyRocks does several times the transactions",
                        "x 4.95 at 5.5 % of the data", few, at_least=2),
            ratio_claim("0.2b", "With all data in memory InnoDB is ahead", "x 0.77", much,
                        at_least=0.6, at_most=0.9),
            ratio_claim("0.3a", "MyRocks hardly gains from memory", "x 1.09 from 5 to 100 GB",
                        much, setup="myrocks", base="myrocks", base_cell=few, at_most=1.5),
            ratio_claim("0.3b", "InnoDB gains several times from memory", "x 7.0", much,
                        setup="innodb", base="innodb", base_cell=few, at_least=3),
            ratio_claim("0.6", "With little memory MyRocks writes fewer bytes per second",
                        "x 0.35: 87 to 98 MB/s against 245 to 318", few,
                        metric="write_mb_per_second", at_most=0.7),
            ratio_claim("0.7a", "With little memory MyRocks writes a fraction per transaction",
                        "x 0.07", few, metric="write_kb_per_unit", at_most=0.2),
            flat_claim("0.7b", "What MyRocks writes per transaction does not depend on memory",
                       "20.8 to 21.5 KB", _MEMORY, metric="write_kb_per_unit", within=1.3),
            ratio_claim("0.8a", "With little memory MyRocks reads less per transaction", "x 0.16",
                        few, metric="read_kb_per_unit", at_most=0.6),
            ratio_claim("0.9", "MyRocks needs more processor time per transaction", "x 1.40",
                        much, metric="server_cpu_us_per_unit", at_least=1.1),
            ratio_claim("0.4", "MyRocks' throughput varies more from second to second",
                        "x 2 (coefficient of variation 15 % and 7 %)", much,
                        metric="cv_percent", at_least=1.2),
            ratio_claim("0.11", "Direct I/O is better for MyRocks than buffered", "no figure",
                        cell(_DIRECT), setup="myrocks-direct", base="myrocks",
                        base_cell=_beside_direct, at_least=1.0),
            not_here("0.12", "With settings near the defaults MyRocks stalled within an hour",
                     "no figure", "no window here is an hour long; the study `defaults` compares "
                     "settings"),
            not_here("0.5", "MyRocks stops for a second about every 90 seconds",
                     "31 to 35 of 1600 seconds below half the median",
                     "the drops come with the rotation of a binary log of 1 GB, which these "
                     "windows do not fill"))

    def charts(self) -> Sequence[Chart]:
        x = {"axis": _MEMORY, "x_label": "memory limit, MB"}
        return (
            Curves("Throughput", y_label="transactions per second", **x),
            SecondsBoxes("Throughput of single seconds", **x),
            Curves("Written to the device", metric="write_kb_per_unit",
                   y_label="KB per transaction", is_log_y=True, **x),
            Curves("Read from the device", metric="read_kb_per_unit",
                   y_label="KB per transaction", **x),
            Curves("Server's processor time", metric="server_cpu_us_per_unit",
                   y_label="microseconds per transaction", **x),
            SecondsScatter("Each second's throughput", y_label="transactions per second"),
            OverTime("Size of the tables' files", "InnoDB's files never shrink; an LSM tree's "
                     "grow and shrink as compactions run."))


def _beside_direct(results: Results) -> str | None:
    """The cell with the memory of the one with direct I/O."""
    if _DIRECT not in results.cells():
        return None
    name = f"{results.axes(_DIRECT)['beside_mb']} MB"
    return name if name in results.cells() else None


STUDY = MemorySweep()
