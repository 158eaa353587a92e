"""Lets the disk fail, and KILL come, while indexes are added and tables rebuilt in place.

Usage: ./basalt python tests/faults/index_build.py

Whatever fails of the files that are built, the statement fails with a text that names file and
cause, the table is as it was, rows can be written, nothing is left of the files, and when the disk
is sound again the statement succeeds. The same when the statement is killed, at any of its stages.
"""

from __future__ import annotations

import argparse
import sys

from tests.faults import _interrupted
from tests.faults._faults import Faults, main_without_sanitizers, tally_of
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

_ROWS = 300_000
# What each does, and what takes it back; nothing does where the definition stays.
_STATEMENTS = {
    "ADD INDEX": ("ADD INDEX ks (k, s), ADD INDEX s (s DESC)", "DROP INDEX ks, DROP INDEX s"),
    "ADD INDEX on a virtual column": ("ADD INDEX v (v, s)", "DROP INDEX v"),
    "FORCE": ("FORCE", ""),
    "another primary key": ("DROP PRIMARY KEY, ADD PRIMARY KEY (k, id)",
                            "DROP PRIMARY KEY, ADD PRIMARY KEY (id)"),
}
_KILLS_AFTER_SECONDS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.2)


def _statement(change: str) -> str:
    return f"ALTER TABLE d.t {change}, ALGORITHM=INPLACE"


class IndexBuild:
    """One server with a table that is as it was until a statement succeeds."""

    def __init__(self, work: Workspace) -> None:
        self._faults = Faults(work.directory)
        self._server = work.server("data", environment=self._faults.environment)
        self._server.start()
        self._server.query("CREATE DATABASE d")
        self._server.query("CREATE TABLE d.t (id INT PRIMARY KEY, k INT NOT NULL, s VARCHAR(40), "
                           "v VARCHAR(9) AS (LEFT(s, 9)) VIRTUAL, KEY k (k)) ENGINE=ROCKSDB")
        self._server.query(f"INSERT INTO d.t (id, k, s) SELECT seq, seq * 7919 % {_ROWS}, MD5(seq) "
                           f"FROM d.seq_1_to_{_ROWS}")
        # Several threads share what is in files.
        self._server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
        self._definition = self._show()
        self._changes = 0

    def fail(self, change: str, failure: _interrupted.Failure) -> list[str]:
        """The statement while calls on the files that are built fail."""
        return _interrupted.fail(self._faults, failure, "build",
                                 lambda: self._alter(change)) + self._check()

    def kill(self, change: str, undo: str, seconds: float) -> list[str]:
        """The statement, killed after some time, unless it has ended by then."""
        problems = _interrupted.kill(self._server, (_statement(change),), seconds)
        if self._show() != self._definition:
            self._alter(undo)
        return problems + self._check()

    def succeed(self, change: str, undo: str) -> list[str]:
        """The statement on a sound disk, and what a crash leaves of it."""
        self._alter(change)
        problems = self._check(is_changed=undo != "")
        self._server.kill()
        self._server.start()
        problems += self._check(is_changed=undo != "") + checks.engine_errors(self._server)
        if undo:
            self._alter(undo)
        return problems + self._check()

    def _alter(self, change: str) -> None:
        self._server.query(_statement(change))

    def _show(self) -> str:
        return str(self._server.query("SHOW CREATE TABLE d.t")[0][1])

    def _check(self, is_changed: bool = False) -> list[str]:
        problems = checks.check_tables(self._server)
        if is_changed != (self._show() != self._definition):
            problems.append(f"the table is {self._show()}")
        self._changes += 1
        self._server.query(f"UPDATE d.t SET k = k + 1 WHERE id = {self._changes}")
        return problems + _interrupted.left_over(self._server, "build")


def run(work: Workspace, _: argparse.Namespace) -> Tally:
    """All cases, on one server."""
    test = IndexBuild(work)
    outcomes: list[tuple[str, list[str]]] = []
    for name, (change, undo) in _STATEMENTS.items():
        outcomes += [(f"{name}: {cause}", test.fail(change, failure))
                     for cause, failure in _interrupted.FAILURES.items()]
        outcomes += [(f"{name}: KILL after {seconds} s", test.kill(change, undo, seconds))
                     for seconds in _KILLS_AFTER_SECONDS]
        outcomes.append((f"{name}: a sound disk", test.succeed(change, undo)))
    return tally_of(outcomes)


def main() -> int:
    return main_without_sanitizers("index_build", workspace.parser(__doc__).parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
