"""What must hold after every restart, whatever was going on before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql

from basaltcli.server import Server

Row = tuple[Any, ...]


def rocksdb_tables(server: Server) -> list[str]:
    """Names `db`.`table` of all tables of the engine."""
    return [f"`{database}`.`{name}`" for database, name in server.query(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES "
        "WHERE ENGINE = 'ROCKSDB' ORDER BY 1, 2")]


def check_tables(server: Server, tables: Sequence[str] | None = None) -> list[str]:
    """Runs CHECK TABLE; one line per problem. Without `tables`: on all tables of the engine.

    One that waits for IMPORT TABLESPACE has nothing that could be checked.
    """
    problems: list[str] = []
    for table in rocksdb_tables(server) if tables is None else tables:
        try:
            rows = server.query(f"CHECK TABLE {table}")
        except pymysql.err.Error as error:
            problems.append(f"CHECK TABLE {table}: {error}")
            continue
        if any("has been discarded" in str(row[3]) for row in rows):
            continue
        if not rows or rows[-1][2:] != ("status", "OK"):
            problems += [f"CHECK TABLE {table}: {row[2]}: {row[3]}" for row in rows]
    return problems


def left_tables(server: Server) -> list[str]:
    """Tables of the engine's dictionary that the server does not know; one line per table."""
    return [f"the dictionary has {database}.{name}, and the server has no such table"
            for database, name in server.query(
                "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME FROM information_schema.ROCKSDB_DDL "
                "WHERE (TABLE_SCHEMA, TABLE_NAME) NOT IN "
                "(SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES)")]


def difference(left: Sequence[Row], right: Sequence[Row], names: tuple[str, str],
               limit: int = 5) -> list[str]:
    """How two sets of rows differ: one line per row that only one side has, up to `limit`."""
    if left == right:
        return []
    here, there = set(left), set(right)
    lines = [f"only in {names[0]}: {_short(row)}" for row in left if row not in there]
    lines += [f"only in {names[1]}: {_short(row)}" for row in right if row not in here]
    if not lines:
        lines = [f"same rows, other number or order: {len(left)} in {names[0]}, "
                 f"{len(right)} in {names[1]}"]
    return lines if len(lines) <= limit else [*lines[:limit], f"... {len(lines)} in all"]


def engine_errors(server: Server, start: int = 0) -> list[str]:
    """The engine's own [ERROR] lines, and failed asserts, in the error log from byte `start`."""
    text = server.log.read_bytes()[start:].decode(errors="replace")
    return [line for line in text.splitlines()
            if ("[ERROR]" in line and "RocksDB:" in line) or "ssertion" in line
            or "Sanitizer" in line or "got signal" in line]


def _short(row: Row) -> str:
    text = ", ".join(repr(value) if len(repr(value)) < 40 else repr(value)[:36] + "...'"
                     for value in row)
    return f"({text})"
