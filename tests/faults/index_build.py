"""Lets the disk fail, and KILL come, while an index is added in place.

Usage: ./basalt python tests/faults/index_build.py

Whatever fails of the files that are built, the statement fails with a text that names file and
cause, the table is as it was, rows can be written, nothing is left of the files, and when the disk
is sound again the statement succeeds. The same when the statement is killed, at any of its stages.
"""

from __future__ import annotations

import argparse
import errno
import sys
import threading
import time

import pymysql

from tests.faults._faults import Call, Faults, main_without_sanitizers
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

_ROWS = 300_000
_ADD = "ALTER TABLE d.t ADD INDEX ks (k, s), ADD INDEX s (s DESC), ALGORITHM=INPLACE"
_CASES = (
    ("write", Call.WRITE, errno.EIO, 0), ("write, device full", Call.WRITE, errno.ENOSPC, 3),
    ("sync", Call.SYNC, errno.EIO, 0), ("creation", Call.CREATE, errno.ENOSPC, 0),
    ("creation of the second file", Call.CREATE, errno.EIO, 1),
)
_TEXTS = {errno.EIO: "Input/output error", errno.ENOSPC: "No space left on device"}
_KILLS_AFTER_SECONDS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.2)
_QUERY_INTERRUPTED = 1317


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

    def fail(self, calls: Call, cause: int, skipped: int) -> list[str]:
        """The statement while calls on the files that are built fail."""
        self._faults.set(calls, "/build/", cause, skipped=skipped)
        problems = ["nothing failed"]
        try:
            self._server.query(_ADD)
        except pymysql.err.Error as error:
            text = str(error)
            problems = [] if "/build/" in text and _TEXTS[cause] in text else [f"the text: {text}"]
        self._faults.heal()
        return problems + self._check()

    def kill(self, seconds: float) -> list[str]:
        """The statement, killed after some time, unless it has ended by then."""
        problems: list[str] = []
        with self._server.connect() as connection:
            alter = threading.Thread(target=self._alter, args=(connection, problems))
            alter.start()
            time.sleep(seconds)
            self._server.query(f"KILL QUERY {connection.thread_id()}")
            alter.join()
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

    def _alter(self, connection: pymysql.Connection, problems: list[str]) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute(_ADD)
        except pymysql.err.Error as error:
            if error.args[0] != _QUERY_INTERRUPTED:
                problems.append(f"killed: {error}")

    def _show(self) -> str:
        return str(self._server.query("SHOW CREATE TABLE d.t")[0][1])

    def _check(self, is_added: bool = False) -> list[str]:
        problems = checks.check_tables(self._server)
        if is_added != (self._show() != self._definition):
            problems.append(f"the table is {self._show()}")
        self._changes += 1
        self._server.query(f"UPDATE d.t SET k = k + 1 WHERE id = {self._changes}")
        left = list((self._server.datadir / "#rocksdb" / "build").glob("*"))
        if left:
            problems.append(f"left over: {left}")
        return problems


def run(work: Workspace, _: argparse.Namespace) -> Tally:
    """All cases, on one server."""
    test = IndexBuild(work)
    outcomes = [(name, test.fail(*case)) for name, *case in _CASES]
    outcomes += [(f"KILL after {seconds} s", test.kill(seconds))
                 for seconds in _KILLS_AFTER_SECONDS]
    outcomes.append(("a sound disk", test.succeed()))
    for name, problems in outcomes:
        print(f"{'FAILED' if problems else 'passed'}  {name}")
        for problem in problems:
            print(f"        {problem}")
    failed = sum(1 for _, problems in outcomes if problems)
    return Tally(len(outcomes) - failed, failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    workspace.add_arguments(parser)
    return main_without_sanitizers("index_build", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
