"""Pictures that a study asks for, as descriptions; bench/lab/report draws them.

`where` keeps only the trials whose axes have these values. `metric` names one of a trial's values.
Setups are told apart by colour and marker, always the same ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Chart:
    """What all pictures have. `caption` says what to look at."""

    title: str
    caption: str = ""
    where: Mapping[str, float | str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Curves(Chart):
    """A line per setup of a metric's median over an axis, with its range over blocks."""

    axis: str = ""
    metric: str = "per_second"
    x_label: str = ""
    y_label: str = ""
    is_log_x: bool = False
    is_log_y: bool = False


@dataclasses.dataclass(frozen=True)
class Bars(Chart):
    """A group of bars per cell, a bar per setup, of a metric's median with its range."""

    metric: str = "per_second"
    y_label: str = ""
    is_log_y: bool = False


@dataclasses.dataclass(frozen=True)
class SecondsScatter(Chart):
    """Each second's throughput as a dot over time; a panel per cell."""

    y_label: str = "per second"


@dataclasses.dataclass(frozen=True)
class SecondsBoxes(Chart):
    """Box plots of the 1-second throughput over an axis."""

    axis: str = ""
    x_label: str = ""
    y_label: str = "per second"


@dataclasses.dataclass(frozen=True)
class OverTime(Chart):
    """A sampled quantity over the time of the window; a panel per cell, the first block.

    `sample` names one of a sample's numbers, such as `data_bytes`; `scale` divides it.
    """

    sample: str = "data_bytes"
    y_label: str = "MB"
    scale: float = 1e6


@dataclasses.dataclass(frozen=True)
class RateOverUnits(Chart):
    """Each second's throughput over the units done so far (rows inserted); a panel per cell."""

    x_label: str = "rows"
    y_label: str = "rows per second"
    is_log_x: bool = False
