"""Not a published experiment: what foreign keys cost each engine."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.judging import cell, ratio_claim
from lab.setup import BASALT, D2, D3, GIB, INNODB, Durability, Limits
from lab.study import Claim, Size, Study
from lab.workload import Workload
from workloads.insert_benchmark import InsertBenchmark
from workloads.tpcc import SMOKE_SCALE, Tpcc

_SCALES = {Size.SMOKE: SMOKE_SCALE, Size.QUICK: {"tables": 1, "scale": 2},
           Size.FULL: {"tables": 1, "scale": 2}, Size.LONG: {"tables": 1, "scale": 10}}
_SECONDS = {Size.SMOKE: 1, Size.QUICK: 10, Size.FULL: 30, Size.LONG: 60}
_KEYS = "with keys"


class ForeignKeys(Study):
    """Each load on tables with foreign keys and without."""

    name = "foreign_keys"
    title = "Foreign keys"
    is_published = False
    question = "What do foreign keys cost, in throughput and in the server's time?"
    published = ("Nothing: the published programs declare none, or do not check them. The bounds "
                 "are this project's own.")
    scaling = ("2 warehouses (10 in a long run), 4 threads, with the specification's ten foreign "
               "keys: a new order looks for two parents for each line. The insert benchmark with 4 "
               "clients, whose rows have one parent each, among 1000. All is in memory.")

    def cells(self, size: Size) -> Sequence[Cell]:
        seconds, smoke = _SECONDS[size], size is Size.SMOKE

        def pair(name: str, without: Workload, with_keys: Workload,
                 durability: Durability, warm: float) -> list[Cell]:
            return [Cell(f"{name}, {keys}", workload, (INNODB, BASALT),
                         {"load": name, "keys": keys}, Limits(3 * GIB), durability, threads=4,
                         seconds=seconds, warm_seconds=0 if smoke else warm)
                    for keys, workload in (("without", without), (_KEYS, with_keys))]

        scale = _SCALES[size]
        return [*pair("warehouses", Tpcc(**scale), Tpcc(**scale, has_foreign_keys=True), D2, 3),
                *pair("inserts", InsertBenchmark(tables=4),
                      InsertBenchmark(tables=4, has_registers=True), D3, 0)]

    def blocks(self, size: Size) -> int:
        """What is to be told is a few percent."""
        return {Size.SMOKE: 1, Size.QUICK: 3, Size.FULL: 5, Size.LONG: 5}[size]

    def claims(self) -> Sequence[Claim]:
        return [claim for number, name in enumerate(("warehouses", "inserts"), 1)
                for claim in _claims(f"K{number}", name)]

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions or rows per second", is_log_y=True),
                Bars("Server's processor time", metric="server_cpu_us_per_unit",
                     y_label="microseconds per transaction or row", is_log_y=True))


def _claims(name: str, load: str) -> list[Claim]:
    with_keys, without = cell(f"{load}, {_KEYS}"), cell(f"{load}, without")
    time = "server_cpu_us_per_unit"
    return [
        ratio_claim(f"{name}a", f"{load}, {_KEYS}: throughput, relative to InnoDB",
                    "at least x 1.00", with_keys, setup="basalt", base="innodb", at_least=1.0),
        ratio_claim(f"{name}b", f"{load}: throughput with keys, relative to without",
                    "at least x 0.90", with_keys, setup="basalt", base="basalt",
                    base_cell=without, at_least=0.9),
        ratio_claim(f"{name}c", f"{load}: server's processor time with keys, relative to without",
                    "at most x 1.15", with_keys, metric=time, setup="basalt", base="basalt",
                    base_cell=without, at_most=1.15),
        ratio_claim(f"{name}d", f"{load}: InnoDB's processor time with keys, relative to without",
                    "at least x 1.00", with_keys, metric=time, setup="innodb", base="innodb",
                    base_cell=without, at_least=1.0, ours="basalt")]


STUDY = ForeignKeys()
