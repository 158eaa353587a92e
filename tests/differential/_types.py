"""Column types: their SQL, and values that are ordinary, extreme, or wrong for them."""

from __future__ import annotations

import enum
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.differential import _literals

Draw = Callable[[random.Random], str]


class Group(enum.Enum):
    """Types that are compared and assigned to each other."""

    NUMBER = "number"
    APPROXIMATE = "approximate"
    TEXT = "text"
    BYTES = "bytes"
    LIST = "list"
    TEMPORAL = "temporal"
    ADDRESS = "address"
    DOCUMENT = "document"
    SHAPE = "shape"


class Collations(Protocol):
    """What the server offers."""

    def draw(self, chance: random.Random) -> tuple[str, str]:
        """A character set and one of its collations."""


@dataclass(frozen=True)
class Type:
    """`draw` gives a literal that the type can hold, `draw_wrong` one that it changes or refuses.

    `length` counts characters of a string type, or bytes of a binary one. `equality` tells which
    values of the type are equal though they are not the same: "", "double" or a collation.
    """

    sql: str
    group: Group
    draw: Draw
    draw_wrong: Draw
    charset: str = ""
    length: int = 0
    needs_prefix: bool = False
    equality: str = ""
    is_integer: bool = False
    is_fixed: bool = False
    is_compressed: bool = False

    @property
    def can_have_prefix(self) -> bool:
        return self.length > 1 and self.group in (Group.TEXT, Group.BYTES, Group.DOCUMENT)

    @property
    def is_date(self) -> bool:
        return self.sql.startswith(("DATE", "TIMESTAMP"))

    @property
    def is_sorted_as_compared(self) -> bool:
        # Of collations with several levels the server's sort takes texts for equal that differ in
        # the later ones: 'A' and 'a' in utf16_uca1400_as_cs.
        return "_uca1400_" not in self.equality or self.equality.endswith("_ai_ci")

    @property
    def can_be_key(self) -> bool:
        # In InnoDB's keys, the spaces that fill up a CHAR count in collations that do not pad.
        is_unpadded = self.is_fixed and "_nopad_" in self.equality
        return self.group is not Group.SHAPE and not self.is_compressed and not is_unpadded


def draw_type(chance: random.Random, collations: Collations) -> Type:
    """A random type."""
    return chance.choices(_MAKERS, _WEIGHTS)[0](chance, collations)


def _one_of(values: Sequence[str], rest: Draw | None = None) -> Draw:
    """One of the values; or what `rest` gives, one time in four."""
    def draw(chance: random.Random) -> str:
        if rest is not None and chance.random() < 0.25:
            return rest(chance)
        return chance.choice(values)
    return draw


# ---- numbers


_INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}
# Of the values that are drawn.
_TEXT_LENGTHS = {"TINYTEXT": 60, "TEXT": 16000, "MEDIUMTEXT": 60000, "LONGTEXT": 60000}


def _integer(chance: random.Random, _: Collations) -> Type:
    name, bits = chance.choice((*_INTEGER_BITS.items(), ("INT", 32), ("BOOL", 8)))
    if name == "BOOL":
        return _integer_type("BOOL", -128, 127)
    kind = chance.random()
    if kind < 0.3:
        suffix = " UNSIGNED" if kind < 0.2 else f"({chance.randint(1, 12)}) ZEROFILL"
        return _integer_type(name + suffix, 0, (1 << bits) - 1)
    return _integer_type(name, -(1 << bits - 1), (1 << bits - 1) - 1)


def longer(chance: random.Random, kind: Type) -> Type | None:
    """A type that holds the same values and longer ones; None if this module has none."""
    name, rest = _name_and_rest(kind.sql)
    if name in _INTEGER_BITS:
        more = [each for each in _INTEGER_BITS if _INTEGER_BITS[each] > _INTEGER_BITS[name]]
        if not more:
            return None
        name = chance.choice(more)
        bits = _INTEGER_BITS[name]
        if "ZEROFILL" in rest:
            rest = f"({chance.randint(1, 12)}) ZEROFILL"
        is_unsigned = "UNSIGNED" in rest or "ZEROFILL" in rest
        if is_unsigned:
            return _integer_type(name + rest, 0, (1 << bits) - 1)
        return _integer_type(name + rest, -(1 << bits - 1), (1 << bits - 1) - 1)
    if name in ("CHAR", "VARCHAR") and kind.group is Group.TEXT and not kind.is_compressed:
        most = 255 if kind.is_fixed else _LENGTHS[-1]
        lengths = [each for each in _LENGTHS if kind.length < each <= most]
        if not lengths:
            return None
        length = chance.choice(lengths)
        return _text_type(f"{name}({length})", kind.charset, kind.equality, length,
                          is_fixed=kind.is_fixed)
    if name in _TEXT_LENGTHS and not kind.is_compressed:
        more = list(_TEXT_LENGTHS)[list(_TEXT_LENGTHS).index(name) + 1:]
        if not more:
            return None
        name = chance.choice(more)
        return _text_type(name, kind.charset, kind.equality, _TEXT_LENGTHS[name], needs_prefix=True)
    return None


def _name_and_rest(sql: str) -> tuple[str, str]:
    match = re.match(r"([A-Z]+)(.*)", sql, re.DOTALL)
    return (match.group(1), match.group(2)) if match else (sql, "")


def _integer_type(sql: str, low: int, high: int) -> Type:
    edges = [low, high, low + 1, high - 1]
    small = [n for n in (-2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100) if n >= low]
    return Type(sql, Group.NUMBER, is_integer=True,
                draw=_one_of([str(n) for n in (*edges, *small, *small)],
                             lambda chance: str(chance.randint(low, high))),
                draw_wrong=_one_of([str(high + 1), str(low - 1), "'abc'", "''", "'12x'", "1.5",
                                    "2.5e0", "99999999999999999999", "'-'"]))


def _bit(chance: random.Random, _: Collations) -> Type:
    bits = chance.choice((1, 2, 7, 8, 9, 16, 31, 33, 63, 64, chance.randint(1, 64)))
    high = (1 << bits) - 1
    values = {0, 1, high, high - 1, high >> 1} | {n for n in (2, 3, 5, 8) if n <= high}
    return Type(f"BIT({bits})", Group.NUMBER, is_integer=True,
                draw=_one_of([f"b'{n:b}'" for n in sorted(values) if n >= 0]),
                draw_wrong=_one_of([f"b'1{'0' * bits}'", "-1", "'abcdefghi'"]))


def _floating(chance: random.Random, _: Collations) -> Type:
    values = ["0", "-0e0", "1.5", "-1.5", "1", "2", "3", "-1", "0.1", "-0.1", "1e10", "1e-10",
              "3.4028234e38", "-3.4028234e38", "1.17549435e-38", "1e-45", "100", "1e0", "7"]
    wrong = ["1e39", "'abc'", "''", "1e308", "'1e999'"]
    sql = "FLOAT"
    if chance.random() < 0.6:
        sql = "DOUBLE"
        values += ["1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308",
                   "4.9406564584124654e-324", "-4.9406564584124654e-324", "0.30000000000000004"]
        wrong = ["'abc'", "'1e999'", "''", "'-1e999'"]
    if chance.random() < 0.1:
        sql += " UNSIGNED"
        wrong += ["-1", "-1e-10"]
        values = [each for each in values if not each.startswith("-")]
    return Type(sql, Group.APPROXIMATE, draw=_one_of(values), draw_wrong=_one_of(wrong),
                equality="double")


def _decimal(chance: random.Random, _: Collations) -> Type:
    digits = chance.choice((1, 5, 9, 10, 18, 19, 30, 38, 64, 65))
    scale = chance.randint(0, min(digits, chance.choice((0, 2, 9, 10, 38))))
    is_unsigned = chance.random() < 0.15
    whole = "9" * (digits - scale) or "0"
    highest = whole + ("." + "9" * scale if scale else "")
    smallest = "0." + "0" * (scale - 1) + "1" if scale else "1"
    values = ["0", highest, smallest, "1" if digits > scale else "0.1", "0.5", "-0.0"]
    values += [str(n) for n in range(2, 9) if digits > scale]
    if not is_unsigned:
        values += ["-" + highest, "-" + smallest, "-1" if digits > scale else "-0.1"]
    sign = " UNSIGNED" if is_unsigned else chance.choice(("", "", "", " ZEROFILL"))
    if sign == " ZEROFILL":
        values = [each for each in values if not each.startswith("-")]
    return Type(f"DECIMAL({digits},{scale}){sign}", Group.NUMBER, draw=_one_of(values),
                draw_wrong=_one_of(["'" + "9" * 66 + "'", "'abc'", "''", "-1e70", "1e70",
                                    "0.000000000000000000000000000000000000123"]))


def _year(_: random.Random, __: Collations) -> Type:
    return Type("YEAR", Group.TEMPORAL, is_integer=True,
                draw=_one_of(["1901", "2155", "0", "2000", "2001", "2024", "1970", "1999"]),
                draw_wrong=_one_of(["1900", "2156", "'abc'", "-1", "70", "'0'"]))


# ---- strings


_LENGTHS = (1, 2, 3, 5, 8, 10, 10, 10, 16, 20, 20, 32, 64, 100, 191, 255, 256, 300, 768, 1000,
            3000)


def _text_type(sql: str, charset: str, collation: str, length: int, *, needs_prefix: bool = False,
               is_fixed: bool = False) -> Type:
    def draw(chance: random.Random) -> str:
        return _literals.text(_literals.draw_text(chance, charset, min(length, 4000)))

    def draw_wrong(chance: random.Random) -> str:
        if chance.random() < 0.5 and length < 4000:
            return f"REPEAT('{chance.choice(('a', ' ', 'b '))}', {length + 1})"
        return _literals.text(_literals.draw_text(chance, "utf8mb4", length))

    return Type(f"{sql} CHARACTER SET {charset} COLLATE {collation}", Group.TEXT, draw, draw_wrong,
                charset, length, needs_prefix, collation, is_fixed=is_fixed,
                is_compressed="COMPRESSED" in sql)


def _char(chance: random.Random, collations: Collations) -> Type:
    charset, collation = collations.draw(chance)
    length = min(255, chance.choice(_LENGTHS))
    return _text_type(f"CHAR({length})", charset, collation, length, is_fixed=True)


def _varchar(chance: random.Random, collations: Collations) -> Type:
    charset, collation = collations.draw(chance)
    length = chance.choice(_LENGTHS)
    is_compressed = chance.random() < 0.05
    return _text_type(f"VARCHAR({length}){' COMPRESSED' if is_compressed else ''}", charset,
                      collation, length)


def _text(chance: random.Random, collations: Collations) -> Type:
    charset, collation = collations.draw(chance)
    name, length = chance.choice(list(_TEXT_LENGTHS.items()))
    if name == "TEXT" and chance.random() < 0.15:
        name += " COMPRESSED"
    return _text_type(name, charset, collation, length, needs_prefix=True)


def _bytes_type(sql: str, length: int, *, needs_prefix: bool = False,
                is_fixed: bool = False) -> Type:
    def draw(chance: random.Random) -> str:
        if length > 30000 and chance.random() < 0.04:
            count = chance.choice((20000, 40000, 70000 if length > 65535 else 30000))
            return f"REPEAT(X'{chance.choice(('00', '61', 'FF'))}', {count})"
        return _literals.binary(_literals.draw_binary(chance, min(length, 3100)))

    def draw_wrong(_: random.Random) -> str:
        return f"REPEAT('x', {min(length + 1, 70000)})"

    return Type(sql, Group.BYTES, draw, draw_wrong, "binary", length, needs_prefix,
                is_fixed=is_fixed, is_compressed="COMPRESSED" in sql)


def _binary(chance: random.Random, _: Collations) -> Type:
    length = min(255, chance.choice(_LENGTHS))
    return _bytes_type(f"BINARY({length})", length, is_fixed=True)


def _varbinary(chance: random.Random, _: Collations) -> Type:
    length = chance.choice(_LENGTHS)
    return _bytes_type(f"VARBINARY({length})", length)


def _blob(chance: random.Random, _: Collations) -> Type:
    name, length = chance.choice((("TINYBLOB", 255), ("BLOB", 65535), ("BLOB", 65535),
                                  ("MEDIUMBLOB", 100000), ("LONGBLOB", 100000),
                                  ("BLOB COMPRESSED", 65535)))
    return _bytes_type(name, length, needs_prefix=True)


def _enum(chance: random.Random, _: Collations) -> Type:
    """No element is '': what is no element is '' to a scan, while to an index '' is the element of
    that name, and which of these the server reads is the plan's to say, with InnoDB too."""
    members = chance.sample(["a", "b", "c", "Zz", "x y", "10", "2"], chance.randint(1, 7))
    if chance.random() < 0.1:
        members += [f"m{number}" for number in range(300)]
    quoted = [f"'{each}'" for each in members]
    return Type(f"ENUM({', '.join(quoted)})", Group.LIST, draw=_one_of(quoted),
                draw_wrong=_one_of(["'nosuch'", "0", "999", "1"]))


def _set(chance: random.Random, _: Collations) -> Type:
    count = chance.choice((1, 3, 8, 9, 24, 32, 33, 63, 64))
    names = [f"s{number}" for number in range(count)]

    def draw(each: random.Random) -> str:
        kind = each.random()
        size = 0 if kind < 0.1 else count if kind < 0.2 else each.randint(1, min(count, 3))
        return "'" + ",".join(sorted(each.sample(names, size))) + "'"

    listed = ", ".join(f"'{each}'" for each in names)
    return Type(f"SET({listed})", Group.LIST, draw, draw_wrong=_one_of(["'nosuch'", "'s0,zz'"]))


# ---- time


_FRACTIONS = ("", ".1", ".5", ".9", ".000001", ".999999", ".123456", ".999")
_DAYS = ("0000-00-00", "0001-01-01", "1000-01-01", "9999-12-31", "2024-02-29", "2023-02-28",
         "1969-12-31", "1970-01-01", "2000-01-01", "2000-01-02", "2024-00-00", "2024-05-00",
         "2023-10-29", "2024-03-31", "1582-10-10")
_WRONG_DAYS = ("'2023-02-29'", "'2023-13-01'", "'abc'", "''", "12", "'10000-01-01'", "20240230")


def _date(_: random.Random, __: Collations) -> Type:
    return Type("DATE", Group.TEMPORAL, draw=_one_of([f"'{day}'" for day in _DAYS]),
                draw_wrong=_one_of(_WRONG_DAYS))


def _with_fraction(name: str, chance: random.Random) -> tuple[str, Callable[[str], str]]:
    """A type's SQL, and a function that cuts values' fractions to what it holds."""
    digits = chance.choice((0, 0, 1, 2, 3, 4, 5, 6, 6))

    def cut(value: str) -> str:
        whole, _, fraction = value.partition(".")
        return whole + ("." + fraction[:digits] if fraction and digits else "")

    return f"{name}({digits})" if digits or chance.random() < 0.2 else name, cut


def _time(chance: random.Random, _: Collations) -> Type:
    sql, cut = _with_fraction("TIME", chance)
    clocks = ("-838:59:59", "838:59:59", "00:00:00", "-00:00:00", "23:59:59", "24:00:00",
              "-00:00:01", "00:00:01", "12:00:00", "-01:30:00", "10:10:10", "01:00:00")
    return Type(sql, Group.TEMPORAL, draw=_one_of(
        [f"'{cut(clock + fraction)}'" for clock in clocks for fraction in _FRACTIONS[:6]]),
        draw_wrong=_one_of(["'839:00:00'", "'abc'", "'12:60:00'", "''", "'-900:00:00'"]))


def _moments(days: Sequence[str], cut: Callable[[str], str]) -> list[str]:
    clocks = ("00:00:00", "23:59:59", "12:34:56", "02:30:00", "01:59:59", "03:00:00")
    return [f"'{cut(day + ' ' + clock + fraction)}'" for day in days for clock in clocks
            for fraction in _FRACTIONS]


def _datetime(chance: random.Random, _: Collations) -> Type:
    sql, cut = _with_fraction("DATETIME", chance)
    return Type(sql, Group.TEMPORAL, draw=_one_of(_moments(_DAYS, cut)),
                draw_wrong=_one_of((*_WRONG_DAYS, "'2024-01-01 25:00:00'")))


def _timestamp(chance: random.Random, _: Collations) -> Type:
    sql, cut = _with_fraction("TIMESTAMP", chance)
    # The hour that summer time skips is no value; the one it repeats is two.
    values = [each for each in _moments(("2000-01-01", "2023-10-29", "2024-02-29", "2024-03-31",
                                         "1970-01-02", "2037-12-31"), cut)
              if not each.startswith("'2024-03-31 02:")]
    values += ["'0000-00-00 00:00:00'", "'1970-01-01 01:00:01'",
               f"'{cut('2038-01-19 04:14:07.999999')}'"]
    return Type(sql, Group.TEMPORAL, draw=_one_of(values),
                draw_wrong=_one_of(("'2024-03-31 02:30:00'", "'1969-01-01'", "'2039-01-01'",
                                    *_WRONG_DAYS)))


# ---- the rest


def _json(_: random.Random, __: Collations) -> Type:
    values = ('{"a": 1}', '{"a": 2, "b": [1, 2]}', "[]", "{}", '"x"', "null", "1", '{"a": "b"}',
              '{"a": "\u00e9"}', '[1, 2, {"a": null}]', " 1 ")
    return Type("JSON", Group.DOCUMENT, draw=_one_of([_literals.text(each) for each in values]),
                draw_wrong=_one_of(["'{bad'", "''", "'nul'"]), length=60000, needs_prefix=True,
                equality="utf8mb4_bin", charset="utf8mb4")


def _address(chance: random.Random, _: Collations) -> Type:
    values = {
        "INET4": ("0.0.0.0", "255.255.255.255", "10.0.0.1", "10.0.0.2", "127.0.0.1", "1.2.3.4"),
        "INET6": ("::", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::ffff:1.2.3.4",
                  "2001:db8::1", "fe80::1", "2001:db8::2"),
        "UUID": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
                 "123e4567-e89b-12d3-a456-426655440000", "123e4567-e89b-42d3-a456-426655440000",
                 "ee65f8a6-3d4e-11ee-8000-000000000001", "ee65f8a6-3d4f-11ee-8000-000000000001",
                 "123e4567-e89b-12d3-7456-426655440000"),
    }
    name = chance.choice(list(values))
    return Type(name, Group.ADDRESS, draw=_one_of([f"'{each}'" for each in values[name]]),
                draw_wrong=_one_of(["'garbage'", "''", "'1.2.3'"]))


def _shape(chance: random.Random, _: Collations) -> Type:
    shapes = {
        "POINT": ("POINT(1 2)", "POINT(0 0)", "POINT(-1e300 1e-300)", "POINT(2 1)"),
        "LINESTRING": ("LINESTRING(0 0,1 1)", "LINESTRING(0 0,1 1,2 5)"),
        "POLYGON": ("POLYGON((0 0,0 3,3 3,3 0,0 0))",
                    "POLYGON((0 0,0 9,9 9,9 0,0 0),(1 1,1 2,2 2,2 1,1 1))"),
        "MULTIPOINT": ("MULTIPOINT(1 1,2 2)",),
        "GEOMETRYCOLLECTION": ("GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))",),
    }
    name = chance.choice([*shapes, "GEOMETRY"])
    values = shapes.get(name) or tuple(each for group in shapes.values() for each in group)
    return Type(name, Group.SHAPE, draw=_one_of([f"ST_GeomFromText('{each}')" for each in values]),
                draw_wrong=_one_of(["'garbage'", "X'00'"]), length=60000, needs_prefix=True)


_MAKERS = (_integer, _bit, _floating, _decimal, _year, _char, _varchar, _text, _binary,
           _varbinary, _blob, _enum, _set, _date, _time, _datetime, _timestamp, _json, _address,
           _shape)
_WEIGHTS = (20, 3, 5, 6, 2, 8, 16, 6, 3, 5, 4, 3, 3, 4, 4, 5, 4, 2, 4, 2)
