"""Statements as the generator makes them: SQL, and how two answers to it are compared.

Those with parts (columns, rows, keys) can be made smaller by _shrink.py.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self


class Rows(enum.Enum):
    """What a statement determines about the rows of its answer."""

    SEQUENCE = "all, in this order"
    BAG = "all, in any order"
    COUNT = "their number"
    NOTHING = "whether there is an error"


@dataclass(frozen=True)
class Comparison:
    """What both answers must agree in, besides error codes, counts and messages.

    `ordered` are columns whose values come in a determined order whatever the rest does. `equality`
    maps a column to the rule ("double" or a collation) by which another value may stand for it, as
    in GROUP BY. `warnings` is off where the number of evaluations, and so of warnings, depends on
    the plan. `numbers_rows` is on where rows are visited in a determined order. `names_key` is off
    where a row may violate two keys and who looks first is not determined.
    """

    rows: Rows = Rows.BAG
    ordered: tuple[int, ...] = ()
    equality: tuple[tuple[int, str], ...] = ()
    warnings: bool = True
    numbers_rows: bool = False
    names_key: bool = True


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Statement:
    """`accepted` is called when the statement succeeded, to bring the generator's model up to date.
    One that `is_setting` belongs to every script. `may_lose_rows`: triggers may remove rows, by way
    of foreign keys, that the statement is updating.
    """

    text: str = ""
    comparison: Comparison = Comparison()
    accepted: Callable[[], None] = _nothing
    is_setting: bool = False
    may_lose_rows: bool = False

    @property
    def sql(self) -> str:
        return self.text


@dataclass(frozen=True)
class Create(Statement):
    """CREATE TABLE. Items are columns and keys: a name, and the SQL."""

    table: str = ""
    items: tuple[tuple[str, str], ...] = ()
    tail: str = ""
    head: str = "CREATE TABLE"

    @property
    def sql(self) -> str:
        body = ", ".join(item for _, item in self.items)
        return f"{self.head} {self.table} ({body}){self.tail}"


@dataclass(frozen=True)
class Insert(Statement):
    """INSERT or REPLACE with VALUES."""

    verb: str = "INSERT"
    table: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    tail: str = ""

    @property
    def sql(self) -> str:
        rows = ", ".join(f"({', '.join(row)})" for row in self.rows)
        return f"{self.verb} INTO {self.table} ({', '.join(self.columns)}) VALUES {rows}{self.tail}"

    def without_column(self, name: str) -> Self:
        """The statement for a table that lacks a column."""
        if name not in self.columns or len(self.columns) == 1:
            return self
        at = self.columns.index(name)
        return replace(self, columns=self.columns[:at] + self.columns[at + 1:],
                       rows=tuple(row[:at] + row[at + 1:] for row in self.rows))


@dataclass(frozen=True)
class Out:
    """An expression in a select list."""

    sql: str
    column: str = ""
    equality: str = ""
    is_ordered: bool = False


@dataclass(frozen=True)
class Select(Statement):
    """SELECT; its comparison follows from its list."""

    outs: tuple[Out, ...] = ()
    rest: str = ""
    rows: Rows = Rows.BAG
    warnings: bool = True
    head: str = "SELECT"
    tables: tuple[str, ...] = field(default=())

    @property
    def sql(self) -> str:
        return f"{self.head} {', '.join(out.sql for out in self.outs)}{self.rest}"


def comparison_of(statement: Statement) -> Comparison:
    """How to compare two answers to a statement."""
    if not isinstance(statement, Select):
        return statement.comparison
    return Comparison(
        statement.rows,
        tuple(at for at, out in enumerate(statement.outs) if out.is_ordered),
        tuple((at, out.equality) for at, out in enumerate(statement.outs) if out.equality),
        statement.warnings)
