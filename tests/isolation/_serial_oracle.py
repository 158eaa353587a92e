"""What a program of several sessions must come to: its transactions one after the other on InnoDB.
"""

from __future__ import annotations

from collections.abc import Sequence

from basaltcli.server import Server
from tests.isolation._serial_scene import DEFINER, READER, Program
from tests.isolation._turns import ABORTS, UNDONE, Event, Row, Step, Transaction

_DATABASE = "serial_innodb"
# Errors that say that something is wrong with the engine, whatever the program.
_NEVER = (1030, 1032, 1034, 1105, 1194, 1195, 1296, 1815, 2006, 2013)
_TABLE_CHANGED = 1412


def wrong_errors(events: Sequence[Event]) -> list[str]:
    """Answers that no program should get."""
    return [str(event) for event in events if event.error in _NEVER]


class Oracle:
    """Runs transactions again on InnoDB, in the order of their ends."""

    def __init__(self, server: Server, program: Program) -> None:
        self._program = program
        self._connection = server.connect(autocommit=None)
        for sql in (f"DROP DATABASE IF EXISTS {_DATABASE}", f"CREATE DATABASE {_DATABASE}",
                    f"USE {_DATABASE}", "SET default_storage_engine = InnoDB",
                    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", *program.setup):
            self._run(sql)

    def close(self) -> None:
        self._connection.close()

    def differences(self, transactions: Sequence[Transaction],
                    events: Sequence[Event]) -> list[str]:
        """Where what was answered is not what one after the other would have been."""
        found: list[str] = []
        ends = max((event.ended for event in events), default=0)
        for position in range(ends + 1):
            found += self._read(transactions, position)
            found += self._change(transactions, events, position)
        return found

    def rows(self, table: str) -> list[Row]:
        """A table in the end."""
        return self._run(f"SELECT * FROM {table}").rows or []

    def _read(self, transactions: Sequence[Transaction], position: int) -> list[str]:
        """Reads from snapshots that were made after so many ends."""
        found = []
        for transaction in transactions:
            if transaction.session != READER or not transaction.events:
                continue
            is_committed = any("READ COMMITTED" in sql for sql in self._program.settings[READER])
            first = next((event for event in transaction.events
                          if event.step.sql.startswith(("SELECT", "START"))), None)
            for event in transaction.events:
                if not event.step.sql.startswith("SELECT") or first is None:
                    continue
                if (event if is_committed else first).began == position:
                    found += self._compare(event)
        return found

    def _change(self, transactions: Sequence[Transaction], events: Sequence[Event],
                position: int) -> list[str]:
        """The transaction, or the definition, that ended after so many others."""
        for event in events:
            if event.step.session == DEFINER and event.ended == position + 1 and not event.error:
                self._run(event.step.sql)
        found: list[str] = []
        for transaction in transactions:
            if transaction.session != READER and transaction.position == position:
                for event in transaction.events:
                    if event.error not in (*ABORTS, *UNDONE):
                        found += self._compare(event)
        return found

    def _compare(self, event: Event) -> list[str]:
        if event.error in UNDONE or event.error in ABORTS or self._is_too_old(event):
            return []
        again = self._run(event.step.sql)
        if again.error == event.error and again.rows == event.rows and (
                again.changed == event.changed or event.error or event.rows is not None):
            return []
        again.step = event.step
        return [f"{event}\n    one after the other: {again}"]

    def _is_too_old(self, event: Event) -> bool:
        """Whether a read was refused that needs an index, or a copy of the table, that was not
        there when its snapshot was made."""
        changes = [step.sql for step in self._program.steps if step.session == DEFINER]
        is_rebuilt = any("FORCE" in sql for sql in changes)
        return event.error == _TABLE_CHANGED and bool(changes) and (
            is_rebuilt or "FORCE INDEX" not in event.step.sql)

    def _run(self, sql: str) -> Event:
        event = Event(Step("one after the other", sql))
        event.take_answer(self._connection)
        return event
