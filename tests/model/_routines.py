"""Triggers and stored functions that set savepoints: how they are written, and what they do.

They write numbers into NOTES; a function may also insert a row into t2, where a duplicate is no
error to it. So each statement can do to two or three tables what must stand or fall together.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.model._schema import NOTES, TABLES, Row, Table
from tests.model._state import Duplicate, Statement

_T1, _T2 = TABLES[0], TABLES[1]
_OTHER = "ab"
# Numbers that are taken back: none may ever be seen.
_NEVER = 1_000_000
# How a note is written: it stays in all of them. `a` is also a savepoint of sessions.
_WAYS = ("INSERT INTO notes VALUES ({0});",
         "SAVEPOINT a; INSERT INTO notes VALUES ({0});",
         "SAVEPOINT a; INSERT INTO notes VALUES ({0}); RELEASE SAVEPOINT a;",
         "INSERT INTO notes VALUES ({0}); SAVEPOINT a; INSERT INTO notes VALUES ({never}); "
         "ROLLBACK TO SAVEPOINT a;",
         "SAVEPOINT b; INSERT INTO notes VALUES ({never}); SAVEPOINT a; INSERT INTO notes VALUES "
         "({never}); ROLLBACK TO SAVEPOINT b; INSERT INTO notes VALUES ({0});")


@dataclass
class Function:
    """`run` does to the model what a call with `x` does."""

    name: str
    body: str
    run: Callable[[Statement, int], None]
    writes: tuple[str, ...] = (NOTES.name,)

    def create_sql(self) -> str:
        return f"CREATE FUNCTION {self.name}(x INT) RETURNS INT BEGIN {self.body} RETURN x; END"


@dataclass
class Routines:
    """Drawn for a run."""

    functions: list[Function]
    triggers: dict[str, tuple[int, str]]  # of t1, by event

    def create_sql(self) -> list[str]:
        """Statements that make them."""
        statements = [each.create_sql() for each in self.functions]
        for event, (number, way) in self.triggers.items():
            row = "OLD" if event == "DELETE" else "NEW"
            body = _note(way, f"{number} + {row}.id")
            statements.append(f"CREATE TRIGGER on_{event.lower()} AFTER {event} ON t1 FOR EACH ROW "
                              f"BEGIN {body} END")
        return statements

    def on_change(self, statement: Statement, event: str, row: Row) -> None:
        """What triggers do when a statement has changed a row, or has left it as it is."""
        if statement.table is _T1 and event in self.triggers:
            note(statement, self.triggers[event][0] + _T1.value(row, "id"))

    def for_table(self, table: Table) -> list[Function]:
        """Those that a statement on the table may call."""
        return [each for each in self.functions if table.name not in each.writes]


def draw(chance: random.Random) -> Routines:
    """Ways of writing notes for each."""
    tried = "SAVEPOINT a; INSERT INTO t2 VALUES (x, 'ab', NULL, NULL, '');"
    handler = "DECLARE CONTINUE HANDLER FOR 1062 BEGIN END; "
    functions = [
        Function("noted", _note(chance.choice(_WAYS), "x"), note),
        Function("marked", _note(chance.choice(_WAYS[3:]), "x"), note),
        Function("tried", handler + tried, _insert, (NOTES.name, _T2.name)),
        Function("tested", f"{handler}{tried} ROLLBACK TO SAVEPOINT a;", _insert_and_take_back,
                 (NOTES.name, _T2.name))]
    triggers = {event: (number * 1000, chance.choice(_WAYS))
                for number, event in enumerate(("INSERT", "UPDATE", "DELETE"), 1)
                if chance.random() < 0.7}
    return Routines(functions, triggers)


def note(statement: Statement, x: int) -> None:
    """Writes a number down."""
    statement.inner(NOTES).insert((x, statement.model.next_number()))


def _note(way: str, value: str) -> str:
    return way.format(value, never=f"{_NEVER} + {value}")


def _insert(statement: Statement, x: int) -> None:
    try:
        statement.inner(_T2).insert((x, _OTHER, None, None, ""))
    except Duplicate:
        pass


def _insert_and_take_back(statement: Statement, x: int) -> None:
    with statement.inner(_T2).taken_back():
        _insert(statement, x)
