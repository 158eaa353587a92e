"""Random SQL on the engine and on a model in memory: every result must agree.

Usage: ./basalt python tests/model/run.py [--seconds N | --operations N] [--seed S]

Several connections take turns, so that the order of statements is known and a seed repeats a run.
They read and write tables with primary, unique, nullable unique, multi-part and descending
indexes and one without a key, some of them partitioned, and temporary tables: transactions at both
isolation levels, savepoints, rows that move along keys, triggers and functions with savepoints,
statements that fail by duplicate keys or by rows that another transaction has locked; XA
transactions that anybody decides after their sessions have gone; definitions of tables that others
use; restarts and crashes. The model predicts rows, their order, counts, error codes and the key of
a duplicate; CHECK TABLE runs now and then and at the end, where every index is read in both
directions, and when all is dropped nothing may be left.

The last line says whether it passed. A failure shows the last operations and how to repeat them,
and keeps the files.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from typing import Any

import pymysql

from basaltcli.errors import BasaltError
from tests.model import _definitions, _routines
from tests.model._definitions import Definition
from tests.model._operations import Expected, Generator
from tests.model._schema import NOTES, TABLES, Row, Table, temporary_table
from tests.model._state import Model, Transaction, Unknown
from tests.support import checks, space, spilling, workspace
from tests.support.workspace import Tally, Workspace

DATABASE = "model"
SECONDS = 40
_TAIL = 30
_LEVELS = {True: "REPEATABLE READ", False: "READ COMMITTED"}
_ISOLATION = {"both": (True, False), "rr": (True,), "rc": (False,)}
# Small memtables and the lowest timeout: files on disk, and conflicts that fail at once.
_OPTIONS = ("--loose-rocksdb-write-buffer-size=64K", "--loose-rocksdb-lock-wait-timeout=0",
            "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1",
            "--log-bin-trust-function-creators=ON")
# For every other session: rows of several ranges are read in the order of the primary key.
_RANGES_IN_ANY_ORDER = "mrr=on,mrr_cost_based=off,mrr_sort_keys=on"
_DUPLICATE = re.compile(r"for key '(\w+)'")
_UNKNOWN_XID = 1397
_NOT_IN_THIS_STATE = 1399
_POLL_SECONDS = 0.002
_END_SECONDS = 60


class Disagreement(Exception):
    """The engine and the model differ."""


@dataclass
class Session:
    """A connection, its transaction, if one is open, and its temporary table, if it has one."""

    number: int
    connection: pymysql.connections.Connection
    is_repeatable: bool = True
    transaction: Transaction | None = None
    temporary: Table | None = None


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
        routines = _routines.draw(self._chance)
        self._model.on_change = routines.on_change
        self._partitions = {table.name: self._chance.choice(table.partitions)
                            for table in TABLES if table.partitions}
        self._generator = Generator(self._model, self._chance, routines, frozenset(
            name for name, how in self._partitions.items() if how))
        self._xids = 0
        self._server = work.server("data", options=_OPTIONS)
        self._server.start()
        self._server.query(f"CREATE DATABASE {DATABASE}")
        self._sessions = [Session(i + 1, self._connect(i + 1)) for i in range(sessions)]
        for table in (*TABLES, NOTES):
            self._execute(self._sessions[0], table.create_sql(self._partitions.get(table.name, "")))
        for sql in routines.create_sql():
            self._execute(self._sessions[0], sql)

    def step(self) -> None:
        """One operation of one session."""
        self.operations += 1
        session = self._chance.choice(self._sessions)
        kind = self._chance.random()
        if kind < 0.003:
            self._maintain(session)
        elif kind < 0.009:
            self._define(session)
        elif kind < 0.012:
            self._disconnect(session)
        elif session.transaction is not None and session.transaction.is_prepared:
            self._step_prepared(session)
        elif kind < 0.045:
            self._temporary(session)
        elif session.transaction is None and self._model.detached and kind < 0.14:
            if kind < 0.09:
                self._end_all()
                self._define(session)
            else:
                self._decide(session, self._chance.choice(self._model.detached))
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
        for transaction in self._model.detached:
            self._decide(self._sessions[0], transaction)
        self._check_tables()
        for table in TABLES:
            for number in range(len(table.indexes)):
                for backward in (False, True):
                    transaction = self._model.begin(True)
                    sql, expected = self._generator.whole_index(transaction, table, number,
                                                                backward)
                    self._run(self._sessions[0], sql, expected)
                    self._model.roll_back(transaction)
        for session in self._sessions:
            session.connection.close()
        self._server.query(f"DROP DATABASE {DATABASE}")
        left = space.left_over(self._server)
        if left:
            raise Disagreement(left)
        self._server.stop()

    # ---- transactions

    def _begin(self, session: Session) -> None:
        self._draw_level(session)
        session.transaction = self._model.begin(session.is_repeatable)
        if self._chance.random() < 0.3:
            self._xids += 1
            session.transaction.xid = f"'x{self._xids}'"
            self._execute(session, f"XA START {session.transaction.xid}")
        elif session.is_repeatable and self._chance.random() < 0.2:
            self._execute(session, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
            self._model.open_snapshot(session.transaction)
            session.transaction.takes_part = True
        else:
            self._execute(session, "BEGIN")

    def _commit(self, session: Session) -> None:
        transaction = session.transaction
        assert transaction is not None
        if not transaction.xid:
            self._execute(session, "COMMIT")
        else:
            self._execute(session, f"XA END {transaction.xid}")
            # What has changed nothing is not worth two phases to the server.
            changes = any(transaction.has_changed(table.name, self._model.committed)
                          for table in TABLES)
            if changes and self._chance.random() < 0.7:
                self._execute(session, f"XA PREPARE {transaction.xid}")
                transaction.prepare()
                return
            self._execute(session, f"XA COMMIT {transaction.xid} ONE PHASE")
        self._model.commit(transaction)
        session.transaction = None

    def _roll_back(self, session: Session) -> None:
        transaction = session.transaction
        assert transaction is not None
        if not transaction.xid:
            self._execute(session, "ROLLBACK")
        else:
            if not transaction.is_prepared:
                self._execute(session, f"XA END {transaction.xid}")
            self._execute(session, f"XA ROLLBACK {transaction.xid}")
        self._model.roll_back(transaction)
        session.transaction = None

    def _decide(self, session: Session, transaction: Transaction) -> None:
        """A prepared transaction that is the session's or whose session has gone."""
        if self._chance.random() < 0.6:
            self._execute(session, f"XA COMMIT {transaction.xid}")
            self._model.commit(transaction)
        else:
            self._execute(session, f"XA ROLLBACK {transaction.xid}")
            self._model.roll_back(transaction)

    def _step_prepared(self, session: Session) -> None:
        """What a session can do that has prepared a transaction."""
        transaction = session.transaction
        assert transaction is not None
        kind = self._chance.random()
        others = [each for each in self._model.open
                  if each.is_prepared and not each.is_detached and each is not transaction]
        if kind < 0.35:
            self._decide(session, transaction)
            session.transaction = None
        elif kind < 0.8:
            self._disconnect(session)
        elif kind < 0.84:
            found = {row[3].decode() for row in self._execute(session, "XA RECOVER")}
            wanted = {each.xid.strip("'") for each in self._model.open if each.is_prepared}
            if found != wanted:
                raise Disagreement(f"XA RECOVER: {sorted(found)}; expected {sorted(wanted)}")
        elif kind < 0.92 or not others:
            self._expect_error(session, f"DELETE FROM {self._chance.choice(TABLES).name}",
                               _NOT_IN_THIS_STATE)
        else:
            other = self._chance.choice(self._sessions)
            if other.transaction is None:
                self._expect_error(other, f"XA COMMIT {transaction.xid}", _UNKNOWN_XID)

    def _disconnect(self, session: Session) -> None:
        """The session ends, and a new one takes its place."""
        transaction = session.transaction
        thread = session.connection.thread_id()
        is_killed = self._chance.random() < 0.3
        self._note(session, "-- killed" if is_killed else "-- disconnected")
        self.counts["disconnection"] += 1
        if is_killed:
            self._server.query(f"KILL CONNECTION {thread}")
        if session.connection.open:
            session.connection.close()
        self._await_end()
        if session.temporary is not None:
            self._forget_temporary(session)
        if transaction is not None and transaction.is_prepared:
            transaction.is_detached = True
            transaction.uses.clear()
            transaction.may_use.clear()
        elif transaction is not None:
            self._model.roll_back(transaction)
        self._sessions[session.number - 1] = Session(session.number,
                                                     self._connect(session.number))

    def _await_end(self) -> None:
        """Returns when a session has left its transaction: the server counts it until then, though
        the list of processes has lost it before."""
        deadline = time.monotonic() + _END_SECONDS
        while True:
            connected = self._server.query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
            if int(connected[0][1]) <= len(self._sessions):
                return
            if time.monotonic() > deadline:
                raise Disagreement(f"a session has not ended after {_END_SECONDS} s")
            time.sleep(_POLL_SECONDS)

    def _end_all(self) -> None:
        """What is open but not prepared, so that nobody keeps tables who could be asked."""
        for session in self._sessions:
            if session.transaction is not None and not session.transaction.is_prepared:
                end = self._commit if self._chance.random() < 0.5 else self._roll_back
                end(session)

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
        snapshot = transaction.snapshot, transaction.snapshot_moment
        try:
            sql, expected = self._generator.draw(transaction, session.temporary)
            transaction.takes_part = True
            transaction.uses |= expected.uses
            transaction.may_use |= expected.uses | expected.may_use
            self._run(session, sql, expected)
            failed = expected.error != 0
        except Unknown:
            transaction.snapshot, transaction.snapshot_moment = snapshot
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
        table = self._chance.choice(TABLES).name
        if kind < 0.6:
            self._check_tables()
        elif kind < 0.75 and session.transaction is None:
            self._execute(session, f"ANALYZE TABLE {table}")
        else:
            self._restart(crash=self._chance.random() < 0.7)

    def _define(self, session: Session) -> None:
        """A definition, whoever uses the table; it commits the session's transaction first."""
        definition = _definitions.draw(self._chance, self._model, self._generator.added,
                                       self._partitions)
        own = session.transaction
        if own is not None and own.xid:
            self._expect_error(session, definition.sql[0], _NOT_IN_THIS_STATE)
            return
        try:
            error = _definitions.expected_error(self._model, definition, own)
        except Unknown:
            self.counts["not predictable"] += 1
            return
        if own is not None:
            self._model.commit(own)
            session.transaction = None
        self.counts["definition refused" if error else "definition"] += 1
        for sql in definition.sql:
            if error:
                self._expect_error(session, sql, error)
                return
            rows = self._execute(session, sql)
            # OPTIMIZE says in its rows what went wrong.
            if any("rror" in str(row) for row in rows):
                raise Disagreement(f"{rows}; expected no error")
        self._follow(definition)

    def _follow(self, definition: Definition) -> None:
        """Has the model do what a definition has done."""
        name = definition.table.name
        if definition.empties:
            self._model.committed = defaultdict(dict, {**self._model.committed, name: {}})
        if definition.remakes:
            self._model.redefine(name)
        if definition.drops:
            del self._generator.added[name]
        if definition.adds is not None:
            self._model.moment += 1
            self._generator.added[name] = (definition.adds, self._model.moment)

    def _temporary(self, session: Session) -> None:
        """The session's temporary table comes or goes; in the middle of a transaction, too."""
        table = temporary_table(session.number)
        kind = self._chance.random()
        if session.temporary is None:
            self._execute(session, table.create_sql())
            session.temporary = table
        elif kind < 0.4:
            self._execute(session, f"DROP TEMPORARY TABLE {table.name}")
            self._forget_temporary(session)
        elif kind < 0.6 and session.transaction is None:
            self._execute(session, f"TRUNCATE TABLE {table.name}")
            self._model.committed = defaultdict(dict, {**self._model.committed, table.name: {}})

    def _forget_temporary(self, session: Session) -> None:
        assert session.temporary is not None
        name = session.temporary.name
        self._model.committed = defaultdict(dict, {**self._model.committed, name: {}})
        for transaction in self._model.open:
            transaction.forget(name)
        session.temporary = None

    def _check_tables(self) -> None:
        self.counts["CHECK TABLE"] += 1
        problems = checks.check_tables(self._server)
        if problems:
            raise Disagreement("\n  ".join(problems))

    def _restart(self, crash: bool) -> None:
        """Open transactions are rolled back by it, but for those that are prepared."""
        self._note(None, "-- mariadbd killed" if crash else "-- mariadbd stopped")
        self.counts["restart"] += 1
        if crash:
            self._server.kill()
        else:
            self._server.stop()
        self._server.start()
        for session in self._sessions:
            if session.temporary is not None:
                self._forget_temporary(session)
        self._model.restart()
        self._sessions = [Session(each.number, self._connect(each.number))
                          for each in self._sessions]

    # ---- the connection

    def _connect(self, number: int) -> pymysql.connections.Connection:
        connection = self._server.connect(autocommit=None)
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            cursor.execute(f"USE {DATABASE}")
            cursor.execute(f"SET lock_wait_timeout = 0, {spilling.setting(self._chance)}")
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

    def _expect_error(self, session: Session, sql: str, error: int) -> None:
        """A statement that must be refused."""
        self._run(session, sql, Expected(error))

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
        print(f"repeat: ./basalt python tests/model/run.py --seed {arguments.seed} "
              f"--sessions {arguments.sessions} --isolation {arguments.isolation} "
              f"--operations {test.operations}")
        return Tally(0, 1)
    counts = ", ".join(f"{count} {name}" for name, count in test.counts.most_common())
    print(f"{test.operations} operations agree: {counts}")
    return Tally(1, 0)


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS,
                        help="how long to go on (default: %(default)s)")
    parser.add_argument("--operations", type=int, help="how many operations, instead of seconds")
    parser.add_argument("--sessions", type=int, default=4,
                        help="connections (default: %(default)s)")
    parser.add_argument("--isolation", choices=_ISOLATION, default="both",
                        help="levels of the transactions (default: %(default)s)")
    workspace.add_seed(parser)
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    return workspace.main("model", arguments, run)


if __name__ == "__main__":
    sys.exit(main())
