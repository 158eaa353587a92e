"""Tables that reference each other, as they are made, altered, renamed and dropped.

All have the same columns: id, a and b of one type, s a text, v. So a statement fits any of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.differential._statement import Create, Statement

NAMES = ("r1", "r2", "r3", "r4", "r5")
_CONSTRAINTS = tuple(f"f{number}" for number in range(9))
# Which columns may reference which.
_PAIRS = (("b", "id"), ("b", "id"), ("b", "a"), ("a", "a"), ("a", "id"), ("id", "id"), ("id", "a"),
          ("s", "s"), ("s", "s"), ("a, b", "a, b"), ("a, b", "id, a"), ("b, a", "a, b"),
          ("s, a", "s, a"), ("b", "b"), ("a, s", "a, s"), ("v", "v"), ("b, v", "a, v"),
          ("a, b, v", "a, b, v"),
          # Of the primary key, behind an index on the columns before, on either side.
          ("b, a", "a, id"), ("s, b", "s, id"), ("v, b", "v, id"), ("s, b, a", "s, id, a"),
          ("a, id", "a, b"), ("s, id", "s, id"))
# In one table: InnoDB refuses a row that references itself by an index that it writes later.
_OWN_PAIRS = (("b", "id"), ("b", "id"), ("a", "id"), ("a, b", "id, a"))
_WRONG_PAIRS = (("s", "id"), ("a", "s"), ("b", "nothing"), ("nothing", "id"), ("a, b", "id"),
                ("b, b", "a, b"), ("v", "a"))
_ACTIONS = ("", "", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE",
            " ON UPDATE SET NULL", " ON DELETE CASCADE ON UPDATE CASCADE",
            " ON DELETE CASCADE ON UPDATE CASCADE", " ON DELETE SET NULL ON UPDATE CASCADE",
            " ON DELETE CASCADE ON UPDATE SET NULL", " ON DELETE NO ACTION ON UPDATE RESTRICT",
            " ON DELETE SET NULL ON UPDATE SET NULL", " ON DELETE SET DEFAULT",
            " ON DELETE RESTRICT ON UPDATE CASCADE")
WORDS = ("'a'", "'A'", "'a '", "'b'", "'B'", "'ab'", "'ä'", "''", "'c'", "'abcdefgh'")
_TEXTS = ("VARCHAR(10)", "VARCHAR(10)", "VARCHAR(4)", "VARCHAR(300)", "CHAR(10)")
_DATES = tuple(f"'2024-01-0{day}'" for day in range(1, 8))


@dataclass(frozen=True)
class _Kind:
    """A type of columns that reference each other, and values of it."""

    sql: str
    values: tuple[str, ...]


NUMBERS = tuple(str(number) for number in range(7))
_KINDS = (
    _Kind("INT", NUMBERS), _Kind("INT", NUMBERS), _Kind("INT", NUMBERS),
    _Kind("BIGINT", NUMBERS), _Kind("SMALLINT UNSIGNED", NUMBERS),
    _Kind("DECIMAL(6,2)", (*NUMBERS, "1.5")), _Kind("DATE", _DATES),
    _Kind("DATETIME(3)", (*_DATES, "'2024-01-01 10:00:00.125'")),
    _Kind("VARCHAR(8) CHARACTER SET latin1 COLLATE latin1_swedish_ci", WORDS),
    _Kind("VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", WORDS),
    _Kind("BINARY(3)", ("'a'", "'A'", "'b'", "'abc'", "x'00'", "''")),
    _Kind("ENUM('a', 'b', 'c', 'd', 'e', 'f')", ("'a'", "'b'", "'c'", "'d'", "'e'")),
)
# InnoDB takes others, which it stores alike, for one type.
_OTHER_KINDS = (_Kind("INT", NUMBERS), _Kind("VARCHAR(8)", WORDS))
_COLLATIONS = ("utf8mb4_general_ci", "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci",
               "utf8mb4_nopad_bin", "utf8mb4_general_nopad_ci", "latin1_swedish_ci",
               "latin1_bin", "utf8mb4_uca1400_ai_ci", "utf8mb3_general_ci")


class LinkedTables:
    """Which tables and constraints there are, and statements that change that."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.kind = chance.choice(_KINDS)
        collation = chance.choice(_COLLATIONS)
        self._text = f"CHARACTER SET {collation.partition('_')[0]} COLLATE {collation}"
        self.tables: list[str] = []
        self._constraints: dict[str, str] = {}  # the table of each

    def table(self) -> str:
        """Mostly one that is there."""
        if self.tables and self._chance.random() < 0.97:
            return self._chance.choice(self.tables)
        return self._chance.choice(NAMES)

    def draw(self) -> Iterator[Statement]:
        """A definition, and perhaps what goes with it."""
        makers = (self._add_key, self._add_key, self._add_key, self._drop_key, self._drop_key,
                  self._rename, self._rename, self._truncate, self._drop, self.create,
                  self.create, self._alter, self._alter)
        yield from self._chance.choice(makers)()

    def _reference(self, table: str, name: str) -> str:
        """A foreign key of the table, and where it leads."""
        chance = self._chance
        own, other = chance.choice(_PAIRS if chance.random() < 0.93 else _WRONG_PAIRS)
        to = table if chance.random() < 0.2 else self.table()
        if to == table:
            own, other = chance.choice(_OWN_PAIRS)
        constraint = f"CONSTRAINT {name} " if name else ""
        return (f"{constraint}FOREIGN KEY ({own}) REFERENCES {to} ({other})"
                f"{chance.choice(_ACTIONS)}")

    def _name(self) -> str:
        """Of a constraint; none: the engine makes one."""
        chance = self._chance
        free = [name for name in _CONSTRAINTS if name not in self._constraints]
        return chance.choice(("", chance.choice(free or _CONSTRAINTS),
                              chance.choice(_CONSTRAINTS)))

    def create(self, name: str = "") -> Iterator[Statement]:
        """A new table, perhaps in the place of another one."""
        chance = self._chance
        name = name or chance.choice(NAMES)
        kind = self.kind.sql if chance.random() < 0.96 else chance.choice(_OTHER_KINDS).sql
        # Where spaces count, InnoDB alone has CHAR reference VARCHAR: hardly any case is to end so.
        has_char = "_nopad_" not in self._text or chance.random() < 0.05
        text = chance.choice(_TEXTS if has_char else _TEXTS[:-1])
        not_null = ["", ""]
        if chance.random() < 0.15:
            not_null[chance.randint(0, 1)] = " NOT NULL"
        items = [("id", f"id {kind} NOT NULL"), ("a", f"a {kind}{not_null[0]}"),
                 ("b", f"b {kind}{not_null[1]}"), ("s", f"s {text} {self._text}"), ("v", "v INT")]
        items += self._indexes()
        keys: list[str] = []
        for _ in range(chance.choice((0, 0, 1, 1, 1, 2, 3))):
            key = self._name()
            if key not in keys:
                keys.append(key)
                items.append((f"key{len(keys)}", self._reference(name, key)))
        if len(keys) > 1 and chance.random() < 0.15:
            self._make_web(name, keys, items)

        def accept() -> None:
            if name not in self.tables:
                self.tables.append(name)
            self._keep(name, keys)

        head = "CREATE TABLE" if chance.random() < 0.9 else "CREATE OR REPLACE TABLE"
        yield Create(table=name, items=tuple(items), head=head, accepted=accept)

    def _make_web(self, table: str, keys: list[str], items: list[tuple[str, str]]) -> None:
        """Two of the keys lead to the table itself, so that removals change rows to be removed."""
        chance = self._chance
        for number, column in enumerate(("a", "b")):
            constraint = f"CONSTRAINT {keys[number]} " if keys[number] else ""
            action = ("CASCADE", "SET NULL")[number if chance.random() < 0.8 else 0]
            place = next(i for i, item in enumerate(items) if item[0] == f"key{number + 1}")
            items[place] = (f"key{number + 1}", f"{constraint}FOREIGN KEY ({column}) "
                            f"REFERENCES {table} (id) ON DELETE {action}")

    def _keep(self, table: str, keys: list[str]) -> None:
        generated = [name for name in self._constraints if name.startswith(f"{table}_ibfk_")]
        for key in keys:
            self._constraints[key or f"{table}_ibfk_{len(generated) + 1}"] = table

    def _indexes(self) -> list[tuple[str, str]]:
        chance = self._chance
        items = []
        primary = chance.choice(("(id)", "(id)", "(id)", "(id)", "(id)", "(id DESC)", "(id, a)",
                                 ""))
        if primary:
            items.append(("PRIMARY", f"PRIMARY KEY {primary}"))
        for kind, column in (("UNIQUE", "a"), ("KEY", "a"), ("KEY", "b"), ("UNIQUE", "s"),
                             ("KEY", "s"), ("KEY", "v"), ("KEY", "a, b"), ("UNIQUE", "a, b"),
                             ("KEY", "s, a"), ("KEY", "b DESC, v"), ("KEY", "s(2)"),
                             ("KEY", "a, b, v")):
            if chance.random() < 0.2:
                name = f"k{len(items)}"
                items.append((name, f"{kind} {name} ({column})"))
        return items

    def _alter_table(self, table: str, change: str,
                     accept: Callable[[], None] = lambda: None) -> Statement:
        return Statement(f"ALTER TABLE {table} {change}", accepted=accept)

    def _add_key(self) -> Iterator[Statement]:
        table, name = self.table(), self._name()
        yield self._alter_table(table, f"ADD {self._reference(table, name)}",
                                lambda: self._keep(table, [name]))

    def _drop_key(self) -> Iterator[Statement]:
        chance = self._chance
        name = chance.choice([*self._constraints, "missing"])
        table = self._constraints.get(name, self.table())

        def accept() -> None:
            self._constraints.pop(name, None)

        # By DROP CONSTRAINT InnoDB drops none where it copies.
        yield self._alter_table(table, f"DROP FOREIGN KEY {name}", accept)

    def _rename(self) -> Iterator[Statement]:
        chance = self._chance
        old, new = self.table(), chance.choice(NAMES)

        def accept() -> None:
            if old in self.tables and new != old:
                self.tables.remove(old)
                self.tables.append(new)
            for name, table in list(self._constraints.items()):
                if table == old:
                    del self._constraints[name]
                    self._constraints[name.replace(f"{old}_ibfk", f"{new}_ibfk")] = new

        if chance.random() < 0.8:
            yield Statement(f"RENAME TABLE {old} TO {new}", accepted=accept)
        else:
            other = self.table()
            yield Statement(f"RENAME TABLE {old} TO away, {other} TO {old}, away TO {other}")

    def _truncate(self) -> Iterator[Statement]:
        yield Statement(f"TRUNCATE TABLE {self.table()}")

    def _drop(self) -> Iterator[Statement]:
        names = sorted({self.table() for _ in range(self._chance.choice((1, 1, 2)))})

        def accept() -> None:
            self.tables = [name for name in self.tables if name not in names]
            self._constraints = {name: table for name, table in self._constraints.items()
                                 if table not in names}

        # The server drops those of several that it can.
        yield Statement(f"DROP TABLE {names[0]}", accepted=accept) if len(names) == 1 else (
            Statement(f"DROP TABLE IF EXISTS {', '.join(names)}", accepted=accept))
        if self._chance.random() < 0.7:
            yield from self.create(names[0])

    def _alter(self) -> Iterator[Statement]:
        chance = self._chance
        column = chance.choice(("a", "b", "s", "v"))
        kind = f"VARCHAR(12) {self._text}" if column == "s" else self.kind.sql
        change = chance.choice((
            f"DROP COLUMN {column}", f"MODIFY {column} {kind} NOT NULL", f"MODIFY {column} {kind}",
            f"MODIFY {column} VARCHAR(30)", f"CHANGE {column} c {kind}",
            f"CHANGE c {column} {kind}", f"DROP INDEX k{chance.randint(1, 5)}",
            f"DROP INDEX k{chance.randint(1, 5)}", f"DROP INDEX {column}",
            f"DROP INDEX {chance.choice(_CONSTRAINTS)}",
            f"ADD INDEX n{chance.randint(1, 3)} ({column})",
            f"ADD UNIQUE n{chance.randint(1, 3)} ({column})",
            f"DROP INDEX n{chance.randint(1, 3)}", "DROP PRIMARY KEY", "ADD PRIMARY KEY (id)",
            "DROP PRIMARY KEY, ADD PRIMARY KEY (id)", "FORCE", "COMMENT 'x'",
            f"RENAME INDEX k{chance.randint(1, 3)} TO n{chance.randint(1, 3)}",
            f"ADD COLUMN {column} {kind}", f"ORDER BY {column}"))
        table = self.table()
        yield self._alter_table(table, change)
        # InnoDB forgets keys whose index at the other end goes, before a row tells it.
        if "DROP" in change and table in self.tables:
            yield Statement(f"SHOW CREATE TABLE {table}")
