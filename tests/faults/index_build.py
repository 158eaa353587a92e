"""Lets the disk fail, and KILL come, while an index is added in place.

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
_ADD = "ALTER TABLE d.t ADD INDEX ks (k, s), ADD INDEX s (s DESC), ALGORITHM=INPLACE"
_KILLS_AFTER_SECONDS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.2)


class IndexBuild:
    """One server with a table that gets no index until the end."""

    def __init__(self, work: Workspace) -> None:
        self._faults = Faults(work.directory)
        self._server = work.server("data", environment=self._faults.environment)
        self._server.start()
        self._server.query("CREATE DATABASE d")
        self._server.query("CREATE TABLE d.t (id INT PRIMARY KEY, k INT, s VARCHAR(40)) "
                           "ENGINE=ROCKSDB")
        self._server.query(f"INSERT INTO d.t SELECT seq, seq * 7919 % {_ROWS}, MD5(seq) "
                           f"FROM d.seq_1_to_{_ROWS}")
        # Several threads share what is in files.
        self._server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
        self._definition = self._show()
        self._changes = 0

    def fail(self, failure: _interrupted.Failure) -> list[str]:
        """The statement while calls on the files that are built fail."""
        return _interrupted.fail(self._faults, failure, "build",
                                 lambda: self._server.query(_ADD)) + self._check()

    def kill(self, seconds: float) -> list[str]:
        """The statement, killed after some time, unless it has ended by then."""
        problems = _interrupted.kill(self._server, (_ADD,), seconds)
        if self._show() != self._definition:
            self._server.query("ALTER TABLE d.t DROP INDEX ks, DROP INDEX s")
        return problems + self._check()

    def succeed(self) -> list[str]:
        """The statement on a sound disk, and what a crash leaves of it."""
        self._server.query(_ADD)
        problems = self._check(is_added=True)
        self._server.kill()
        self._server.start()
        return problems + self._check(is_added=True) + checks.engine_errors(self._server)

    def _show(self) -> str:
        return str(self._server.query("SHOW CREATE TABLE d.t")[0][1])

    def _check(self, is_added: bool = False) -> list[str]:
        problems = checks.check_tables(self._server)
        if is_added != (self._show() != self._definition):
            problems.append(f"the table is {self._show()}")
        self._changes += 1
        self._server.query(f"UPDATE d.t SET k = k + 1 WHERE id = {self._changes}")
        return problems + _interrupted.left_over(self._server, "build")


def run(work: Workspace, _: argparse.Namespace) -> Tally:
    """All cases, on one server."""
    test = IndexBuild(work)
    outcomes = [(name, test.fail(failure)) for name, failure in _interrupted.FAILURES.items()]
    outcomes += [(f"KILL after {seconds} s", test.kill(seconds))
                 for seconds in _KILLS_AFTER_SECONDS]
    outcomes.append(("a sound disk", test.succeed()))
    return tally_of(outcomes)


def main() -> int:
    return main_without_sanitizers("index_build", workspace.parser(__doc__).parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
