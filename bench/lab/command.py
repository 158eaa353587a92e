"""What ./basalt bench run and report do, once the machine has what they need."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from basaltcli import process, rocksdb, ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease

from lab import estimate, runner
from lab.bench import Bench, open_bench
from lab.fidelity import MEASURING, TESTING
from lab.host import describe_host, fsync_latencies
from lab.report import write_report
from lab.setup import GIB, Engine, Setup
from lab.store import Run, open_run, runs, take_in, unused_directory
from lab.study import Size, Study
from lab.template import Templates
from lab.workload import Workload

DISK_SIZE = {Size.SMOKE: 3 * GIB, Size.QUICK: 10 * GIB, Size.FULL: 10 * GIB,
             Size.LONG: 16 * GIB}


@dataclasses.dataclass(frozen=True)
class Request:
    """What is to be measured.

    `size` and `engines` are the values of Size and Engine. `blocks` is how often, None as the study
    says; `cells` is an expression, see lab.runner.plan.
    """

    studies: Sequence[Study]
    size: str
    engines: Sequence[str]
    blocks: int | None = None
    cells: str = ""

    def plan(self) -> list[runner.Planned]:
        """The trials, in their order. Fails where there are none."""
        size = Size(self.size)
        require_expression(self.cells)
        planned = runner.plan(self.studies, size, [Engine(name) for name in self.engines],
                              self.blocks, self.cells)
        if not planned:
            names = ", ".join(cell.name for study in self.studies for cell in study.cells(size))
            raise BasaltError(
                f"no cell of {', '.join(self.engines)} is called like {self.cells or 'anything'}",
                f"the cells of all engines are: {names}")
        return planned


def require_expression(cells: str) -> None:
    """Fails on what cannot choose cells."""
    try:
        re.compile(cells)
    except re.error as error:
        raise BasaltError(f"{cells} is not a regular expression: {error}",
                          "--cells takes a part of a cell's name") from error


def run(request: Request, is_new: bool, directory: Path, release: ServerRelease) -> bool:
    """Measures what is asked for and writes the report; True when no trial had a problem."""
    size = Size(request.size)
    planned = request.plan()
    wanted = Run(directory / "runs", size.value, [study.name for study in request.studies],
                 list(request.engines), "", identity(release, directory), cells=request.cells)
    this = _begun(wanted, planned) if not is_new else None
    this = this or _new(wanted)
    missing = [trial for trial in planned if not trial.is_measured(this)]
    fidelity = TESTING if size is Size.SMOKE else MEASURING
    templates = Templates(directory / "templates", release, fidelity)
    ui.info(f"run {this.name}: {len(missing)} trials, {_guess(missing, templates)}")
    with open_bench(directory, release, DISK_SIZE[size], fidelity) as bench:
        this.identity["fsync"] = _fsync(bench)
        this.save()
        runner.execute(this, planned, bench)
    ui.info(f"report: {write(this, request.studies, None)}")
    for study, reason in this.notes.items():
        ui.info(f"not here: {study}: {reason}")
    trials = [trial for study in request.studies for trial in this.results(study.name).all]
    troubled = [trial for trial in trials if trial.problems]
    for trial in troubled:
        ui.info(f"problem: {trial.study}, {trial.cell}, {trial.setup}: {trial.problems[0]}")
    ui.info(f"{len(trials) - len(troubled)} trials passed, {len(troubled)} failed")
    if troubled:
        ui.info("the same command measures what failed again; --new begins another run")
    return not troubled


def foretell(request: Request) -> list[str]:
    """A line per study, and one for all, of what a run would measure and how long it may take."""
    planned = request.plan()
    lines = []
    for name in dict.fromkeys(trial.study.name for trial in planned):
        own = [trial for trial in planned if trial.study.name == name]
        lines.append(f"{name}: {len(own)} trials, {max(trial.block for trial in own)} blocks, "
                     f"{ui.duration(sum(trial.seconds for trial in own))}")
    return [*lines, f"in all {len(planned)} trials, {_guess(planned, None)}"]


def _guess(planned: Sequence[runner.Planned], templates: Templates | None) -> str:
    return guess(sum(trial.seconds for trial in planned),
                 [(trial.setup, trial.cell.workload) for trial in planned], templates)


def guess(seconds: float, data: Iterable[tuple[Setup, Workload]],
          templates: Templates | None) -> str:
    """The time of measuring, and of loading what the templates, if given, do not have."""
    unloaded = [each for each in data if templates is None or not _is_loaded(*each, templates)]
    measuring, loading = ui.duration(seconds), ui.duration(estimate.of_loading(unloaded))
    return f"about {measuring} and {loading} of loading data" if unloaded else f"about {measuring}"


def _is_loaded(setup: Setup, workload: Workload, templates: Templates) -> bool:
    try:
        return templates.has(setup, workload)
    except (BasaltError, OSError):
        # There is no such plugin: the trial itself will say so.
        return False


def write(this: Run, studies: Sequence[Study], output: Path | None) -> Path:
    """Writes the report of a run of these studies; returns where."""
    path = output or this.directory / "report.html"
    write_report(this, studies, path)
    return path


def stored_run(parent: Path, name: str | None) -> Run:
    """A run by its name, or the newest; of the data of a report (`.json`), it is stored first."""
    if name is not None and name.endswith(".json"):
        return take_in(Path(name), parent)
    if name is not None:
        return open_run(parent / name)
    stored = runs(parent)
    if not stored:
        raise BasaltError("nothing has been measured yet", "./basalt bench run --quick all")
    return stored[-1]


def _begun(wanted: Run, planned: Sequence[runner.Planned]) -> Run | None:
    """The newest run that asked for the same of the same engines, if trials of it are missing or
    failed."""
    for old in reversed(runs(wanted.directory)):
        is_same = all(getattr(old, asked) == getattr(wanted, asked)
                      for asked in ("size", "studies", "setups", "cells"))
        if is_same and old.identity.get("versions") == wanted.identity["versions"]:
            if all(trial.is_measured(old) for trial in planned):
                return None
            ui.info(f"going on with run {old.name}; --new begins another")
            return old
    return None


def _new(wanted: Run) -> Run:
    """A run that is not there yet, named after the minute in which it begins."""
    now = datetime.datetime.now()
    return dataclasses.replace(
        wanted, directory=unused_directory(wanted.directory, now, wanted.size),
        started=now.isoformat(timespec="seconds"))


def identity(release: ServerRelease, directory: Path) -> dict[str, object]:
    """The versions decide whether a run can be gone on with, the host says where it ran."""
    sysbench = process.capture(["sysbench", "--version"]) or ""
    return {"host": describe_host(directory),
            "versions": {"server": release.version, "sysbench": sysbench.strip(),
                         "basalt": _commit(), "rocksdb": rocksdb.version()}}


def _fsync(bench: Bench) -> dict[str, object]:
    """What a synced write takes on the disk that servers are measured on, in microseconds."""
    found: dict[str, object] = {}
    for latency in fsync_latencies(bench.directory, seconds=1):
        found[f"{latency.block_size} bytes, p50"] = round(latency.p50_us)
        found[f"{latency.block_size} bytes, p99"] = round(latency.p99_us)
        if not latency.is_plausible:
            found["warning"] = "too fast to be true: synced commits are not durable on this host"
    return found


def _commit() -> str:
    """The commit that is measured, with a mark when the tree has other changes."""
    return (process.capture(["git", "describe", "--always", "--dirty", "--abbrev=12"])
            or "unknown").strip()
