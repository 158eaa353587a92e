"""WHERE clauses: points, ranges and mixtures, mostly on the columns of keys."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.differential._literals import has_ignorable
from tests.differential._schema import Column, Key, Table
from tests.differential._types import Group

_COMPARISONS = ("<", "<=", ">", ">=", "=", "=", "<=>", "<>")


class Conditions:
    """Draws conditions on one table. With `parameters`, literals go there and leave a `?`.

    `is_clean` stays true while every literal is of its column's type: others give warnings, one
    per evaluation, and how many evaluations there are depends on the plan.
    """

    def __init__(self, chance: random.Random, table: Table, alias: str = "", *,
                 may_be_wrong: bool = False, parameters: list[str] | None = None) -> None:
        self.is_clean = True
        self._chance = chance
        self._table = table
        self._qualifier = f"{alias}." if alias else ""
        self._wrong = 0.02 if may_be_wrong else 0.0
        self._parameters = parameters

    def draw(self) -> str:
        """A condition of one to four terms."""
        kind = self._chance.random()
        if kind < 0.5:
            return self._term()
        if kind < 0.7:
            return f"{self._term()} AND {self._term()}"
        if kind < 0.85:
            return f"{self._term()} OR {self._term()}"
        if kind < 0.9:
            return f"NOT ({self._term()})"
        return (f"({self._term()} AND {self._term()}) OR ({self._term()} AND {self._term()})"
                if kind < 0.95 else f"({self._term()} OR {self._term()}) AND {self._term()}")

    def on_key(self, key: Key) -> str:
        """Equalities on the first parts of a key, and a term on the next."""
        columns = key.columns()
        count = self._chance.randint(0, len(columns))
        terms = [f"{self._name(each)} = {self._literal(each)}" for each in columns[:count]]
        if count < len(columns):
            terms.append(self._on(columns[count]))
        return " AND ".join(terms)

    def _term(self) -> str:
        chance = self._chance
        if self._table.keys and chance.random() < 0.5:
            key = chance.choice(self._table.keys)
            if len(key.parts) > 1 and chance.random() < 0.1:
                return self._row_comparison(key.columns()[:chance.choice((2, 3))])
            return self.on_key(key)
        return self._on(chance.choice(self._table.columns))

    def _on(self, column: Column) -> str:
        chance, name = self._chance, self._name(column)
        kind = chance.random()
        if kind < 0.1:
            return f"{name} IS {chance.choice(('', 'NOT '))}NULL"
        if column.type.group is Group.SHAPE:
            return f"{name} = {self._literal(column)}"
        if kind < 0.2:
            listed = ", ".join(self._literal(column) for _ in range(chance.randint(1, 6)))
            return f"{name} {chance.choice(('', '', '', 'NOT '))}IN ({listed})"
        if kind < 0.35:
            return f"{name} BETWEEN {self._literal(column)} AND {self._literal(column)}"
        if kind < 0.45 and column.type.group is Group.TEXT:
            return f"{name} {chance.choice(('', '', 'NOT '))}LIKE {self._pattern()}"
        if kind < 0.6:
            low, high = chance.choice(((">", "<"), (">=", "<="), (">", "<="), (">=", "<")))
            return (f"{name} {low} {self._literal(column)} AND {name} {high} "
                    f"{self._literal(column)}")
        return f"{name} {chance.choice(_COMPARISONS)} {self._literal(column)}"

    def _row_comparison(self, columns: Sequence[Column]) -> str:
        names = ", ".join(self._name(each) for each in columns)
        values = ", ".join(self._literal(each) for each in columns)
        return f"({names}) {self._chance.choice(('=', '=', '<', '>=', '<>'))} ({values})"

    def _pattern(self) -> str:
        return self._chance.choice(("'a%'", "'A%'", "'%a'", "'_'", "'a_%'", "'%'", "''", "'b'",
                                    "'ab%'", "'a\\_%'", "_utf8mb4 X'C3A425'"))

    def _name(self, column: Column) -> str:
        return self._qualifier + column.name

    def _literal(self, column: Column) -> str:
        if self._chance.random() < self._wrong:
            self.is_clean = False
            value = column.type.draw_wrong(self._chance)
            if column.type.is_date:
                # What is no date is 0000-00-00 to a scan, and nothing to an index.
                value = "'2000-01-02'"
        else:
            value = column.draw(self._chance, null=0.02)
            if self._is_cut_wrongly(column, value):
                value = "'a'"
        if self._parameters is None:
            return value
        self._parameters.append(value)
        return "?"

    def _is_cut_wrongly(self, column: Column, literal: str) -> bool:
        """Whether what an index finds depends on which one the plan takes, InnoDB's too.

        The server looks in an index over the first characters of a column for the first characters
        of the literal: one that weighs nothing takes the place of one that the rows have.
        """
        return (column.type.group is Group.TEXT
                and any(part.column is column and part.prefix
                        for key in self._table.keys for part in key.parts)
                and has_ignorable(literal))
