"""A study's part of the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from lab.report import facts
from lab.report.drawing import Artist, Drawn
from lab.report.figures import Figure, Figures, Latency, Table, geometric_mean
from lab.report.looks import Look, base
from lab.results import Results, TrialRecord
from lab.setup import Engine
from lab.store import Run
from lab.study import Claim, Finding, Study, Verdict

_THROUGHPUT = "per_second"
# Shown by cell for the whole study; the rest is under each cell.
_OVERVIEWS = ("p99_ms", "total_write_kb_per_unit", "server_cpu_us_per_unit")


@dataclasses.dataclass(frozen=True)
class Overview:
    """One metric over all cells of a study."""

    name: str
    table: Table


@dataclasses.dataclass(frozen=True)
class Section:
    """What the template prints of a study."""

    study: Study
    figures: Figures
    note: str
    cells: Sequence[str]
    conditions: Mapping[str, facts.Conditions]
    judged: Sequence[tuple[Claim, Finding]]
    charts: Sequence[Drawn]
    problems: Sequence[TrialRecord]
    settings: Sequence[facts.Settings]

    @property
    def verdicts(self) -> dict[Verdict, int]:
        return {verdict: sum(finding.verdict is verdict for _, finding in self.judged)
                for verdict in Verdict}

    @property
    def headline(self) -> str:
        """The metric of the summary: throughput, or the first of the study's own values."""
        names = self.figures.metrics()
        return next((name for name in [_THROUGHPUT, *self.figures.own] if name in names), "")

    @property
    def overviews(self) -> list[Overview]:
        names = dict.fromkeys([self.headline, *self.figures.own, *_OVERVIEWS])
        measured = self.figures.metrics()
        return [Overview(name, self.figures.by_cell(name, self.cells)) for name in names
                if name in measured]

    @property
    def deferred(self) -> Table:
        return self.figures.deferred(self.cells)

    @property
    def latencies(self) -> list[Latency]:
        return self.figures.latencies(self.cells)

    def noted(self, cell: str) -> list[tuple[str, str]]:
        """What the study noted of a cell's first trial of each setup."""
        return [(f"{setup}.{name}", value) for setup in self.figures.setups(cell)
                for name, value in facts.noted(self.figures.results.of(cell, setup)[0].details)]

    def against(self, engine: str) -> Figure:
        """Basalt's headline metric relative to a rival's: the geometric mean over cells."""
        ratios = []
        for cell in self.cells:
            setups = self.figures.setups(cell)
            ours, rival = base(setups, Engine.BASALT), base(setups, Engine(engine))
            ratio = ours and rival and self.figures.results.ratio(self.headline, cell, ours, rival)
            if ratio:
                ratios.append(ratio)
        figure = self.figures.compared(self.headline, geometric_mean(ratios))
        return dataclasses.replace(figure, span=figure.span.replace("blocks", "cells"))


def make_section(run: Run, study: Study, figures: Figures, looks: Mapping[str, Look],
                 titles: Mapping[str, str]) -> Section:
    """A study's part, with its claims judged and its charts drawn."""
    results = figures.results
    conditions = facts.conditions(study, run)
    measured = results.cells()
    cells = [name for name in [*conditions, *measured] if name in measured]
    note = run.notes.get(study.name, "")
    artist = Artist(results, list(dict.fromkeys(cells)), looks, titles, study.metrics)
    return Section(
        study, figures, note, artist.cells, conditions,
        [(claim, _judged(claim, results, note)) for claim in study.claims()],
        [artist.draw(chart) for chart in study.charts()] if results.trials else [],
        [trial for trial in results.all if trial.problems], facts.settings(results.all))


def _judged(claim: Claim, results: Results, note: str) -> Finding:
    """A claim's verdict, also where nothing was measured or the judge does not cope with it."""
    if not results.trials:
        return Finding(Verdict.NOT_COMPARABLE, "nothing was measured",
                       reason=note or "no trial ended without problems")
    try:
        return claim.judge(results)
    except Exception as error:  # pylint: disable=broad-except
        # A page that shows everything else is worth more than a traceback.
        return Finding(Verdict.NOT_COMPARABLE, "not judged",
                       reason=f"judging failed: {type(error).__name__}: {error}")
