"""Puts a run's page together and writes it, with the run's data beside it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from lab.metrics import METRICS, Metric, metric, number
from lab.report import facts
from lab.report.figures import Figures
from lab.report.looks import Look, base, looks
from lab.report.noise import STUDY as NOISE_STUDY
from lab.report.noise import NoiseFloor, noise_floor
from lab.report.section import Section, make_section
from lab.setup import Engine
from lab.store import Run
from lab.study import Study, Verdict

_DIGITS = 5  # of the numbers in the file beside the page
_TEMPLATES = Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class _Page:
    """What the template prints."""

    run: Run
    sections: Sequence[Section]
    noise: NoiseFloor
    looks: Mapping[str, Look]
    titles: Mapping[str, str]
    data_file: str

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Of published claims."""
        published = [section for section in self.sections if section.study.is_published]
        return {verdict: sum(section.verdicts[verdict] for section in published)
                for verdict in Verdict}

    @property
    def main_setups(self) -> list[str]:
        """One setup of each engine, for the heading."""
        found = [base(list(self.looks), engine) for engine in Engine]
        return [setup for setup in found if setup]

    @property
    def identity(self) -> list[tuple[str, str]]:
        return list(facts.flat(self.run.identity))

    @property
    def noise_percent(self) -> str:
        """How far identical trials were apart at most."""
        return number(100 * ((self.noise.limit() or 1) - 1), 1)

    @property
    def typical_percent(self) -> str:
        return number(100 * (self.noise.median - 1), 1)

    @property
    def trials(self) -> int:
        return sum(len(section.figures.results.all) for section in self.sections)

    @property
    def problems(self) -> int:
        return sum(len(section.problems) for section in self.sections)

    @property
    def glossary(self) -> list[tuple[str, Metric]]:
        """The metrics that occur on the page, and what they mean."""
        own = {name: found for section in self.sections
               for name, found in section.figures.own.items()}
        used = {name for section in self.sections for name in section.figures.metrics()}
        return [(name, described) for name in [*METRICS, *own] if name in used
                and (described := metric(name, own)).meaning]


def write_report(run: Run, studies: Sequence[Study], path: Path) -> None:
    """Writes the page of a run to `path`, and all its data to NAME.json beside it.

    Studies of the run that are not among `studies` are left out. A study that could not run is
    shown with the run's note; a claim whose judge fails is shown as not comparable, with the error.
    """
    data_file = f"{run.name}.json"
    _write(path.with_name(data_file), json.dumps(_compact(run.as_json()), separators=(",", ":"),
                                                 allow_nan=False) + "\n")
    _write(path, page(run, studies, data_file))


def page(run: Run, studies: Sequence[Study], data_file: str) -> str:
    """The page's HTML."""
    results = {study.name: run.results(study.name) for study in studies}
    noise = noise_floor(run.results(NOISE_STUDY))
    of_setups = looks([*run.setups, *(trial.setup for found in results.values()
                                      for trial in found.all)])
    titles = {setup: setup for setup in of_setups}
    for study in studies:
        titles |= facts.titles(study, run)
    sections = [make_section(run, study, Figures(results[study.name], study.metrics, noise),
                             of_setups, titles) for study in studies]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    template = environment.get_template("page.html.j2")
    return template.render(page=_Page(run, sections, noise, of_setups, titles, data_file),
                           Verdict=Verdict, facts=facts)


def _write(path: Path, text: str) -> None:
    """A reader sees all of it or what was there before."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text.rstrip("\n") + "\n")
    unfinished.replace(path)


def _compact(value: Any) -> Any:
    """The same data with floats rounded, and null for what is not a number."""
    if isinstance(value, float):
        rounded = float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
        return int(rounded) if rounded is not None and rounded == int(rounded) else rounded
    if isinstance(value, dict):
        return {key: _compact(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_compact(part) for part in value]
    return value
