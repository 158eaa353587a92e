"""The same against itself: what differences mean nothing on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.judging import cell, ratio_claim
from lab.setup import BASALT, D1, INNODB, MIB, Limits
from lab.study import Claim, Size, Study
from workloads.sysbench_oltp import SMOKE_ROWS, SysbenchOltp

_CELL = "mixed, 448 MB"
_ROWS = 500_000
_SECONDS = {Size.SMOKE: 1, Size.QUICK: 8, Size.FULL: 30, Size.LONG: 30}


class Noise(Study):
    """Each engine under two names."""

    name = "noise"
    title = "Noise floor (A/A)"
    question = "How far apart are two measurements of the same thing?"
    published = "Nothing: this is the yardstick for every other figure of a run."
    scaling = "Mixed sysbench transactions in 448 MB; each setup twice in every block."

    def cells(self, size: Size) -> Sequence[Cell]:
        workload = (SysbenchOltp(tables=4, rows=SMOKE_ROWS) if size is Size.SMOKE else
                    SysbenchOltp(tables=8, rows=_ROWS))
        setups = [setup for base in (INNODB, BASALT)
                  for setup in (base, base.variant(f"{base.name}-again", f"{base.title}, again"))]
        return [Cell(_CELL, workload, setups[2:] if size is Size.SMOKE else setups, {},
                     Limits(448 * MIB), D1, threads=8, seconds=_SECONDS[size],
                     warm_seconds=0 if size is Size.SMOKE else 3)]

    def blocks(self, size: Size) -> int:
        """Spread needs several blocks, also in a quick run."""
        return {Size.SMOKE: 1, Size.QUICK: 2, Size.FULL: 3, Size.LONG: 5}[size]

    def claims(self) -> Sequence[Claim]:
        return tuple(
            ratio_claim(f"A/A {base}", f"{base} is as fast as {base}", "x 1", cell(_CELL),
                        setup=f"{base}-again", base=base, at_least=0.9, at_most=1.1,
                        ours="basalt-again", ours_base="basalt")
            for base in ("innodb", "basalt"))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions per second"),)


STUDY = Noise()
