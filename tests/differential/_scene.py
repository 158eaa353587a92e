"""What generators of statements share: the tables, the chance, and a few choices."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, field

from tests.differential._conditions import Conditions
from tests.differential._schema import Column, Designer, Key, Table


@dataclass
class Scene:
    """The state of both databases, as far as statements depend on it."""

    chance: random.Random
    designer: Designer
    features: Collection[str]
    tables: dict[str, Table] = field(default_factory=dict)
    in_transaction: bool = False
    savepoints: list[str] = field(default_factory=list)
    is_strict: bool = True
    moment: int = 0
    is_large: bool = False  # a table has hundreds of rows: no big joins

    def table(self) -> Table:
        return self.chance.choice(list(self.tables.values()))

    def other_table(self, table: Table) -> Table:
        """Another table if there is one: the server refuses to open a temporary table twice."""
        others = [each for each in self.tables.values() if each is not table]
        if table.is_temporary and others or others and self.chance.random() < 0.7:
            return self.chance.choice(others)
        return table

    def conditions(self, table: Table, alias: str = "", *, may_be_wrong: bool = False,
                   parameters: list[str] | None = None) -> Conditions:
        return Conditions(self.chance, table, alias, may_be_wrong=may_be_wrong,
                          parameters=parameters)

    def usable_keys(self, table: Table) -> list[Key]:
        """Keys that a hint may name."""
        return [key for key in table.keys if "IGNORED" not in key.extra]

    def hint(self, table: Table) -> str:
        """Often none, sometimes an index to use or not to use."""
        keys = self.usable_keys(table)
        kind = self.chance.random()
        if not keys or kind < 0.5:
            return ""
        names = ", ".join(each.hint for each in self.chance.sample(
            keys, min(len(keys), self.chance.choice((1, 1, 1, 2)))))
        verb = "FORCE" if kind < 0.85 else "IGNORE" if kind < 0.95 else "USE"
        return f" {verb} INDEX ({names})"

    def pair_of_columns(self, one: Table, two: Table) -> tuple[Column, Column] | None:
        """Columns to join by: of one group, keys preferred; if possible of one type."""
        keyed = {column.name for table in (one, two) for key in table.keys
                 for column in key.columns()}
        pairs = [(a, b) for a in one.columns for b in two.columns
                 if a.type.group is b.type.group]
        good = [(a, b) for a, b in pairs if b.name in keyed or a.name in keyed]
        same = [(a, b) for a, b in good or pairs if a.type.sql == b.type.sql]
        choices = same if same and self.chance.random() < 0.5 else good or pairs
        return self.chance.choice(choices) if choices else None
