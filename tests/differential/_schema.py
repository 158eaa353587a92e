"""Tables as the generator knows them, and random ones."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from tests.differential._server import Collations
from tests.differential._statement import Create
from tests.differential._types import Group, Type, draw_type

KEY_BYTES_MAX = 3072
_POOL_SIZE = 7


@dataclass(eq=False)
class Column:
    """A column. `pool` has values that come up often, so that conditions meet rows."""

    name: str
    type: Type
    nullable: bool = True
    default: str = ""
    generated: str = ""
    extra: str = ""
    pool: list[str] = field(default_factory=list)
    is_auto_increment: bool = False

    def sql(self) -> str:
        text = f"{self.name} {self.type.sql}"
        if self.generated:
            return f"{text} AS {self.generated}{self.extra}"
        if not self.nullable:
            text += " NOT NULL"
        elif self.type.sql.startswith("TIMESTAMP"):
            text += " NULL"
        if self.default:
            text += f" DEFAULT {self.default}"
        return text + (" AUTO_INCREMENT" if self.is_auto_increment else "") + self.extra

    def draw(self, chance: random.Random, *, null: float = 0.1) -> str:
        """A value that the column can hold."""
        if self.nullable and chance.random() < null:
            return "NULL"
        if chance.random() < 0.7:
            return chance.choice(self.pool)
        return self.type.draw(chance)


@dataclass(eq=False)
class Part:
    """A part of a key."""

    column: Column
    prefix: int = 0
    descending: bool = False

    def sql(self) -> str:
        length = f"({self.prefix})" if self.prefix else ""
        return f"{self.column.name}{length}{' DESC' if self.descending else ''}"


@dataclass(eq=False)
class Key:
    """A primary, unique or plain key."""

    name: str
    kind: str
    parts: list[Part]
    extra: str = ""
    extra_part: str = ""

    def sql(self) -> str:
        parts = ", ".join(part.sql() for part in self.parts) + self.extra_part
        if self.kind == "PRIMARY KEY":
            return f"PRIMARY KEY ({parts}){self.extra}"
        return f"{self.kind} {self.name} ({parts}){self.extra}"

    @property
    def is_unique(self) -> bool:
        return self.kind != "KEY"

    @property
    def is_hash(self) -> bool:
        """Whether the server keeps it unique by a hash."""
        return self.is_unique and (
            sum(part_bytes(part) for part in self.parts) > KEY_BYTES_MAX
            or any(part.column.type.needs_prefix and not part.prefix for part in self.parts))

    @property
    def is_whole(self) -> bool:
        """Whether every part has all of its column."""
        return not any(part.prefix or part.column.type.needs_prefix for part in self.parts)

    def columns(self) -> list[Column]:
        return [part.column for part in self.parts]

    @property
    def hint(self) -> str:
        return "PRIMARY" if self.kind == "PRIMARY KEY" else self.name


@dataclass(eq=False)
class Table:
    """A table."""

    name: str
    columns: list[Column]
    keys: list[Key] = field(default_factory=list)
    items: list[tuple[str, str]] = field(default_factory=list)
    partition: str = ""
    partitions: list[str] = field(default_factory=list)
    is_temporary: bool = False
    is_versioned: bool = False
    period: str = ""

    def create(self) -> Create:
        items = [(column.name, column.sql()) for column in self.columns]
        items += [(key.name, key.sql()) for key in self.keys] + self.items
        head = "CREATE TEMPORARY TABLE" if self.is_temporary else "CREATE TABLE"
        tail = " WITH SYSTEM VERSIONING" if self.is_versioned else ""
        return Create(table=self.name, items=tuple(items), tail=tail + self.partition, head=head)

    @property
    def primary(self) -> Key | None:
        return next((key for key in self.keys if key.kind == "PRIMARY KEY"), None)

    @property
    def has_keys_of_server(self) -> bool:
        """Whether the server checks one of several unique keys, and the engine the others.

        Which of them a row violates first depends on who checks first.
        """
        unique = [key for key in self.keys if key.is_unique]
        return len(unique) > 1 and any(key.extra_part or key.is_hash for key in unique)

    @property
    def auto_increment(self) -> Column | None:
        return next((each for each in self.columns if each.is_auto_increment), None)

    @property
    def writable(self) -> list[Column]:
        return [each for each in self.columns if not each.generated]

    def unique_columns(self) -> set[str]:
        """Columns that decide about duplicates: of unique keys, of partitions, of generated ones.
        """
        names = {column.name for key in self.keys if key.is_unique for column in key.columns()}
        generated = [each for each in self.columns if each.generated and each.name in names]
        bases = {each.name for each in self.columns for other in generated
                 if each.name in other.generated}
        period = {each.name for each in self.columns if self.period and each.name in self.period}
        return names | bases | period

    def total_order(self, alias: str = "") -> str:
        """An ORDER BY list that leaves nothing open."""
        qualifier = f"{alias}." if alias else ""
        primary = self.primary
        if primary is not None and primary.is_whole and not primary.extra_part:
            return ", ".join(qualifier + each.name for each in primary.columns())
        parts = ", ".join(f"IFNULL({_exact(each, qualifier)}, '-')" for each in self.columns)
        return f"MD5(CONCAT_WS('|', {parts}))"


def _exact(column: Column, qualifier: str) -> str:
    """A text that tells any two values of a column apart."""
    name = qualifier + column.name
    if column.type.group is Group.APPROXIMATE:
        return f"{name} + 0e0"
    if column.type.group in (Group.NUMBER, Group.TEMPORAL):
        return name
    if column.type.group is Group.ADDRESS:
        return f"CAST({name} AS CHAR)"  # what stands for NULL is no address
    return f"HEX({name})"


class Designer:
    """Draws tables."""

    def __init__(self, chance: random.Random, collations: Collations,
                 features: Collection[str]) -> None:
        self._chance = chance
        self._collations = collations
        self._features = features
        self._names = 0

    def table(self, name: str) -> Table:
        chance = self._chance
        count = chance.choice((1, 2, 3, 3, 4, 4, 5, 6, 8, 16))
        table = Table(name, [self.column() for _ in range(count)])
        if chance.random() < 0.2:
            self._add_auto_increment(table)
        elif chance.random() < 0.8:
            self._add_key(table, "PRIMARY KEY", chance.choice((1, 1, 1, 2, 2, 3)))
        for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4))):
            self.add_key(table)
        if "generated" in self._features and chance.random() < 0.3:
            for _ in range(chance.choice((1, 1, 2))):
                self._add_generated(table)
            if "indexed generated" in self._features and chance.random() < 0.7:
                self.add_key(table)
        self._add_check(table)
        kind = chance.random()
        if kind < 0.12:
            self._partition(table)
        elif kind < 0.18:
            table.is_temporary = True
        elif kind < 0.24 and "versioning" in self._features:
            table.is_versioned = True
        elif kind < 0.32 and "period" in self._features:
            self._add_period(table)
        return table

    def name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def collation(self, chance: random.Random) -> tuple[str, str]:
        """A character set and a collation."""
        return self._collations.draw(chance)

    def can_index(self, kind: Type) -> bool:
        """Whether columns of a type may be in keys, as far as the collation goes."""
        return not kind.charset or self.can_index_in(kind.equality)

    def can_index_in(self, collation: str) -> bool:
        """Whether our engine indexes columns in a collation."""
        return self._collations.can_index(collation)

    # ---- columns

    def column(self) -> Column:
        chance = self._chance
        column = Column(self.name("c"), draw_type(chance, self._collations))
        column.pool = [column.type.draw(chance) for _ in range(_POOL_SIZE)]
        column.nullable = chance.random() < 0.6
        kind = chance.random()
        if kind < 0.2:
            column.default = f"({chance.choice(column.pool)})"
        elif kind < 0.25 and column.nullable:
            column.default = "NULL"
        elif kind < 0.3 and column.type.sql.startswith(("DATETIME", "TIMESTAMP")):
            digits = column.type.sql.partition("(")[2].rstrip(")")
            now = f"CURRENT_TIMESTAMP({digits})"
            column.default, column.extra = now, chance.choice(("", f" ON UPDATE {now}"))
        if chance.random() < 0.04 and (column.nullable or column.default):
            column.extra += " INVISIBLE"
        return column

    def _add_auto_increment(self, table: Table) -> None:
        chance = self._chance
        sql = chance.choice(("TINYINT UNSIGNED", "SMALLINT", "INT", "INT UNSIGNED", "BIGINT",
                             "BIGINT UNSIGNED"))
        values = [str(n) for n in range(1, 12)]
        column = Column("id", Type(sql, Group.NUMBER, lambda each: str(each.randint(1, 100)),
                                   lambda _: "'abc'", is_integer=True),
                        nullable=False, pool=values, is_auto_increment=True)
        table.columns.insert(0, column)
        kind = "PRIMARY KEY" if chance.random() < 0.8 else chance.choice(("UNIQUE", "KEY"))
        table.keys.append(Key(self.name("k"), kind, [Part(column)]))

    def _add_generated(self, table: Table) -> None:
        chance = self._chance
        base = chance.choice(table.columns)
        if base.generated or base.is_auto_increment:
            return
        made = _expression(chance, base)
        if made is None:
            return
        expression, column_type = made
        kind = chance.choice(("VIRTUAL", "STORED"))
        column = Column(self.name("g"), column_type, generated=f"({expression}) {kind}")
        column.pool = [column.type.draw(chance) for _ in range(_POOL_SIZE)]
        table.columns.insert(chance.randint(1, len(table.columns)), column)

    def _add_check(self, table: Table) -> None:
        chance = self._chance
        column = chance.choice(table.columns)
        if chance.random() < 0.1 and column.type.is_integer and not column.generated:
            name = self.name("ck")
            table.items.append((name, f"CONSTRAINT {name} CHECK ({column.name} <> "
                                      f"{chance.choice(column.pool)})"))

    def _add_period(self, table: Table) -> None:
        chance = self._chance
        kind = chance.choice(("DATE", "DATETIME(3)"))
        days = [f"'2024-01-{day:02}'" for day in range(1, 29)]
        for name in ("d1", "d2"):
            table.columns.append(Column(name, Type(kind, Group.TEMPORAL,
                                                   lambda each: each.choice(days),
                                                   lambda _: "'abc'"),
                                        nullable=False, pool=days))
        table.items.append(("p", "PERIOD FOR p (d1, d2)"))
        table.period = "d1 d2"
        if "overlaps" in self._features and chance.random() < 0.7:
            self.add_key(table, chance.choice(("UNIQUE", "UNIQUE", "PRIMARY KEY")))
            if table.keys and table.keys[-1].is_unique and table.keys[-1].is_whole:
                key = table.keys[-1]
                key.parts = [part for part in key.parts if part.column.name not in ("d1", "d2")]
                if key.parts:
                    key.extra_part = ", p WITHOUT OVERLAPS"
                else:
                    table.keys.pop()

    # ---- keys

    def add_key(self, table: Table, kind: str = "") -> Key | None:
        """Gives a table another key, if its columns allow."""
        chance = self._chance
        kind = kind or chance.choice(("KEY", "KEY", "UNIQUE"))
        if kind == "PRIMARY KEY" and table.primary is not None:
            kind = "UNIQUE"
        count = chance.choice((1, 1, 1, 2, 2, 3, 4, 8))
        return self._add_key(table, kind, count)

    def _add_key(self, table: Table, kind: str, count: int) -> Key | None:
        columns = [each for each in table.columns if self._can_be_key(each, kind)]
        if not columns:
            return None
        chosen = self._chance.sample(columns, min(count, len(columns)))
        is_hash = (kind == "UNIQUE" and "long unique" in self._features
                   and self._chance.random() < 0.15)
        key = Key(self.name("k"), kind, [])
        room = KEY_BYTES_MAX
        for column in chosen:
            part = Part(column) if is_hash else self._part(column, kind, room)
            size = part_bytes(part)
            if size > room and not is_hash:
                continue
            room -= size
            key.parts.append(part)
        if not key.parts:
            return None
        if kind == "KEY" and self._chance.random() < 0.05:
            key.extra = " IGNORED"
        elif self._chance.random() < 0.2:
            # A comment to one engine, a column family to the other.
            key.extra = f" COMMENT '{self._chance.choice(('cfname=one', 'two'))}'"
        table.keys.append(key)
        if kind == "PRIMARY KEY":
            for column in key.columns():
                column.nullable = False
                column.default = "" if column.default == "NULL" else column.default
        return key

    def _can_be_key(self, column: Column, kind: str) -> bool:
        if not column.type.can_be_key or kind == "PRIMARY KEY" and column.generated:
            return False
        if column.generated and "indexed generated" not in self._features:
            return False
        return self.can_index(column.type)

    def _part(self, column: Column, kind: str, room: int) -> Part:
        chance = self._chance
        part = Part(column, descending=chance.random() < 0.2)
        kind_of = column.type
        longest = min(kind_of.length - 1, room // bytes_per_character(kind_of.charset))
        must = kind_of.needs_prefix or part_bytes(part) > room
        if kind_of.can_have_prefix and longest > 0 and (must or chance.random() < 0.2):
            part.prefix = min(longest, chance.choice((1, 2, 4, 8, 10, 16, 255, longest)))
        return part

    # ---- partitions

    def _partition(self, table: Table) -> None:
        """Partitions by a column that all unique keys share."""
        chance = self._chance
        unique = [key for key in table.keys if key.is_unique]
        usable = [each for each in table.columns
                  if each.type.group in (Group.NUMBER, Group.TEMPORAL, Group.TEXT)
                  and not each.type.needs_prefix and not each.generated
                  and all(each in key.columns() for key in unique)]
        if not usable:
            return
        column = chance.choice(usable)
        name = column.name
        is_integer = column.type.is_integer and not column.type.sql.startswith(("BIT", "YEAR"))
        kinds = ["KEY"] if not is_integer else ["KEY", "HASH", "LINEAR HASH", "RANGE", "LIST",
                                                "RANGE+", "COLUMNS"]
        kind = chance.choice(kinds)
        if kind in ("KEY", "HASH", "LINEAR HASH"):
            count = chance.choice((1, 2, 3, 5))
            table.partition = f" PARTITION BY {kind} ({name}) PARTITIONS {count}"
            table.partitions = [f"p{number}" for number in range(count)]
            return
        table.partitions = ["p0", "p1", "p2"]
        if kind == "LIST":
            table.partition = (f" PARTITION BY LIST ({name}) (PARTITION p0 VALUES IN (0, 1, 2, "
                               "NULL), PARTITION p1 VALUES IN (3, 4, 5, 6), "
                               "PARTITION p2 DEFAULT)")
            return
        method = "RANGE COLUMNS" if kind == "COLUMNS" else "RANGE"
        below = "" if kind == "RANGE+" else f" SUBPARTITION BY HASH ({name}) SUBPARTITIONS 2"
        below = "" if chance.random() < 0.6 else below
        table.partition = (f" PARTITION BY {method} ({name}){below} (PARTITION p0 VALUES LESS THAN "
                           "(3), PARTITION p1 VALUES LESS THAN (10), PARTITION p2 VALUES LESS THAN "
                           f"{'(MAXVALUE)' if method != 'RANGE' else 'MAXVALUE'})")


def bytes_per_character(charset: str) -> int:
    """The longest character of a character set."""
    if charset in ("utf8mb4", "utf16", "utf16le", "utf32", "gb18030"):
        return 4
    if charset in ("utf8mb3", "ujis", "eucjpms"):
        return 3
    return 2 if charset in ("ucs2", "big5", "gbk", "gb2312", "sjis", "cp932", "euckr") else 1


def part_bytes(part: Part) -> int:
    """What the server counts for a key part, at least for strings."""
    kind = part.column.type
    if not kind.length:
        return 34
    return (part.prefix or kind.length) * bytes_per_character(kind.charset)


def _expression(chance: random.Random, base: Column) -> tuple[str, Type] | None:
    """An expression over a column and the type that holds its values."""
    name, kind = base.name, base.type
    number = Type("BIGINT", Group.NUMBER, lambda each: str(each.randint(-3, 20)),
                  lambda _: "'abc'", is_integer=True)
    if kind.is_integer:
        small = Type("INT", Group.NUMBER, lambda each: str(each.randint(0, 6)), lambda _: "'a'",
                     is_integer=True)
        return chance.choice(((f"{name} % 7", small), (f"ABS({name}) % 3", small),
                              (f"{name} IS NULL", small)))
    if kind.group is Group.TEXT:
        return chance.choice((
            (f"LEFT({name}, 3)", replace(kind, sql=f"VARCHAR(3) CHARACTER SET {kind.charset} "
                                         f"COLLATE {kind.equality}", length=3, is_fixed=False,
                                         needs_prefix=False, is_compressed=False)),
            (f"CHAR_LENGTH({name})", number)))
    if kind.group is Group.BYTES:
        return chance.choice(((f"LENGTH({name})", number), (f"CRC32({name})", number)))
    if kind.sql == "DATE":
        return f"YEAR({name})", number
    if kind.group is Group.DOCUMENT:
        return f"CHAR_LENGTH({name})", number
    return None


def visible(columns: Sequence[Column]) -> list[Column]:
    """Columns that SELECT * gives."""
    return [each for each in columns if "INVISIBLE" not in each.extra]
