"""Trials that have been measured, and what can be said of them: medians, ratios, spread.

Engines are compared within a block only: its trials ran shortly after one another. The ratio of two
setups is the median of the blocks' ratios, given with the lowest and the highest.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self


@dataclasses.dataclass
class TrialRecord:
    """One measured trial: immutable once stored, and complete.

    `values` are the trial's numbers by metric (docs/laboratory.md lists them), `seconds` the units
    done in each second of the window, `samples` the meters at each second, `latency` percentiles in
    milliseconds by client or operation, `details` what a study noted, `problems` what was wrong.
    A trial with problems is shown, but does not count.
    """

    study: str
    cell: str
    setup: str
    block: int
    axes: dict[str, float | str]
    started: str
    elapsed: float = 0
    unit: str = "transaction"
    values: dict[str, float] = dataclasses.field(default_factory=dict)
    seconds: list[float] = dataclasses.field(default_factory=list)
    samples: list[dict[str, float]] = dataclasses.field(default_factory=list)
    latency: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    details: dict[str, Any] = dataclasses.field(default_factory=dict)
    options: list[str] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    def write(self, path: Path) -> None:
        """Stores the trial; a reader sees all of it or nothing."""
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(dataclasses.asdict(self)))
        unfinished.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(**json.loads(path.read_text()))


@dataclasses.dataclass(frozen=True)
class Ratio:
    """The median over blocks, with a range: of all, or as lab/burst_ratios.py draws it; `blocks` is
    how many there were.
    """

    median: float
    low: float
    high: float
    blocks: int

    def __str__(self) -> str:
        if self.blocks == 1:
            return f"x {_rounded(self.median)}"
        return f"x {_rounded(self.median)} ({_rounded(self.low)} to {_rounded(self.high)})"


class Results:
    """The trials of one study in one run."""

    def __init__(self, trials: Iterable[TrialRecord]) -> None:
        self.all = sorted(trials, key=lambda trial: (trial.block, trial.started))
        self.trials = [trial for trial in self.all if not trial.problems]

    def cells(self, where: Mapping[str, float | str] | None = None) -> list[str]:
        """The names of the cells measured, in the order they were first measured in."""
        return list(dict.fromkeys(trial.cell for trial in self.trials if _matches(trial, where)))

    def axes(self, cell: str) -> dict[str, float | str]:
        """The coordinates of a measured cell."""
        return next(trial.axes for trial in self.trials if trial.cell == cell)

    def setups(self) -> list[str]:
        """The names of the setups measured."""
        return list(dict.fromkeys(trial.setup for trial in self.trials))

    def of(self, cell: str, setup: str) -> list[TrialRecord]:
        """One cell's trials with one setup, by block."""
        return [trial for trial in self.trials if (trial.cell, trial.setup) == (cell, setup)]

    def values(self, metric: str, cell: str, setup: str) -> list[float]:
        """A metric of one cell and setup, by block."""
        return [trial.values[metric] for trial in self.of(cell, setup) if metric in trial.values]

    def median(self, metric: str, cell: str, setup: str) -> float | None:
        """The median over blocks, None when nothing was measured."""
        found = self.values(metric, cell, setup)
        return statistics.median(found) if found else None

    def ratio(self, metric: str, cell: str, setup: str, base: str,
              base_cell: str | None = None) -> Ratio | None:
        """How many times `base`'s value a setup has; None without a block that holds both.

        Nothing is compared with a base of 0.
        """
        def by_block(name: str, which: str) -> dict[int, float]:
            return {trial.block: trial.values[metric] for trial in self.of(which, name)
                    if metric in trial.values}
        above, below = by_block(setup, cell), by_block(base, base_cell or cell)
        return spread([above[block] / below[block] for block in sorted(above.keys() & below)
                       if below[block]])

    def seconds(self, cell: str, setup: str) -> list[float]:
        """The 1-second throughput of all blocks, one after the other."""
        return [rate for trial in self.of(cell, setup) for rate in trial.seconds]


def spread(ratios: Sequence[float]) -> Ratio | None:
    """The median and range of the blocks' ratios."""
    if not ratios:
        return None
    return Ratio(statistics.median(ratios), min(ratios), max(ratios), len(ratios))


def _matches(trial: TrialRecord, where: Mapping[str, float | str] | None) -> bool:
    return all(trial.axes.get(name) == value for name, value in (where or {}).items())


def _rounded(value: float) -> str:
    """Two digits behind the point below 10, then three digits in all."""
    return f"{value:.2f}" if value < 10 else f"{value:.3g}"
