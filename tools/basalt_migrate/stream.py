"""Copies one table's rows from one server to another, in the order of its primary key.

The source makes each row an SQL literal, byte by byte: text with its character set, numbers with
all digits. Here literals are only put together to statements of about a megabyte, and the target
commits as often as it can keep what it holds in memory small.
"""

from __future__ import annotations

from collections.abc import Callable

import pymysql

from basalt_migrate.connection import Connection, run, value
from basalt_migrate.errors import MigrateError
from basalt_migrate.tables import Table, columns_of

_STATEMENT_BYTES = 1 << 20
_COMMIT_BYTES = 16 << 20


def copy_rows(source: Connection, target: Connection, table: Table,
              progress: Callable[[int], None]) -> int:
    """The rows that `source` sees, into the empty table of the same name; how many they were.

    `progress` is told the number of rows so far, once a statement.
    """
    columns = [column for column in columns_of(source, table) if not column.is_generated]
    # CONCAT is NULL if a part is, which CONCAT_WS would leave out: NULL is said by the word, and
    # what is larger than max_allowed_packet becomes NULL.
    literals = ", ',', ".join(column.literal() for column in columns)
    query = (f"SELECT CONCAT({literals}) FROM {table.rows}"
             f"{_in_key_order(source, table)}")
    names = ", ".join(column.quoted for column in columns)
    head = f"INSERT INTO {table.quoted} ({names}) VALUES "
    if table.kind == "SYSTEM VERSIONED":
        run(target, "SET SESSION system_versioning_insert_history = 1")
    limit = min(_STATEMENT_BYTES, int(value(target, "SELECT @@max_allowed_packet")) // 2)
    sender = _Sender(target, head, limit)
    run(target, "START TRANSACTION")
    with pymysql.cursors.SSCursor(source) as cursor:
        cursor.execute(query)
        for (row,) in cursor:
            if row is None:
                raise MigrateError(
                    f"{table.title}: a row does not fit into max_allowed_packet of the source",
                    "SET GLOBAL max_allowed_packet = 1073741824 on both servers, then again")
            if sender.add(row):
                progress(sender.rows)
    sender.flush()
    run(target, "COMMIT")
    return sender.rows


class _Sender:
    """Collects rows until a statement is large enough."""

    def __init__(self, target: Connection, head: str, limit: int) -> None:
        self.rows = 0
        self._target = target
        self._head = head
        self._limit = limit
        self._waiting: list[str] = []
        self._bytes = 0
        self._uncommitted = 0

    def add(self, row: str) -> bool:
        """True if that made a statement."""
        self._waiting.append(row)
        self._bytes += len(row)
        if self._bytes < self._limit:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        if not self._waiting:
            return
        run(self._target, f"{self._head}({'),('.join(self._waiting)})")
        self.rows += len(self._waiting)
        self._uncommitted += self._bytes
        self._waiting, self._bytes = [], 0
        if self._uncommitted >= _COMMIT_BYTES:
            run(self._target, "COMMIT")
            run(self._target, "START TRANSACTION")
            self._uncommitted = 0


def _in_key_order(source: Connection, table: Table) -> str:
    """ORDER BY the primary key; nothing if there is none, or one of prefixes."""
    parts = run(source, "SELECT COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS WHERE "
                "TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' "
                "ORDER BY SEQ_IN_INDEX", [table.schema, table.name])
    if not parts or any(prefix is not None for _, prefix in parts):
        return ""
    names = ", ".join("`" + name.replace("`", "``") + "`" for name, _ in parts)
    history = table.kind == "SYSTEM VERSIONED"
    return ("" if history else " FORCE INDEX (PRIMARY)") + f" ORDER BY {names}"
