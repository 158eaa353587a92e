"""The same against itself: what differences mean nothing on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from lab.charts import Bars, Chart
from lab.judging import cell, ratio_claim
from lab.setup import BASALT, D1, INNODB, MIB, Limits
from lab.study import Cell, Claim, Size, Study
from workloads.sysbench_oltp import SysbenchOltp

_CELL = "mixed, 448 MB"
_ROWS = {Size.SMOKE: 1000, Size.QUICK: 500_000, Size.FULL: 500_000}


class Noise(Study):
    """Each engine under two names."""

    name = "noise"
    title = "Noise floor (A/A)"
    question = "How far apart are two measurements of the same thing?"
    published = "Nothing: this is the yardstick for every other figure of a run."
    scaling = "Mixed sysbench transactions in 448 MB; each setup twice in every block."

    def cells(self, size: Size) -> Sequence[Cell]:
        workload = SysbenchOltp(tables=2 if size is Size.SMOKE else 8, rows=_ROWS[size])
        setups = [setup for base in (INNODB, BASALT)
                  for setup in (base, base.variant(f"{base.name}-again", f"{base.title}, again"))]
        return [Cell(_CELL, workload, setups[2:] if size is Size.SMOKE else setups, {},
                     Limits(448 * MIB), D1, threads=8, seconds=1 if size is Size.SMOKE else 15,
                     warm_seconds=0 if size is Size.SMOKE else 5)]

    def blocks(self, size: Size) -> int:
        """Spread needs several blocks, also in a quick run."""
        return {Size.SMOKE: 1, Size.QUICK: 2, Size.FULL: 5}[size]

    def claims(self) -> Sequence[Claim]:
        return tuple(
            ratio_claim(f"A/A {base}", f"{base} is as fast as {base}", "x 1", cell(_CELL),
                        setup=f"{base}-again", base=base, at_least=0.9, at_most=1.1,
                        ours="basalt-again", ours_base="basalt")
            for base in ("innodb", "basalt"))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions per second"),)


STUDY = Noise()
