"""AUTO_INCREMENT in steps that change, without the gaps that errors leave: the next value is known.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.differential._statement import Comparison, Rows, Statement

_TYPES = ("TINYINT", "TINYINT UNSIGNED", "SMALLINT", "INT", "BIGINT")
NAME = "counted_rows"


class Counters:
    """A table with a counter, and statements that have it go on."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._exists = False

    def tables(self) -> list[Statement]:
        """The table, in some cases."""
        if self._chance.random() < 0.5:
            return []
        self._exists = True
        key = self._chance.choice(("PRIMARY KEY (id)", "PRIMARY KEY (id)", "KEY (id)"))
        return [Statement(f"CREATE TABLE {NAME} (id {self._chance.choice(_TYPES)} NOT NULL "
                          f"AUTO_INCREMENT, v INT, {key})")]

    def step(self) -> Iterator[Statement]:
        """Some rows, perhaps in other steps than before."""
        chance = self._chance
        if not self._exists:
            return
        if chance.random() < 0.6:
            yield Statement(f"SET auto_increment_increment = {chance.choice((1, 1, 2, 5, 10))}")
            yield Statement(f"SET auto_increment_offset = {chance.choice((1, 1, 2, 3, 15))}")
        kind = chance.random()
        rows = ", ".join("(0)" for _ in range(chance.choice((1, 1, 2, 5))))
        if kind < 0.75:
            yield Statement(f"INSERT INTO {NAME} (v) VALUES {rows}",
                            Comparison(names_key=False))
        elif kind < 0.85:
            # Beyond what there is: no duplicate.
            yield Statement(f"INSERT IGNORE INTO {NAME} SELECT MAX(id) + "
                            f"{chance.choice((1, 7, 30))}, 1 FROM {NAME}")
        else:
            yield Statement(f"DELETE FROM {NAME} ORDER BY id DESC LIMIT {chance.randint(1, 3)}")
        yield Statement(f"SELECT * FROM {NAME}")

    def look(self) -> Iterator[Statement]:
        """What the table says outside of transactions. Steps are those of other tables, too."""
        if not self._exists:
            return
        yield Statement("SET auto_increment_increment = 1, auto_increment_offset = 1")
        yield Statement(f"SELECT * FROM {NAME}")
        yield Statement("SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE "
                        f"TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{NAME}'",
                        Comparison(Rows.SEQUENCE))
        yield Statement(f"CHECK TABLE {NAME}")
