#!/usr/bin/python3
"""Random SQL on the engine and on a model in memory: every result must agree.

Usage: tests/model/run.py [--seconds N | --operations N] [--seed S]

Several connections take turns, so that the order of statements is known and a seed repeats a run.
They read and write tables with primary, unique, nullable unique, multi-part and descending
indexes and one without a key: transactions at both isolation levels, savepoints, statements that
fail by duplicate keys or by rows that another transaction has locked, TRUNCATE, OPTIMIZE, restarts
and crashes. The model predicts rows, their order, counts, error codes and the key of a duplicate;
CHECK TABLE runs now and then and at the end, where every index is read in both directions.

The last line says whether it passed. A failure shows the last operations and how to repeat them,
and keeps the files.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / folder) for folder in ("tools", "tests")]

import pymysql

from _operations import Expected, Generator
from _schema import TABLES, Row
from _state import Model, Transaction, Unknown
from basaltcli.errors import BasaltError
from support import checks, workspace
from support.workspace import Tally, Workspace

DATABASE = "model"
SECONDS = 30
_TAIL = 30
_LEVELS = {True: "REPEATABLE READ", False: "READ COMMITTED"}
_ISOLATION = {"both": (True, False), "rr": (True,), "rc": (False,)}
# Small memtables and the lowest timeout: files on disk, and conflicts that fail at once.
_OPTIONS = ("--loose-rocksdb-write-buffer-size=64K", "--loose-rocksdb-lock-wait-timeout=0",
            "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
# For every other session: rows of several ranges are read in the order of the primary key.
_RANGES_IN_ANY_ORDER = "mrr=on,mrr_cost_based=off,mrr_sort_keys=on"
_DUPLICATE = re.compile(r"for key '(\w+)'")


class Disagreement(Exception):
    """The engine and the model differ."""


@dataclass
class Session:
    """A connection and its transaction, if one is open."""

    number: int
    connection: pymysql.connections.Connection
    is_repeatable: bool = True
    transaction: Transaction | None = None


class ModelTest:
    """The server, the model, and the next operation."""

    def __init__(self, work: Workspace, seed: int, sessions: int,
                 levels: tuple[bool, ...]) -> None:
        self.operations = 0
        self.tail: deque[str] = deque(maxlen=_TAIL)
        self.counts: Counter[str] = Counter()
        self._log = (work.directory / "operations.sql").open("w")
        self._chance = random.Random(seed)
        self._levels = levels
        self._model = Model()
        self._generator = Generator(self._model, self._chance)
        self._server = work.server("data", options=_OPTIONS)
        self._server.start()
        self._server.query(f"CREATE DATABASE {DATABASE}")
        self._sessions = [Session(i + 1, self._connect(i + 1)) for i in range(sessions)]
        for table in TABLES:
            self._execute(self._sessions[0], table.create_sql())

    def step(self) -> None:
        """One operation of one session."""
        self.operations += 1
        session = self._chance.choice(self._sessions)
        kind = self._chance.random()
        if kind < 0.004:
            self._maintain(session)
        elif session.transaction is None:
            begin = self._begin if kind < 0.6 else self._statement
            begin(session)
        elif kind < 0.1:
            self._commit(session)
        elif kind < 0.15:
            self._roll_back(session)
        elif kind < 0.22:
            self._savepoint(session)
        else:
            self._statement(session)

    def finish(self) -> None:
        """The last checks."""
        for session in self._sessions:
            if session.transaction is not None:
                self._roll_back(session)
        self._check_tables()
        for table in TABLES:
            for number in range(len(table.indexes)):
                for backward in (False, True):
                    transaction = self._model.begin(True)
                    sql, expected = self._generator.whole_index(transaction, table, number,
                                                                backward)
                    self._run(self._sessions[0], sql, expected)
                    self._model.roll_back(transaction)
        self._server.stop()

    # ---- transactions

    def _begin(self, session: Session) -> None:
        self._draw_level(session)
        session.transaction = self._model.begin(session.is_repeatable)
        if session.is_repeatable and self._chance.random() < 0.2:
            self._execute(session, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
            self._model.open_snapshot(session.transaction)
            session.transaction.takes_part = True
        else:
            self._execute(session, "BEGIN")

    def _commit(self, session: Session) -> None:
        assert session.transaction is not None
        self._execute(session, "COMMIT")
        self._model.commit(session.transaction)
        session.transaction = None

    def _roll_back(self, session: Session) -> None:
        assert session.transaction is not None
        self._execute(session, "ROLLBACK")
        self._model.roll_back(session.transaction)
        session.transaction = None

    def _savepoint(self, session: Session) -> None:
        transaction = session.transaction
        assert transaction is not None
        known = [each.name for each in transaction.savepoints]
        kind = self._chance.random()
        if not known or kind < 0.5:
            name = self._chance.choice("abc")
            self._execute(session, f"SAVEPOINT {name}")
            transaction.set_savepoint(name)
        elif kind < 0.85:
            name = self._chance.choice(known)
            self._execute(session, f"ROLLBACK TO SAVEPOINT {name}")
            transaction.roll_back_to(name)
        else:
            name = self._chance.choice(known)
            self._execute(session, f"RELEASE SAVEPOINT {name}")
            transaction.release(name)

    def _draw_level(self, session: Session) -> None:
        is_repeatable = self._chance.choice(self._levels)
        if is_repeatable != session.is_repeatable:
            self._execute(session,
                          f"SET SESSION TRANSACTION ISOLATION LEVEL {_LEVELS[is_repeatable]}")
            session.is_repeatable = is_repeatable

    # ---- statements

    def _statement(self, session: Session) -> None:
        """A statement in the session's transaction, or one that is a transaction itself."""
        transaction = session.transaction or self._model.begin(session.is_repeatable)
        failed = True
        try:
            sql, expected = self._generator.draw(transaction)
            transaction.takes_part = True
            self._run(session, sql, expected)
            failed = expected.error != 0
        except Unknown:
            self.counts["not predictable"] += 1
        finally:
            if session.transaction is None:
                if failed:
                    self._model.roll_back(transaction)
                else:
                    self._model.commit(transaction)

    def _run(self, session: Session, sql: str, expected: Expected) -> None:
        self._note(session, sql)
        with session.connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                code, text = 0, ""
            except pymysql.err.Error as error:
                code, text = error.args[0], str(error.args[-1])
            rows = list(cursor.fetchall()) if code == 0 and cursor.description else None
            self.counts[sql.split()[0] if code == 0 else f"error {code}"] += 1
            if code != expected.error:
                wanted = f"error {expected.error}: {expected.reason}" if expected.error else "none"
                raise Disagreement(f"error {code} {text}; expected {wanted}" if code
                                   else f"no error; expected {wanted}")
            found = _DUPLICATE.search(text)
            if expected.key and (found is None or found[1] != expected.key):
                raise Disagreement(f"{text}; expected key {expected.key}")
            if code == 0:
                self._compare(rows, cursor.rowcount, expected)
            problem = expected.finish(cursor.lastrowid or 0)
            if problem:
                raise Disagreement(problem)

    def _compare(self, rows: list[Row] | None, count: int, expected: Expected) -> None:
        if expected.count is not None and count != expected.count:
            raise Disagreement(f"{count} rows affected; expected {expected.count}")
        if expected.rows is None:
            return
        found, wanted = rows or [], expected.rows
        if not expected.is_ordered:
            found, wanted = sorted(found, key=repr), sorted(wanted, key=repr)
        if found != wanted:
            raise Disagreement("\n  ".join(["other rows", *checks.difference(
                found, wanted, ("the table", "the model"), 20)]))

    # ---- what is done now and then

    def _maintain(self, session: Session) -> None:
        kind = self._chance.random()
        is_quiet = not self._model.open
        table = self._chance.choice(TABLES).name
        if kind < 0.5 or not is_quiet and kind < 0.9:
            self._check_tables()
        elif kind < 0.6:
            self._execute(session, f"TRUNCATE TABLE {table}")
            self._model.committed = {**self._model.committed, table: {}}
        elif kind < 0.75:
            self._execute(session, f"OPTIMIZE TABLE {table}")
        elif kind < 0.9:
            self._execute(session, f"ANALYZE TABLE {table}")
        else:
            self._restart(crash=self._chance.random() < 0.7)

    def _check_tables(self) -> None:
        self.counts["CHECK TABLE"] += 1
        problems = checks.check_tables(self._server)
        if problems:
            raise Disagreement("\n  ".join(problems))

    def _restart(self, crash: bool) -> None:
        """Open transactions are rolled back by it."""
        self._note(None, "-- mariadbd killed" if crash else "-- mariadbd stopped")
        self.counts["restart"] += 1
        if crash:
            self._server.kill()
        else:
            self._server.stop()
        self._server.start()
        self._model.open.clear()
        self._sessions = [Session(each.number, self._connect(each.number))
                          for each in self._sessions]

    # ---- the connection

    def _connect(self, number: int) -> pymysql.connections.Connection:
        connection = self._server.connect(autocommit=None)
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            cursor.execute(f"USE {DATABASE}")
            cursor.execute("SET lock_wait_timeout = 5")
            if number % 2 == 0:
                cursor.execute(f"SET optimizer_switch = '{_RANGES_IN_ANY_ORDER}'")
        return connection

    def _execute(self, session: Session, sql: str) -> Any:
        """A statement that must succeed."""
        self._note(session, sql)
        with session.connection.cursor() as cursor:
            try:
                cursor.execute(sql)
            except pymysql.err.Error as error:
                raise Disagreement(f"{error}; expected no error") from error
            return cursor.fetchall()

    def _note(self, session: Session | None, sql: str) -> None:
        line = f"/* {self.operations:6} {f'c{session.number}' if session else ''} */ {sql};"
        self.tail.append(line)
        self._log.write(line + "\n")
        self._log.flush()


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All operations, which pass when the engine and the model agree."""
    test = ModelTest(work, arguments.seed, arguments.sessions, _ISOLATION[arguments.isolation])
    deadline = time.monotonic() + arguments.seconds
    try:
        while (test.operations < arguments.operations if arguments.operations
               else time.monotonic() < deadline):
            test.step()
        test.finish()
    except (Disagreement, BasaltError, pymysql.err.Error) as error:
        print("\n".join(test.tail))
        print(f"operation {test.operations}: {error}")
        print(f"repeat: tests/model/run.py --seed {arguments.seed} "
              f"--sessions {arguments.sessions} --isolation {arguments.isolation} "
              f"--operations {test.operations}")
        return Tally(0, 1)
    counts = ", ".join(f"{count} {name}" for name, count in test.counts.most_common())
    print(f"{test.operations} operations agree: {counts}")
    return Tally(1, 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=SECONDS,
                        help="how long to go on (default: %(default)s)")
    parser.add_argument("--operations", type=int, help="how many operations, instead of seconds")
    parser.add_argument("--sessions", type=int, default=4,
                        help="connections (default: %(default)s)")
    parser.add_argument("--isolation", choices=_ISOLATION, default="both",
                        help="levels of the transactions (default: %(default)s)")
    # One seed by default, so that a change is judged by its own merits; 0 to look for more.
    parser.add_argument("--seed", type=int, default=1, help="0: a random one (default: 1)")
    workspace.add_arguments(parser)
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    arguments.seed = arguments.seed or random.randrange(1, 1 << 30)
    print(f"seed {arguments.seed}", flush=True)
    return workspace.main("model", arguments, run)


if __name__ == "__main__":
    sys.exit(main())
