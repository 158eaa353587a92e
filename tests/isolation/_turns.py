"""Runs a program of several sessions in turns: one step at a time, each until it is over or waits.

A session waits for a row or a metadata lock, or where a function has stopped it with GET_LOCK. What
is to be done by a session that waits is done when it is free again. So the order of events is
known: no two transactions end at the same time, and at each step it is known which have ended.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.support import waits
from tests.support.watchdog import Watchdog

PAUSE = "pause"
_POLL_SECONDS = 0.002
# A step is over, or the server says that it waits, long before that. Nothing is judged by it.
_STEP_SECONDS = 120
_PROGRAM_SECONDS = 300
_RECORD_CHANGED = 1020
# The transaction is over, without anything wrong.
ABORTS = (ER.LOCK_DEADLOCK, _RECORD_CHANGED)
# The statement is undone, its transaction goes on.
UNDONE = (ER.LOCK_WAIT_TIMEOUT, ER.QUERY_INTERRUPTED)
Row = tuple[object, ...]


@dataclass(frozen=True)
class Step:
    """What one session does next."""

    session: str
    sql: str

    def __str__(self) -> str:
        return f"{self.session}: {self.sql}"


@dataclass
class Event:
    """A step that was done. `began` and `ended` count the transactions that had ended by then."""

    step: Step
    began: int = 0
    ended: int = 0
    error: int = 0
    message: str = ""
    rows: list[Row] | None = None
    changed: int = 0
    has_waited: bool = False

    def take_answer(self, connection: pymysql.connections.Connection) -> None:
        """Executes the step and keeps what the server answers."""
        try:
            with connection.cursor() as cursor:
                cursor.execute(self.step.sql)
                if cursor.description:
                    self.rows = sorted((tuple(row) for row in cursor.fetchall()), key=repr)
                else:
                    self.changed = cursor.rowcount
        except pymysql.err.Error as error:
            self.error = int(error.args[0]) or -1
            self.message = str(error.args[-1])

    def __str__(self) -> str:
        waited = "waits, " if self.has_waited else ""
        if self.error:
            return f"{self.step} -> {waited}error {self.error} {self.message}"
        return f"{self.step} -> {waited}{self.changed if self.rows is None else self.rows}"


@dataclass
class Transaction:
    """What a session did between a beginning and an end, both included."""

    session: str
    events: list[Event] = field(default_factory=list)
    is_aborted: bool = False
    position: int = -1  # how many transactions had ended when this one did
    # How many had when all that it does was decided: it was prepared, or it ended.
    decided: int = -1


class Record:
    """What happened, as far as it can be told from the steps and their answers.

    Sessions named in `transactional` do nothing outside of transactions: what follows an abort is
    left out.
    """

    def __init__(self, transactional: Collection[str]) -> None:
        self._transactional = transactional
        self.events: list[Event] = []
        self.transactions: list[Transaction] = []
        # Those that were decided, in that order.
        self.decided: list[Transaction] = []
        self._ended = 0
        self._open: dict[str, Transaction] = {}

    def begin(self, step: Step) -> Event | None:
        """The step begins; None: it is left out."""
        if step.sql.startswith(("BEGIN", "START TRANSACTION", "XA START")):
            self._open[step.session] = Transaction(step.session)
            self.transactions.append(self._open[step.session])
        transaction = self._open.get(step.session)
        if transaction is None and step.session in self._transactional:
            return None
        if transaction is not None and transaction.is_aborted:
            return None
        event = Event(step, began=self._ended)
        self.events.append(event)
        if transaction is not None:
            transaction.events.append(event)
        return event

    def finish(self, event: Event) -> Transaction | None:
        """The step is over, and has its answer. Returns the transaction that it belongs to."""
        sql = event.step.sql
        transaction = self._open.get(event.step.session)
        if transaction is None:
            # A definition is an end, too: what follows meets other tables.
            self._ended += sql.startswith("ALTER TABLE")
        elif event.error in ABORTS:
            transaction.is_aborted = True
        elif event.error == 0 and sql.startswith("XA PREPARE"):
            self._decide(transaction)
        elif event.error == 0 and " TO " not in sql and sql.startswith((
                "COMMIT", "ROLLBACK", "XA COMMIT", "XA ROLLBACK")):
            if transaction.decided < 0:
                self._decide(transaction)
            transaction.position = self._ended
            self._ended += 1
            del self._open[event.step.session]
        event.ended = self._ended
        return transaction

    def unfinished(self) -> list[Transaction]:
        """Transactions that have not ended."""
        return [each for each in self._open.values() if not each.is_aborted]

    def _decide(self, transaction: Transaction) -> None:
        transaction.decided = self._ended
        self.decided.append(transaction)


class Stuck(Exception):
    """Sessions wait for each other for ever, or the server is gone."""


class _Session:
    """A connection with a thread that runs its statements."""

    def __init__(self, name: str, connection: pymysql.connections.Connection,
                 watchdog: Watchdog) -> None:
        self.name = name
        self.connection = connection
        self.thread_id = connection.thread_id()
        self.queue: deque[Step] = deque()
        self.event: Event | None = None
        self._watchdog = watchdog
        self._over = threading.Event()
        self._over.set()

    @property
    def is_busy(self) -> bool:
        return not self._over.is_set()

    def wait(self, seconds: float) -> bool:
        return self._over.wait(seconds)

    def begin(self, event: Event) -> None:
        self.event = event
        self._over.clear()
        threading.Thread(target=self._run, args=(event,), daemon=True).start()

    def _run(self, event: Event) -> None:
        try:
            with self._watchdog.over(self.thread_id):
                event.take_answer(self.connection)
        finally:
            self._over.set()


class Turns:
    """One run of a program, and its record."""

    def __init__(self, server: Server, database: str, names: Sequence[str],
                 transactional: Collection[str], watchdog: Watchdog) -> None:
        self.record = Record(transactional)
        self._monitor = server.connect()
        self._sessions = {name: _Session(name, server.connect(database=database), watchdog)
                          for name in names}

    def close(self) -> None:
        for session in self._sessions.values():
            if not session.is_busy:
                session.connection.close()
        self._monitor.close()

    def set_up(self, settings: Mapping[str, Sequence[str]]) -> None:
        """Each session's settings."""
        for name, statements in settings.items():
            with self._sessions[name].connection.cursor() as cursor:
                for sql in statements:
                    cursor.execute(sql)

    def run(self, steps: Sequence[Step]) -> None:
        """All steps. Raises Stuck."""
        for step in steps:
            if step.sql.startswith("KILL "):
                self._kill(step)
            else:
                self._sessions[step.session].queue.append(step)
                self._go_on()
        self._release_pause()
        deadline = time.monotonic() + _PROGRAM_SECONDS
        while any(each.queue or each.is_busy for each in self._sessions.values()):
            self._go_on()
            self._release_pause()
            if time.monotonic() > deadline:
                raise Stuck("sessions wait for each other for ever")
        for transaction in self.record.unfinished():
            self._roll_back(transaction)

    # ---- steps

    def _go_on(self) -> None:
        """Begins what can begin, and returns when all sessions are idle or wait."""
        self._settle()
        found = True
        while found:
            found = False
            for session in self._sessions.values():
                if session.queue and not session.is_busy:
                    found = True
                    self._begin(session, session.queue.popleft())
                    self._settle()

    def _begin(self, session: _Session, step: Step) -> None:
        event = self.record.begin(step)
        if event is not None:
            session.begin(event)

    def _finish(self, session: _Session) -> None:
        """Notes that a statement is over."""
        event, session.event = session.event, None
        assert event is not None
        transaction = self.record.finish(event)
        if transaction is not None and transaction.is_aborted:
            self._roll_back(transaction)

    def _roll_back(self, transaction: Transaction) -> None:
        first = transaction.events[0].step.sql
        with self._sessions[transaction.session].connection.cursor() as cursor:
            ends = ["ROLLBACK"]
            if first.startswith("XA START"):
                xid = first.split()[2]
                ends = [f"XA END {xid}", f"XA ROLLBACK {xid}"]
            for sql in ends:
                try:
                    cursor.execute(sql)
                except pymysql.err.Error:
                    pass  # it may be over already

    def _kill(self, step: Step) -> None:
        session = self._sessions[step.sql.split()[-1]]
        if session.is_busy:
            self._ask(f"KILL QUERY {session.thread_id}")
            self._settle()

    def _release_pause(self) -> None:
        """Lets whoever holds the lock at which functions stop give it back."""
        for session in self._sessions.values():
            if session.name == "C" and not session.is_busy:
                with session.connection.cursor() as cursor:
                    cursor.execute(f"DO RELEASE_LOCK('{PAUSE}')")
        self._settle()

    # ---- who waits

    def _settle(self) -> None:
        """Returns when every session is idle, or waits and is said to wait twice."""
        deadline = time.monotonic() + _STEP_SECONDS
        calm = 0
        while calm < 2:
            busy = [each for each in self._sessions.values() if each.event is not None]
            over = [each for each in busy if each.wait(0 if calm else _POLL_SECONDS)]
            for session in over:
                self._finish(session)
            waiting = [each for each in busy if each not in over]
            if over:
                calm = 0
            elif not waiting or waits.all_wait(self._ask, {each.thread_id for each in waiting}):
                calm += 1
            else:
                calm = 0
            if time.monotonic() > deadline:
                raise Stuck("a step is neither over, nor does it wait")
        for session in self._sessions.values():
            if session.event is not None:
                session.event.has_waited = True

    def _ask(self, sql: str) -> list[Row]:
        try:
            with self._monitor.cursor() as cursor:
                cursor.execute(sql)
                return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        except (pymysql.err.Error, OSError) as error:
            raise Stuck(f"the server is gone: {error}") from error
