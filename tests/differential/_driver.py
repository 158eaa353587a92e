"""Runs cases of one generator on both engines: which, how long, and what is told of failures."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from basaltcli.server import Server
from tests.differential._case import CRASH, OVERRUN, Counts, Failure, MakeGenerator, Runner
from tests.differential._pair import Pair, ServerGone
from tests.differential._server import Collations, features
from tests.differential._statement import Statement
from tests.support import programs, space, workspace
from tests.support.workspace import Tally, Workspace

# Small memtables: data is in files soon. Commits need not survive a crash here.
_OPTIONS = ("--loose-rocksdb-write-buffer-size=64K", "--loose-rocksdb-flush-log-at-trx-commit=0",
            "--innodb-flush-log-at-trx-commit=0", "--max-allowed-packet=64M")
# Has an hour that does not exist and one that exists twice.
_TIME_ZONE = {"TZ": "Europe/Berlin"}
_PROGRESS_SECONDS = 60
_LOG_LINES = 60
# Cases between two looks at what is left in the files.
_AUDIT_EVERY = 10

MakePair = Callable[[Server], Pair]


class DifferentialTest:
    """The server, and cases until the time is over."""

    def __init__(self, work: Workspace, arguments: argparse.Namespace,
                 make_generator: MakeGenerator, make_pair: MakePair,
                 options: Sequence[str]) -> None:
        self._work = work
        self._make_generator = make_generator
        self._make_pair = make_pair
        self._options = (*_OPTIONS, *options)
        self._arguments = arguments
        self._servers = 0
        self.counts = Counts()
        self.failures = 0
        self._start()
        refused = f"refused features: {', '.join(self._refused) or 'none'}"
        print(refused, flush=True)
        if arguments.strict and self._refused:
            self.failures += 1

    def replay(self, scripts: Sequence[Path]) -> None:
        """Programs that are kept, in the form in which failures are written."""
        for script in scripts:
            statements = [Statement(line.rstrip(";"))
                          for line in programs.statements(script, "--")]
            self.counts.cases += 1
            failure = self._runner.replay(statements)
            if failure is not None:
                self.failures += 1
                print(f"{script.name} differs: {failure.difference.kind}\n"
                      f"{failure.difference.text}\n  {failure.statements[-1].sql[:2000]}",
                      flush=True)
                if failure.difference.kind in (CRASH, OVERRUN):
                    self._restart()
        self.audit("after the kept programs")

    def run(self) -> None:
        """All cases, up to the first that fails unless more are asked for."""
        arguments = self._arguments
        deadline = time.monotonic() + arguments.seconds
        shown = time.monotonic()
        number = 0
        while number < arguments.cases if arguments.cases else time.monotonic() < deadline:
            seed = arguments.seed + number
            number += 1
            failure = self._runner.run(seed, arguments.statements)
            if failure is not None:
                self.failures += 1
                self._report(seed, failure)
                if self.failures >= arguments.failures:
                    break
            if number % _AUDIT_EVERY == 0:
                self.audit(f"after seed {seed}")
            if time.monotonic() - shown > _PROGRESS_SECONDS:
                shown = time.monotonic()
                print(f"seed {seed}: {self.counts.cases} cases, {self.counts.statements} "
                      f"statements, {self.failures} failed", flush=True)

    def audit(self, when: str) -> None:
        """Whether all that cases have dropped is gone."""
        self._pair.drop()
        problem = space.left_over(self._server)
        if problem:
            self.failures += 1
            print(f"{when}: {problem}", flush=True)
            self._restart()

    def show(self) -> None:
        """What was run."""
        counts = self.counts
        kinds = ", ".join(f"{count} {name}" for name, count in counts.kinds.most_common(12))
        errors = ", ".join(f"{count} error {code}" for code, count in counts.errors.most_common(14)
                           if code)
        print(f"{counts.cases} cases, {counts.statements} statements: {kinds}")
        print(f"refused by both engines: {errors}")
        for title, counter in (("refused by ours", counts.refused),
                               ("collations without index", self._collations.refused),
                               ("cases ended early", counts.abandoned)):
            total = sum(counter.values())
            if total:
                print(f"{title}: {total}")
                for name, count in counter.most_common(6):
                    print(f"  {count} {name}")
        if self._arguments.strict and (counts.refused or self._collations.refused):
            self.failures += 1

    def _start(self) -> None:
        """A server on a new data directory."""
        self._servers += 1
        self._server: Server = self._work.server(f"data{self._servers}", options=self._options,
                                                 environment=_TIME_ZONE)
        self._server.start()
        self._pair = self._make_pair(self._server)
        prober = self._pair.prober()
        self._collations = Collations(prober)
        supported, self._refused = features(prober)
        self._runner = Runner(self._pair, self._collations, supported, self.counts,
                              self._make_generator)

    def _report(self, seed: int, failure: Failure) -> None:
        """Prints a failure, makes it smaller, and writes it to a file."""
        print(f"seed {seed} differs after {len(failure.statements)} statements: "
              f"{failure.difference.kind}\n{failure.difference.text}\n"
              f"  {failure.statements[-1].sql[:2000]}", flush=True)
        log = ""
        if failure.difference.kind == OVERRUN:
            # The watchdog may have ended the server; a statement may still be rolled back.
            self._restart()
        elif failure.difference.kind == CRASH:
            log = self._log_tail()
            self._restart()
        elif self._arguments.shrink:
            failure = self._shrunk(failure)
        text = (f"-- {failure.difference.kind}\n{_comment(failure.difference.text)}"
                f"{failure.script}{_comment(failure.answers)}{_comment(log)}"
                f"-- repeat: ./basalt python tests/differential/{Path(sys.argv[0]).name} "
                f"--seed {seed} --cases 1 --statements {self._arguments.statements}\n")
        path = Path(self._arguments.output or self._work.directory) / f"difference-{seed}.sql"
        path.write_text(text)
        print(text if len(text) < 12000 else text[-12000:])
        print(f"written to {path}", flush=True)

    def _shrunk(self, failure: Failure) -> Failure:
        try:
            smaller = self._runner.shrink(failure, self._arguments.shrink)
            # After an end of the server in between all replays fail: look again.
            self._pair.reset()
            return smaller
        except ServerGone:
            self._restart()
            return failure

    def _restart(self) -> None:
        self._pair.close()
        self._server.kill()
        self._start()

    def _log_tail(self) -> str:
        # The server may still be writing its stack.
        time.sleep(3)
        lines = self._server.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])


def _comment(text: str) -> str:
    return "".join(f"-- {line}\n" for line in text.splitlines())


def main(description: str, make_generator: MakeGenerator, *, seconds: float,
         statements: int, scripts: Sequence[Path] = (), make_pair: MakePair = Pair,
         options: Sequence[str] = ()) -> int:
    """The whole test, as the command line wants it; returns the exit code.

    `scripts` are run before random cases, unless a number of these is asked for. `options` are the
    server's, beside those of all such tests.
    """
    # Error messages and sort orders must not depend on the caller's language.
    os.environ["LC_ALL"] = "C.UTF-8"
    arguments = _parse(description, seconds, statements)

    def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
        test = DifferentialTest(work, arguments, make_generator, make_pair, options)
        if arguments.script or not arguments.cases:
            test.replay(arguments.script or scripts)
        if not arguments.script:
            test.run()
        test.audit("in the end")
        test.show()
        return Tally(test.counts.cases - test.failures, test.failures)

    return workspace.main("differential", arguments, run)


def _parse(description: str, seconds: float, statements: int) -> argparse.Namespace:
    parser = workspace.parser(description)
    parser.add_argument("--seconds", type=float, default=seconds,
                        help="how long to go on (default: %(default)s)")
    parser.add_argument("--cases", type=int, help="how many cases, instead of seconds")
    parser.add_argument("--statements", type=int, default=statements,
                        help="statements of a case (default: %(default)s)")
    parser.add_argument("--failures", type=int, default=1,
                        help="end after so many cases that differ (default: %(default)s)")
    parser.add_argument("--shrink", type=float, default=90,
                        help="seconds to make a failure smaller (default: %(default)s)")
    parser.add_argument("--script", type=Path, nargs="*",
                        help="run these files of statements instead")
    parser.add_argument("--strict", action="store_true",
                        help="what our engine does not support is a failure")
    parser.add_argument("--output", help="folder for failures (default: that of the server)")
    workspace.add_seed(parser)
    return parser.parse_args()
