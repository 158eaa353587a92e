"""Study S3: sysbench with less memory than data, every commit synced."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart, SecondsScatter
from lab.judging import Choose, cell, lowest, ratio_claim
from lab.setup import BASALT, D1, INNODB, MIB, SETUPS, Limits, Setup
from lab.study import Claim, Size, Study
from workloads.sysbench_oltp import SMOKE_ROWS, SysbenchOltp

_SCRIPTS = {"read-only": "oltp_read_only", "mixed": "oltp_read_write",
            "write-only": "oltp_write_only"}
_LIMITS = {Size.SMOKE: (512,), Size.QUICK: (384,), Size.FULL: (384, 768), Size.LONG: (448, 1024)}
_ROWS = {Size.SMOKE: SMOKE_ROWS, Size.QUICK: 500_000, Size.FULL: 500_000, Size.LONG: 1_000_000}
_PARETO = "mixed, pareto"


class ConstrainedSysbench(Study):
    """sysbench's read-only, mixed and write-only transactions by memory limit."""

    name = "constrained_sysbench"
    title = "sysbench in constrained memory"
    question = "What do reads, writes and both cost when the data do not fit in memory?"
    published = ("Percona 2025, \"MyRocks vs InnoDB in memory-constrained environments\": 640 M "
                 "rows, 161 GB in InnoDB and 125 GB in MyRocks; machines of 32, 64 and 128 GB, 8 "
                 "to 64 threads. MyRocks read 0.70 to 0.95 times as fast, mixed 1.2 to 1.4 times, "
                 "wrote 1.2 to 1.8 times.")
    scaling = ("8 tables of 500,000 rows, 1 GB in InnoDB (twice that in a long run), 8 threads; "
               "uniform access; InnoDB's pool holds a quarter and half of the data. The study's "
               "machines held a fifth to four fifths.")

    def cells(self, size: Size) -> Sequence[Cell]:
        tables = 4 if size is Size.SMOKE else 8
        seconds = {Size.SMOKE: 1, Size.QUICK: 8, Size.FULL: 30, Size.LONG: 30}[size]
        warm = {Size.SMOKE: 0, Size.QUICK: 4, Size.FULL: 6, Size.LONG: 12}[size]

        def of(kind: str, limit: int, rand_type: str, label: str,
               setups: Sequence[Setup] = SETUPS) -> Cell:
            workload = SysbenchOltp(tables, _ROWS[size], _SCRIPTS[kind], rand_type)
            return Cell(label, workload, setups,
                        {"kind": kind, "memory_mb": limit, "access": rand_type},
                        Limits(limit * MIB), D1, threads=8, seconds=seconds, warm_seconds=warm)

        if size is Size.SMOKE:
            return [of("mixed", limit, "uniform", "mixed") for limit in _LIMITS[size]]
        # With much memory a full run has only the mix.
        cells = [of(kind, limit, "uniform", f"{kind}, {limit} MB")
                 for limit in _LIMITS[size] for kind in _SCRIPTS
                 if size is not Size.FULL or kind == "mixed" or limit == _LIMITS[size][0]]
        if size is Size.FULL:
            cells.append(of("mixed", _LIMITS[size][0], "pareto", _PARETO, (INNODB, BASALT)))
        if size is Size.LONG:
            cells.append(of("mixed", _LIMITS[size][0], "pareto", _PARETO))
        return cells

    def blocks(self, size: Size) -> int:
        """The study with the most cells is measured once where others are twice."""
        return 3 if size is Size.LONG else 1

    def claims(self) -> Sequence[Claim]:
        def smallest(kind: str) -> Choose:
            return lowest("memory_mb", kind=kind, access="uniform")
        return (
            ratio_claim("3.1", "MyRocks with LZ4 needs less space", "x 0.78",
                        smallest("read-only"), metric="template_data_mb", at_most=0.9),
            ratio_claim("3.2", "MyRocks reads somewhat slower", "x 0.75 to 0.86",
                        smallest("read-only"), at_least=0.65, at_most=1.0),
            ratio_claim("3.3", "MyRocks is ahead where reads and writes mix", "x 1.22 to 1.33",
                        smallest("mixed"), at_least=1.1),
            ratio_claim("3.4", "MyRocks writes faster", "x 1.66 to 1.80",
                        smallest("write-only"), at_least=1.3),
            ratio_claim("3.7", "Skewed access makes the working set several times smaller",
                        "about 5 times; the throughput is ours to measure",
                        cell(_PARETO), setup="innodb", base="innodb",
                        base_cell=smallest("mixed"), at_least=1.3))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions per second"),
                Bars("Written to the device, deferred work included",
                     metric="total_write_kb_per_unit", y_label="KB per transaction",
                     is_log_y=True),
                Bars("Server's processor time", metric="server_cpu_us_per_unit",
                     y_label="microseconds per transaction"),
                SecondsScatter("Each second's throughput", y_label="transactions per second"))


STUDY = ConstrainedSysbench()
