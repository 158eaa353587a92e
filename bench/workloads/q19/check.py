"""What must hold for part and lineitem, found by SQL that every engine answers alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from lab.workload import Target
from workloads.q19 import names, query, schema
from workloads.q19.generate import Generator

_LINE_KEY = ("l_orderkey", "l_linenumber")
_RETAIL = "(90000 + ({key} DIV 10) % 20001 + 100 * ({key} % 1000)) / 100"


@dataclasses.dataclass(frozen=True)
class Digest:
    """Sums over the generated rows."""

    parts: int
    lines: int
    sizes: int
    part_keys: int
    quantities: int
    discounts: int
    modes: tuple[int, ...]  # lines of each


def digest(generator: Generator) -> Digest:
    """Computed from the rows without a server."""
    parts = generator.all_parts()
    sums = [0] * 4
    modes = [0] * len(names.MODES)
    for lines in generator.all_lines():
        chunk = (len(lines.part), lines.part.sum(), lines.quantity.sum(), lines.discount.sum())
        sums = [total + int(more) for total, more in zip(sums, chunk, strict=True)]
        modes = [total + int((lines.mode == mode).sum()) for mode, total in enumerate(modes)]
    return Digest(len(parts.key), sums[0], int(parts.size.sum()), *sums[1:], tuple(modes))


def problems(target: Target, generator: Generator, answer: query.Answer,
             digest_of_rows: Digest) -> Iterator[str]:
    """One sentence for each thing that is wrong."""
    yield from _part_problems(target, digest_of_rows)
    yield from _line_problems(target, generator, digest_of_rows)
    yield from _mode_problems(target, digest_of_rows)
    yield from _order_problems(target)
    yield from _index_problems(target)
    value = target.query(query.statement())[0][0] or 0
    if value != answer.revenue:
        yield f"the query gives {value}, the generated rows {answer.revenue}"


def _part_problems(target: Target, made: Digest) -> Iterator[str]:
    retail = _RETAIL.format(key="p_partkey")
    count, low, high, sizes, prices = _numbers(target, (
        "SELECT COUNT(*), MIN(p_partkey), MAX(p_partkey), SUM(p_size),"
        f" SUM(p_retailprice <> {retail}) FROM part FORCE INDEX (PRIMARY)"))
    yield from _differs("rows of part", count, made.parts)
    if (low, high) != (1, made.parts):
        yield f"the keys of part are {low} to {high}, not 1 to {made.parts}"
    yield from _differs("the sum of the parts' sizes", sizes, made.sizes)
    yield from _some(prices, "parts have a price that does not follow from their key")


def _line_problems(target: Target, generator: Generator, made: Digest) -> Iterator[str]:
    suppliers = generator.supplier_count
    step = f"({suppliers // 4} + (l_partkey - 1) DIV {suppliers})"
    of_part = ", ".join(f"(l_partkey + {which} * {step}) % {suppliers} + 1" for which in range(4))
    retail = _RETAIL.format(key="l_partkey")
    count, keys, quantities, discounts, parts, supply, prices, ranges, dates = _numbers(target, (
        "SELECT COUNT(*), SUM(l_partkey), SUM(l_quantity), SUM(l_discount) * 100,"
        f" SUM(l_partkey NOT BETWEEN 1 AND {generator.part_count}),"
        f" SUM(l_suppkey NOT IN ({of_part})), SUM(l_extendedprice <> l_quantity * {retail}),"
        " SUM(l_quantity NOT BETWEEN 1 AND 50 OR l_discount NOT BETWEEN 0 AND 0.10"
        " OR l_tax NOT BETWEEN 0 AND 0.08),"
        " SUM(l_receiptdate NOT BETWEEN l_shipdate + INTERVAL 1 DAY AND l_shipdate + INTERVAL 30"
        " DAY) FROM lineitem FORCE INDEX (PRIMARY)"))
    yield from _differs("rows of lineitem", count, made.lines)
    yield from _differs("the sum of the lines' part keys", keys, made.part_keys)
    yield from _differs("the sum of the lines' quantities", quantities, made.quantities)
    yield from _differs("the sum of the lines' discounts in per cent", discounts, made.discounts)
    yield from _some(parts, "lines have a part key that is not in part")
    yield from _some(supply, "lines have a supplier that does not supply their part")
    yield from _some(prices, "lines have a price that is not quantity times the part's price")
    yield from _some(ranges, "lines have a quantity, discount or tax that is out of range")
    yield from _some(dates, "lines were received before they were shipped, or too late")


def _mode_problems(target: Target, made: Digest) -> Iterator[str]:
    found = dict(target.query("SELECT l_shipmode, COUNT(*) FROM lineitem FORCE INDEX (PRIMARY)"
                              " GROUP BY l_shipmode"))
    for mode, count in zip(names.MODES, made.modes, strict=True):
        yield from _differs(f"lines shipped by {mode}", found.pop(mode, 0), count)
    yield from (f"lineitem has the ship mode {mode}" for mode in found)


def _order_problems(target: Target) -> Iterator[str]:
    (orders,), = target.query(
        "SELECT COUNT(*) FROM (SELECT l_orderkey FROM lineitem FORCE INDEX (PRIMARY)"
        " GROUP BY l_orderkey HAVING MIN(l_linenumber) <> 1 OR MAX(l_linenumber) <> COUNT(*)"
        " OR COUNT(*) > 7) AS wrong")
    yield from _some(orders, "orders' lines are not numbered from 1 to at most 7")


def _index_problems(target: Target) -> Iterator[str]:
    """Every index holds what the primary key's rows hold."""
    for index, columns in schema.INDEXES.items():
        named = [row[4] for row in target.query("SHOW INDEX FROM lineitem") if row[2] == index]
        if named != list(columns):
            yield f"the index {index} is on ({', '.join(named)}), not on ({', '.join(columns)})"
            continue
        entry = ", ".join((*_LINE_KEY, *columns))
        rows, entries = (_numbers(target, (
            f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {entry})))"
            f" FROM lineitem FORCE INDEX ({which})")) for which in ("PRIMARY", index))
        if rows != entries:
            yield (f"the index {index} has {entries[0]} entries with the checksum {entries[1]}, "
                   f"its table {rows[0]} with {rows[1]}")


def _numbers(target: Target, sql: str) -> tuple[Any, ...]:
    """The only row, with 0 for sums of nothing."""
    return tuple(value or 0 for value in target.query(sql)[0])


def _differs(what: str, found: int, made: int) -> Iterator[str]:
    if found != made:
        yield f"{what}: {found}, but {made} were made"


def _some(count: int, what: str) -> Iterator[str]:
    if count:
        yield f"{count} {what}"
