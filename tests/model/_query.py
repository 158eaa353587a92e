"""Random reads: how they are written in SQL, and which rows they are about."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.model._schema import Index, Row, Table, Weight, weight
from tests.model._state import LockKey, Rows


@dataclass(frozen=True)
class Condition:
    """`column op value`; for BETWEEN and IN the value is a tuple."""

    column: str
    op: str
    value: Any

    def sql(self) -> str:
        if self.op == "IS NULL":
            return f"{self.column} IS NULL"
        if self.op == "BETWEEN":
            return f"{self.column} BETWEEN {literal(self.value[0])} AND {literal(self.value[1])}"
        if self.op == "IN":
            return f"{self.column} IN ({', '.join(map(literal, self.value))})"
        return f"{self.column} {self.op} {literal(self.value)}"

    def values(self) -> tuple[Any, ...]:
        """The values that it names, if it is not an open range."""
        if self.op == "=":
            return (self.value,)
        same = self.op == "BETWEEN" and weight(self.value[0]) == weight(self.value[1])
        return self.value if self.op == "IN" or same else ()

    def holds(self, table: Table, row: Row) -> bool:
        value = table.value(row, self.column)
        if value is None:
            return self.op == "IS NULL"
        mine = weight(value)
        match self.op:
            case "IS NULL":
                return False
            case "=":
                return mine == weight(self.value)
            case "<":
                return mine < weight(self.value)
            case "<=":
                return mine <= weight(self.value)
            case ">":
                return mine > weight(self.value)
            case ">=":
                return mine >= weight(self.value)
            case "BETWEEN":
                return weight(self.value[0]) <= mine <= weight(self.value[1])
            case "IN":
                return mine in [weight(each) for each in self.value]
        raise AssertionError(self.op)


@dataclass(frozen=True)
class Selection:
    """Rows of a table by conditions, through an index that is forced, or as the server likes."""

    table: Table
    index: Index | None
    conditions: tuple[Condition, ...]

    def where(self) -> str:
        if not self.conditions:
            return ""
        return " WHERE " + " AND ".join(condition.sql() for condition in self.conditions)

    def hint(self) -> str:
        return f" FORCE INDEX ({self.index.name})" if self.index else ""

    def rows(self, rows: Rows) -> list[Row]:
        return [row for row in rows.values()
                if all(condition.holds(self.table, row) for condition in self.conditions)]

    def is_point(self) -> bool:
        """Whether it is by all of the primary key, without anything else."""
        primary = self.table.primary
        return (primary is not None and len(self.conditions) == len(primary.parts)
                and all(condition.op == "=" for condition in self.conditions)
                and {condition.column for condition in self.conditions} == set(primary.parts))


def points(selection: Selection) -> list[Weight]:
    """Keys of the rows that conditions on all of the primary key name, there or not."""
    return [] if selection.table.primary is None else named(selection, selection.table.identity)


def named(selection: Selection, parts: Iterable[str]) -> list[Weight]:
    """The values of these columns that conditions on all of them name, there or not."""
    values: list[set[Weight]] = []
    for part in parts:
        given = [condition.values() for condition in selection.conditions
                 if condition.column == part]
        if not given:
            return []
        values.append({weight(value) for value in given[0]})
    return list(itertools.product(*(sorted(each) for each in values)))


def absent_keys(selection: Selection, rows: Rows) -> list[LockKey]:
    """The locks of keys, and of unique values, that conditions name and no row has. They stay when
    the transaction is prepared, other than those of ranges."""
    table = selection.table
    keys = [(table.name, "row", key) for key in points(selection) if key not in rows]
    return keys + [(table.name, index.name, value) for index in table.unique
                   for value in named(selection, index.parts)
                   if value not in {table.unique_value(index, row) for row in rows.values()}]


def draw_selection(table: Table, chance: random.Random, may_scan: bool = True) -> Selection:
    """Random conditions, mostly along an index."""
    if not table.indexes or (may_scan and chance.random() < 0.1):
        column = chance.choice([each for each in table.columns if each.values])
        return Selection(table, None, (_comparison(column.name, table, chance),))
    index = chance.choice(table.indexes)
    equal = chance.randint(0, len(index.parts))
    if index.name == "PRIMARY" and chance.random() < 0.5:
        equal = len(index.parts)
    conditions = [_equality(part, table, chance) for part in index.parts[:equal]]
    if equal < len(index.parts) and (equal == 0 or chance.random() < 0.5):
        conditions.append(_comparison(index.parts[equal], table, chance))
    if chance.random() < 0.15:
        rest = [each.name for each in table.columns
                if each.values and each.name not in index.parts]
        if rest:
            conditions.append(_comparison(chance.choice(rest), table, chance))
    forced = index if chance.random() < 0.8 else None
    return Selection(table, forced, tuple(conditions))


def draw_point(table: Table, chance: random.Random) -> Selection:
    """All of the primary key."""
    assert table.primary is not None
    return Selection(table, None, tuple(Condition(part, "=", table.column(part).draw(chance))
                                        for part in table.primary.parts))


def order_of(table: Table, index: Index | None, backward: bool) -> list[tuple[str, bool]]:
    """Columns and whether each is descending: the order of an index, and back; total."""
    parts = [(part, part in index.descending) for part in index.parts] if index else []
    primary = table.primary
    downs = primary.descending if primary else frozenset()
    parts += [(part, part in downs) for part in table.identity
              if part not in [each for each, _ in parts]]
    return [(part, down != backward) for part, down in parts]


def sort_rows(table: Table, rows: list[Row], order: list[tuple[str, bool]]) -> list[Row]:
    for part, down in reversed(order):
        rows = sorted(rows, key=lambda row: weight(table.value(row, part)), reverse=down)
    return rows


def literal(value: Any) -> str:
    """A value in SQL."""
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _equality(name: str, table: Table, chance: random.Random) -> Condition:
    value = table.column(name).draw(chance)
    return Condition(name, "IS NULL", None) if value is None else Condition(name, "=", value)


def _comparison(name: str, table: Table, chance: random.Random) -> Condition:
    column = table.column(name)
    op = chance.choice(("=", "<", "<=", ">", ">=", "BETWEEN", "BETWEEN", "IN"))
    if op == "BETWEEN":
        pair = sorted((chance.choice(column.values), chance.choice(column.values)), key=weight)
        return Condition(name, op, tuple(pair))
    if op == "IN":
        return Condition(name, op, tuple(chance.choices(column.values, k=chance.randint(1, 12))))
    return Condition(name, op, chance.choice(column.values))
