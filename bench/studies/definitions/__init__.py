"""Not a published experiment: what definitions and whole tables take that are loaded."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pymysql

from basaltcli.errors import BasaltError

from lab import measures, sysbench
from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.judging import cell, ratio_claim
from lab.metrics import Metric
from lab.server import MeasuredServer
from lab.setup import D1, GIB, SETUPS, Limits
from lab.study import Claim, Size, Study
from lab.trial import Trial
from lab.workload import DATABASE
from workloads.sysbench_oltp import SMOKE_ROWS, SysbenchOltp

_ROWS = {Size.SMOKE: SMOKE_ROWS, Size.QUICK: 400_000, Size.FULL: 400_000, Size.LONG: 8_000_000}
# A guess of what all steps take, by which the time of a run is foretold.
_SECONDS = {Size.SMOKE: 2, Size.QUICK: 20, Size.FULL: 90, Size.LONG: 600}
_WRITING_SECONDS = {Size.SMOKE: 2, Size.QUICK: 10, Size.FULL: 30, Size.LONG: 60}
_STEPS, _WRITERS, _BESIDE = "one after the other", "writers", "writers beside an index build"
_PREFIX = "definition_"
# Seconds between two builds, and how long a step waits at most for what was before it.
_PAUSE, _PATIENCE = 0.2, 120
_QUIET_BYTES = 1 << 20
_BUILD = "ALTER TABLE sbtest1 ADD INDEX by_c (c(30))"

Step = Callable[[MeasuredServer], None]


def _statements(*texts: str) -> Step:
    def run(server: MeasuredServer) -> None:
        for text in texts:
            server.query(text.format(options=server.table_options))
    return run


class _Files:
    """The rows as files, made by one server and read by it: as text, and as a dump."""

    def __init__(self, trial: Trial, directory: Path) -> None:
        self._release = trial.bench.release
        self._text = directory / "rows.txt"
        self._dump = directory / "rows.sql"

    def make(self, server: MeasuredServer) -> None:
        server.query(f"SELECT * INTO OUTFILE '{self._text}' FROM sbtest1")
        with self._dump.open("wb") as dump:
            self._run(server, "mariadb-dump", DATABASE, "sbtest1", stdout=dump)

    def load(self, server: MeasuredServer) -> None:
        server.query(f"LOAD DATA INFILE '{self._text}' INTO TABLE loaded")

    def restore(self, server: MeasuredServer) -> None:
        with self._dump.open("rb") as dump:
            self._run(server, "mariadb", "restored", stdin=dump)

    def _run(self, server: MeasuredServer, program: str, *words: str, **files: Any) -> None:
        command = [self._release.program(program), "--no-defaults", f"--socket={server.socket}",
                   "--user=root", *words]
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False, **files)
        if done.returncode:
            raise BasaltError(f"{program} failed", done.stderr.decode(errors="replace"))


# What is timed, and what is done before and behind it. All together leave the tables as they were.
_NAMES: Mapping[str, str] = {
    "add_column": "ADD COLUMN",
    "add_index": "ADD INDEX",
    "add_unique": "ADD UNIQUE INDEX",
    "rebuild": "FORCE",
    "create_select": "CREATE TABLE ... SELECT",
    "load_data": "LOAD DATA",
    "load_dump": "restore of a dump",
    "truncate": "TRUNCATE",
    "drop": "DROP TABLE",
}


def _steps(files: _Files) -> Sequence[tuple[str, Step, Step, Step]]:
    nothing = _statements()
    return (
        ("add_column", nothing,
         _statements("ALTER TABLE sbtest1 ADD COLUMN n INT NOT NULL DEFAULT 7"),
         _statements("ALTER TABLE sbtest1 DROP COLUMN IF EXISTS n")),
        ("add_index", nothing, _statements(_BUILD),
         _statements("ALTER TABLE sbtest1 DROP INDEX IF EXISTS by_c")),
        ("add_unique", nothing, _statements("ALTER TABLE sbtest1 ADD UNIQUE INDEX k_id (k, id)"),
         _statements("ALTER TABLE sbtest1 DROP INDEX IF EXISTS k_id")),
        ("rebuild", nothing, _statements("ALTER TABLE sbtest1 FORCE"), nothing),
        ("create_select", nothing,
         _statements("CREATE TABLE copied (PRIMARY KEY (id), KEY k (k)) {options} "
                     "SELECT * FROM sbtest1"), nothing),
        ("load_data", _statements("CREATE TABLE loaded LIKE sbtest1"), files.load, nothing),
        ("load_dump", _statements("DROP TABLE IF EXISTS copied", "CREATE DATABASE restored"),
         files.restore, nothing),
        ("truncate", nothing, _statements("TRUNCATE TABLE loaded"),
         _statements("DROP TABLE loaded")),
        ("drop", nothing, _statements("DROP TABLE restored.sbtest1"),
         _statements("DROP DATABASE restored")),
    )


def _metrics() -> Mapping[str, Metric]:
    found: dict[str, Metric] = {}
    for step, title in _NAMES.items():
        found |= {
            f"{step}_seconds": Metric(f"{title}, time", "s", 2, True, "Until it was done."),
            f"{step}_write_kb_per_unit": Metric(
                f"{title}, written per row", "KB", 3, True,
                "Kilobytes written to the device meanwhile, by the rows of the table.")}
    found["build_seconds"] = Metric("index build beside writers", "s", 1, True,
                                    "The median of those that ended while clients wrote.")
    return found


class Definitions(Study):
    """ALTER TABLE, loading and removal of one table; and what writers feel of it."""

    name = "definitions"
    title = "Definitions and loading"
    is_published = False
    question = "What do ALTER TABLE, a load, TRUNCATE and DROP take, and what do writers notice?"
    published = "Nothing: the bounds are this project's own."
    scaling = ("sysbench's table with 400,000 rows (eight million in a long run) of 190 bytes and "
               "an index, in 3 GB; 16 clients of oltp_write_only.")
    metrics: Mapping[str, Metric] = _metrics()

    def cells(self, size: Size) -> Sequence[Cell]:
        workload = SysbenchOltp(rows=_ROWS[size], script="oltp_write_only")
        limits = Limits(3 * GIB)
        writing = _WRITING_SECONDS[size]
        cells = [Cell(name, workload, SETUPS, {}, limits, D1, threads=16, seconds=writing,
                      warm_seconds=min(writing, 10)) for name in (_WRITERS, _BESIDE)]
        return [Cell(_STEPS, workload, SETUPS, {}, limits, D1, threads=1, seconds=_SECONDS[size],
                     warm_seconds=0), *cells]

    def measure(self, trial: Trial, cell: Cell) -> None:
        if cell.name == _STEPS:
            _measure_steps(trial)
        elif cell.name == _BESIDE:
            _measure_beside_writers(trial, cell)
        else:
            trial.measure_load(cell)

    def claims(self) -> Sequence[Claim]:
        steps = [ratio_claim(f"D{number}", f"{_NAMES[step]}: time, relative to InnoDB",
                             "at most x 1.00", cell(_STEPS), metric=f"{step}_seconds",
                             setup="basalt", base="innodb", at_most=1.0)
                 for number, step in enumerate(_NAMES, 1)]
        return [
            *steps,
            ratio_claim("DW1", "Writers beside an index build, relative to InnoDB's",
                        "at least x 1.00", cell(_BESIDE), setup="basalt", base="innodb",
                        at_least=1.0),
            ratio_claim("DW2", "Latency of 99 % beside an index build, relative to without",
                        "at most x 2.00", cell(_BESIDE), metric="p99_ms", setup="basalt",
                        base="basalt", base_cell=cell(_WRITERS), at_most=2.0)]

    def charts(self) -> Sequence[Chart]:
        return tuple(Bars(title, metric=f"{step}_seconds", y_label="seconds")
                     for step, title in _NAMES.items())


def _measure_steps(trial: Trial) -> None:
    """Each in a window of its own, when what was before it is done; errors are results here."""
    workload = trial.cell.workload
    assert isinstance(workload, SysbenchOltp)
    trial.record.unit = "row"
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as directory, trial.serving() as server:
        files = _Files(trial, Path(directory))
        files.make(server)
        seconds = 0.0
        for name, prepare, run, end in _steps(files):
            _rest(trial, server, prepare)
            with trial.window(server) as measured:
                started = time.monotonic()
                error = _error_of(run, server)
                took = time.monotonic() - started
            assert measured.window is not None
            trial.note(**{name: error or f"done in {took:.2f} s"})
            if not error:
                seconds += took
                trial.record.values[f"{name}_seconds"] = took
                trial.record.values |= {
                    f"{name}_{metric}": value for metric, value in measures.of_window(
                        measured.window, measured.samples, workload.rows).items()
                    if metric == "write_kb_per_unit"}
                _count_rows(trial, server, name, workload.rows)
            end(server)
        trial.record.values["per_second"] = workload.rows * len(_NAMES) / seconds
        trial.check(server)


def _error_of(run: Step, server: MeasuredServer) -> str:
    try:
        run(server)
    except (pymysql.err.MySQLError, BasaltError) as error:
        return str(error)
    return ""


def _rest(trial: Trial, server: MeasuredServer, prepare: Step) -> None:
    """What a step before has left to be done is not this one's."""
    prepare(server)
    # The disk has no room for the logs of all steps.
    server.query("RESET MASTER")
    os.sync()
    deadline = time.monotonic() + _PATIENCE
    quiet = trial.bench.fidelity.quiet_seconds
    before, since = _written(server), time.monotonic()
    while time.monotonic() < min(deadline, since + quiet):
        time.sleep(0.1)
        now = _written(server)
        if now - before > _QUIET_BYTES:
            before, since = now, time.monotonic()


def _written(server: MeasuredServer) -> int:
    device = server.meter.read(exact_sizes=False).device
    return device.write_bytes if device is not None else 0


def _count_rows(trial: Trial, server: MeasuredServer, step: str, rows: int) -> None:
    """What a step leaves in the tables that it fills or empties."""
    expected = {"create_select": ("copied", rows), "load_data": ("loaded", rows),
                "load_dump": ("restored.sbtest1", rows), "truncate": ("loaded", 0)}
    if step not in expected:
        return
    table, wanted = expected[step]
    found = server.query(f"SELECT COUNT(*) FROM {table}")[0][0]
    if found != wanted:
        trial.record.problems.append(f"{step}: {table} has {found} rows, and not {wanted}")


def _measure_beside_writers(trial: Trial, cell: Cell) -> None:
    """The index is built, and dropped, again and again while clients write."""
    seconds: list[float] = []
    with trial.serving() as server:
        if cell.warm_seconds:
            sysbench.run_load(cell.load(cell.warm_seconds, trial.seed + 1), server.socket)
        stops = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            with trial.window(server) as measured:
                builds = pool.submit(_build_until, stops, server, seconds)
                clients = sysbench.run_load(cell.load(cell.seconds, trial.seed), server.socket)
                stops.set()
            builds.result()
        assert measured.window is not None
        trial.keep_clients(clients)
        trial.keep_window(measured, clients[0].units)
        trial.note(builds=[round(each, 2) for each in seconds])
        if seconds:
            trial.record.values["build_seconds"] = statistics.median(seconds)
        trial.check(server)


def _build_until(stops: threading.Event, server: MeasuredServer, seconds: list[float]) -> None:
    while not stops.wait(_PAUSE):
        started = time.monotonic()
        server.query(_BUILD)
        if not stops.is_set():
            seconds.append(time.monotonic() - started)
        server.query("ALTER TABLE sbtest1 DROP INDEX by_c")


STUDY = Definitions()
