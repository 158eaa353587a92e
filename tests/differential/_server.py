"""What is asked of the server before tables are drawn: collations, and what our engine supports."""

from __future__ import annotations

import random
from collections import Counter

from tests.differential._pair import Side

# Drawn more often than the rest.
_FAVOURITES = ("latin1_swedish_ci", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_bin",
               "latin1_bin", "utf8mb4_nopad_bin", "utf8mb4_uca1400_ai_ci", "utf8mb3_general_ci",
               "utf8mb4_unicode_nopad_ci", "utf8mb4_uca1400_as_cs", "latin1_general_cs")

# What a statement says that uses the feature. InnoDB accepts all of them.
_PROBES = {
    "generated": "CREATE TABLE probe (a INT, s INT AS (a + 1) STORED, v INT AS (a + 2) VIRTUAL)",
    "indexed generated": "CREATE TABLE probe (a INT, v INT AS (a + 2) VIRTUAL, KEY (v))",
    "long unique": "CREATE TABLE probe (a TEXT, UNIQUE (a))",
    "versioning": "CREATE TABLE probe (a INT PRIMARY KEY) WITH SYSTEM VERSIONING",
    "period": "CREATE TABLE probe (a DATE, b DATE, PERIOD FOR p (a, b))",
    "overlaps": "CREATE TABLE probe (i INT, a DATE, b DATE, PERIOD FOR p (a, b), "
                "UNIQUE (i, p WITHOUT OVERLAPS))",
    "sequence": "CREATE SEQUENCE probe",
}
# Names of tables with which a failed probe may have left something behind.
_CLEAN_UP = ("DROP TABLE IF EXISTS probe", "DROP SEQUENCE IF EXISTS probe")


class Collations:
    """The server's collations; asks once for each whether our engine indexes it."""

    def __init__(self, prober: Side) -> None:
        self.refused: Counter[str] = Counter()
        self._prober = prober
        self._all = sorted((name.decode(), charset.decode()) for name, charset in prober.rows(
            "SELECT FULL_COLLATION_NAME, CHARACTER_SET_NAME "
            "FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY "
            "WHERE CHARACTER_SET_NAME <> 'binary'"))
        self._favourites = [each for each in self._all if each[0] in _FAVOURITES]
        self._can_index: dict[str, bool] = {}

    def draw(self, chance: random.Random) -> tuple[str, str]:
        """A character set and a collation."""
        name, charset = chance.choice(self._favourites if chance.random() < 0.6 else self._all)
        return charset, name

    def can_index(self, name: str) -> bool:
        """Whether our engine makes an index of a column in a collation; counts refusals."""
        if not name:
            return True
        if name not in self._can_index:
            charset = next((charset for each, charset in self._all if each == name), "utf8mb4")
            self._can_index[name] = self._prober.accepts(
                f"CREATE TABLE probe (c VARCHAR(9) CHARACTER SET {charset} COLLATE {name}, "
                "KEY (c))", _CLEAN_UP)
        if not self._can_index[name]:
            self.refused[name] += 1
        return self._can_index[name]


def features(prober: Side) -> tuple[set[str], list[str]]:
    """What our engine supports of what InnoDB does, and the names of the rest."""
    supported: set[str] = set()
    refused: list[str] = []
    for name, sql in _PROBES.items():
        if prober.accepts(sql, _CLEAN_UP):
            supported.add(name)
        else:
            refused.append(name)
    return supported, refused
