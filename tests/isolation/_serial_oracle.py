"""What a program of several sessions must come to: its transactions one after the other on InnoDB.

Which order that is depends on the claim:

* What a writing transaction is answered, and what it changes, is decided when its locks are: all it
  reads is locked until it ends, or until it is prepared. Then nothing more is read, and the locks
  that kept others from inserting into what it read are given up. So writers follow each other in
  the order of their ends, and of XA PREPARE where there is one.
* A snapshot sees what had been committed when it was made, and nothing of what was only prepared.
  Rows that a prepared transaction has changed stay locked until it ends, so that its changes and
  those of others meanwhile are of different rows, and either may come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from basaltcli.server import Server
from tests.isolation._serial_scene import DEFINER, READER, Program
from tests.isolation._turns import ABORTS, UNDONE, Event, Record, Row, Step, Transaction

# Errors that say that something is wrong with the engine, whatever the program.
_NEVER = (1030, 1032, 1034, 1105, 1194, 1195, 1296, 1815, 2006, 2013)
_TABLE_CHANGED = 1412


def wrong_errors(events: Sequence[Event]) -> list[str]:
    """Answers that no program should get."""
    return [str(event) for event in events if event.error in _NEVER]


class Oracle:
    """Runs transactions again on InnoDB, one after the other."""

    def __init__(self, server: Server, program: Program) -> None:
        self._program = program
        # What is decided, and once a transaction is prepared for a while also what is committed.
        self._decided = _Replay(server, "serial_innodb", program)
        self._committed = self._decided
        self._server = server

    def close(self) -> None:
        self._decided.close()
        if self._committed is not self._decided:
            self._committed.close()

    def differences(self, record: Record) -> list[str]:
        """Where what was answered is not what one after the other would have been."""
        if any(each.decided != each.position for each in record.decided):
            self._committed = _Replay(self._server, "serial_innodb_committed", self._program)
        found: list[str] = []
        changes: dict[int, _Changes] = {}
        for position in range(max((event.ended for event in record.events), default=0) + 1):
            found += self._read(record.transactions, position)
            for transaction in record.decided:
                if transaction.decided == position and transaction.session != READER:
                    found += self._change(transaction, changes)
            self._end(record, position, changes)
        return found

    def rows(self, table: str) -> list[Row]:
        """A table in the end."""
        return self._decided.rows(table)

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
                    found += self._compare(event, self._committed)
        return found

    def _change(self, transaction: Transaction, changes: dict[int, _Changes]) -> list[str]:
        """All of a transaction. What it changes is noted if it is committed later on."""
        if transaction.position < 0:
            return []
        is_split = self._committed is not self._decided
        before = self._decided.contents() if is_split else {}
        found = []
        for event in transaction.events:
            if event.error not in (*ABORTS, *UNDONE):
                found += self._compare(event, self._decided)
        if is_split:
            changes[transaction.position] = _Changes(before, self._decided.contents())
        return found

    def _end(self, record: Record, position: int, changes: dict[int, _Changes]) -> None:
        """The definition, or the transaction, that ended after so many others."""
        for event in record.events:
            if event.step.session == DEFINER and event.ended == position + 1 and not event.error:
                for replay in {self._decided, self._committed}:
                    replay.run(event.step.sql)
        if position in changes:
            changes.pop(position).apply(self._committed)

    def _compare(self, event: Event, replay: _Replay) -> list[str]:
        if event.error in UNDONE or event.error in ABORTS or self._is_too_old(event):
            return []
        again = replay.run(event.step.sql)
        if again.error == event.error and again.rows == event.rows and (
                again.changed == event.changed or event.error or event.rows is not None):
            return []
        again.step = event.step
        return [f"{event}\n    one after the other: {again}"]

    def _is_too_old(self, event: Event) -> bool:
        """Whether a read was refused that needs an index, or a copy of the table, that was not
        there when its snapshot was made."""
        changes = [step.sql for step in self._program.steps if step.session == DEFINER]
        is_rebuilt = any("COPY" in sql for sql in changes)
        return event.error == _TABLE_CHANGED and bool(changes) and (
            is_rebuilt or "FORCE INDEX" not in event.step.sql)


class _Replay:
    """The program's tables on InnoDB, and a session that uses them."""

    def __init__(self, server: Server, database: str, program: Program) -> None:
        self._tables = program.tables
        self._connection = server.connect(autocommit=None)
        for sql in (f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}",
                    f"USE {database}", "SET default_storage_engine = InnoDB",
                    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", *program.setup):
            self.run(sql)

    def close(self) -> None:
        self._connection.close()

    def run(self, sql: str) -> Event:
        """One statement, with its answer."""
        event = Event(Step("one after the other", sql))
        event.take_answer(self._connection)
        return event

    def rows(self, table: str) -> list[Row]:
        return self.run(f"SELECT * FROM {table}").rows or []

    def contents(self) -> dict[str, Counter[Row]]:
        """How often each row is in each table."""
        return {table: Counter(self.rows(table)) for table in self._tables}

    def replace(self, table: str, gone: Counter[Row], new: Counter[Row]) -> None:
        """Takes rows away and adds others."""
        with self._connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table} LIMIT 0")
            names = [str(column[0]) for column in cursor.description or ()]
            same = " AND ".join(f"BINARY {name} <=> BINARY %s" for name in names)
            for row in gone.elements():
                cursor.execute(f"DELETE FROM {table} WHERE {same} LIMIT 1", row)
            places = ", ".join(["%s"] * len(names))
            for row in new.elements():
                cursor.execute(f"INSERT INTO {table} VALUES ({places})", row)


class _Changes:
    """What a transaction has changed, whatever others change meanwhile."""

    def __init__(self, before: dict[str, Counter[Row]], after: dict[str, Counter[Row]]) -> None:
        self._gone = {table: rows - after[table] for table, rows in before.items()}
        self._new = {table: rows - before[table] for table, rows in after.items()}

    def apply(self, replay: _Replay) -> None:
        for table, gone in self._gone.items():
            replay.replace(table, gone, self._new[table])
