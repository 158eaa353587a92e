"""Temporary tables that are made, filled, emptied and dropped inside transactions.

InnoDB does not bring back all rows of a temporary table when a statement fails or is undone, so
after that ours are only emptied or dropped.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.differential._program_tables import ProgramTable
from tests.differential._statement import Comparison, Statement

# Rows that do not compress: what stays behind can be told by its size.
_FILLER = "CONCAT(SHA2(seq, 512), SHA2(seq + 1, 512), SHA2(seq + 2, 512), SHA2(seq + 3, 512))"
_LARGE_ROWS = 1500
# What is dropped is reclaimed once a second.
_PAUSE = "DO SLEEP(1.2)"


class TemporaryTables:
    """One temporary table at a time."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._exists = False
        self._is_certain = False

    def step(self, source: ProgramTable) -> Iterator[Statement]:
        """A statement or a few."""
        if not self._exists:
            yield from self._create(source)
        elif not self._is_certain or self._chance.random() < 0.4:
            yield from self._drop()
        else:
            yield from self._change()

    def undone(self) -> Iterator[Statement]:
        """After ROLLBACK TO SAVEPOINT."""
        if self._exists:
            self._is_certain = False
        yield from ()

    def end(self, how: str) -> Iterator[Statement]:
        """After the transaction's end."""
        if self._exists and "ROLLBACK" in how:
            self._is_certain = False
            yield from self._drop()

    def _create(self, source: ProgramTable) -> Iterator[Statement]:
        chance = self._chance
        kind = chance.random()
        if kind < 0.3 and not source.is_versioned and not source.partition:
            yield Statement(f"CREATE TEMPORARY TABLE brief LIKE {source.name}",
                            accepted=self._created)
            names = ", ".join(each.name for each in source.writable)
            yield Statement(f"INSERT INTO brief ({names}) SELECT {names} FROM {source.name}")
        elif kind < 0.85:
            keys = chance.choice(("", "(KEY (k)) ", "(KEY (s), KEY (k)) "))
            yield Statement(f"CREATE TEMPORARY TABLE brief {keys}SELECT id, b, u, k, n, s FROM "
                            f"{source.name}", Comparison(warnings=False), accepted=self._created)
        else:
            yield Statement(f"CREATE TEMPORARY TABLE brief (KEY (k)) SELECT seq AS id, 1 AS b, "
                            f"seq AS u, seq % 7 AS k, 0 AS n, {_FILLER} AS s FROM "
                            f"seq_1_to_{_LARGE_ROWS}", accepted=self._created)
        if chance.random() < 0.3:
            yield from self._drop()

    def _created(self) -> None:
        self._exists = self._is_certain = True

    def _change(self) -> Iterator[Statement]:
        if not self._exists:
            return
        chance = self._chance
        yield Statement(chance.choice((
            "UPDATE brief SET n = n + 1", "UPDATE brief SET k = k + 100 WHERE k < 5",
            "DELETE FROM brief WHERE k = 3", "TRUNCATE TABLE brief",
            "UPDATE brief SET s = CONCAT('z', LEFT(s, 8))",
            "ALTER TABLE brief ADD COLUMN IF NOT EXISTS more INT DEFAULT 5",
            "ALTER TABLE brief ADD KEY IF NOT EXISTS later (n)")), Comparison(warnings=False))
        yield Statement("SELECT COUNT(*), SUM(k), SUM(n), MIN(s) FROM brief")

    def _drop(self) -> Iterator[Statement]:
        if not self._exists:
            return
        if self._chance.random() < 0.3:
            yield Statement("TRUNCATE TABLE brief")
        yield Statement("DROP TEMPORARY TABLE IF EXISTS brief")
        self._exists = self._is_certain = False
        if self._chance.random() < 0.3:
            yield Statement(_PAUSE)
