"""Consistency conditions of the TPC-C-like workload, by the numbers of TPC-C 3.3.2.

Each function yields a sentence per violation, for one set of tables. Both sides of a condition are
read by a scan of their own, grouped by district, and compared here: joins of millions of rows would
take a check beyond the time of the measurement that it follows. Where rows must correspond one by
one, a sum of hashes stands for the rows of a district; different rows have equal sums once in 2^32.
Indexes are named: right after a load there are no statistics, and a wrong plan takes minutes.

Conditions 10 and 12 need the orders of single customers, so they look at a sample.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lab.workload import Target, found_by

DISTRICTS = 10
SAMPLE_PER_DISTRICT = 20

District = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Scale:
    """What was loaded."""

    tables: int
    scale: int
    customers: int
    items: int


@dataclasses.dataclass(frozen=True)
class TableSet:
    """One of the sets, with what several conditions need of it: a row per district."""

    target: Target
    number: int
    scale: Scale

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a statement in which # stands for the set's number."""
        return self.target.query(sql.replace("#", str(self.number)))

    def by_district(self, sql: str) -> dict[District, tuple[Any, ...]]:
        """Rows whose first two columns are warehouse and district."""
        return {(row[0], row[1]): row[2:] for row in self.rows(sql)}

    def districts(self) -> Iterator[District]:
        for warehouse in range(1, self.scale.scale + 1):
            for district in range(1, DISTRICTS + 1):
                yield warehouse, district


def sample(scale: Scale) -> Sequence[int]:
    """Numbers of the customers that conditions 10 and 12 look at, in every district."""
    count = min(SAMPLE_PER_DISTRICT, scale.customers)
    return sorted(random.Random(3).sample(range(1, scale.customers + 1), count))


def violations(target: Target, scale: Scale) -> list[str]:
    """All that is wrong in all sets."""
    def found(number: int, condition: Callable[[TableSet], Iterator[str]]) -> Iterator[str]:
        for sentence in condition(TableSet(target, number, scale)):
            yield f"set {number}, {sentence}"
    return found_by([partial(found, number, condition) for number in range(1, scale.tables + 1)
                     for condition in (_rows, _money, _orders, _lines, _customers)])


def _rows(tables: TableSet) -> Iterator[str]:
    """Transactions neither make nor remove rows of these tables."""
    scale = tables.scale
    expected = {"warehouse": scale.scale, "district": scale.scale * DISTRICTS,
                "customer": scale.scale * DISTRICTS * scale.customers, "item": scale.items,
                "stock": scale.scale * scale.items}
    for table, count in expected.items():
        found = tables.rows(f"SELECT COUNT(*) FROM {table}#")[0][0]
        if found != count:
            yield f"table {table}: {found} rows instead of {count} (rows)"


def _money(tables: TableSet) -> Iterator[str]:
    """1, 8 and 9: what was paid is in the warehouse, in its districts and in the history."""
    districts = tables.by_district("SELECT d_w_id, d_id, d_ytd FROM district#")
    paid = tables.by_district("SELECT h_w_id, h_d_id, SUM(h_amount) FROM history# "
                              "IGNORE INDEX (idx_history_district) GROUP BY 1, 2")
    for warehouse, money in tables.rows("SELECT w_id, w_ytd FROM warehouse#"):
        yield from _compare(1, f"warehouse {warehouse}", "w_ytd", money, "the sum of d_ytd",
                            _of_warehouse(districts, warehouse))
        yield from _compare(8, f"warehouse {warehouse}", "w_ytd", money, "its history",
                            _of_warehouse(paid, warehouse))
    for place, (money,) in districts.items():
        yield from _compare(9, _name(place), "d_ytd", money, "its history",
                            paid.get(place, (0,))[0])


def _of_warehouse(amounts: Mapping[District, Sequence[Any]], warehouse: int) -> Any:
    return sum(row[0] for place, row in amounts.items() if place[0] == warehouse)


def _orders(tables: TableSet) -> Iterator[str]:
    """2, 3 and 5: numbers of orders, and which of them are new."""
    next_ids = tables.by_district("SELECT d_w_id, d_id, d_next_o_id FROM district#")
    orders = tables.by_district(
        "SELECT o_w_id, o_d_id, MAX(o_id), SUM(o_carrier_id IS NULL), "
        "SUM(IF(o_carrier_id IS NULL, CRC32(o_id), 0)) FROM orders# "
        "FORCE INDEX (PRIMARY) GROUP BY 1, 2")
    new = tables.by_district(
        "SELECT no_w_id, no_d_id, MAX(no_o_id), MIN(no_o_id), COUNT(*), SUM(CRC32(no_o_id)) "
        "FROM new_orders# GROUP BY 1, 2")
    for place in tables.districts():
        last, undelivered, undelivered_hash = orders.get(place, (0, 0, 0))
        last_new, first_new, count, new_hash = new.get(place, (None, None, 0, 0))
        (next_id,) = next_ids.get(place, (None,))
        yield from _compare(2, _name(place), "d_next_o_id", next_id, "one more than the last order",
                            last + 1)
        if last_new is not None:  # a district may have delivered everything
            yield from _compare(2, _name(place), "the last new order", last_new, "the last order",
                                last)
            yield from _compare(3, _name(place), "the range of new orders",
                                last_new - first_new + 1, "their count", count)
        yield from _compare(5, _name(place), "orders without a carrier",
                            (undelivered, undelivered_hash), "new orders", (count, new_hash))


def _lines(tables: TableSet) -> Iterator[str]:
    """4 and 7: lines of orders."""
    orders = tables.by_district(
        "SELECT o_w_id, o_d_id, SUM(o_ol_cnt), SUM(IF(o_carrier_id IS NULL, o_ol_cnt, 0)), "
        "SUM(IF(o_carrier_id IS NULL, o_ol_cnt * CRC32(o_id), 0)) FROM orders# "
        "FORCE INDEX (PRIMARY) GROUP BY 1, 2")
    lines = tables.by_district(
        "SELECT ol_w_id, ol_d_id, COUNT(*), SUM(ol_delivery_d IS NULL), "
        "SUM(IF(ol_delivery_d IS NULL, CRC32(ol_o_id), 0)) FROM order_line# "
        "FORCE INDEX (PRIMARY) GROUP BY 1, 2")
    for place in tables.districts():
        expected = orders.get(place, (0, 0, 0))
        found = lines.get(place, (0, 0, 0))
        yield from _compare(4, _name(place), "lines of orders", expected[0], "order_line rows",
                            found[0])
        yield from _compare(7, _name(place), "lines of orders without a carrier", expected[1:],
                            "order_line rows without a delivery date", found[1:])


def _customers(tables: TableSet) -> Iterator[str]:
    """10 and 12: what customers owe and have paid, in a sample of them."""
    customers = ", ".join(map(str, sample(tables.scale)))
    delivered = ("(SELECT SUM(ol_amount) FROM orders# FORCE INDEX (idx_orders) STRAIGHT_JOIN "
                 "order_line# FORCE INDEX (PRIMARY) WHERE o_w_id = c_w_id "
                 "AND o_d_id = c_d_id AND o_c_id = c_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id "
                 "AND ol_o_id = o_id AND ol_delivery_d IS NOT NULL)")
    paid = ("(SELECT SUM(h_amount) FROM history# FORCE INDEX (idx_history_customer) "
            "WHERE h_c_w_id = c_w_id AND h_c_d_id = c_d_id "
            "AND h_c_id = c_id)")
    districts = ", ".join(map(str, range(1, DISTRICTS + 1)))
    for warehouse in range(1, tables.scale.scale + 1):
        for row in tables.rows(
                f"SELECT c_d_id, c_id, c_balance, c_ytd_payment, {delivered}, {paid} "
                f"FROM customer# FORCE INDEX (PRIMARY) WHERE c_w_id = {warehouse} "
                f"AND c_d_id IN ({districts}) AND c_id IN ({customers})"):
            yield from _customer(warehouse, *row)


def _customer(warehouse: int, district: int, customer: int, balance: Any, payments: Any,
              delivered: Any, paid: Any) -> Iterator[str]:
    name = f"{_name((warehouse, district))}, customer {customer}"
    if delivered is None:  # the conditions speak of customers with delivered orders
        return
    if paid is not None:
        yield from _compare(10, name, "c_balance", balance, "delivered less paid", delivered - paid)
    yield from _compare(12, name, "c_balance + c_ytd_payment", balance + payments, "delivered",
                        delivered)


def _compare(number: int, place: str, what: str, value: Any, other: str,
             expected: Any) -> Iterator[str]:
    if value != expected:
        yield f"{place}: {what} is {_plain(value)}, {other} is {_plain(expected)} (check {number})"


def _plain(value: Any) -> str:
    """A number, or a count with the hash of its rows."""
    if isinstance(value, tuple):
        return f"{value[0]} [{int(value[1]):x}]"
    return str(value)


def _name(place: District) -> str:
    return f"warehouse {place[0]}, district {place[1]}"
