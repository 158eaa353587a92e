"""What all clients of the endurance run have in common: gate, pace, ring of statements, errors."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.support.load import is_connection_lost

Row = tuple[Any, ...]
_STATEMENT_TIMEOUT = 1969
# What any client may meet: it is killed, it waits too long, it is chosen of a deadlock.
COMMON = frozenset((ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK, ER.QUERY_INTERRUPTED))
# A table was defined anew after the transaction's snapshot; InnoDB says so, too.
DEFINED_ANEW = frozenset((ER.TABLE_DEF_CHANGED,))
TIMED = frozenset((_STATEMENT_TIMEOUT,))
# Isolation levels, of which a client draws one.
LEVELS = ("READ COMMITTED", "REPEATABLE READ")
_RING = 40


class Gate:
    """Lets clients of a kind begin a transaction, or not, and knows who is in the middle of one."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._closed: set[str] = set()
        self._inside: Counter[str] = Counter()
        self.is_over = False

    def enter(self, kind: str) -> bool:
        """Waits until the kind may begin; False when all is over."""
        with self._condition:
            while kind in self._closed and not self.is_over:
                self._condition.wait()
            if self.is_over:
                return False
            self._inside[kind] += 1
            return True

    def leave(self, kind: str) -> None:
        with self._condition:
            self._inside[kind] -= 1
            self._condition.notify_all()

    def is_closed(self, kind: str) -> bool:
        """Whether a client had better come to an end soon."""
        with self._condition:
            return self.is_over or kind in self._closed

    def close(self, kinds: Sequence[str]) -> None:
        with self._condition:
            self._closed.update(kinds)

    def open(self, kinds: Sequence[str]) -> None:
        with self._condition:
            self._closed.difference_update(kinds)
            self._condition.notify_all()

    def wait_empty(self, kinds: Sequence[str], seconds: float) -> bool:
        """Whether nobody of the kinds is inside, at last."""
        with self._condition:
            return self._condition.wait_for(
                lambda: not any(self._inside[kind] for kind in kinds), seconds)

    def end(self) -> None:
        with self._condition:
            self.is_over = True
            self._condition.notify_all()


@dataclass
class Common:
    """What clients share with who conducts them."""

    server: Server
    replica: Server
    directory: Path
    seed: str
    scale: float
    gate: Gate = field(default_factory=Gate)
    # A factor for all pauses, which the conductor changes.
    pace: float = 1.0
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    # Kind of client, and server, of each session that may be killed.
    sessions: dict[tuple[str, int], str] = field(default_factory=dict)
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str, number: int = 1) -> None:
        with self.mutex:
            self.counts[name] += number

    def fail(self, problem: str) -> None:
        """A finding: the run ends with it."""
        with self.mutex:
            self.problems.append(problem)


class Client(threading.Thread):
    """A client in a thread of its own. Subclasses say what a turn does, and which errors are usual.

    After an error the session is closed, and with it the transaction is rolled back; the next turn
    has a new one. An error that is not expected ends the run.
    """

    kind: ClassVar[str] = ""
    expected: ClassVar[frozenset[int]] = COMMON
    # Seconds between two turns, about.
    pause: ClassVar[float] = 0.05
    # Whether others may kill its session and its statements at any time.
    may_be_killed: ClassVar[bool] = True
    database: ClassVar[str] = ""
    # Changes of larger statements go to files.
    settings: ClassVar[str] = ("SET rocksdb_lock_wait_timeout = 3, lock_wait_timeout = 10, "
                               "rocksdb_write_batch_spill_bytes = 20000")

    def __init__(self, common: Common, number: int) -> None:
        super().__init__(name=f"{self.kind} {number}", daemon=True)
        self.common = common
        self.number = number
        self.chance = random.Random(f"{common.seed} {self.kind} {number}")
        self.ring: deque[str] = deque(maxlen=_RING)
        # When the running statement began; 0 if none runs.
        self.since = 0.0
        self._connection: pymysql.connections.Connection | None = None

    @property
    def server(self) -> Server:
        return self.common.server

    def turn(self) -> None:
        """One transaction, or a few statements that belong together."""
        raise NotImplementedError

    def run(self) -> None:
        gate = self.common.gate
        while gate.enter(self.kind):
            try:
                self._guarded_turn()
            finally:
                gate.leave(self.kind)
            time.sleep(self.pause * self.common.pace * self.chance.uniform(0.5, 1.5))
        self.disconnect()

    def session(self) -> pymysql.connections.Connection:
        """The session, made if there is none."""
        if self._connection is None:
            self._connection = self.connect()
            self.execute(self.settings)
        return self._connection

    def connect(self) -> pymysql.connections.Connection:
        """A further session."""
        self.note("connect")
        connection = self.server.connect(database=self.database or None, autocommit=True,
                                         local_infile=True)
        if self.may_be_killed:
            with self.common.mutex:
                self.common.sessions[self.server.datadir.name, connection.thread_id()] = self.kind
        return connection

    def disconnect(self, how: str = "quit") -> None:
        """Ends the session: quit, silence (the socket closes without a word)."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        self.note(f"disconnect: {how}")
        with self.common.mutex:
            self.common.sessions.pop((self.server.datadir.name, connection.thread_id()), None)
        try:
            if how == "quit" and connection.open:
                connection.close()
        except (pymysql.err.Error, OSError):
            pass
        if connection.open:
            connection._force_close()

    def begin(self, level: str, how: str = "BEGIN") -> None:
        """Begins a transaction at an isolation level."""
        self.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        self.execute(how)

    def execute(self, sql: str, arguments: Sequence[Any] | None = None) -> list[Row]:
        """Rows of a statement in the session."""
        return self.execute_in(self.session(), sql, arguments)

    def execute_in(self, connection: pymysql.connections.Connection, sql: str,
                   arguments: Sequence[Any] | None = None) -> list[Row]:
        """Rows of a statement in any session."""
        with self.noted(connection, sql, arguments), connection.cursor() as cursor:
            cursor.execute(sql, arguments)
            return list(cursor.fetchall()) if cursor.description else []

    @contextmanager
    def noted(self, connection: pymysql.connections.Connection, sql: str,
              arguments: Sequence[Any] | None = None) -> Iterator[None]:
        """Puts a statement and its outcome into the ring, and counts it."""
        text = sql if arguments is None else f"{sql} {tuple(arguments)}"
        began = time.time()
        self.since = time.monotonic()
        try:
            yield
        except BaseException as error:
            self.note(f"[{connection.thread_id()}] {text[:300]} -> {error!r:.200}", began)
            raise
        finally:
            self.since = 0.0
            self.common.count("statements")
        self.note(f"[{connection.thread_id()}] {text[:300]}", began)

    def note(self, text: str, when: float | None = None) -> None:
        stamp = when or time.time()
        self.ring.append(f"{time.strftime('%H:%M:%S', time.gmtime(stamp))}.{stamp % 1 * 1000:03.0f}"
                         f" {text}")

    def succeeded(self, what: str = "") -> None:
        """Counts an acknowledged transaction."""
        self.common.count(f"transactions {what or self.kind}")

    def demand(self, is_right: bool, problem: str) -> None:
        """A finding, unless `is_right`."""
        if not is_right:
            self.common.fail(f"{self.name}: {problem}")

    def _guarded_turn(self) -> None:
        try:
            self.turn()
        except (pymysql.err.Error, OSError) as error:
            self._met(error)
            self.disconnect("silence")
        except Exception:  # noqa: BLE001: a thread has nobody to raise it to
            self.common.fail(f"{self.name}: {traceback.format_exc()}")
            self.disconnect("silence")

    def _met(self, error: Exception) -> None:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        if is_connection_lost(error) or "Packet sequence number wrong" in str(error):
            self.common.count(f"errors {self.kind}: connection lost")
            time.sleep(0.1)
        elif number in self.expected:
            self.common.count(f"errors {self.kind}: {number}")
        else:
            self.common.fail(f"{self.name}: {error!r}, last: {self.ring[-1] if self.ring else ''}")
