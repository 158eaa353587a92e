"""Facts around the figures: conditions of cells, settings of servers, identity of the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.report.looks import ordered
from lab.cell import Cell
from lab.results import TrialRecord
from lab.setup import Limits
from lab.store import Run
from lab.study import Size, Study

_MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Conditions:
    """How a cell was measured, in words."""

    load: str
    window: str
    limits: str
    durability: str


@dataclasses.dataclass(frozen=True)
class Settings:
    """A setup's server options: those of all its cells, and those that only some have."""

    setup: str
    common: Sequence[str]
    by_cell: Mapping[str, Sequence[str]]


def conditions(study: Study, run: Run) -> dict[str, Conditions]:
    """Every cell's conditions by its name, in the study's order."""
    return {cell.name: Conditions(
        f"{cell.workload.name}, {cell.threads} threads", _window(cell), _limits(cell.limits),
        cell.durability.name) for cell in study.cells(Size(run.size))}


def titles(study: Study, run: Run) -> dict[str, str]:
    """The names for people of the study's setups."""
    return {setup.name: setup.title for cell in study.cells(Size(run.size))
            for setup in cell.setups}


def settings(trials: Sequence[TrialRecord]) -> list[Settings]:
    """The options of each setup's server, in the order they were given."""
    return [_settings(setup, [trial for trial in trials if trial.setup == setup])
            for setup in ordered(trial.setup for trial in trials)]


def _settings(setup: str, trials: Sequence[TrialRecord]) -> Settings:
    everywhere = set(trials[0].options).intersection(*(trial.options for trial in trials))
    by_cell = {trial.cell: [option for option in trial.options if option not in everywhere]
               for trial in trials}
    return Settings(setup, [option for option in trials[0].options if option in everywhere],
                    {cell: options for cell, options in by_cell.items() if options})


def flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as lines: ("host.cpu", "...")."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from flat(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        yield name, ", ".join(str(part) for part in value)
    else:
        yield name, f"{value:.4g}" if isinstance(value, float) else str(value)


def host(identity: Mapping[str, Any]) -> str:
    """The machine in a line."""
    facts = identity.get("host", "")
    if not isinstance(facts, Mapping):
        return str(facts)
    kind = "virtual machine" if facts.get("is_virtual") else "machine"
    parts = [f"a {kind} with {facts.get('cores', '?')} cores of {facts.get('cpu', 'unknown')}"]
    if "memory_bytes" in facts:
        parts.append(f"{facts['memory_bytes'] / 1e9:.0f} GB of memory")
    if "kernel" in facts:
        parts.append(f"Linux {facts['kernel']}")
    return ", ".join([*parts, *filter(None, [facts.get("system")])])


def date(started: str) -> str:
    """A moment in ISO form, to the minute."""
    return started.replace("T", " ")[:16]


def noted(details: Mapping[str, Any], width: int = 300) -> list[tuple[str, str]]:
    """What a study noted of a trial; long texts are cut, the data file has them whole."""
    return [(name, value if len(value) <= width else value[:width] + " …")
            for name, value in flat(details) if value]


def _window(cell: Cell) -> str:
    begin = f"after {cell.warm_seconds:g} s" if cell.warm_seconds else "with cold caches"
    return f"{cell.seconds:g} s {begin}"


def _limits(limits: Limits) -> str:
    """What the server was given."""
    parts = []
    if limits.memory:
        parts.append(f"{limits.memory / _MIB:,.0f} MiB of memory")
    for count, what in ((limits.disk.read_iops, "reads/s"), (limits.disk.write_iops, "writes/s")):
        if count:
            parts.append(f"{count:,} {what}")
    for size, what in ((limits.disk.read_bytes, "reading"), (limits.disk.write_bytes, "writing")):
        if size:
            parts.append(f"{size / _MIB:,.0f} MiB/s {what}")
    return ", ".join(parts) or "none"
