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
    """A column and the values that the test gives it. Without `sql` only the model has it."""

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
    """An index; `descending` names the parts that are stored in descending order.

    `placement` is its comment, which names a column family.
    """

    name: str
    parts: tuple[str, ...]
    is_unique: bool = False
    descending: frozenset[str] = field(default_factory=frozenset)
    placement: str = ""

    def sql(self) -> str:
        """For CREATE TABLE."""
        parts = ", ".join(part + (" DESC" if part in self.descending else "")
                          for part in self.parts)
        comment = f" COMMENT '{self.placement}'" if self.placement else ""
        if self.name == "PRIMARY":
            return f"PRIMARY KEY ({parts}){comment}"
        return f"{'UNIQUE ' if self.is_unique else ''}KEY {self.name} ({parts}){comment}"


@dataclass(frozen=True)
class Table:
    """A table. `identity` are the columns that tell rows apart: the primary key, if there is one.

    Unique indexes come in the order in which the server checks them. `moving` are the columns whose
    values statements shift, `numbers` plain ones that hold any number.
    """

    name: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...]
    identity: tuple[str, ...]
    has_auto_increment: bool = False
    moving: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()  # ways to partition it
    is_temporary: bool = False

    def create_sql(self, partition: str = "") -> str:
        """CREATE TABLE for the engine."""
        parts = [f"{column.name} {column.sql}" for column in self.columns if column.sql]
        parts += [index.sql() for index in self.indexes]
        kind = "TEMPORARY TABLE" if self.is_temporary else "TABLE"
        return (f"CREATE {kind} {self.name} ({', '.join(parts)}) ENGINE=ROCKSDB "
                f"DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci {partition}").rstrip()

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
        ("id",), True, moving=("id", "id", "u"), numbers=("k", "n")),
    Table("t2", (
        Column("p", "SMALLINT NOT NULL", tuple(range(-3, 4))),
        Column("q", "VARCHAR(6) NOT NULL", _TEXT),
        Column("x", "INT", tuple(range(6)), True),
        Column("y", "VARCHAR(8)", _TEXT, True),
        Column("z", "TEXT NOT NULL", _FILL)),
        (Index("PRIMARY", ("p", "q"), True, frozenset(("q",)), "cfname=rows"),
         Index("xy", ("x", "y"), True), Index("y", ("y",), placement="entries")),
        ("p", "q"), moving=("p",)),
    Table("h", (
        Column("tag", "INT NOT NULL", ()),
        Column("w", "INT", _SMALL, True),
        Column("c", "VARCHAR(8) NOT NULL", _TEXT)),
        (Index("w", ("w",)), Index("c", ("c", "w"), False, frozenset(("c",)))),
        ("tag",), numbers=("w",),
        partitions=("", "", "PARTITION BY HASH (tag) PARTITIONS 3", "PARTITION BY KEY (c)")),
    Table("g", (
        Column("a", "SMALLINT NOT NULL", tuple(range(-2, 7))),
        Column("b", "VARCHAR(6) NOT NULL", _TEXT[:6]),
        Column("c", "INT", tuple(range(4)), True),
        Column("e", "INT NOT NULL", _SMALL),
        Column("f", "VARCHAR(400)", _FILL, True)),
        (Index("PRIMARY", ("a", "b"), True),
         Index("ca", ("c", "a"), True, placement="p1_cfname=rows;a_cfname=rows;cfname=entries"),
         Index("f", ("f",), placement="p0_cfname=entries;b_cfname=entries"),
         Index("e", ("e", "b"), False, frozenset(("e",)))),
        ("a", "b"), moving=("a",), numbers=("e",),
        partitions=("", "PARTITION BY HASH (a) PARTITIONS 3", "PARTITION BY KEY (a) PARTITIONS 4",
                    "PARTITION BY RANGE (a) (PARTITION a VALUES LESS THAN (0), PARTITION b VALUES "
                    "LESS THAN (3), PARTITION c VALUES LESS THAN MAXVALUE)")),
)
# What triggers and functions write down. Rows may be the same; the model numbers them.
NOTES = Table("notes", (Column("x", "INT NOT NULL", ()), Column("number", "", ())),
              (Index("x", ("x",)),), ("number",))


def temporary_table(session: int) -> Table:
    """The temporary table that a session may have."""
    return Table(f"brief{session}", (
        Column("i", "INT NOT NULL", tuple(range(12))),
        Column("j", "INT", tuple(range(8)), True),
        Column("l", "VARCHAR(300) NOT NULL", _TEXT[:6] + _FILL)),
        (Index("PRIMARY", ("i",), True), Index("j", ("j",), True), Index("l", ("l",))),
        ("i",), moving=("i", "j"), is_temporary=True)
