"""Runs scripts on one engine: a connection and a thread per session, and who waits."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pymysql

from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.isolation._script import Case, Done, Outcome, Row, Step, StepOutcome, sessions

# A step is over, or the engine says that it waits, long before these.
_QUIET_SECONDS = 1.5
_LONGEST_SECONDS = 60
_POLL_SECONDS = 0.005
_WAITING_THREAD = re.compile(r"LOCK WAIT.*?MariaDB thread id (\d+)", re.DOTALL)
_WAITING_COUNT = re.compile(r"row locks waited for: (\d+)")

TABLES = {
    "pair": ("CREATE TABLE t (id INT PRIMARY KEY, v INT)",
             "INSERT INTO t VALUES (1, 10), (2, 20)"),
    "keyed": ("CREATE TABLE t (id INT PRIMARY KEY, k INT, u INT, v INT, KEY k (k), "
              "UNIQUE KEY u (u))",
              "INSERT INTO t VALUES (10, 10, 10, 0), (20, 20, 20, 0), (30, 30, 30, 0), "
              "(40, 40, 40, 0)"),
    "plain": ("CREATE TABLE t (id INT, v INT)", "INSERT INTO t VALUES (1, 10), (2, 20)"),
    "empty": ("CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, KEY k (k))", ""),
    "two": ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10), (2, 20)",
            "CREATE TABLE s (id INT PRIMARY KEY, k INT, v INT, KEY k (k))",
            "INSERT INTO s VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30)"),
    # After each change a trigger notes in s what the table's indexes have.
    "watched": ("CREATE TABLE t (id INT PRIMARY KEY, k INT, u INT, v INT, KEY k (k), "
                "UNIQUE KEY u (u))",
                "INSERT INTO t VALUES (10, 10, 10, 0), (20, 20, 20, 0), (30, 30, 30, 0)",
                "CREATE TABLE s (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(200))",
                "CREATE FUNCTION seen() RETURNS VARCHAR(200) BEGIN DECLARE a, b, c VARCHAR(60); "
                "SELECT GROUP_CONCAT(k ORDER BY k) INTO a FROM t FORCE INDEX (k) WHERE k > 0; "
                "SELECT GROUP_CONCAT(u ORDER BY u) INTO b FROM t FORCE INDEX (u) WHERE u > 0; "
                "SELECT GROUP_CONCAT(id, '=', v ORDER BY id) INTO c FROM t FORCE INDEX (k) "
                "WHERE k > 0; RETURN CONCAT_WS(' ', a, b, c); END",
                "CREATE TRIGGER updated AFTER UPDATE ON t FOR EACH ROW "
                "INSERT INTO s (what) VALUES (seen())",
                "CREATE TRIGGER deleted AFTER DELETE ON t FOR EACH ROW "
                "INSERT INTO s (what) VALUES (seen())"),
}


@dataclass(frozen=True)
class Level:
    """An isolation level; with `is_snapshot` the engines' snapshot isolation is on."""

    short: str
    name: str
    is_snapshot: bool = False


LEVELS = (
    Level("RU", "READ UNCOMMITTED"),
    Level("RC", "READ COMMITTED"),
    Level("RR", "REPEATABLE READ"),
    Level("SI", "REPEATABLE READ", is_snapshot=True),
    Level("SER", "SERIALIZABLE"),
)


class Engine:
    """One engine in a server that has both."""

    def __init__(self, server: Server, name: str) -> None:
        self.name = name
        self._server = server
        self._prefix = {"InnoDB": "innodb", "ROCKSDB": "rocksdb"}[name]
        self._monitor = server.connect()
        self._admin = server.connect()
        self.quiet_waits = 0
        self._database = f"isolation_{self._prefix}"
        for sql in (f"DROP DATABASE IF EXISTS {self._database}",
                    f"CREATE DATABASE {self._database}", f"USE {self._database}",
                    f"SET default_storage_engine = {name}"):
            self._do(sql)

    def close(self) -> None:
        self._monitor.close()
        self._admin.close()

    def run(self, case: Case, level: Level) -> Outcome:
        """The case's script at a level, on new tables and new connections."""
        self._do("DROP TABLE IF EXISTS t, s")
        self._do("DROP FUNCTION IF EXISTS seen")
        for sql in filter(None, TABLES[case.table]):
            self._do(sql)
        steps = case.steps()
        opened = {name: self._session(name, level) for name in sessions(steps)}
        try:
            run = _Run(self, list(opened.values()))
            outcomes = [run.step(opened[step.session], step) for step in steps]
            run.end()
        finally:
            for session in opened.values():
                session.close()
        return Outcome(outcomes, self._do("SELECT * FROM t ORDER BY 1, 2"))

    def is_waiting(self, session: Session, pending: int) -> bool:
        """Whether the engine itself says that the session waits for a lock; `pending` sessions
        have a statement that is not over."""
        with self._monitor.cursor() as cursor:
            cursor.execute(f"SHOW ENGINE {self.name} STATUS")
            text = "\n".join(str(row[-1]) for row in cursor.fetchall())
        if self.name == "InnoDB":
            # Before that line is the latest deadlock, whose transactions are history.
            current = text.partition("LIST OF TRANSACTIONS FOR EACH SESSION")[2]
            return any(thread == str(session.thread) for block in current.split("---TRANSACTION ")
                       for thread in _WAITING_THREAD.findall(block))
        return sum(map(int, _WAITING_COUNT.findall(text))) >= pending

    def _session(self, name: str, level: Level) -> Session:
        connection = self._server.connect(database=self._database, autocommit=False)
        with connection.cursor() as cursor:
            for sql in (f"SET SESSION TRANSACTION ISOLATION LEVEL {level.name}",
                        f"SET innodb_lock_wait_timeout = {_LONGEST_SECONDS}",
                        f"SET rocksdb_lock_wait_timeout = {_LONGEST_SECONDS}",
                        f"SET lock_wait_timeout = {_LONGEST_SECONDS}"):
                cursor.execute(sql)
            cursor.execute(f"SHOW VARIABLES LIKE '{self._prefix}_snapshot_isolation'")
            if cursor.fetchall():
                value = "ON" if level.is_snapshot else "OFF"
                cursor.execute(f"SET {self._prefix}_snapshot_isolation = {value}")
            elif level.is_snapshot:
                raise BasaltError(f"{self.name} has no variable {self._prefix}_snapshot_isolation")
            if name.startswith("A"):
                cursor.execute("SET autocommit = 1")
        connection.commit()
        return Session(connection)

    def _do(self, sql: str) -> list[Row]:
        with self._admin.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())


class Session:
    """A connection whose statements run in a thread of their own, one at a time."""

    def __init__(self, connection: pymysql.connections.Connection) -> None:
        self._connection = connection
        self.thread = connection.thread_id()
        self.outcome: StepOutcome | None = None
        self._worker: threading.Thread | None = None

    @property
    def is_busy(self) -> bool:
        return self._worker is not None and self._worker.is_alive()

    def begin(self, outcome: StepOutcome) -> None:
        assert not self.is_busy
        self.outcome = outcome
        self._worker = threading.Thread(target=self._work, args=(outcome,), daemon=True)
        self._worker.start()

    def wait(self, seconds: float) -> bool:
        """Whether the statement is over within that time."""
        assert self._worker is not None
        self._worker.join(seconds)
        return not self._worker.is_alive()

    def close(self) -> None:
        if not self.is_busy:
            self._connection.close()

    def _work(self, outcome: StepOutcome) -> None:
        try:
            with self._connection.cursor() as cursor:
                changed = cursor.execute(outcome.step.sql)
                if cursor.description:
                    rows = [tuple(row) for row in cursor.fetchall()]
                    outcome.done = Done(rows=sorted(rows, key=repr))
                else:
                    outcome.done = Done(changed=changed)
        except pymysql.err.Error as error:
            outcome.done = Done(error=int(error.args[0]) or -1)


class _Run:
    """The run of one script."""

    def __init__(self, engine: Engine, opened: Sequence[Session]) -> None:
        self._engine = engine
        self._sessions = opened
        self._waiting: list[Session] = []
        self._late: list[tuple[Session, StepOutcome]] = []
        self._number = 0

    def step(self, session: Session, step: Step) -> StepOutcome:
        """Begins a step; returns when it is over or blocks, and all that it let go on is over."""
        self._number += 1
        outcome = StepOutcome(step)
        if session in self._waiting:
            outcome.is_late = True
            self._late.append((session, outcome))
        else:
            self._begin(session, outcome)
        return outcome

    def end(self) -> None:
        """Rolls back what is open, so that everything that waits ends."""
        self._number = 0
        for _ in range(len(self._sessions) + 1):
            for session in self._sessions:
                if session not in self._waiting:
                    self._begin(session, StepOutcome(Step("", "ROLLBACK")))
            if not self._waiting and not self._late:
                return
        raise BasaltError(f"{self._engine.name}: sessions wait for each other for ever")

    def _begin(self, session: Session, outcome: StepOutcome) -> None:
        session.begin(outcome)
        if not self._settles(session):
            outcome.waited_until = 0
            self._waiting.append(session)
        # One that goes on may let the next go on.
        while self._settle_waiting() or self._begin_late():
            pass
        if outcome.waited_until == self._number:
            # A deadlock that this step has closed: whether the wait for its end is seen is chance.
            outcome.waited_until = None

    def _settle_waiting(self) -> bool:
        for session in self._waiting:
            if self._settles(session):
                self._waiting.remove(session)
                assert session.outcome is not None
                session.outcome.waited_until = self._number
                return True
        return False

    def _begin_late(self) -> bool:
        for session, outcome in self._late:
            if session not in self._waiting:
                self._late.remove((session, outcome))
                self._begin(session, outcome)
                return True
        return False

    def _settles(self, session: Session) -> bool:
        """True when the session's statement is over, False when it waits for a lock."""
        started = time.monotonic()
        while not session.wait(_POLL_SECONDS):
            pending = sum(each.is_busy for each in self._sessions)
            if self._engine.is_waiting(session, pending) and not session.wait(_POLL_SECONDS):
                # What was granted before the engine was asked does not wait any more.
                if self._engine.is_waiting(session, pending):
                    return False
            elif time.monotonic() - started > _QUIET_SECONDS and self._engine_is_idle(session):
                self._engine.quiet_waits += 1
                return session.wait(0)
        return True

    def _engine_is_idle(self, session: Session) -> bool:
        """Whether the session's thread sleeps, and goes on sleeping."""
        return not session.wait(_QUIET_SECONDS)
