"""Small tables for programs of statements, in which every row can move without meeting another.

All have the columns id, b, u, k, n, s and sometimes more; what varies is their keys, partitions,
history and generated columns. Ids are whole numbers far apart enough to tell which rows a statement
has moved, and how often.
"""

from __future__ import annotations

import random

from tests.differential._schema import Column, Key, Part, Table
from tests.differential._types import Group, Type

_WORDS = ("'ada'", "'Ada'", "'ADA '", "'bob'", "'Bob '", "'carl'", "''", "' '", "'dora'", "'eve'")
_PLAIN_COLUMNS = ("id", "b", "u", "k", "n", "s")


def _integer(low: int, high: int) -> Type:
    return Type("BIGINT", Group.NUMBER, lambda chance: str(chance.randint(low, high)),
                lambda _: "'abc'", is_integer=True)


def _text() -> Type:
    return Type("VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", Group.TEXT,
                lambda chance: chance.choice(_WORDS), lambda _: "'abc'", charset="utf8mb4",
                length=40, equality="utf8mb4_general_ci")


def _name() -> Type:
    return Type("VARCHAR(600) CHARACTER SET latin1 COLLATE latin1_swedish_ci", Group.TEXT,
                lambda chance: f"'n{chance.randint(1, 40)}'", lambda _: "'abc'", charset="latin1",
                length=600, equality="latin1_swedish_ci")


class ProgramTable(Table):
    """A table of a program."""

    @property
    def mover(self) -> str:
        """The column that moves a row along the primary key."""
        return "name" if any(each.name == "name" for each in self.columns) else "id"

    @property
    def key_names(self) -> list[str]:
        """What FORCE INDEX may name."""
        return [key.hint for key in self.keys]

    def row(self, chance: random.Random) -> tuple[str, ...]:
        """A row's values, in the order of `writable`."""
        return tuple(each.draw(chance, null=0.25) for each in self.writable)


def draw(chance: random.Random, name: str, *, may_have_history: bool = True) -> ProgramTable:
    """A random table."""
    table = ProgramTable(name, _columns(chance))
    columns = {each.name: each for each in table.columns}
    kind = chance.random()
    if kind < 0.2:
        _add_partitions(chance, table, columns)
    else:
        _add_keys(chance, table, columns)
        if kind < 0.32 and may_have_history:
            table.is_versioned = True
    if chance.random() < 0.3:
        _add_generated(chance, table)
    return table


def _columns(chance: random.Random) -> list[Column]:
    columns = [Column("id", _integer(-20, 40), nullable=False), Column("b", _integer(0, 9)),
               Column("u", _integer(0, 60)), Column("k", _integer(0, 9)),
               Column("n", _integer(0, 3), nullable=False), Column("s", _text())]
    for column in columns:
        column.pool = [column.type.draw(chance) for _ in range(9)]
    return columns


def _add_keys(chance: random.Random, table: ProgramTable, columns: dict[str, Column]) -> None:
    kind = chance.random()
    if kind < 0.6:
        parts = [Part(columns["id"], descending=chance.random() < 0.2)]
        if kind > 0.5:
            columns["b"].nullable = False
            parts.insert(chance.randint(0, 1), Part(columns["b"]))
        table.keys.append(Key("PRIMARY", "PRIMARY KEY", parts))
    elif kind < 0.8:
        name = Column("name", _name(), nullable=False)
        name.pool = [name.type.draw(chance) for _ in range(30)]
        table.columns.append(name)
        table.keys.append(Key("PRIMARY", "PRIMARY KEY", [Part(name)]))
    if chance.random() < 0.5:
        table.keys.append(Key("u", "UNIQUE", [Part(columns["u"])]))
    _add_plain_keys(chance, table, columns)


def _add_plain_keys(chance: random.Random, table: ProgramTable,
                    columns: dict[str, Column]) -> None:
    for name in ("k", "s", "n"):
        if chance.random() < 0.45:
            parts = [Part(columns[name], descending=chance.random() < 0.15)]
            if chance.random() < 0.3:
                parts.append(Part(columns["b"]))
            table.keys.append(Key(f"key_{name}", "KEY", parts))


def _add_partitions(chance: random.Random, table: ProgramTable,
                    columns: dict[str, Column]) -> None:
    table.keys.append(Key("PRIMARY", "PRIMARY KEY", [Part(columns["id"])]))
    if chance.random() < 0.3:
        table.keys.append(Key("u", "UNIQUE", [Part(columns["u"]), Part(columns["id"])]))
    _add_plain_keys(chance, table, columns)
    if chance.random() < 0.5:
        table.partition = f" PARTITION BY {chance.choice(('HASH', 'KEY'))} (id) PARTITIONS 3"
        table.partitions = ["p0", "p1", "p2"]
    else:
        table.partition = (" PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (5), "
                           "PARTITION p1 VALUES LESS THAN (1000), "
                           "PARTITION p2 VALUES LESS THAN MAXVALUE)")
        table.partitions = ["p0", "p1", "p2"]


def _add_generated(chance: random.Random, table: ProgramTable) -> None:
    base = chance.choice(("b", "k", "id"))
    kind = chance.choice(("VIRTUAL", "STORED"))
    column = Column("g", _integer(0, 19), generated=f"({base} * 2) {kind}")
    column.pool = [str(2 * each) for each in range(10)]
    table.columns.append(column)
    if chance.random() < 0.6:
        table.keys.append(Key("key_g", "KEY", [Part(column)]))
