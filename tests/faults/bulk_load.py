"""Lets the disk fail, and KILL come, while rows are loaded in files.

Usage: ./basalt python tests/faults/bulk_load.py

Whatever fails of the files, the statement fails with a text that names file and cause, the table is
as it was, rows can be written, nothing is left of the files, and when the disk is sound again the
statement succeeds. If the files cannot be taken in when the commit is written already, the rows
come when the engine is resumed, or with the next start. With the binary log and without.
"""

from __future__ import annotations

import argparse
import re
import sys

import pymysql

from tests.faults import _interrupted
from tests.faults._bench import OPTIONS
from tests.faults._faults import Faults, main_without_sanitizers, tally_of
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

_ROWS = 20_000
# Rows of 1 KB: in no order, which are sorted; in that of the keys, which are written meanwhile; and
# in order but for the last one, so that what is written is read back.
_LOAD = ("INSERT INTO d.t SELECT seq * 7919 % 20011, seq, REPEAT(MD5(seq), 32) "
         f"FROM d.seq_1_to_{_ROWS}")
_IN_ORDER = ("INSERT INTO d.t SELECT seq{}, seq, HEX(RANDOM_BYTES(512)) "
             f"FROM d.seq_1_to_{_ROWS}")
_LOADS = {"": _LOAD, " of rows in order": _IN_ORDER.format(""),
          " of rows in order but one": _IN_ORDER.format(f" % {_ROWS}")}
_COPIES = ("ALTER TABLE d.t FORCE, ALGORITHM=COPY",
           "CREATE TABLE d.c (PRIMARY KEY (id)) ENGINE=ROCKSDB SELECT * FROM d.t")
_KILLS_AFTER_SECONDS = (0.1, 0.3, 0.6)


class BulkLoad:
    """One server with a table that has a few rows, and gets many."""

    def __init__(self, work: Workspace) -> None:
        self._faults = Faults(work.directory)
        self._server = work.server("data", options=OPTIONS, environment=self._faults.environment)
        self._server.start()
        self._server.query("CREATE DATABASE d")
        self._server.query("CREATE TABLE d.t (id INT PRIMARY KEY, k INT, s VARCHAR(1024), "
                           "UNIQUE (k)) CHARACTER SET latin1 ENGINE=ROCKSDB")
        self._server.query("INSERT INTO d.t VALUES (-1, -1, 'before')")
        self._changes = 0

    def fail(self, failure: _interrupted.Failure, load: str) -> list[str]:
        """The statement while calls on its files fail, and then on a sound disk."""
        problems = _interrupted.fail(self._faults, failure, "loads",
                                     lambda: self._load(load=load))
        problems += self._check(1)
        self._load(load=load)
        problems += self._check(1 + _ROWS)
        self._server.query("DELETE FROM d.t WHERE id >= 0")
        return problems

    def kill(self, seconds: float, load: str) -> list[str]:
        """The statement, killed after some time, unless it has ended by then."""
        problems = _interrupted.kill(self._server, ("SET rocksdb_bulk_load = 1", load), seconds)
        rows = self._count()
        if rows not in (1, 1 + _ROWS):
            problems.append(f"{rows} rows are there")
        self._server.query("DELETE FROM d.t WHERE id >= 0")
        return problems + self._check(1)

    def fail_before_commit(self, obstacle: _interrupted.Obstacle, logs: bool) -> list[str]:
        """The files cannot be prepared to be taken in."""
        problems: list[str] = []
        with _interrupted.files_kept_out(self._server, self._faults, obstacle, problems):
            problems += _interrupted.refused(lambda: self._load(logs))
        _interrupted.go_on(self._server, restarts=False)
        return problems + self._check(1)

    def fail_behind_commit(self, obstacle: _interrupted.Obstacle, logs: bool,
                           restarts: bool) -> list[str]:
        """The files cannot be taken in, when the commit is written."""
        problems: list[str] = []
        with _interrupted.files_kept_out(self._server, self._faults, obstacle, problems):
            try:
                self._load(logs)
            except pymysql.err.Error as error:
                problems.append(f"the statement, which is committed, fails: {error}")
            problems += _interrupted.check_read_only(self._server)
        _interrupted.go_on(self._server, restarts)
        problems += self._check(1 + _ROWS)
        self._server.query("DELETE FROM d.t WHERE id >= 0")
        return problems

    def fail_copy_behind_commit(self, copy: str, obstacle: _interrupted.Obstacle,
                                restarts: bool) -> list[str]:
        """The same of a statement that copies the rows into a table which it gives up then."""
        self._load()
        problems: list[str] = []
        with _interrupted.files_kept_out(self._server, self._faults, obstacle, problems):
            try:
                self._server.query(copy)
                problems.append("the statement succeeds")
            except pymysql.err.Error:
                pass
        if not restarts:
            _interrupted.go_on(self._server, restarts=False)
            problems += self._check(1 + _ROWS)
        # What the statement could not drop goes then.
        self._server.kill()
        self._server.start()
        problems += self._check(1 + _ROWS)
        # A resume drops the copy of an ALTER TABLE. Of others a warning tells at the start.
        if restarts or copy.startswith("CREATE"):
            problems += self._drop_left()
        problems += checks.left_tables(self._server)
        self._server.query(copy)
        problems += self._check(1 + _ROWS)
        self._server.query("DROP TABLE IF EXISTS d.c")
        self._server.query("DELETE FROM d.t WHERE id >= 0")
        return problems

    def _drop_left(self) -> list[str]:
        """Does what the error log says of the table that is left."""
        found = re.findall(r"the table 'd/(\S+)' is left over", self._server.log.read_text())
        if not found:
            return ["the error log does not name the table that is left"]
        prefix = "#mysql50#" if found[-1].startswith("#") else ""
        self._server.query(f"DROP TABLE IF EXISTS d.`{prefix}{found[-1]}`")
        return []

    def drop_meanwhile(self) -> list[str]:
        """DROP TABLE fails while nothing can be written: the table stays, with all partitions."""
        for name, partitions in (("whole", ""), ("parts", "PARTITION BY HASH (id) PARTITIONS 3")):
            self._server.query(f"CREATE TABLE d.{name} (id INT PRIMARY KEY) ENGINE=ROCKSDB "
                               f"{partitions} SELECT seq AS id FROM d.seq_1_to_100")
        problems: list[str] = []
        obstacle = _interrupted.BEHIND_COMMIT["writes of the manifest fail"]
        with _interrupted.files_kept_out(self._server, self._faults, obstacle, problems):
            try:
                self._load()
            except pymysql.err.Error as error:
                problems.append(f"the statement, which is committed, fails: {error}")
            for name in ("whole", "parts"):
                try:
                    self._server.query(f"DROP TABLE d.{name}")
                    problems.append(f"DROP TABLE {name} succeeds")
                except pymysql.err.Error:
                    pass
        _interrupted.go_on(self._server, restarts=False)
        for name in ("whole", "parts"):
            rows = int(self._server.query(f"SELECT COUNT(*) FROM d.{name}")[0][0])
            if rows != 100:
                problems.append(f"{name} has {rows} rows instead of 100")
            self._server.query(f"DROP TABLE d.{name}")
        self._server.query("DELETE FROM d.t WHERE id >= 0")
        return problems + self._check(1)

    def _load(self, logs: bool = True, load: str = _LOAD) -> None:
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SET rocksdb_bulk_load = 1, sql_log_bin = {int(logs)}")
            cursor.execute(load)

    def _count(self) -> int:
        return int(self._server.query("SELECT COUNT(*) FROM d.t")[0][0])

    def _check(self, rows: int) -> list[str]:
        problems = checks.check_tables(self._server)
        if self._count() != rows:
            problems.append(f"{self._count()} rows instead of {rows}")
        self._changes += 1
        self._server.query(f"UPDATE d.t SET s = 'changed {self._changes}' WHERE id = -1")
        return problems + _interrupted.left_over(self._server, "loads")


def run(work: Workspace, _: argparse.Namespace) -> Tally:
    """All cases, on one server."""
    test = BulkLoad(work)
    outcomes = [(name + rows, test.fail(failure, load))
                for name, failure in _interrupted.FAILURES.items()
                for rows, load in _LOADS.items()]
    outcomes += [(f"KILL after {seconds} s{rows}", test.kill(seconds, load))
                 for seconds in _KILLS_AFTER_SECONDS for rows, load in _LOADS.items()]
    outcomes += [(f"{name} before files are taken in, {'with' if logs else 'without'} the binary "
                  "log", test.fail_before_commit(obstacle, logs))
                 for name, obstacle in _interrupted.BEFORE_COMMIT.items()
                 for logs in (True, False)]
    outcomes += [(f"{name} when files are taken in, {'with' if logs else 'without'} the binary "
                  f"log, and {'a start' if restarts else 'a resume'} follows",
                  test.fail_behind_commit(obstacle, logs, restarts))
                 for name, obstacle in _interrupted.BEHIND_COMMIT.items()
                 for logs in (True, False) for restarts in (True, False)]
    outcomes += [(f"{name} when those of {copy} are taken in, and a "
                  f"{'start' if restarts else 'resume'} follows",
                  test.fail_copy_behind_commit(copy, obstacle, restarts))
                 for name, obstacle in _interrupted.BEHIND_COMMIT.items()
                 for copy in _COPIES for restarts in (True, False)]
    outcomes.append(("DROP TABLE while nothing can be written", test.drop_meanwhile()))
    return tally_of(outcomes)


def main() -> int:
    return main_without_sanitizers("bulk_load", workspace.parser(__doc__).parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
