"""Foreign keys: tables that reference each other, rows on both sides, definitions in between.

Tables come and go, so a statement may fit none. Rows are changed in an order that the statement
determines, as the first one that violates a constraint is named.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from tests.differential._linked_tables import NAMES, NUMBERS, WORDS, LinkedTables
from tests.differential._schema import Table
from tests.differential._server import Collations
from tests.differential._statement import Comparison, Insert, Rows, Statement
from tests.support import spilling

_LEVELS = ("REPEATABLE READ", "REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE")
_CHECK_EVERY = 25
_COLUMNS = ("id", "a", "b", "s", "v")
_ORDER = " ORDER BY id, a, b, s, v"
_DEFINED = (
    "SELECT CONSTRAINT_NAME, UNIQUE_CONSTRAINT_SCHEMA, UNIQUE_CONSTRAINT_NAME, MATCH_OPTION, "
    "UPDATE_RULE, DELETE_RULE, TABLE_NAME, REFERENCED_TABLE_NAME FROM "
    "information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()",
    "SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, ORDINAL_POSITION, "
    "POSITION_IN_UNIQUE_CONSTRAINT, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, "
    "REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE "
    "WHERE TABLE_SCHEMA = DATABASE()",
    "SELECT TABLE_NAME, CONSTRAINT_NAME, CONSTRAINT_TYPE FROM "
    "information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = DATABASE()",
)
_UNCHECKED = Comparison(names_key=False)


class References:
    """Draws the statements of one case. Ask for the next only when the last has been answered."""

    def __init__(self, seed: int, collations: Collations, features: Collection[str]) -> None:
        del collations, features
        self._chance = random.Random(f"{seed} references")
        self._linked = LinkedTables(self._chance)
        self._checks = True
        self._files = 0
        self._triggers = 0
        self._log_is_in_order = True
        self._may_lose_rows = False  # that are being updated
        self._steps: tuple[tuple[int, Callable[[], Iterator[Statement]]], ...] = (
            (26, self._insert), (16, self._update), (14, self._delete), (6, self._insert_select),
            (5, self._update_joined), (5, self._delete_joined), (2, self._load),
            (12, self._transaction), (4, self._switch_checks), (2, self._trigger),
            (10, self._linked.draw), (3, self._look))

    def settings(self) -> list[Statement]:
        """The session's settings, for the whole case."""
        mode = self._chance.choice(("STRICT_TRANS_TABLES", "STRICT_TRANS_TABLES", ""))
        settings = [f"SET sql_mode = '{mode}'", "SET alter_algorithm = 'COPY'",
                    f"SET SESSION TRANSACTION ISOLATION LEVEL {self._chance.choice(_LEVELS)}",
                    f"SET {spilling.setting(self._chance)}"]
        return [Statement(sql, is_setting=True) for sql in settings]

    def table_count(self) -> int:
        """None: they come and go among the statements."""
        return 0

    def table(self, number: int) -> Table:
        raise NotImplementedError

    def keep(self, table: Table) -> list[Statement]:
        raise NotImplementedError

    def statements(self, count: int) -> Iterator[Statement]:
        """The case's statements, with comparisons of everything among them and at the end."""
        yield Statement("CREATE TABLE log (number INT AUTO_INCREMENT PRIMARY KEY, what TEXT)")
        for name in NAMES[:self._chance.choice((2, 3, 3, 4))]:
            yield from self._linked.create(name)
            yield from self._insert(name)
        weights = [weight for weight, _ in self._steps]
        since_check = given = 0
        while given < count:
            for statement in self._chance.choices(self._steps, weights)[0][1]():
                given += 1
                since_check += 1
                yield replace(statement, may_lose_rows=self._may_lose_rows)
            if since_check >= _CHECK_EVERY:
                since_check = 0
                yield from self._everything()
        yield Statement("COMMIT")
        yield from self._everything()

    def _everything(self) -> Iterator[Statement]:
        for name in NAMES:
            if name in self._linked.tables or self._chance.random() < 0.1:
                yield Statement(f"SELECT * FROM {name}")
                for column in ("a", "b", "s"):
                    yield Statement(f"SELECT {column}, COUNT(*) FROM {name} GROUP BY "
                                    f"BINARY {column}")
                yield Statement(f"CHECK TABLE {name}")
                yield Statement(f"SHOW CREATE TABLE {name}")
        yield Statement("SELECT what FROM log ORDER BY number",
                        Comparison(Rows.SEQUENCE if self._log_is_in_order else Rows.BAG))
        for query in _DEFINED:
            yield Statement(query)

    # ---- names and values

    def _value(self, column: str) -> str:
        chance = self._chance
        if column == "id":
            return chance.choice(self._linked.kind.values)
        if chance.random() < 0.2:
            return "NULL"
        if column == "s":
            return chance.choice(WORDS)
        return chance.choice(NUMBERS if column == "v" else self._linked.kind.values)

    def _where(self, alias: str = "") -> str:
        chance = self._chance
        column = chance.choice(("id", "id", "id", "a", "b", "s", "v"))
        name = alias + column
        kind = chance.random()
        if kind < 0.6:
            return f" WHERE {name} = {self._value(column)}"
        if kind < 0.7:
            return f" WHERE {name} IN ({self._value(column)}, {self._value(column)})"
        if kind < 0.85:
            return f" WHERE {name} {chance.choice(('<', '>', '>=', '<>'))} {self._value(column)}"
        return f" WHERE {name} IS NULL" if kind < 0.9 else ""

    # ---- rows

    def _insert(self, name: str = "") -> Iterator[Statement]:
        chance = self._chance
        name = name or self._linked.table()
        verb, tail = chance.choice((("INSERT", ""), ("INSERT", ""), ("INSERT", ""),
                                    ("INSERT IGNORE", ""), ("REPLACE", ""), ("INSERT", "?")))
        if tail:
            column = chance.choice(_COLUMNS)
            new = chance.choice((self._value(column), f"VALUES({column})"))
            tail = f" ON DUPLICATE KEY UPDATE {column} = {new}"
            verb = chance.choice((verb, verb, "INSERT IGNORE"))
        rows = tuple(tuple(self._value(column) for column in _COLUMNS)
                     for _ in range(chance.choice((1, 1, 1, 2, 3, 5))))
        yield Insert(verb=verb, table=name, columns=_COLUMNS, rows=rows, tail=tail,
                     comparison=_UNCHECKED)

    def _insert_select(self) -> Iterator[Statement]:
        chance = self._chance
        verb = chance.choice(("INSERT", "INSERT IGNORE", "REPLACE"))
        outs = ", ".join(chance.choice((column, column, column, self._value(column)))
                         for column in _COLUMNS)
        into, table = self._linked.table(), self._linked.table()
        yield Statement(f"{verb} INTO {into} SELECT {outs} FROM {table}{self._where()}{_ORDER}",
                        _UNCHECKED)

    def _set(self, alias: str = "") -> str:
        chance = self._chance
        columns = chance.sample(_COLUMNS, chance.choice((1, 1, 1, 2, 3)))
        return ", ".join(f"{alias}{column} = {self._new_value(column)}" for column in columns)

    def _new_value(self, column: str) -> str:
        kind = self._chance.random()
        if column == "s" and kind < 0.3:
            return self._chance.choice(("UPPER(s)", "LOWER(s)", "CONCAT(s, ' ')", "TRIM(s)"))
        if column != "s" and kind < 0.1 and "INT" in self._linked.kind.sql:
            return f"{column} + 1"
        return self._value(column)

    def _update(self) -> Iterator[Statement]:
        chance = self._chance
        ignore = chance.choice(("", "", "", " IGNORE"))
        limit = chance.choice(("", "", "", " LIMIT 1", " LIMIT 2"))
        yield Statement(f"UPDATE{ignore} {self._linked.table()} SET {self._set()}{self._where()}"
                        f"{_ORDER}{limit}", _UNCHECKED)

    def _delete(self) -> Iterator[Statement]:
        chance = self._chance
        ignore = chance.choice(("", "", "", " IGNORE"))
        limit = chance.choice(("", "", "", " LIMIT 1", " LIMIT 2"))
        yield Statement(f"DELETE{ignore} FROM {self._linked.table()}{self._where()}{_ORDER}{limit}",
                        _UNCHECKED)

    def _join(self) -> str:
        """Few rows, so that their order hardly counts."""
        own, other = self._chance.choice((("b", "id"), ("a", "a"), ("s", "s"), ("id", "id")))
        return f"x.{own} = y.{other} AND x.id = {self._value('id')}"

    def _update_joined(self) -> Iterator[Statement]:
        ignore = self._chance.choice(("", "", "", " IGNORE"))
        changes = self._set("x.") if self._chance.random() < 0.5 else (
            f"x.b = {self._value('b')}, y.a = {self._value('a')}")
        changes = changes.replace("(s", "(x.s").replace("= id + 1", "= x.id + 1")
        for column in "abv":
            changes = changes.replace(f"= {column} + 1", f"= x.{column} + 1")
        one, two = self._linked.table(), self._linked.table()
        # The server changes rows of the second table in the order in which it has found them.
        self._log_is_in_order &= self._triggers == 0
        yield Statement(f"UPDATE{ignore} {one} x STRAIGHT_JOIN {two} y ON {self._join()} "
                        f"SET {changes}",
                        Comparison(names_key=False, warnings=False))

    def _delete_joined(self) -> Iterator[Statement]:
        ignore = self._chance.choice(("", "", "", " IGNORE"))
        which = self._chance.choice(("x", "y", "x, y"))
        yield Statement(f"DELETE{ignore} {which} FROM {self._linked.table()} x STRAIGHT_JOIN "
                        f"{self._linked.table()} y ON {self._join()}",
                        Comparison(names_key=False, warnings=False))

    def _load(self) -> Iterator[Statement]:
        chance = self._chance
        self._files += 1
        # The server removes files of that name with the database.
        file = f"'load{self._files}.BAK'"
        rows = " UNION ALL ".join(
            "SELECT " + ", ".join(self._value(column) for column in _COLUMNS)
            for _ in range(chance.choice((1, 2, 4))))
        yield Statement(f"SELECT * FROM ({rows}) d INTO OUTFILE {file}", Comparison(Rows.NOTHING))
        how = chance.choice(("", "", " IGNORE", " REPLACE"))
        yield Statement(f"LOAD DATA INFILE {file}{how} INTO TABLE {self._linked.table()}",
                        _UNCHECKED)

    def _look(self) -> Iterator[Statement]:
        name = self._linked.table()
        yield Statement(f"SELECT * FROM {name}{self._where()}"
                        + self._chance.choice(("", "", " FOR UPDATE", " LOCK IN SHARE MODE")))

    # ---- the session

    def _transaction(self) -> Iterator[Statement]:
        yield Statement(self._chance.choice((
            "BEGIN", "BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT", "COMMIT", "COMMIT",
            "ROLLBACK", "SAVEPOINT x", "SAVEPOINT y", "ROLLBACK TO x", "ROLLBACK TO y",
            "RELEASE SAVEPOINT x")))

    def _switch_checks(self) -> Iterator[Statement]:
        """Mostly on; off for a statement or a few."""
        self._checks = not self._checks or self._chance.random() < 0.4
        yield Statement(f"SET foreign_key_checks = {int(self._checks)}")

    def _trigger(self) -> Iterator[Statement]:
        chance = self._chance
        self._triggers += 1
        when, event = chance.choice(("BEFORE", "AFTER")), chance.choice(
            ("INSERT", "UPDATE", "DELETE"))
        row = "OLD" if event == "DELETE" else "NEW"
        body = f"INSERT INTO log (what) VALUES (CONCAT_WS(' ', '{event}', {row}.id, {row}.a))"
        if chance.random() < 0.5:
            column, to = chance.choice("ab"), self._linked.table()
            body = chance.choice((
                f"UPDATE IGNORE {to} SET {column} = {row}.id WHERE id = {row}.a",
                f"UPDATE IGNORE {to} SET b = {row}.id WHERE b = {row}.{column}",
                f"DELETE FROM {to} WHERE id = {row}.{column}",
                f"DELETE FROM {to} WHERE {column} = {row}.{column}",
                f"INSERT IGNORE INTO {to} (id, {column}) VALUES ({row}.id, {row}.b)"))
        changes = body.startswith(("UPDATE", "DELETE"))

        def accept() -> None:
            self._may_lose_rows |= changes and (when, event) == ("BEFORE", "UPDATE")

        if chance.random() < 0.3:
            yield Statement(f"DROP TRIGGER IF EXISTS t{chance.randint(1, self._triggers)}")
        yield Statement(f"CREATE TRIGGER t{self._triggers} {when} {event} ON "
                        f"{self._linked.table()} FOR EACH ROW {body}", accepted=accept)
