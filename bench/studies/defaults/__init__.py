"""Study S1, slide "problems: my.cnf options": engines as they come, and tuned."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart, SecondsScatter
from lab.judging import cell, ratio_claim
from lab.setup import BASALT, D3, GIB, INNODB, MYROCKS, Limits
from lab.study import Claim, Size, Study
from studies.linkbench import IDS
from workloads.insert_benchmark import InsertBenchmark
from workloads.linkbench import LinkBench

_DEFAULTS = tuple(setup.variant(f"{setup.name}-defaults", f"{setup.title}, defaults",
                                is_tuned=False) for setup in (INNODB, MYROCKS))
_CACHE = _DEFAULTS[1].variant("myrocks-cache", "stock MyRocks, only a larger cache",
                              options=("--rocksdb-block-cache-size=1G",))
_SETUPS = (_DEFAULTS[0], INNODB, _DEFAULTS[1], _CACHE, MYROCKS, BASALT)
# What a quick run leaves out of the reads: how tuned rivals read is in the study linkbench.
_READERS = (_DEFAULTS[0], _DEFAULTS[1], _CACHE, BASALT)
_INSERTS, _GRAPH = "inserts", "LinkBench"


class Defaults(Study):
    """The insert benchmark and LinkBench without and with settings. Basalt has none to be tuned."""

    name = "defaults"
    title = "Defaults against tuned settings"
    question = "What does a user get who sets nothing?"
    published = ("M. Callaghan, slides \"MyRocks\", 2017: with defaults MyRocks inserted 13,979 "
                 "rows per second and answered 11,986 queries; with a larger cache 13,610 and "
                 "44,604; with more background threads 86,501 and 44,581.")
    scaling = ("Inserts in memory and LinkBench under a limit of 3 GB, 4 and 8 clients. MariaDB's "
               "MyRocks has other defaults than Facebook's of 2017.")

    def cells(self, size: Size) -> Sequence[Cell]:
        seconds = {Size.SMOKE: 1, Size.QUICK: 8, Size.FULL: 30, Size.LONG: 60}[size]
        warm = {Size.SMOKE: 0, Size.QUICK: 4, Size.FULL: 10, Size.LONG: 15}[size]
        setups = (_DEFAULTS[1], BASALT) if size is Size.SMOKE else _SETUPS
        cells = [Cell(_INSERTS, InsertBenchmark(tables=4), setups, {}, Limits(3 * GIB), D3,
                      threads=4, seconds=seconds, warm_seconds=0)]
        if size is not Size.SMOKE:
            readers = _READERS if size is Size.QUICK else setups
            cells.append(Cell(_GRAPH, LinkBench(ids=IDS[size]), readers, {}, Limits(3 * GIB), D3,
                              threads=8, seconds=seconds, warm_seconds=warm))
        return cells

    def claims(self) -> Sequence[Claim]:
        return (
            ratio_claim("1.5a", "Tuned MyRocks inserts several times faster", "x 6.2",
                        cell(_INSERTS), setup="myrocks", base="myrocks-defaults", at_least=1.5),
            ratio_claim("1.5b", "A larger cache alone does not help inserts", "x 0.97",
                        cell(_INSERTS), setup="myrocks-cache", base="myrocks-defaults",
                        at_least=0.8, at_most=1.25),
            ratio_claim("1.5c", "A larger cache helps reads", "x 3.7", cell(_GRAPH),
                        setup="myrocks-cache", base="myrocks-defaults", at_least=1.2))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="units per second"),
                SecondsScatter("Each second's throughput", y_label="units per second"))


STUDY = Defaults()
