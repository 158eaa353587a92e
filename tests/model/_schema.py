"""The tables of the model test: columns with small domains, indexes, the order of values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
# Comparable as the server compares values: NULL first, then by number or collation weight.
Weight = tuple[Any, ...]

# utf8mb4_general_ci ignores case and these accents; it pads with spaces. Values with their weights.
_TEXTS: Mapping[str, str] = {
    "": "", "a": "A", "A": "A", "ä": "A", "a ": "A", "ab": "AB", "AB ": "AB", "b": "B", "B": "B",
    "bc": "BC", "é": "E", "E": "E", "zz": "ZZ", "Zz": "ZZ"}


@dataclass(frozen=True)
class Column:
    """A column and the values that the test gives it."""

    name: str
    sql: str
    values: tuple[Any, ...]
    is_nullable: bool = False

    def draw(self, chance: random.Random) -> Any:
        """A random value."""
        if self.is_nullable and chance.random() < 0.3:
            return None
        return chance.choice(self.values)


@dataclass(frozen=True)
class Index:
    """An index; `descending` names the parts that are stored in descending order."""

    name: str
    parts: tuple[str, ...]
    is_unique: bool = False
    descending: frozenset[str] = field(default_factory=frozenset)

    def sql(self) -> str:
        """For CREATE TABLE."""
        parts = ", ".join(part + (" DESC" if part in self.descending else "")
                          for part in self.parts)
        if self.name == "PRIMARY":
            return f"PRIMARY KEY ({parts})"
        return f"{'UNIQUE ' if self.is_unique else ''}KEY {self.name} ({parts})"


@dataclass(frozen=True)
class Table:
    """A table. `identity` are the columns that tell rows apart: the primary key, if there is one.

    Unique indexes come in the order in which the server checks them.
    """

    name: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...]
    identity: tuple[str, ...]
    has_auto_increment: bool = False

    def create_sql(self) -> str:
        """CREATE TABLE for the engine."""
        parts = [f"{column.name} {column.sql}" for column in self.columns]
        parts += [index.sql() for index in self.indexes]
        return (f"CREATE TABLE {self.name} ({', '.join(parts)}) ENGINE=ROCKSDB "
                "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci")

    def position(self, column: str) -> int:
        return next(i for i, each in enumerate(self.columns) if each.name == column)

    def column(self, name: str) -> Column:
        return self.columns[self.position(name)]

    def value(self, row: Row, column: str) -> Any:
        return row[self.position(column)]

    def weights(self, row: Row, columns: tuple[str, ...]) -> Weight:
        """The values of some columns, comparable."""
        return tuple(weight(self.value(row, column)) for column in columns)

    def key(self, row: Row) -> Weight:
        """What tells the row from others."""
        return self.weights(row, self.identity)

    @property
    def primary(self) -> Index | None:
        return next((index for index in self.indexes if index.name == "PRIMARY"), None)

    @property
    def unique(self) -> list[Index]:
        """Unique indexes other than the primary key."""
        return [index for index in self.indexes if index.is_unique and index.name != "PRIMARY"]

    def changed(self, row: Row, changes: Mapping[str, Any]) -> Row:
        """The row with other values in some columns."""
        return tuple(changes.get(column.name, value)
                     for column, value in zip(self.columns, row, strict=True))

    def unique_value(self, index: Index, row: Row) -> Weight | None:
        """What must be unique; None when a part is NULL."""
        if any(self.value(row, part) is None for part in index.parts):
            return None
        return self.weights(row, index.parts)


def weight(value: Any) -> Weight:
    """Comparable form of a value."""
    if value is None:
        return (0,)
    if isinstance(value, str):
        return (1, _TEXTS.get(value, value.upper()))
    return (1, value)


_TEXT = tuple(_TEXTS)
_SMALL = tuple(range(12))
_FILL = tuple(character * length for character in "xyz" for length in (0, 1, 30, 300))

TABLES = (
    Table("t1", (
        Column("id", "INT NOT NULL AUTO_INCREMENT", tuple(range(1, 41))),
        Column("v", "VARCHAR(10) NOT NULL", _TEXT + tuple(f"w{i}" for i in range(20))),
        Column("u", "INT", tuple(range(25)), True),
        Column("k", "INT NOT NULL", _SMALL),
        Column("m", "VARCHAR(5)", _TEXT, True),
        Column("n", "SMALLINT NOT NULL", (-3, -1, 0, 1, 2, 300)),
        Column("s", "VARCHAR(400) NOT NULL", _FILL)),
        (Index("PRIMARY", ("id",), True), Index("v", ("v",), True), Index("u", ("u",), True),
         Index("k", ("k",)), Index("m", ("m", "n"), False, frozenset(("n",))),
         Index("d", ("k", "u"), False, frozenset(("k", "u")))),
        ("id",), True),
    Table("t2", (
        Column("p", "SMALLINT NOT NULL", tuple(range(-3, 4))),
        Column("q", "VARCHAR(6) NOT NULL", _TEXT),
        Column("x", "INT", tuple(range(6)), True),
        Column("y", "VARCHAR(8)", _TEXT, True),
        Column("z", "TEXT NOT NULL", _FILL)),
        (Index("PRIMARY", ("p", "q"), True, frozenset(("q",))),
         Index("xy", ("x", "y"), True), Index("y", ("y",))),
        ("p", "q")),
    Table("h", (
        Column("tag", "INT NOT NULL", ()),
        Column("w", "INT", _SMALL, True),
        Column("c", "VARCHAR(8) NOT NULL", _TEXT)),
        (Index("w", ("w",)), Index("c", ("c", "w"), False, frozenset(("c",)))),
        ("tag",)),
)
