"""Runs studies: every trial of every block, in random order within a block, once.

Engines that are measured one after the other, all of A and then all of B, can differ by 38 % when
they are the same (Abedi and Brecht, ICPE 2017). So a block measures everything once in an order
drawn for it, and only values of the same block are compared.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pymysql

from basaltcli.errors import BasaltError

from lab import estimate
from lab.bench import Bench
from lab.cell import Cell
from lab.meter import STEAL_MAX
from lab.progress import Progress
from lab.results import TrialRecord
from lab.setup import Engine, Setup
from lab.store import Run
from lab.study import Size, Study
from lab.trial import Trial

# Windows of a few seconds are tests, not measurements.
_SHORT_WINDOW = 5.0


@dataclasses.dataclass(frozen=True)
class Planned:
    """One trial that is to be run."""

    study: Study
    cell: Cell
    setup: Setup
    block: int

    def is_measured(self, run: Run) -> bool:
        """Whether the run has it; a trial that failed is to be measured again."""
        path = self.path(run)
        return path.exists() and not TrialRecord.read(path).problems

    def path(self, run: Run) -> Path:
        return run.trial_path(self.study.name, self.cell.name, self.setup.name, self.block)

    @property
    def seconds(self) -> float:
        """How long it may take, before anything is known."""
        return estimate.of_trial(self.cell)

    @property
    def seed(self) -> int:
        """The same for all setups of a block, so that they get the same requests."""
        return zlib.crc32(f"{self.study.name} {self.cell.name} {self.block}".encode()) >> 8


def plan(studies: Iterable[Study], size: Size, engines: Sequence[Engine],
         blocks: int | None = None, cells: str = "") -> list[Planned]:
    """All trials of a run, in their order; the same every time.

    `cells` is a regular expression: only cells are measured in whose names it finds something.
    """
    planned: list[Planned] = []
    for study in studies:
        for block in range(1, (blocks or study.blocks(size)) + 1):
            trials = [Planned(study, cell, setup, block) for cell in study.cells(size)
                      if re.search(cells, cell.name)
                      for setup in cell.setups if setup.engine in engines]
            random.Random(f"{study.name} {block}").shuffle(trials)
            planned += trials
    return planned


def execute(run: Run, planned: Sequence[Planned], bench: Bench) -> None:
    """Measures what has not been measured yet, or failed; each trial is stored when it ends.

    A study that cannot run here is noted in the run. A trial that fails is stored with its problem,
    and the run goes on.
    """
    possible = list(_possible(run, planned, bench))
    with Progress([trial.seconds for trial in possible]) as progress:
        for trial in possible:
            name = f"{trial.study.name}: {trial.cell.name}, {trial.setup.title}"
            if trial.is_measured(run):
                progress.skip()
                continue
            progress.begin(name)
            record = _measure(trial, bench)
            run.add(record)
            progress.end(_news(record))


def _possible(run: Run, planned: Sequence[Planned], bench: Bench) -> Iterator[Planned]:
    # What an earlier start of this run could not do may be possible now.
    for name in {trial.study.name for trial in planned}:
        run.notes.pop(name, None)
    for trial in planned:
        reason = bench.reason_against(trial.cell.limits)
        if reason is None:
            yield trial
        else:
            run.notes[trial.study.name] = reason
    run.save()


def _measure(planned: Planned, bench: Bench) -> TrialRecord:
    """A trial from which the host took processor time is measured once more."""
    for is_last in (False, True):
        record = _measure_once(planned, bench)
        stolen = record.values.get("host_steal_percent", 0)
        if stolen <= 100 * STEAL_MAX or record.values["window_s"] < _SHORT_WINDOW:
            break
        if is_last:
            record.problems.append(f"the host took {stolen:.1f} % of the processors' time, twice")
    return record


def _measure_once(planned: Planned, bench: Bench) -> TrialRecord:
    record = TrialRecord(
        planned.study.name, planned.cell.name, planned.setup.name, planned.block,
        dict(planned.cell.axes), datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    started = time.monotonic()
    try:
        planned.study.measure(Trial(bench, planned.cell, planned.setup, record, planned.seed),
                              planned.cell)
    except BasaltError as error:
        record.problems.append(error.message)
    except (pymysql.MySQLError, OSError) as error:
        # A server that died of its limits answers like this.
        record.problems.append(f"{type(error).__name__}: {error}")
    record.elapsed = time.monotonic() - started
    return record


def _news(record: TrialRecord) -> str:
    """What is worth saying at once about a trial."""
    if record.problems:
        return record.problems[0].splitlines()[0]
    rate = record.values.get("per_second")
    return f"{rate:,.0f} {record.unit}s/s" if rate is not None else "done"
