"""Attempts that are interrupted, on one side of a pair, before both sides run the statement.

A statement's text may end with a remark that says how: the attempt is made on our side alone, while
another session holds locks. So a program with interruptions is a list of statements like any other.
"""

from __future__ import annotations

import enum
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pymysql
from pymysql.constants import CR, ER

from basaltcli.server import Server
from tests.differential._pair import OWN, Answer, Overrun, Pair, Row, ServerGone, Side
from tests.support import waits
from tests.support.binlog import BinlogReplay, copy_of

# How many groups of events the session's side has written to the binary log.
LOGGED = ("SELECT SUBSTRING_INDEX(REGEXP_SUBSTR(CONCAT(',', @@gtid_binlog_pos), "
          "CONCAT(',', @@gtid_domain_id, '-[0-9]+-[0-9]+')), '-', -1) AS logged")
# Behind a query: our side answers it from what the binary log makes of an empty database.
FROM_LOG = " /* from the binary log */"
SERVER_OPTIONS = ("--log-bin=binlog", "--binlog-format=ROW", "--log-bin-trust-function-creators=1",
                  # A wait that nothing interrupts is to be found by its length.
                  "--loose-rocksdb-lock-wait-timeout=100000")
_REMARK = re.compile(r"(.*) /\* interrupted by (.+?) (when it waits|after (\d+) ms), "
                     r"(before|after) the release of: (.*) \*/", re.DOTALL)
_POLL_SECONDS = 0.002
# So long after it was interrupted a statement may wait for a lock; then it is released. Whatever
# happens then is as right.
_PATIENCE_SECONDS = 3.0
# Ends what hangs; nothing is judged by it.
_LIMIT_SECONDS = 120.0


class How(enum.Enum):
    """What interrupts an attempt."""

    LOST_CLIENT = "the end of its client"
    KILL_QUERY = "KILL QUERY"
    KILL_CONNECTION = "KILL CONNECTION"
    STATEMENT_TIME = "max_statement_time"
    LOCK_TIME = "lock_wait_timeout"
    NOTHING = "nothing"

    @property
    def ends_session(self) -> bool:
        """Whether the transaction ends with it, whatever the statement did."""
        return self in (How.LOST_CLIENT, How.KILL_CONNECTION)


# What the client is told of it, if anything.
_ERRORS = {How.LOST_CLIENT: CR.CR_SERVER_LOST, How.KILL_QUERY: ER.QUERY_INTERRUPTED,
           How.KILL_CONNECTION: 1927, How.STATEMENT_TIME: 1969,
           How.LOCK_TIME: ER.LOCK_WAIT_TIMEOUT}


@dataclass(frozen=True)
class Interruption:
    """How and when an attempt is interrupted.

    `held` are statements of another session that changes nothing in the end, but holds their locks.
    Without `after_ms` the interruption comes when the attempt waits; if it never does, there is
    none. With `is_after_release` the locks are released first, and the attempt is under way.
    """

    how: How
    held: tuple[str, ...]
    after_ms: int | None = None
    is_after_release: bool = False

    def __str__(self) -> str:
        when = "when it waits" if self.after_ms is None else f"after {self.after_ms} ms"
        order = "after" if self.is_after_release else "before"
        return (f" /* interrupted by {self.how.value} {when}, {order} the release of: "
                f"{' | '.join(self.held)} */")

    def limits(self) -> str:
        """What goes before the statement."""
        if self.how is How.STATEMENT_TIME:
            seconds = (100 if self.after_ms is None else self.after_ms) / 1000
            return f"SET STATEMENT max_statement_time = {max(seconds, 0.001)} FOR "
        if self.how is How.LOCK_TIME:
            return "SET STATEMENT rocksdb_lock_wait_timeout = 1 FOR "
        return ""


def _parse(sql: str) -> tuple[str, Interruption] | None:
    """The statement and its interruption; None if there is none."""
    found = _REMARK.fullmatch(sql)
    if found is None:
        return None
    statement, how, _, after_ms, order, held = found.groups()
    return statement, Interruption(How(how), tuple(held.split(" | ")) if held else (),
                                   None if after_ms is None else int(after_ms), order == "after")


class _Attempt:
    """A statement that another thread sends and waits for."""

    def __init__(self, side: Side, sql: str) -> None:
        self.session = side.thread_id()
        self.over = threading.Event()
        self.answer: Answer | None = None  # None: nobody heard one
        self._overrun: Overrun | None = None
        self._side = side
        self._sql = sql
        threading.Thread(target=self._run, daemon=True).start()

    def result(self) -> Answer | None:
        """The answer, when it is over."""
        self.over.wait()
        if self._overrun is not None:
            raise self._overrun
        return self.answer

    def _run(self) -> None:
        try:
            self.answer = self._side.run(self._sql)
        except ServerGone:
            pass  # or only the session: who waits for the end will see
        except Overrun as overrun:
            self._overrun = overrun
        finally:
            self.over.set()


class InterruptiblePair(Pair):
    """Both sides, with attempts on ours that are interrupted.

    An attempt that was interrupted, and has changed nothing and logged nothing, has the error of
    its interruption on both sides. Any other must have done all of its statement, which InnoDB then
    runs, too. Each side's changes are numbered in the binary log by themselves.
    """

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._control = server.connect()
        self._log = BinlogReplay(server, [self.ours.database],
                                 [f"--do-domain-ids={self._domain(self.ours)}"])
        self._replayed: Sequence[Row] = ()  # where the log was when it was replayed last
        self._settings: dict[str, str] = {}

    def reset(self) -> None:
        super().reset()
        self._replayed = ()
        self._settings.clear()
        self._drop_copies()
        self._log.create_copies()
        for side in self.sides:
            self._number(side)

    def drop(self) -> None:
        super().drop()
        self._drop_copies()

    def close(self) -> None:
        super().close()
        if self._control.open:
            self._control.close()

    def run(self, sql: str) -> tuple[Answer, Answer]:
        if sql.startswith("SET "):
            self._settings[sql.partition("=")[0]] = sql
        if sql.endswith(FROM_LOG):
            return self.theirs.run(sql), self._from_log(sql)
        attempt = _parse(sql)
        return super().run(sql) if attempt is None else self._run_interrupted(*attempt)

    # ---- attempts

    def _run_interrupted(self, sql: str, interruption: Interruption) -> tuple[Answer, Answer]:
        how = interruption.how
        nothing = Answer(_ERRORS.get(how, 0), how.value)
        has_transaction = self.theirs.rows("SELECT @@in_transaction OR NOT @@autocommit")[0] == (
            b"1",)
        before = self._state()
        answer = self._attempt(sql, interruption)
        if how.ends_session and has_transaction:
            self.theirs.run("ROLLBACK")
            return nothing, nothing
        # The server says that DO was done even if it was not.
        is_told = how is How.NOTHING or answer is not None and (
            answer.error != nothing.error and not sql.startswith("DO "))
        if not is_told and self._state() == before:
            return nothing, nothing
        theirs = self.theirs.run(sql)
        if theirs.error and has_transaction:
            # InnoDB keeps what the statement did before a savepoint in it: ours nothing.
            for side in self.sides:
                side.run("ROLLBACK")
        if answer is None or not is_told:
            answer = replace(theirs, error=0)
        if how is How.KILL_QUERY:
            # It may have come when the session asked for its warnings.
            answer.warnings = theirs.warnings
        return theirs, answer

    def _state(self) -> Sequence[Row]:
        """Tells states of our side apart: all rows that its session sees, and the binary log."""
        names = [(row[0] or b"").decode() for row in self.ours.rows("SHOW TABLES")]
        return [*self.ours.rows("SELECT @@gtid_binlog_pos"),
                *(row for name in names
                  for row in self.ours.rows(f"CHECKSUM TABLE {name} EXTENDED"))]

    def _attempt(self, sql: str, interruption: Interruption) -> Answer | None:
        """Our answer, if one was heard. Nothing goes on any more."""
        how = interruption.how
        try:
            with self._holder(interruption.held) as holder:
                attempt = _Attempt(self.ours, interruption.limits() + sql)
                self._await(attempt, interruption.after_ms)
                if interruption.is_after_release or how is How.NOTHING:
                    holder.rollback()
                self._interrupt(attempt, how)
                self._has_ended(attempt, how, _PATIENCE_SECONDS)
                # The server need not have noticed a connection's end when it has ended here.
                holder.rollback()
        except (pymysql.err.Error, OSError) as error:
            raise ServerGone(str(error)) from error
        if not self._has_ended(attempt, how, _LIMIT_SECONDS):
            raise Overrun(f"{self.ours.engine}: it went on for {_LIMIT_SECONDS:.0f} s after "
                          f"{how.value}")
        answer = attempt.result()
        if how.ends_session:
            self._reconnect()
        elif how is How.KILL_QUERY:
            # One that comes too late interrupts what comes next.
            for _ in range(2):
                self.ours.run("DO 0")
        return answer

    def _holder(self, held: Sequence[str]) -> pymysql.connections.Connection:
        """A session that has the locks that nobody else has, of those that it asks for."""
        holder = self.server.connect(
            database=self.ours.database, autocommit=False,
            init_command="SET tx_isolation = 'READ-COMMITTED', rocksdb_lock_wait_timeout = 0")
        with holder.cursor() as cursor:
            for sql in held:
                try:
                    cursor.execute(sql.replace(OWN, self.ours.database))
                except pymysql.err.Error:
                    pass  # without it, then
        return holder

    def _await(self, attempt: _Attempt, after_ms: int | None) -> None:
        """Until it is over, or waits, or a time is."""
        if after_ms is not None:
            attempt.over.wait(after_ms / 1000)
            return
        while not attempt.over.wait(_POLL_SECONDS):
            if waits.all_wait(self._ask, [attempt.session]):
                return

    def _interrupt(self, attempt: _Attempt, how: How) -> None:
        if how is How.LOST_CLIENT:
            self.ours.hang_up()
        elif how in (How.KILL_QUERY, How.KILL_CONNECTION):
            self._ask(f"{how.value} {attempt.session}")

    def _has_ended(self, attempt: _Attempt, how: How, seconds: float) -> bool:
        """Whether the server does nothing for it any more, now or within a time."""
        if not how.ends_session:
            return attempt.over.wait(seconds)
        deadline = time.monotonic() + seconds
        while self._ask("SELECT 1 FROM information_schema.PROCESSLIST "
                        f"WHERE ID = {attempt.session}"):
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    # ---- sessions

    def _reconnect(self) -> None:
        self.ours.reconnect()
        self._number(self.ours)
        for sql in self._settings.values():
            self.ours.run(sql)

    def _number(self, side: Side) -> None:
        side.rows(f"SET gtid_domain_id = {self._domain(side)}")

    def _domain(self, side: Side) -> int:
        return 1 + self.sides.index(side)

    def _ask(self, sql: str) -> Sequence[tuple[object, ...]]:
        try:
            with self._control.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall()
        except (pymysql.err.Error, OSError) as error:
            raise ServerGone(str(error)) from error

    # ---- the binary log

    def _from_log(self, sql: str) -> Answer:
        """Our answer from the copies that the log makes."""
        position = self.ours.rows("SELECT @@gtid_binlog_pos")
        if position != self._replayed:
            self._replayed = position
            problems = self._log.catch_up()
            if problems:
                return Answer(-1, "\n".join(problems))
        self.ours.run(f"USE {copy_of(self.ours.database)}")
        answer = self.ours.run(sql)
        self.ours.run(f"USE {self.ours.database}")
        return answer

    def _drop_copies(self) -> None:
        self._ask("SET sql_log_bin = 0")
        self._ask(f"DROP DATABASE IF EXISTS {copy_of(self.ours.database)}")
