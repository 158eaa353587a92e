"""All that a client can see in a database, in a form that can be compared."""

from __future__ import annotations

import re
from typing import Any

import pymysql

from basaltcli.server import Server

# Values skipped in a crash are allowed.
_COUNTER = re.compile(r" AUTO_INCREMENT=\d+")

_ER_TABLESPACE_DISCARDED = 1814

State = dict[str, Any]

_PREPARED = "prepared"
_REFERENCED = "referenced indexes"
# What a state has beside tables.
OTHERS = (_PREPARED, _REFERENCED)


def state_of(server: Server, database: str) -> State:
    """Definition, with foreign keys, and sorted rows of every table; names of what is prepared;
    the index that each foreign key leads to, which depends on whether the parent is there."""
    state: State = {_PREPARED: sorted(str(row[3]) for row in server.query("XA RECOVER"))}
    state[_REFERENCED] = server.query(
        "SELECT TABLE_NAME, CONSTRAINT_NAME, UNIQUE_CONSTRAINT_NAME FROM "
        "information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %s ORDER BY 1, 2",
        [database])
    names = server.query("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
                         "%s ORDER BY 1", [database])
    for (name,) in names:
        table = f"`{database}`.`{name}`"
        definition = server.query(f"SHOW CREATE TABLE {table}")[0][1]
        rows = _rows(server, table)
        definition = _COUNTER.sub("", definition) + _constraints(server, database, name)
        state[name] = (definition, rows)
    return state


def _rows(server: Server, table: str) -> list[tuple[Any, ...]]:
    try:
        return sorted(server.query(f"SELECT * FROM {table}"), key=repr)
    except pymysql.err.MySQLError as error:
        if error.args[0] != _ER_TABLESPACE_DISCARDED:
            raise
        return [("discarded",)]


def _constraints(server: Server, database: str, table: str) -> str:
    """The table's foreign keys in the information schema; those to it are in other tables' part."""
    columns = server.query(
        "SELECT CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, "
        "REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = %s "
        "AND TABLE_NAME = %s AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY 1, ORDINAL_POSITION",
        [database, table])
    rules = server.query(
        "SELECT CONSTRAINT_NAME, REFERENCED_TABLE_NAME, DELETE_RULE, UPDATE_RULE FROM "
        "information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %s "
        "AND TABLE_NAME = %s ORDER BY 1", [database, table])
    return f" {columns} {rules}" if columns or rules else ""


def describe(state: State) -> str:
    """One line: tables, how many rows, a number that stands for their contents."""
    parts = [f"{name}: {len(value[1])} rows, #{abs(hash(repr(value))) % 10000:04}"
             for name, value in state.items() if name not in OTHERS]
    if state[_PREPARED]:
        parts.append(f"prepared: {', '.join(state[_PREPARED])}")
    return "; ".join(parts) or "nothing"
