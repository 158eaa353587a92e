"""What a study is: cells to measure, published claims to judge, charts to draw.

A study is a folder of bench/studies whose module defines STUDY, an instance of a subclass of Study.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from lab.cell import Cell
from lab.charts import Chart
from lab.metrics import Metric
from lab.results import Results
from lab.trial import Trial


class Size(enum.Enum):
    """How much time a run takes.

    SMOKE is a test: its numbers mean nothing. QUICK is a look at everything. FULL has windows of
    half a minute or more, repeats them, and measures what every claim needs, on the data of QUICK
    where these are large enough. LONG has larger data, more cells and longer windows.
    """

    SMOKE = "smoke"
    QUICK = "quick"
    FULL = "full"
    LONG = "long"


class Verdict(enum.Enum):
    """What a run says of a published claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_COMPARABLE = "not comparable here"


@dataclasses.dataclass(frozen=True)
class Finding:
    """A verdict and its grounds.

    `measured` is what we saw of the rivals that the claim is about, `ours` the same of Basalt.
    """

    verdict: Verdict
    measured: str
    ours: str = ""
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Claim:
    """One published statement. `judge` derives the verdict from a run's results alone."""

    name: str
    statement: str
    published: str
    judge: Callable[[Results], Finding]


class Study(abc.ABC):
    """A published experiment, repeated here.

    `question` says what a reader learns, `published` what the authors saw and where, `scaling` how
    the experiment was made to fit this machine; a sentence or two each. `metrics` describes the
    values that only this study's trials have. Where `is_published` is false the claims are goals of
    this project's own: reached or missed, instead of reproduced or not.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    question: ClassVar[str]
    published: ClassVar[str]
    scaling: ClassVar[str]
    metrics: ClassVar[Mapping[str, Metric]] = {}
    is_published: ClassVar[bool] = True

    @abc.abstractmethod
    def cells(self, size: Size) -> Sequence[Cell]:
        """What is measured, in the order of the report; every block measures all of it."""

    def blocks(self, size: Size) -> int:
        """How often everything is measured."""
        return {Size.SMOKE: 1, Size.QUICK: 1, Size.FULL: 2, Size.LONG: 3}[size]

    def measure(self, trial: Trial, cell: Cell) -> None:
        """Measures one cell with one setup; the standard is a warm-up, a window, and a drain."""
        trial.measure_load(cell)

    @abc.abstractmethod
    def claims(self) -> Sequence[Claim]:
        """The published statements, in their order."""

    @abc.abstractmethod
    def charts(self) -> Sequence[Chart]:
        """Pictures for the report; its tables are made without being asked for."""
