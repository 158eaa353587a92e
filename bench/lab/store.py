"""Where runs are kept: a directory per run, a file per trial, so that nothing is measured twice.

    RUNS/2026-11-21-quick/
      run.json                          what was asked for, the host, versions; see Run
      trials/STUDY/CELL--SETUP--1.json  a trial (lab.results.TrialRecord) of block 1
      report.html
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from basaltcli.errors import BasaltError

from lab.results import Results, TrialRecord


@dataclasses.dataclass
class Run:
    """A run's directory and what is said of the run as a whole.

    `identity` holds what must be equal for trials to be compared: the host, the versions of
    server, engines and tools, the kernel, the disk. `notes` are remarks of the instrument, such as
    why a study could not run, by study. `cells` is the expression that chose cells, see
    lab.runner.plan; all of them, if it is empty.
    """

    directory: Path
    size: str
    studies: list[str]
    setups: list[str]
    started: str
    identity: dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: dict[str, str] = dataclasses.field(default_factory=dict)
    cells: str = ""

    @property
    def name(self) -> str:
        return self.directory.name

    def save(self) -> None:
        """Writes run.json; trials are files of their own."""
        self.directory.mkdir(parents=True, exist_ok=True)
        fields = dataclasses.asdict(self)
        del fields["directory"]
        path = self.directory / "run.json"
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(fields, indent=1))
        unfinished.replace(path)

    def trial_path(self, study: str, cell: str, setup: str, block: int) -> Path:
        """Where a trial is, or will be, stored."""
        return self.directory / "trials" / study / f"{_slug(cell)}--{setup}--{block}.json"

    def add(self, trial: TrialRecord) -> None:
        """Stores a trial."""
        path = self.trial_path(trial.study, trial.cell, trial.setup, trial.block)
        path.parent.mkdir(parents=True, exist_ok=True)
        trial.write(path)

    def results(self, study: str) -> Results:
        """What has been measured of a study."""
        return Results(map(TrialRecord.read, (self.directory / "trials" / study).glob("*.json")))

    def as_json(self) -> dict[str, Any]:
        """The run with all its trials in one piece, for the file beside a report."""
        fields = dataclasses.asdict(self)
        del fields["directory"]
        fields["name"] = self.name
        fields["trials"] = [dataclasses.asdict(trial) for study in self.studies
                            for trial in self.results(study).all]
        return fields


def open_run(directory: Path) -> Run:
    """A stored run; fails with what to do when there is none."""
    try:
        fields = json.loads((directory / "run.json").read_text())
    except FileNotFoundError:
        raise BasaltError(f"there is no run in {directory}",
                          "see what there is: ./basalt bench list") from None
    return Run(directory, **fields)


def take_in(data: Path, parent: Path) -> Run:
    """Stores the run of a file that was written beside a report: Run.as_json(), compacted."""
    fields = json.loads(data.read_text())
    trials = fields.pop("trials")
    run = Run(parent / fields.pop("name"), **fields)
    run.save()
    for trial in trials:
        run.add(TrialRecord(**{name: _with_nan(part) for name, part in trial.items()}))
    return run


def _with_nan(value: Any) -> Any:
    """Where a report's data have null was something that is not a number."""
    if isinstance(value, dict):
        return {key: _with_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_nan(part) for part in value]
    return math.nan if value is None else value


def runs(parent: Path) -> Sequence[Run]:
    """The stored runs, the newest last."""
    found = [open_run(path.parent) for path in parent.glob("*/run.json")]
    return sorted(found, key=lambda run: run.started)


def unused_directory(parent: Path, now: datetime.datetime, kind: str) -> Path:
    """A directory that is not there yet, named after the minute and what it is to hold."""
    name = f"{now:%Y-%m-%d-%H%M}-{kind}"
    directories = (parent / f"{name}{ending}" for ending in itertools.chain(
        [""], (f"-{number}" for number in itertools.count(2))))
    return next(each for each in directories if not each.exists())


def _slug(name: str) -> str:
    """A cell's name as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")
