"""The rows of part and lineitem, as columns of numbers, from published column rules and a seed.

Chunks are independent of one another: a chunk's rows depend on the scale, the seed and its number
only. Names (brands, modes, ...) are indexes into the lists of `names`. Money is in cents.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workloads.q19 import names

Column = NDArray[np.integer]

PARTS = 200_000
SUPPLIERS = 10_000
ORDERS = 1_500_000
# A chunk of lineitem is about 200,000 rows: a transaction that every engine can hold.
PARTS_PER_CHUNK = 50_000
ORDERS_PER_CHUNK = 50_000

_PART, _LINEITEM = 0, 1
# Days since 1992-01-01: orders are taken until 151 days before the end of 1998.
_LAST_ORDER_DAY = 2405
_TODAY = 1263  # 1995-06-17: what came in later cannot have been returned yet


@dataclasses.dataclass(frozen=True)
class Parts:
    """A chunk of part; all columns have the same length."""

    key: Column
    words: Column  # five of each row
    manufacturer: Column
    brand: Column
    type: Column
    size: Column
    container: Column
    price: Column
    comment_at: Column
    comment_length: Column


@dataclasses.dataclass(frozen=True)
class Lines:
    """A chunk of lineitem, by order and line number; all columns have the same length."""

    order: Column
    number: Column
    part: Column
    supplier: Column
    quantity: Column
    price: Column
    discount: Column  # per cent
    tax: Column  # per cent
    return_flag: Column
    status: Column
    ship_day: Column
    commit_day: Column
    receipt_day: Column
    instruction: Column
    mode: Column
    comment_at: Column
    comment_length: Column


def retail_price(part: Column) -> Column:
    """In cents; the rule makes it a function of the key."""
    return 90_000 + part // 10 % 20_001 + 100 * (part % 1000)


def supplier_of(part: Column, which: Column, suppliers: int) -> Column:
    """The part's supplier number `which`, 0 to 3."""
    return (part + which * (suppliers // 4 + (part - 1) // suppliers)) % suppliers + 1


class Generator:
    """All rows of one scale and seed; scale 1 has 200,000 parts and about 6 million lines."""

    def __init__(self, scale: float, seed: int) -> None:
        self.scale = scale
        self.seed = seed
        self.part_count = max(round(PARTS * scale), 1)
        self.order_count = max(round(ORDERS * scale), 1)
        self.supplier_count = max(round(SUPPLIERS * scale), 4)

    @property
    def part_chunks(self) -> range:
        return range(-(-self.part_count // PARTS_PER_CHUNK))

    @property
    def line_chunks(self) -> range:
        return range(-(-self.order_count // ORDERS_PER_CHUNK))

    def parts(self, chunk: int) -> Parts:
        """One of `part_chunks`."""
        random = self._random(_PART, chunk)
        first = chunk * PARTS_PER_CHUNK
        key = np.arange(first, min(first + PARTS_PER_CHUNK, self.part_count), dtype=np.int64) + 1
        count = len(key)
        manufacturer = random.integers(0, 5, count)
        return Parts(
            key=key, words=random.integers(0, len(names.COLOURS), (count, 5)),
            manufacturer=manufacturer, brand=5 * manufacturer + random.integers(0, 5, count),
            type=random.integers(0, len(names.TYPES), count), size=random.integers(1, 51, count),
            container=random.integers(0, len(names.CONTAINERS), count), price=retail_price(key),
            comment_at=random.integers(0, names.COMMENT_STARTS, count),
            comment_length=random.integers(5, 23, count))

    def lines(self, chunk: int) -> Lines:
        """One of `line_chunks`."""
        random = self._random(_LINEITEM, chunk)
        first = chunk * ORDERS_PER_CHUNK
        orders = min(ORDERS_PER_CHUNK, self.order_count - first)
        lengths = random.integers(1, 8, orders)
        count = int(lengths.sum())
        order = np.repeat(np.arange(orders, dtype=np.int64), lengths)
        ends = np.cumsum(lengths)
        order_day = random.integers(0, _LAST_ORDER_DAY + 1, orders)[order]
        part = random.integers(1, self.part_count + 1, count)
        quantity = random.integers(1, 51, count)
        ship_day = order_day + random.integers(1, 122, count)
        receipt_day = ship_day + random.integers(1, 31, count)
        has_come = receipt_day <= _TODAY
        return Lines(
            order=first + order + 1,
            number=np.arange(count) - (ends - lengths)[order] + 1,
            part=part,
            supplier=supplier_of(part, random.integers(0, 4, count), self.supplier_count),
            quantity=quantity, price=quantity * retail_price(part),
            discount=random.integers(0, 11, count), tax=random.integers(0, 9, count),
            return_flag=np.where(has_come, random.integers(0, 2, count), names.RETURN_NONE),
            status=(ship_day > _TODAY).astype(np.int64),
            ship_day=ship_day, commit_day=order_day + random.integers(30, 91, count),
            receipt_day=receipt_day,
            instruction=random.integers(0, len(names.INSTRUCTIONS), count),
            mode=random.integers(0, len(names.MODES), count),
            comment_at=random.integers(0, names.COMMENT_STARTS, count),
            comment_length=random.integers(10, 44, count))

    def all_parts(self) -> Parts:
        """All chunks in one; without what only the text of a row needs, this is small."""
        chunks = [self.parts(chunk) for chunk in self.part_chunks]
        return Parts(**{field.name: np.concatenate([getattr(part, field.name) for part in chunks])
                        for field in dataclasses.fields(Parts)})

    def all_lines(self) -> Iterator[Lines]:
        """The chunks, one after the other."""
        return (self.lines(chunk) for chunk in self.line_chunks)

    def _random(self, table: int, chunk: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([self.seed, table, chunk]))
