"""Random programs of several sessions: as if their transactions had been one after the other.

Usage: ./basalt python tests/isolation/serial.py [--seconds N | --cases N] [--seed S]

Two or three sessions write, one reads from snapshots, one holds a lock at which functions stop in
the middle of a statement, one changes the table's definition. Steps are done in turn, so the order
of events is known; sessions wait for each other. Rows move their primary key or their unique value
while REPLACE, INSERT IGNORE or ON DUPLICATE KEY UPDATE wait for them; locking reads ask for letter
case and spaces at the end, which no key holds; functions set savepoints; there is XA, KILL, and ADD
KEY. Afterwards InnoDB runs the same transactions one after the other in the order in which they
were decided: every answer, and the tables in the end, must be the same. Where writers are at READ
COMMITTED, which promises less, only errors that must never be, and the tables' indexes, are judged.

Case k of seed S is what `--seed S+k --cases 1` runs. One that fails is made smaller.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pymysql

from basaltcli.server import Server
from tests.isolation._serial_oracle import Oracle, wrong_errors
from tests.isolation._serial_scene import CONTROLLER, DEFINER, Program, Scene, parse
from tests.isolation._turns import Event, Stuck, Turns
from tests.support import checks, programs, workspace
from tests.support.watchdog import Watchdog
from tests.support.workspace import Tally, Workspace

# Programs that showed defects once: they are run always.
PROGRAMS = Path(__file__).resolve().parent / "programs"
SECONDS = 30.0
_DATABASE = "serial"
# A statement waits for others of its program.
_STATEMENT_SECONDS = 240.0
_OPTIONS = ("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync",
            "--debug-no-sync", "--loose-rocksdb-flush-log-at-trx-commit=0",
            "--loose-rocksdb-write-buffer-size=64K")


class SerialTest:
    """Cases until the time is over."""

    def __init__(self, work: Workspace) -> None:
        self._work = work
        self._servers = 0
        self.counts: Counter[str] = Counter()
        self.start()

    def start(self) -> None:
        """A server on a new data directory; one that runs is killed."""
        if self._servers:
            self._watchdog.stop()
            self._server.kill()
        self._servers += 1
        self._server: Server = self._work.server(f"data{self._servers}", options=_OPTIONS)
        self._server.start()
        self._watchdog = Watchdog(self._server, _STATEMENT_SECONDS)
        self._log_size = self._server.log.stat().st_size

    def run(self, program: Program) -> tuple[list[str], list[Event]]:
        """What is wrong with a program, and all that happened."""
        self._log_size = self._server.log.stat().st_size
        names = list(program.settings)
        with self._server.connect() as connection, connection.cursor() as cursor:
            for sql in (f"DROP DATABASE IF EXISTS {_DATABASE}", f"CREATE DATABASE {_DATABASE}",
                        f"USE {_DATABASE}", "SET default_storage_engine = ROCKSDB",
                        *program.setup):
                cursor.execute(sql)
        transactional = [name for name in names if name not in (CONTROLLER, DEFINER)]
        turns = Turns(self._server, _DATABASE, names, transactional, self._watchdog)
        try:
            turns.set_up(program.settings)
            turns.run(program.steps)
        except Stuck as stuck:
            return [str(stuck)], turns.record.events
        finally:
            turns.close()
        problems = wrong_errors(turns.record.events)
        if program.is_strong:
            problems += self._serial_problems(program, turns)
        problems += self._table_problems(program)
        problems += checks.engine_errors(self._server, self._log_size)
        problems += self._watchdog.findings
        self._watchdog.findings = []
        self._count(turns.record.events)
        return problems, turns.record.events

    def _serial_problems(self, program: Program, turns: Turns) -> list[str]:
        oracle = Oracle(self._server, program)
        try:
            problems = oracle.differences(turns.record)
            for table in program.tables:
                ours = sorted(self._server.query(f"SELECT * FROM {_DATABASE}.{table}"), key=repr)
                problems += checks.difference(ours, oracle.rows(table),
                                              (f"{table}", f"{table} on InnoDB"))
        finally:
            oracle.close()
        return problems

    def _table_problems(self, program: Program) -> list[str]:
        """What the engine finds, and indexes that do not hold the rows that the table holds."""
        names = [f"`{_DATABASE}`.`{table}`" for table in program.tables]
        problems = checks.check_tables(self._server, names)
        for name in names:
            keys = sorted({str(row[2]) for row in self._server.query(f"SHOW INDEX FROM {name}")})
            rows = sorted(self._server.query(
                f"SELECT id FROM {name} IGNORE INDEX ({', '.join(keys)})"))
            for key in keys:
                found = sorted(self._server.query(f"SELECT id FROM {name} FORCE INDEX ({key})"))
                problems += checks.difference(found, rows, (f"{name}, {key}", "the table"))
        return problems

    def _count(self, events: Sequence[Event]) -> None:
        self.counts["statements"] += len(events)
        self.counts["waits"] += sum(event.has_waited for event in events)
        for event in events:
            if event.error:
                self.counts[f"error {event.error}"] += 1

    def shrink(self, program: Program, seconds: float) -> Program:
        """A program with fewer steps that is still wrong."""
        deadline = time.monotonic() + seconds
        best = program
        length = max(1, len(best.steps) // 2)
        while length:
            at = len(best.steps)
            while at > 0 and time.monotonic() < deadline:
                start = max(0, at - length)
                candidate = replace(best, steps=best.steps[:start] + best.steps[at:])
                if self._is_wrong(candidate):
                    best = candidate
                at = start
            length //= 2
        return self._fewer_rows(best, deadline)

    def _fewer_rows(self, program: Program, deadline: float) -> Program:
        best = program
        for sql in program.setup:
            candidate = replace(best, setup=[each for each in best.setup if each != sql])
            if sql.startswith("INSERT") and time.monotonic() < deadline and (
                    self._is_wrong(candidate)):
                best = candidate
        return best

    def _is_wrong(self, program: Program) -> bool:
        try:
            problems, _ = self.run(program)
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError):
            self.start()
            return False
        return bool(problems) and not any("server is gone" in each for each in problems)


def report(name: str, problems: Sequence[str], program: Program, events: Sequence[Event]) -> None:
    """Prints what went wrong, the program, and what happened."""
    print(f"{name}:")
    for problem in problems[:6]:
        print(f"  {problem}")
    for line in program.lines():
        print(f"    {line}")
    for event in events:
        print(f"      {event}")
    sys.stdout.flush()


class Run:
    """Programs that are kept, and random ones until the time is over or enough have failed."""

    def __init__(self, work: Workspace, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self.test = SerialTest(work)
        self.number = 0
        self.failed = 0

    def scripts(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self._one(path.name, parse(programs.statements(path, "#")), 0)

    def cases(self) -> None:
        arguments = self._arguments
        deadline = time.monotonic() + arguments.seconds
        done = 0
        while done < arguments.cases if arguments.cases else time.monotonic() < deadline:
            seed = arguments.seed + done
            done += 1
            self._one(f"seed {seed}", Scene(seed).program(), arguments.shrink)
            if self.failed >= arguments.failures:
                return

    def _one(self, name: str, program: Program, shrink: float) -> None:
        self.number += 1
        try:
            problems, events = self.test.run(program)
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError) as error:
            problems, events = [f"the server is gone: {error}"], []
        if self._arguments.show and not problems:
            report(name, problems, program, events)
        if not problems:
            return
        self.failed += 1
        print(f"{name}: {problems[0]}", flush=True)
        if any("server is gone" in each for each in problems):
            self.test.start()
        elif shrink:
            smaller = self.test.shrink(program, shrink)
            found, after = self.test.run(smaller)
            if found:
                problems, program, events = found, smaller, after
        report(name, problems, program, events)


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All of it."""
    runner = Run(work, arguments)
    if arguments.script or not arguments.cases:
        runner.scripts(arguments.script or sorted(PROGRAMS.glob("*.txt")))
    if not arguments.script:
        runner.cases()
    print(f"{runner.number} programs: " + ", ".join(
        f"{count} {name}" for name, count in sorted(runner.test.counts.items())))
    return Tally(runner.number - runner.failed, runner.failed)


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="(default: %(default)s)")
    parser.add_argument("--cases", type=int, default=0, help="instead of a time")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    parser.add_argument("--script", type=Path, nargs="*", help="run these programs instead")
    parser.add_argument("--show", action="store_true", help="print all that happens")
    parser.add_argument("--shrink", type=float, default=60,
                        help="seconds to make a failure smaller (default: %(default)s)")
    workspace.add_seed(parser)
    return workspace.main("serial", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
