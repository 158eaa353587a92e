"""What ./basalt bench bursts does, once the machine has what it needs."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from basaltcli import ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease

from lab import burst_ratios, bursts, estimate
from lab.bench import Bench, open_bench
from lab.bursts import Burst, Contest
from lab.command import DISK_SIZE, guess, identity, require_expression
from lab.fidelity import MEASURING, TESTING
from lab.progress import Progress
from lab.setup import Engine, Setup
from lab.store import unused_directory
from lab.study import Size
from lab.template import Templates

# What a burst takes beside its seconds: the client's start and end, looks at who rests.
_AROUND = 0.6


@dataclasses.dataclass(frozen=True)
class Request:
    """What is to be measured: so many `rounds` of bursts of `seconds` for each contest.

    `engines` are values of Engine; the ratios are to InnoDB's. `cells` is an expression: only
    contests count in whose cells' names it finds something.
    """

    contests: Sequence[Contest]
    engines: Sequence[str]
    rounds: int
    seconds: float
    cells: str = ""
    size: Size = Size.FULL

    def chosen(self) -> list[Contest]:
        """The contests that are meant. Fails where there is nothing to compare."""
        require_expression(self.cells)
        if Engine.INNODB.value not in self.engines or len(set(self.engines)) < 2:
            raise BasaltError("bursts compare engines with InnoDB",
                              "--engines takes innodb and at least one other")
        found = [each for each in self.contests if re.search(self.cells, each.cell.name)]
        if not found:
            names = ", ".join(contest.cell.name for contest in self.contests)
            raise BasaltError(f"no cell is called like {self.cells}", f"the cells are: {names}")
        return found

    def setups(self, contest: Contest) -> list[Setup]:
        """Of the engines asked for, InnoDB first."""
        return [setup for setup in contest.cell.setups if setup.engine.value in self.engines]

    def seconds_of(self, contest: Contest) -> float:
        """How long all rounds may take, with the servers' start and the checks of the data."""
        alone = estimate.of_trial(dataclasses.replace(contest.cell, seconds=0))
        return len(self.setups(contest)) * (alone + self.rounds * (self.seconds + _AROUND))

    def foretold(self, templates: Templates | None) -> str:
        """How long everything may take."""
        chosen = self.chosen()
        return guess(sum(map(self.seconds_of, chosen)),
                     [(setup, contest.cell.workload) for contest in chosen
                      for setup in self.setups(contest)], templates)


def foretell(request: Request) -> list[str]:
    """A line per cell, and one for all, of what would be measured and how long it may take."""
    lines = [f"{contest.cell.name}: {request.rounds} rounds of {len(request.setups(contest))} "
             f"bursts, {ui.duration(request.seconds_of(contest))}" for contest in request.chosen()]
    return [*lines, f"in all {len(lines)} cells, {request.foretold(None)}"]


def run(request: Request, directory: Path, release: ServerRelease) -> bool:
    """Measures, stores, and prints a table; True when all data were right.

    Where a server cannot have a control group of its own, that is said and nothing is measured.
    """
    chosen = request.chosen()
    started = datetime.datetime.now()
    place = unused_directory(directory / "runs", started, "bursts")
    is_test = request.size is Size.SMOKE
    fidelity = TESTING if is_test else MEASURING
    ui.info(f"{len(chosen)} cells, {request.rounds} rounds: "
            f"{request.foretold(Templates(directory / 'templates', release, fidelity))}")
    # One plain dictionary: bursts.json.
    stored: dict[str, Any] = {
        "started": started.isoformat(timespec="seconds"), "rounds": request.rounds,
        "seconds": request.seconds, "identity": identity(release, directory), "cells": {}}
    found: list[burst_ratios.Line] = []
    with open_bench(directory, release, DISK_SIZE[request.size], fidelity) as bench, \
            Progress([request.seconds_of(contest) for contest in chosen]) as progress:
        reason = next(filter(None, (bench.reason_against(each.cell.limits) for each in chosen)), "")
        if reason:
            ui.info(f"not here: {reason}")
            return True
        for contest in chosen:
            progress.begin(contest.cell.name)
            measured, problems = _measure(contest, request, bench)
            lines = burst_ratios.lines(contest.cell.name, measured,
                                       [setup.name for setup in request.setups(contest)])
            found += lines
            stored["cells"][contest.cell.name] = {
                "bursts": [{**dataclasses.asdict(burst), "counts": burst.counts}
                           for burst in measured],
                "problems": problems, "ratios": [dataclasses.asdict(line) for line in lines]}
            _write(place, stored)
            progress.end("; ".join(problems) or _news(lines))
    titles = {setup.name: setup.title for setup in request.setups(chosen[0])}
    for text in burst_ratios.table(found, titles, Engine.INNODB.value):
        ui.info(text)
    ui.info(f"stored: {place / 'bursts.json'}")
    return not any(each["problems"] for each in stored["cells"].values())


def _measure(contest: Contest, request: Request, bench: Bench) -> tuple[list[Burst], list[str]]:
    """All bursts of a cell, and what was wrong with the data before and after them."""
    found: list[Burst] = []
    with bursts.side_by_side(bench, contest.cell, request.setups(contest)) as servers:
        problems = bursts.warm_up(contest, servers)
        for number in range(1, request.rounds + 1):
            found += bursts.round_of(contest, number, servers, request.seconds)
        return found, [*problems, *bursts.check(contest, servers)]


def _news(lines: Sequence[burst_ratios.Line]) -> str:
    return ", ".join(f"{line.setup} {line.rate}" for line in lines if line.rate) or (
        "no round counts")


def _write(place: Path, stored: dict[str, Any]) -> None:
    """After each cell: what is measured is not lost with what comes behind it."""
    place.mkdir(parents=True, exist_ok=True)
    unfinished = place / "bursts.unfinished"
    unfinished.write_text(json.dumps(stored, indent=1) + "\n")
    unfinished.replace(place / "bursts.json")
