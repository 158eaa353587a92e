"""Triggers and stored functions: statements within statements, with savepoints of their own.

What they do commutes, so that it does not matter in which order a statement visits its rows.
Triggers form no cycle: each table's change only tables behind it, and `seen`, which has no keys.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.differential._program_tables import ProgramTable
from tests.differential._statement import Statement

SEEN = "seen"
_AT_ONCE = 1 << 40


def create_seen() -> str:
    """What triggers and functions write down."""
    return f"CREATE TABLE {SEEN} (what VARCHAR(20), x BIGINT, y BIGINT)"


def triggers(chance: random.Random, tables: Sequence[ProgramTable]) -> list[Statement]:
    """Some triggers for each table."""
    statements = []
    for at, table in enumerate(tables):
        for event in ("INSERT", "UPDATE", "DELETE"):
            if chance.random() < 0.35:
                time = chance.choice(("BEFORE", "AFTER"))
                row = "OLD" if event == "DELETE" else "NEW"
                body = _body(chance, tables[at + 1:], row, f"{time[0]}{event[0]} {table.name}")
                statements.append(Statement(
                    f"CREATE TRIGGER on_{table.name}_{event.lower()} {time} {event} ON "
                    f"{table.name} FOR EACH ROW {body}"))
    return statements


def functions(chance: random.Random, tables: Sequence[ProgramTable]) -> list[Statement]:
    """`noted` writes down what it is called with, `counted` reads a table, `tried` changes one."""
    savepoint = _savepoints(chance)
    noted = (f"CREATE FUNCTION noted(x BIGINT) RETURNS BIGINT BEGIN {savepoint[0]} "
             f"INSERT INTO {SEEN} VALUES ('noted', x, NULL); {savepoint[1]} RETURN x; END")
    table = chance.choice(tables)
    before = chance.choice(("", "SAVEPOINT c; ", "SAVEPOINT c; ROLLBACK TO SAVEPOINT c; "))
    counted = (f"CREATE FUNCTION counted(x BIGINT) RETURNS BIGINT BEGIN DECLARE c BIGINT; {before}"
               f"SELECT COUNT(*) INTO c FROM {table.name}{_hint(chance, table)} "
               f"WHERE {chance.choice(('k <= x', 'b < 5', 'n >= 0', 'id > 0'))}; RETURN c; END")
    target = tables[-1]
    tried = ("CREATE FUNCTION tried(x BIGINT) RETURNS BIGINT BEGIN "
             "DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; "
             f"{savepoint[0]} {_write(chance, target, 'x')} {savepoint[1]} RETURN x; END")
    return [Statement(sql) for sql in (noted, counted, tried)]


def _body(chance: random.Random, behind: Sequence[ProgramTable], row: str, what: str) -> str:
    savepoint = _savepoints(chance)
    actions = [f"INSERT INTO {SEEN} VALUES ('{what}', {row}.id, {row}.n);"]
    if behind and chance.random() < 0.6:
        actions.append(_write(chance, chance.choice(behind), f"{row}.k"))
    if chance.random() < 0.2:
        actions.append(f"SET @seen = (SELECT COUNT(*) FROM {SEEN});")
    chance.shuffle(actions)
    handler = ""
    if chance.random() < 0.4:
        handler = "DECLARE CONTINUE HANDLER FOR 1062 BEGIN END; "
    return f"BEGIN {handler}{savepoint[0]} {' '.join(actions)} {savepoint[1]} END"


def _write(chance: random.Random, table: ProgramTable, value: str) -> str:
    """A change of another table, which depends on no order in which it is done."""
    kind = chance.random()
    if kind < 0.35:
        return f"UPDATE {table.name}{_hint(chance, table)} SET n = n + 1 WHERE k = {value};"
    if kind < 0.5:
        return f"UPDATE {table.name} SET n = n + 1;"
    if kind < 0.6:
        return f"DELETE FROM {table.name} WHERE k = {value};"
    if kind < 0.7 and table.mover == "id" and not table.partition and table.primary is not None:
        return f"UPDATE {table.name} SET id = id + {_AT_ONCE};"
    names = [each.name for each in table.writable]
    rows = ", ".join(f"({', '.join(table.row(chance))})" for _ in range(chance.choice((1, 2, 3))))
    verb = chance.choice(("INSERT", "INSERT", "INSERT IGNORE"))
    return f"{verb} INTO {table.name} ({', '.join(names)}) VALUES {rows};"


def _savepoints(chance: random.Random) -> tuple[str, str]:
    """What stands before and after the rest."""
    return chance.choice((("", ""), ("SAVEPOINT s;", ""), ("SAVEPOINT s;", ""),
                          ("SAVEPOINT s;", "ROLLBACK TO SAVEPOINT s;"),
                          ("SAVEPOINT s;", "RELEASE SAVEPOINT s;"),
                          ("SAVEPOINT r; SAVEPOINT s;", "ROLLBACK TO SAVEPOINT s;")))


def _hint(chance: random.Random, table: ProgramTable) -> str:
    if not table.keys or chance.random() < 0.5:
        return ""
    return f" FORCE INDEX ({chance.choice(table.key_names)})"
