"""Random tables, and random queries and changes of them, for the test of phantoms."""

from __future__ import annotations

import random

_INDEXES = ("KEY a (a)", "KEY ab (a, b)", "UNIQUE KEY c (c)", "KEY s (s)", "KEY bd (b DESC, a)",
            "KEY s3 (s(3))", "UNIQUE KEY bc (b, c)")
_INDEXED_NAMES = ("PRIMARY", "a", "ab", "c", "s", "bd", "s3", "bc")
_SWITCHES = ("mrr=on", "index_condition_pushdown=off", "index_merge=off",
             "index_merge_sort_intersection=on", "rowid_filter=off", "join_cache_bka=on")
_WORDS = ("ada", "Bob", "bobby", "carl", "Dora", "eve", "EVE ", "fritz")
_VALUE_MAX = 40


class Scene:
    """One table, filled, and what can be asked of it."""

    def __init__(self, seed: int, engine: str) -> None:
        self._chance = random.Random(seed)
        self._engine = engine
        self._has_key = self._chance.random() < 0.85
        self._indexes = self._chance.sample(_INDEXES, self._chance.randint(1, 5))
        self._rows = self._chance.choice((0, 3, 15, 60))

    def setup(self) -> list[str]:
        """Statements that make and fill the table."""
        key = self._chance.choice(("PRIMARY KEY (id)", "PRIMARY KEY (id DESC)"))
        parts = [key] if self._has_key else []
        partitions = ""
        if self._has_key and self._chance.random() < 0.15 and not self._has_unique():
            partitions = " PARTITION BY HASH (id) PARTITIONS 3"
        columns = ("id INT NOT NULL, a INT, b INT NOT NULL, c INT, d INT, "
                   "s VARCHAR(20) COLLATE utf8mb4_general_ci")
        names = ", ".join([columns, *parts, *self._indexes])
        values = ", ".join(self._row() for _ in range(self._rows))
        rows = [f"INSERT IGNORE INTO t VALUES {values}"] if values else []
        return ["DROP TABLE IF EXISTS t, sink", f"CREATE TABLE sink (x TEXT) ENGINE={self._engine}",
                f"CREATE TABLE t ({names}) ENGINE={self._engine}"
                + partitions, *rows]

    def settings(self) -> list[str]:
        """How the reader's session plans its queries, and how many rows it locks one by one."""
        chosen = ",".join(self._chance.sample(_SWITCHES, self._chance.randint(0, 3)))
        limit = self._chance.choice(("DEFAULT", "DEFAULT", "1", "5"))
        return [f"SET optimizer_switch = 'default{',' + chosen if chosen else ''}'",
                f"SET join_cache_level = {self._chance.choice((2, 8))}",
                f"SET rocksdb_max_row_locks = {limit}"]

    def query(self) -> str:
        """A SELECT whose rows are determined, without its lock."""
        hint = ""
        if self._chance.random() < 0.4:
            names = [name for name in _INDEXED_NAMES if self._has_index(name)]
            if names:
                hint = f" FORCE INDEX ({self._chance.choice(names)})"
        where = f" WHERE {self._condition()}" if self._chance.random() < 0.9 else ""
        form = self._chance.random()
        if form < 0.45:
            return f"SELECT {self._chance.choice(('*', 'id', 'id, a', 'a, id, c', 's, id'))} " \
                   f"FROM t{hint}{where}"
        if form < 0.65:
            total = self._chance.choice(("COUNT(*)", "MIN(a)", "MAX(a)", "MAX(id)", "MIN(id)",
                                         "SUM(d)", "MIN(b), MAX(b)", "COUNT(DISTINCT a)"))
            return f"SELECT {total} FROM t{hint}{where}"
        if form < 0.75:
            column = self._chance.choice(("a", "b", "c"))
            return f"SELECT {column}, COUNT(*), MAX(id) FROM t{hint}{where} GROUP BY {column}"
        if form < 0.9:
            order = self._chance.choice(("id", "a, id", "a DESC, id DESC", "b, a, id", "s, id"))
            if order == "id" and self._chance.random() < 0.5:
                order = "id DESC"
            # Without a primary key several rows may have the same id; all else decides.
            return f"SELECT id, a FROM t{hint}{where} ORDER BY {order}, c, b, d, s, a " \
                   f"LIMIT {self._chance.randint(1, 4)}"
        if form < 0.95:
            return f"SELECT x.id, y.id FROM t AS x JOIN t AS y ON x.a = y.b WHERE x.id < " \
                   f"{self._number()}"
        return f"SELECT id FROM t AS x WHERE EXISTS (SELECT 1 FROM t AS y WHERE y.a = x.b AND " \
               f"y.id > {self._number()})"

    def locking(self, question: str) -> list[str]:
        """Statements that read with locks what the question reads, and leave its answer."""
        # What a subquery reads is not locked by the clause behind it.
        ways = [] if "EXISTS" in question else [f"{question} FOR UPDATE",
                                                f"{question} LOCK IN SHARE MODE"]
        head, _, rest = question.partition(" FROM t")
        columns = head.removeprefix("SELECT ")
        if columns != "*":
            ways.append(f"INSERT INTO sink SELECT CONCAT_WS(',', {columns}) FROM t{rest}")
        if rest.startswith(" WHERE") and not any(
                word in question for word in ("LIMIT", "GROUP", "JOIN", "EXISTS")):
            ways.append(f"UPDATE t SET d = d{rest}")
        return ways

    def change(self) -> str:
        """A statement that another session tries."""
        kind = self._chance.random()
        if kind < 0.4:
            return f"INSERT INTO t VALUES {self._row()}"
        if kind < 0.75:
            # Rows that move are the rarest to matter: row and answer must fit as well.
            column = self._chance.choice(("a", "b", "c", "d", "s", "id", "id", "id"))
            value = self._string() if column == "s" else self._null_or(column)
            return f"UPDATE t SET {column} = {value} WHERE id = {self._number()}"
        if kind < 0.9:
            return f"DELETE FROM t WHERE id = {self._number()}"
        if kind < 0.95:
            return f"REPLACE INTO t VALUES {self._row()}"
        return f"INSERT INTO t VALUES {self._row()} ON DUPLICATE KEY UPDATE a = a + 1, d = 7"

    def _condition(self) -> str:
        parts = [self._comparison() for _ in range(self._chance.choice((1, 1, 2, 3)))]
        text = parts[0]
        for part in parts[1:]:
            text = f"({text}) {self._chance.choice(('AND', 'AND', 'OR'))} ({part})"
        return text

    def _comparison(self) -> str:
        column = self._chance.choice(("id", "id", "a", "b", "c", "d", "s"))
        if column == "s":
            return self._chance.choice((
                f"s = {self._string()}", f"s > {self._string()}", "s LIKE 'b%'", "s IS NULL",
                f"s BETWEEN 'b' AND {self._string()}"))
        low, high = sorted((self._number(), self._number()))
        return self._chance.choice((
            f"{column} = {low}", f"{column} = {high}", f"{column} BETWEEN {low} AND {high}",
            f"{column} > {low} AND {column} < {high}", f"{column} >= {high}", f"{column} < {low}",
            f"{column} IN ({low}, {high}, {self._number()})", f"{column} IS NULL",
            f"{column} IS NULL OR {column} = {low}", f"{column} <> {low}", f"{column} % 3 = 1"))

    def _row(self) -> str:
        cells = [str(self._number()), self._null_or("a"), str(self._number()), self._null_or("c"),
                 self._null_or("d"), self._string()]
        return f"({', '.join(cells)})"

    def _number(self) -> int:
        return self._chance.randint(0, _VALUE_MAX)

    def _null_or(self, column: str) -> str:
        may_be_null = column in ("a", "c", "d")
        return "NULL" if may_be_null and self._chance.random() < 0.15 else str(self._number())

    def _string(self) -> str:
        return f"'{self._chance.choice(_WORDS)}'"

    def _has_unique(self) -> bool:
        return any("UNIQUE" in index for index in self._indexes)

    def _has_index(self, name: str) -> bool:
        if name == "PRIMARY":
            return self._has_key
        return any(f"KEY {name} (" in index for index in self._indexes)
