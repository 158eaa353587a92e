"""Lets the disk fail while a transaction's changes are in files: when it moves them there, merges
them, reads them, and when they are taken in.

Usage: ./basalt python tests/faults/changes_in_files.py

A statement that cannot write or read its files fails with a text that names file and cause. What
the transaction did before is there, the engine takes writes, and on a sound disk the same statement
succeeds. Where the commit or the prepare cannot write its files, merged or not, nothing of the
transaction is done. If they cannot be taken in when the commit is written already, the changes come
when the engine is resumed, or with the next start. In the end nothing is left of the files. A table
of InnoDB that gets the same statements says what the rows should be.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence
from typing import Any

import pymysql

from tests.faults import _interrupted
from tests.faults._bench import OPTIONS
from tests.faults._faults import Call, Faults, main_without_sanitizers, tally_of
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

_ROWS = 2000
_BEFORE = "UPDATE d.{} SET k = k + 1, s = CONCAT('before ', id) WHERE id % 20 = 0"
_STATEMENTS = {
    "UPDATE": "UPDATE d.{} SET k = k + 7, s = CONCAT('after ', id + 1)",
    "DELETE": "DELETE FROM d.{} WHERE id % 3 != 0",
    "INSERT": "INSERT INTO d.{} SELECT id + 10000, k, CONCAT('new ', id) FROM d.source",
    "REPLACE": "REPLACE INTO d.{} SELECT id * 2, k + 1, CONCAT('replaced ', id) FROM d.source",
}
_FAILURES = {**_interrupted.FAILURES,
             "reading": _interrupted.Failure(Call.READ, errno.EIO),
             "later write": _interrupted.Failure(Call.WRITE, errno.EIO, 6)}
_FAILURES_AT_END = {"write": _interrupted.Failure(Call.WRITE, errno.EIO),
                    "write, device full": _interrupted.Failure(Call.WRITE, errno.ENOSPC),
                    "sync": _interrupted.Failure(Call.SYNC, errno.EIO),
                    "creation": _interrupted.Failure(Call.CREATE, errno.ENOSPC),
                    "creation of the second file": _interrupted.Failure(Call.CREATE, errno.EIO, 1)}
# Savepoints, each of which begins a run; with more runs than some the commit merges them.
_FEW, _MANY = 2, 40
_RUNS_MERGED = 8
_SORTED_RUNS = "SELECT MAX(SORTED_RUNS) FROM information_schema.ROCKSDB_TRX"
Rows = Sequence[tuple[Any, ...]]


class ChangesInFiles:
    """One server with a table that is changed in large transactions, and its twin."""

    def __init__(self, work: Workspace) -> None:
        self._faults = Faults(work.directory)
        self._server = work.server("data", options=OPTIONS, environment=self._faults.environment)
        self._server.start()
        self._server.query("CREATE DATABASE d")
        for name, engine in (("t", "ROCKSDB"), ("twin", "InnoDB"), ("source", "InnoDB")):
            self._server.query(f"CREATE TABLE d.{name} (id INT PRIMARY KEY, k INT, s VARCHAR(60), "
                               f"KEY (k), UNIQUE (s)) CHARACTER SET latin1 ENGINE={engine}")
        self._server.query(f"INSERT INTO d.source SELECT seq, seq % 100, MD5(seq) "
                           f"FROM d.seq_1_to_{_ROWS}")
        self._refill()

    def fail_statement(self, failure: _interrupted.Failure, statement: str) -> list[str]:
        """A statement in the middle of a transaction, and once more on a sound disk."""
        with self._session() as connection, connection.cursor() as cursor:
            cursor.execute(_BEFORE.format("t"))
            problems = _interrupted.fail(self._faults, failure, "loads",
                                         lambda: cursor.execute(statement.format("t")))
            if problems:
                return problems
            self._of_twin(_BEFORE)
            problems += self._compare(cursor, "after the failure")
            problems += self._check_writable()
            cursor.execute(statement.format("t"))
            self._of_twin(statement)
            problems += self._compare(cursor, "on a sound disk")
            connection.commit()
        return problems + self._check()

    def fail_read(self) -> list[str]:
        """A read of what the transaction has changed."""
        with self._session() as connection, connection.cursor() as cursor:
            cursor.execute(_STATEMENTS["UPDATE"].format("t"))
            self._of_twin(_STATEMENTS["UPDATE"])
            # Nothing of the files may be in memory.
            self._server.query("SET GLOBAL rocksdb_block_cache_size = 1048576")
            problems = _interrupted.fail(
                self._faults, _interrupted.Failure(Call.READ, errno.EIO), "loads",
                lambda: cursor.execute("SELECT SUM(k), MAX(s) FROM d.t FORCE INDEX (PRIMARY)"))
            problems += self._compare(cursor, "on a sound disk")
            connection.commit()
        return problems + self._check()

    def fail_end(self, failure: _interrupted.Failure, runs: int, end: str, logs: bool) -> list[str]:
        """COMMIT or XA PREPARE of about so many runs."""
        with self._session(is_xa=end != "COMMIT", logs=logs) as connection, \
                connection.cursor() as cursor:
            for i in range(runs):
                self._change_some(cursor, "t", i)
                cursor.execute(f"SAVEPOINT s{i}")
            if end != "COMMIT":
                cursor.execute("XA END 'x'")
            found = int(self._server.query(_SORTED_RUNS)[0][0])
            problems = _interrupted.fail(self._faults, failure, "loads",
                                         lambda: cursor.execute(end))
            if (found > _RUNS_MERGED) != (runs == _MANY):
                problems.append(f"{found} runs instead of {runs}")
            # The server has ended an XA transaction, too.
            connection.rollback()
        return problems + self._check_writable() + self._check()

    def fail_before_commit(self, obstacle: _interrupted.Obstacle, logs: bool) -> list[str]:
        """The files cannot be prepared to be taken in."""
        problems: list[str] = []
        with self._session(logs=logs) as connection, connection.cursor() as cursor:
            cursor.execute(_STATEMENTS["UPDATE"].format("t"))
            with _interrupted.files_kept_out(self._server, self._faults, obstacle, problems):
                problems += _interrupted.refused(connection.commit)
            connection.rollback()
        _interrupted.go_on(self._server, restarts=False)
        return problems + self._check()

    def fail_behind_commit(self, obstacle: _interrupted.Obstacle, logs: bool,
                           restarts: bool) -> list[str]:
        """The files cannot be taken in, when the commit is written."""
        statement = _STATEMENTS["UPDATE"]
        problems: list[str] = []
        with self._session(logs=logs) as connection, connection.cursor() as cursor:
            cursor.execute(statement.format("t"))
            self._of_twin(statement)
            with _interrupted.files_kept_out(self._server, self._faults, obstacle, problems):
                try:
                    connection.commit()
                except pymysql.err.Error as error:
                    problems.append(f"the transaction, which is committed, fails: {error}")
                problems += _interrupted.check_read_only(self._server)
        _interrupted.go_on(self._server, restarts)
        return problems + self._check()

    # ---- steps

    def _refill(self) -> None:
        for name in ("t", "twin"):
            self._server.query(f"DELETE FROM d.{name}")
            self._server.query(f"INSERT INTO d.{name} SELECT * FROM d.source")

    def _session(self, *, is_xa: bool = False, logs: bool = True) -> pymysql.Connection:
        connection = self._server.connect(autocommit=False)
        with connection.cursor() as cursor:
            cursor.execute(f"SET sql_log_bin = {int(logs)}, "
                           "rocksdb_write_batch_spill_bytes = 5000")
            cursor.execute("XA START 'x'" if is_xa else "BEGIN")
        return connection

    def _change_some(self, cursor: pymysql.cursors.Cursor, table: str, i: int) -> None:
        cursor.execute(f"UPDATE d.{table} SET k = k + 1, s = CONCAT('{i} of ', id) "
                       f"WHERE id BETWEEN {i * 50} AND {i * 50 + 70}")

    def _of_twin(self, statement: str) -> None:
        self._server.query(statement.format("twin"))

    def _compare(self, cursor: pymysql.cursors.Cursor, when: str) -> list[str]:
        """What the transaction sees, beside the twin."""
        problems: list[str] = []
        expected = self._server.query("SELECT id, k, s FROM d.twin ORDER BY id")
        for index, condition in (("PRIMARY", "id >= 0"), ("k", "k >= 0"), ("s", "s >= ''")):
            cursor.execute(f"SELECT id, k, s FROM d.t FORCE INDEX ({index}) WHERE {condition} "
                           "ORDER BY id")
            found: Rows = cursor.fetchall()
            problems += [f"{when}: {line}" for line in
                         checks.difference(expected, list(found), ("InnoDB", f"by {index}"))[:3]]
        return problems

    def _check_writable(self) -> list[str]:
        state = self._server.query("SHOW GLOBAL STATUS LIKE 'Rocksdb_state'")[0][1]
        return [] if state == "writable" else [f"the engine is {state}"]

    def _check(self) -> list[str]:
        """When nothing is open."""
        problems = checks.check_tables(self._server)
        with self._server.connect() as connection, connection.cursor() as cursor:
            problems += self._compare(cursor, "in the end")
        problems += self._check_writable() + _interrupted.left_over(self._server, "loads")
        self._refill()
        return problems


def run(work: Workspace, _: argparse.Namespace) -> Tally:
    """All cases, on one server."""
    test = ChangesInFiles(work)
    outcomes = [(f"{name}, {statement}", test.fail_statement(failure, text))
                for name, failure in _FAILURES.items() for statement, text in _STATEMENTS.items()]
    outcomes.append(("a read of own changes", test.fail_read()))
    outcomes += [(f"{name}, {end} of {runs} runs {'with' if logs else 'without'} the binary log",
                  test.fail_end(failure, runs, end, logs))
                 for name, failure in _FAILURES_AT_END.items() for runs in (_FEW, _MANY)
                 for end in ("COMMIT", "XA PREPARE 'x'") for logs in (True, False)]
    outcomes += [(f"{name} before files are taken in, {'with' if logs else 'without'} the binary "
                  "log", test.fail_before_commit(obstacle, logs))
                 for name, obstacle in _interrupted.BEFORE_COMMIT.items()
                 for logs in (True, False)]
    outcomes += [(f"{name} when files are taken in, {'with' if logs else 'without'} the binary "
                  f"log, and {'a start' if restarts else 'a resume'} follows",
                  test.fail_behind_commit(obstacle, logs, restarts))
                 for name, obstacle in _interrupted.BEHIND_COMMIT.items()
                 for logs in (True, False) for restarts in (True, False)]
    return tally_of(outcomes)


def main() -> int:
    return main_without_sanitizers("changes_in_files", workspace.parser(__doc__).parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
