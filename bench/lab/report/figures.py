"""Tables of figures: a setup's median beside the others', with ratios to InnoDB and stock MyRocks.

These are plain values that the template prints; nothing here knows HTML.
"""

from __future__ import annotations

import dataclasses
import enum
import statistics
from collections.abc import Iterable, Mapping, Sequence

from lab.metrics import METRICS, NARROW_SPACE, NOTHING, Metric, factor, metric, number
from lab.report.looks import base, ordered
from lab.report.noise import NoiseFloor
from lab.results import Ratio, Results
from lab.setup import Engine

RANGE = f"{NARROW_SPACE}{NOTHING}{NARROW_SPACE}"
_PERCENTILES = ("p50", "p95", "p99", "p999", "max")
DEFERRED = ("write_kb_per_unit", "deferred_write_kb_per_unit", "total_write_kb_per_unit",
            "deferred_seconds")


class Mark(enum.Enum):
    """What a ratio means; the sign is printed before it."""

    BETTER = "▲"
    WORSE = "▼"
    NOISE = "≈"
    NONE = ""


@dataclasses.dataclass(frozen=True)
class Figure:
    """A cell of a table: a number, its range over blocks, and a ratio's mark."""

    text: str
    span: str = ""
    mark: Mark = Mark.NONE
    is_ratio: bool = False


@dataclasses.dataclass(frozen=True)
class Column:
    """A setup's values, or their ratios to the setup `to`."""

    setup: str
    to: str = ""


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of a table; `group` is printed above the first line of each group."""

    label: str
    unit: str
    figures: Sequence[Figure]
    group: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """What a reader sees as one table. `spans` tell how many columns each setup has."""

    columns: Sequence[Column]
    rows: Sequence[Row]

    @property
    def spans(self) -> list[tuple[str, int]]:
        setups = [column.setup for column in self.columns]
        return [(setup, setups.count(setup)) for setup in dict.fromkeys(setups)]


@dataclasses.dataclass(frozen=True)
class Latency:
    """A line of the table of percentiles, in milliseconds."""

    cell: str
    operation: str
    setup: str
    figures: Sequence[str]


@dataclasses.dataclass
class Figures:
    """Makes the tables of one study."""

    results: Results
    own: Mapping[str, Metric]
    noise: NoiseFloor

    def columns(self, setups: Iterable[str]) -> list[Column]:
        """A column per setup, each followed by its ratios to the rivals that come before it."""
        names = ordered(setups)
        rivals = [base(names, engine) for engine in (Engine.INNODB, Engine.MYROCKS)]
        found = []
        for index, name in enumerate(names):
            found.append(Column(name))
            found += [Column(name, rival) for rival in rivals if rival in names[:index]]
        return found

    def by_cell(self, name: str, cells: Sequence[str]) -> Table:
        """One metric: a line per cell."""
        shown = [cell for cell in cells if self._setups_with(name, cell)]
        columns = self.columns(setup for cell in shown for setup in self._setups_with(name, cell))
        return Table(columns, [Row(cell, "", self._line(name, cell, columns)) for cell in shown])

    def of_cell(self, cell: str) -> Table:
        """One cell: a line per metric that was measured."""
        columns = self.columns(self.setups(cell))
        return Table(columns, [self._row(name, cell, columns) for name in self.metrics(cell)])

    def deferred(self, cells: Sequence[str]) -> Table:
        """What was written after the window, by cell."""
        chosen = [(cell, name) for cell in cells for name in self.metrics(cell)
                  if name in DEFERRED]
        cells_with = {cell for cell, name in chosen if name.startswith("deferred")}
        columns = self.columns(setup for cell in cells_with for setup in self.setups(cell))
        return Table(columns, [self._row(name, cell, columns, cell) for cell, name in chosen
                               if cell in cells_with])

    def described(self, name: str) -> Metric:
        """What a metric is called."""
        return metric(name, self.own)

    def setups(self, cell: str) -> list[str]:
        """The setups measured in a cell, in the order of tables."""
        return ordered(trial.setup for trial in self.results.trials if trial.cell == cell)

    def metrics(self, cell: str | None = None) -> list[str]:
        """The metrics measured in a cell, or anywhere: the known ones first, in their order."""
        found = {name for trial in self.results.trials if cell in (None, trial.cell)
                 for name in trial.values}
        first = [*self.own, *METRICS]
        return [name for name in dict.fromkeys([*first, *sorted(found)]) if name in found]

    def compared(self, name: str, ratio: Ratio | None) -> Figure:
        """A ratio with its range and mark."""
        if ratio is None:
            return Figure(NOTHING, is_ratio=True)
        span = ""
        if ratio.blocks > 1:
            span = f"{factor(ratio.low)}{RANGE}{factor(ratio.high)}, {ratio.blocks} blocks"
        return Figure(f"×{NARROW_SPACE}{factor(ratio.median)}", span, self._mark(name, ratio), True)

    def latencies(self, cells: Sequence[str]) -> list[Latency]:
        """Percentiles of each cell, operation and setup: medians over blocks."""
        return [line for cell in cells for operation in self._operations(cell)
                for setup in self.setups(cell)
                for line in self._latency(cell, operation, setup)]

    def _setups_with(self, name: str, cell: str) -> list[str]:
        return [setup for setup in self.setups(cell) if self.results.values(name, cell, setup)]

    def _row(self, name: str, cell: str, columns: Sequence[Column], group: str = "") -> Row:
        described = metric(name, self.own)
        return Row(described.label, described.unit, self._line(name, cell, columns), group)

    def _line(self, name: str, cell: str, columns: Sequence[Column]) -> list[Figure]:
        return [self.compared(name, self.results.ratio(name, cell, column.setup, column.to))
                if column.to else self._value(name, cell, column.setup) for column in columns]

    def _value(self, name: str, cell: str, setup: str) -> Figure:
        values = self.results.values(name, cell, setup)
        described = metric(name, self.own)
        if not values:
            return Figure(NOTHING)
        span = ""
        if len(values) > 1:
            span = RANGE.join(described.shown(value) for value in (min(values), max(values)))
        return Figure(described.shown(statistics.median(values)), span)

    def _mark(self, name: str, ratio: Ratio) -> Mark:
        is_less_better = metric(name, self.own).is_less_better
        if is_less_better is None:
            return Mark.NONE
        if self.noise.covers(name, ratio):
            return Mark.NOISE
        return Mark.BETTER if (ratio.median < 1) == is_less_better else Mark.WORSE

    def _operations(self, cell: str) -> list[str]:
        """The operations that latencies were counted for; "" for the values of the whole trial."""
        found = dict.fromkeys(operation for trial in self.results.trials if trial.cell == cell
                              for operation in trial.latency)
        return list(found) or [""]

    def _latency(self, cell: str, operation: str, setup: str) -> Iterable[Latency]:
        trials = self.results.of(cell, setup)
        if operation:
            sources = [trial.latency.get(operation, {}) for trial in trials]
        else:
            sources = [{key.removesuffix("_ms"): value for key, value in trial.values.items()
                        if key.endswith("_ms")} for trial in trials]
        found = []
        for percentile in _PERCENTILES:
            values = [source[percentile] for source in sources if percentile in source]
            found.append(number(statistics.median(values), 2) if values else NOTHING)
        if any(text != NOTHING for text in found):
            yield Latency(cell, operation or "all", setup, found)


def geometric_mean(ratios: Sequence[Ratio]) -> Ratio | None:
    """The geometric mean of the cells' medians with the lowest and highest; blocks are cells."""
    medians = [ratio.median for ratio in ratios]
    if not medians:
        return None
    return Ratio(statistics.geometric_mean(medians), min(medians), max(medians), len(medians))
