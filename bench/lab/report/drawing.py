"""Draws the pictures that studies describe (lab.charts)."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from matplotlib.axes import Axes

from lab.charts import Bars, Chart, Curves, OverTime, RateOverUnits, SecondsBoxes, SecondsScatter
from lab.metrics import NARROW_SPACE, Metric, factor, metric, number
from lab.report import canvas
from lab.report.canvas import Picture
from lab.report.looks import Look, ordered
from lab.results import Results, TrialRecord

_POINTS_MAX = 400  # of a line over time; more cannot be told apart on a panel
Points = Sequence[tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Panel:
    """A picture of a chart; `label` says which part of the chart it is."""

    label: str
    picture: Picture


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A chart as the page shows it: its pictures, and the setups for its legend."""

    chart: Chart
    panels: Sequence[Panel]
    setups: Sequence[str]


@dataclasses.dataclass
class Artist:
    """Draws one study's charts. `cells` are in the order to show, `titles` the setups' names."""

    results: Results
    cells: Sequence[str]
    looks: Mapping[str, Look]
    titles: Mapping[str, str]
    own: Mapping[str, Metric]

    def draw(self, chart: Chart) -> Drawn:
        """All panels of a chart; none when nothing was measured for it."""
        kinds: dict[type, Callable[..., list[Panel]]] = {
            Curves: self._curves, Bars: self._bars, SecondsScatter: self._scatter,
            SecondsBoxes: self._boxes, OverTime: self._over_time, RateOverUnits: self._rate}
        chosen = set(self.results.cells(chart.where))
        cells = [cell for cell in self.cells if cell in chosen]
        setups = ordered(trial.setup for trial in self.results.trials if trial.cell in cells)
        return Drawn(chart, kinds[type(chart)](chart, cells), setups)

    def _curves(self, chart: Curves, cells: Sequence[str]) -> list[Panel]:
        panels = []
        for name, group in self._groups(cells, chart.axis):
            lines = {setup: line for setup in self._setups(group)
                     if (line := self._curve(chart, group, setup))}
            if not lines:
                continue
            with canvas.panel() as axes:
                positions = _positions(axes, self._places(group, chart.axis), chart.is_log_x)
                for setup, line in lines.items():
                    x = [positions[point[0]] for point in line]
                    middle, low, high = (list(part) for part in zip(*(p[1:] for p in line)))
                    axes.plot(x, middle, **self._line(setup))
                    if any(bottom < top for bottom, top in zip(low, high)):
                        axes.fill_between(x, low, high, color=self.looks[setup].colour, alpha=0.15,
                                          linewidth=0)
                _upright(axes, chart.is_log_y)
                canvas.label(axes, chart.x_label or chart.axis,
                             chart.y_label or metric(chart.metric, self.own).heading)
                spans = {setup: [point[1] for point in line] for setup, line in lines.items()}
                panels.append(Panel(name, canvas.as_svg(axes, self._alt(chart, name, spans))))
        return panels

    def _curve(self, chart: Curves, cells: Sequence[str], setup: str,
               ) -> list[tuple[float | str, float, float, float]]:
        """A setup's median, lowest and highest value at each point of the axis."""
        by_place: dict[float | str, list[float]] = {}
        for cell in cells:
            for trial in self.results.of(cell, setup):
                if chart.metric in trial.values:
                    by_place.setdefault(trial.axes[chart.axis], []).append(
                        trial.values[chart.metric])
        return [(place, statistics.median(values), min(values), max(values))
                for place in self._places(cells, chart.axis)
                if (values := by_place.get(place))]

    def _bars(self, chart: Bars, cells: Sequence[str]) -> list[Panel]:
        """Lying bars: their cells' names can be read, and a phone is high rather than wide."""
        values = {(cell, setup): found for cell in cells for setup in self._setups([cell])
                  if (found := self.results.values(chart.metric, cell, setup))}
        if not values:
            return []
        described = metric(chart.metric, self.own)
        top = max(max(found) for found in values.values())
        place, places = 0.0, []
        for _, group in itertools.groupby(values, key=lambda key: key[0]):
            place += 1.1
            for key in group:
                places.append((key, place))
                place += 1
        with canvas.panel(height=round(60 + 17 * place)) as axes:
            for (cell, setup), y in places:
                found = values[cell, setup]
                middle = statistics.median(found)
                axes.barh(y, middle, 0.82, **self._area(setup))
                if len(found) > 1:
                    axes.plot([min(found), max(found)], [y, y], color="#22262a", linewidth=1)
                axes.text(max(found), y, "  " + described.shown(middle), va="center", fontsize=7.5)
            for cell, y in {cell: y for (cell, _), y in reversed(places)}.items():
                axes.text(0, y - 1.02, cell, va="center", fontsize=8.25,
                          transform=axes.get_yaxis_transform())
            axes.set(yticks=[], ylim=(place - 0.3, 0), xscale="log" if chart.is_log_y else "linear")
            axes.set_xlim(None if chart.is_log_y else 0, top * (3 if chart.is_log_y else 1.16))
            axes.grid(axis="y", visible=False)
            axes.grid(axis="x")
            axes.xaxis.set_tick_params(rotation=0)
            canvas.ticks(axes, y=False)
            canvas.label(axes, chart.y_label or described.heading, "")
            spans = {setup: [statistics.median(found) for (_, name), found in values.items()
                             if name == setup] for setup in self._setups(cells)}
            return [Panel("", canvas.as_svg(axes, self._alt(chart, "", spans)))]

    def _boxes(self, chart: SecondsBoxes, cells: Sequence[str]) -> list[Panel]:
        panels = []
        for name, group in self._groups(cells, chart.axis):
            places = self._places(group, chart.axis)
            setups = self._setups(group)
            seconds = {(cell, setup): rates for cell in group for setup in setups
                       if (rates := self.results.seconds(cell, setup))}
            if not seconds:
                continue
            with canvas.panel() as axes:
                width = 0.8 / len(setups)
                for (cell, setup), rates in seconds.items():
                    x = (places.index(self._axes(cell)[chart.axis])
                         + (setups.index(setup) - (len(setups) - 1) / 2) * width)
                    colour = self.looks[setup].colour
                    axes.boxplot([rates], positions=[x], widths=0.8 * width, whis=(1, 99),
                                 patch_artist=True, manage_ticks=False,
                                 boxprops={**self._area(setup), "linewidth": 1},
                                 medianprops={"color": "#22262a", "linewidth": 1.4},
                                 whiskerprops={"color": colour}, capprops={"color": colour},
                                 flierprops={"marker": ".", "markersize": 2,
                                             "markeredgecolor": colour})
                axes.set_xticks(range(len(places)), [_place_name(place) for place in places])
                _upright(axes, False)
                canvas.label(axes, chart.x_label or chart.axis, chart.y_label)
                spans = {setup: [statistics.median(rates) for (_, found), rates in seconds.items()
                                 if found == setup] for setup in setups}
                panels.append(Panel(name, canvas.as_svg(axes, self._alt(chart, name, spans))))
        return panels

    def _scatter(self, chart: SecondsScatter, cells: Sequence[str]) -> list[Panel]:
        def points(trial: TrialRecord) -> Points:
            return [(second + 1, rate) for second, rate in enumerate(trial.seconds)]
        return self._dots(chart, cells, points, "seconds", chart.y_label)

    def _rate(self, chart: RateOverUnits, cells: Sequence[str]) -> list[Panel]:
        def points(trial: TrialRecord) -> Points:
            return list(zip(itertools.accumulate(trial.seconds), trial.seconds))
        return self._dots(chart, cells, points, chart.x_label, chart.y_label, chart.is_log_x)

    def _dots(self, chart: Chart, cells: Sequence[str], points: Callable[[TrialRecord], Points],
              x_label: str, y_label: str, is_log_x: bool = False) -> list[Panel]:
        """A dot per second of all blocks, a panel per cell."""
        found = self._by_cell(cells, lambda cell, setup: [
            point for trial in self.results.of(cell, setup) for point in points(trial)])
        top = canvas.common_top([_highest(lines) for lines in found.values()])
        panels = []
        for cell, lines in found.items():
            with canvas.panel(height=250) as axes:
                for setup, dots in lines.items():
                    look = self.looks[setup]
                    axes.plot(*zip(*dots), linestyle="", marker=look.marker, markersize=2.4,
                              markeredgewidth=0.4 if look.is_hollow else 0, alpha=0.6,
                              color=look.colour,
                              markerfacecolor="white" if look.is_hollow else look.colour)
                axes.set_xscale("log" if is_log_x else "linear")
                _upright(axes, False, top)
                canvas.ticks(axes)
                canvas.label(axes, x_label, y_label)
                spans = {setup: [dot[1] for dot in dots] for setup, dots in lines.items()}
                panels.append(Panel(cell, canvas.as_png(axes, self._alt(chart, cell, spans))))
        return panels

    def _over_time(self, chart: OverTime, cells: Sequence[str]) -> list[Panel]:
        def line(cell: str, setup: str) -> Points:
            samples = [sample for trial in self.results.of(cell, setup)[:1]
                       for sample in trial.samples if chart.sample in sample]
            step = -(-len(samples) // _POINTS_MAX) or 1
            return [(sample["t"] - samples[0]["t"], sample[chart.sample] / chart.scale)
                    for sample in samples[::step]]
        found = self._by_cell(cells, line)
        top = canvas.common_top([_highest(lines) for lines in found.values()])
        panels = []
        for cell, lines in found.items():
            with canvas.panel(height=250) as axes:
                for setup, dots in lines.items():
                    axes.plot(*zip(*dots), **self._line(setup), markevery=max(1, len(dots) // 6))
                _upright(axes, False, top)
                canvas.ticks(axes)
                canvas.label(axes, "seconds", chart.y_label)
                spans = {setup: [dot[1] for dot in dots] for setup, dots in lines.items()}
                panels.append(Panel(cell, canvas.as_svg(axes, self._alt(chart, cell, spans))))
        return panels

    def _by_cell(self, cells: Iterable[str],
                 points: Callable[[str, str], Points]) -> dict[str, dict[str, Points]]:
        """What there is to draw, by cell and setup, without empty ones."""
        found = {cell: {setup: dots for setup in self._setups([cell])
                        if (dots := points(cell, setup))} for cell in cells}
        return {cell: lines for cell, lines in found.items() if lines}

    def _setups(self, cells: Iterable[str]) -> list[str]:
        wanted = set(cells)
        return ordered(trial.setup for trial in self.results.trials if trial.cell in wanted)

    def _axes(self, cell: str) -> Mapping[str, float | str]:
        return next(trial.axes for trial in self.results.trials if trial.cell == cell)

    def _places(self, cells: Iterable[str], axis: str) -> list[float | str]:
        """The values of an axis: numbers in their order, words in that of the cells."""
        found = list(dict.fromkeys(self._axes(cell)[axis] for cell in cells))
        return found if any(isinstance(place, str) for place in found) else sorted(found)

    def _groups(self, cells: Sequence[str], axis: str) -> list[tuple[str, list[str]]]:
        """Cells that differ in `axis` alone, by what else tells them apart."""
        cells = [cell for cell in cells if axis in self._axes(cell)]
        others = {cell: {key: value for key, value in self._axes(cell).items() if key != axis}
                  for cell in cells}
        varying = [key for key in dict.fromkeys(key for axes in others.values() for key in axes)
                   if len({str(axes.get(key)) for axes in others.values()}) > 1]
        groups: dict[str, list[str]] = {}
        for cell, axes in others.items():
            name = ", ".join(_axis_name(key, axes[key]) for key in varying if key in axes)
            groups.setdefault(name, []).append(cell)
        return list(groups.items())

    def _line(self, setup: str) -> dict[str, object]:
        look = self.looks[setup]
        return {"color": look.colour, "linestyle": look.line, "marker": look.marker,
                "markerfacecolor": "white" if look.is_hollow else look.colour}

    def _area(self, setup: str) -> dict[str, object]:
        look = self.looks[setup]
        return {"facecolor": "white" if look.is_hollow else look.colour, "edgecolor": look.colour}

    def _alt(self, chart: Chart, part: str, spans: Mapping[str, Sequence[float]]) -> str:
        """A picture in words: from where to where each setup's values go."""
        said = [f"{self.titles.get(setup, setup)} {_short(min(values))} to {_short(max(values))}"
                for setup, values in spans.items() if values]
        return f"{': '.join(filter(None, (chart.title, part)))}. {'; '.join(said)}."


def _positions(axes: Axes, places: Sequence[float | str],
               is_log: bool) -> dict[float | str, float]:
    """Where each value of an axis is drawn: numbers where they are, words one after the other."""
    if any(isinstance(place, str) for place in places):
        found = {place: float(index) for index, place in enumerate(places)}
    else:
        found = {place: float(place) for place in places}
        axes.set_xscale("log" if is_log else "linear")
    if len(found) <= 8:
        axes.set_xticks(list(found.values()), [_place_name(place) for place in found])
        axes.xaxis.set_minor_locator(canvas.no_ticks())
    else:
        canvas.ticks(axes, y=False)
    return found


def _upright(axes: Axes, is_log: bool, top: float | None = None) -> None:
    """The upright axis begins at 0, unless it is logarithmic."""
    axes.set_yscale("log" if is_log else "linear")
    if not is_log:
        axes.set_ylim(0, top)
    canvas.ticks(axes, x=False)


def _place_name(place: float | str) -> str:
    return place if isinstance(place, str) else f"{place:,g}".replace(",", NARROW_SPACE)


def _axis_name(axis: str, value: float | str) -> str:
    return value if isinstance(value, str) else f"{axis.replace('_', ' ')} {_place_name(value)}"


def _highest(lines: Mapping[str, Points]) -> float:
    return max(dot[1] for dots in lines.values() for dot in dots)


def _short(value: float) -> str:
    return number(value, 0) if abs(value) >= 100 else factor(value)
