"""A decision support query over parts and the lines of orders, derived from TPC-H's Q19.

Its index holds all columns that its condition is about, but not those that it adds up: with index
condition pushdown an engine reads the rows of one entry of 127 only. The generator is our own, from
the published column rules; the results are not comparable with any published TPC-H result.
"""

from __future__ import annotations

import dataclasses
import functools
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from basaltcli.errors import BasaltError

from lab.workload import Client, Damage, Load, Target, Workload
from workloads.indexes import indexed
from workloads.q19 import check, query, schema, text
from workloads.q19.generate import Generator

_PATIENCE = 60.0
_SCRIPT = Path(__file__).parent / "q19.lua"


class Q19(Workload):
    """`scale` 1 has 200,000 parts and about 6 million lines; the query needs a scale of 0.02."""

    name = "q19"

    def __init__(self, scale: float, seed: int = 1) -> None:
        self.scale = scale
        self.seed = seed
        self.generator = Generator(scale, seed)

    def identity(self) -> Mapping[str, Any]:
        return {"scale": self.scale, "seed": self.seed}

    def expected_rows(self) -> int:
        return int(6_200_000 * self.scale)

    def prepare(self, target: Target) -> None:
        generator = self.generator
        target.query(schema.PART.format(options=target.table_options))
        _fill(target, "part", generator.part_chunks, lambda chunk: _Rows(
            text.part_rows(parts := generator.parts(chunk)), "p_partkey", int(parts.key[-1])))
        target.query(schema.LINEITEM.format(options=target.table_options))
        with indexed(target, {"lineitem": schema.ADD_INDEXES}):
            _fill(target, "lineitem", generator.line_chunks, lambda chunk: _Rows(
                text.line_rows(lines := generator.lines(chunk)), "l_orderkey",
                int(lines.order[-1])))
        target.query("ANALYZE TABLE part, lineitem")

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        return self.query_load(threads, seconds)

    def query_load(self, threads: int, seconds: float, *, icp: bool = True,
                   force: bool = True) -> Load:
        """The query again and again, with index condition pushdown or without."""
        client = Client("q19", _SCRIPT, threads, {"statement": query.statement(icp, force)},
                        unit="query")
        return Load((client,), seconds)

    def query(self, target: Target, icp: bool = True, force: bool = True) -> query.Outcome:
        """Runs the query once and tells what it read; nobody else may use the server meanwhile."""
        return query.run(target, icp, force)

    @functools.cached_property
    def answer(self) -> query.Answer:
        """The result and the counts of the generated rows, computed without a server."""
        return query.answer(self.generator)

    def check(self, target: Target) -> list[str]:
        return list(check.problems(target, self.generator, self.answer, self._digest))

    def damages(self) -> Sequence[Damage]:
        line = "WHERE l_orderkey = 1 AND l_linenumber = 1"
        parts = self.generator.part_count
        return [
            Damage([f"DELETE FROM part WHERE p_partkey = {parts // 2}"], "rows of part"),
            Damage([f"UPDATE part SET p_partkey = {parts + 1} WHERE p_partkey = {parts}"],
                   "the keys of part"),
            Damage(["UPDATE part SET p_size = p_size + 1 WHERE p_partkey = 1"],
                   "the parts' sizes"),
            Damage(["UPDATE part SET p_retailprice = p_retailprice + 0.01 WHERE p_partkey = 1"],
                   "parts have a price"),
            Damage([f"DELETE FROM lineitem {line}"], "rows of lineitem"),
            Damage([f"UPDATE lineitem SET l_partkey = 0 {line}"], "part key that is not in part"),
            Damage([f"UPDATE lineitem SET l_partkey = l_partkey % {parts} + 1 {line}"],
                   "the sum of the lines' part keys"),
            Damage([f"UPDATE lineitem SET l_suppkey = 0 {line}"], "does not supply their part"),
            Damage([f"UPDATE lineitem SET l_quantity = l_quantity % 50 + 1 {line}"],
                   "the sum of the lines' quantities"),
            Damage([f"UPDATE lineitem SET l_extendedprice = l_extendedprice + 0.01 {line}"],
                   "not quantity times the part's price"),
            Damage([f"UPDATE lineitem SET l_discount = (l_discount * 100 + 1) % 11 / 100 {line}"],
                   "the sum of the lines' discounts"),
            Damage([f"UPDATE lineitem SET l_tax = 0.09 {line}"], "out of range"),
            Damage([f"UPDATE lineitem SET l_receiptdate = l_shipdate {line}"], "were received"),
            Damage(["UPDATE lineitem SET l_shipmode = IF(l_shipmode = 'RAIL', 'FOB', 'RAIL') "
                    + line], "lines shipped by RAIL"),
            Damage([f"UPDATE lineitem SET l_shipmode = 'AIR REG' {line}"], "the ship mode AIR REG"),
            Damage([f"UPDATE lineitem SET l_linenumber = 8 {line}"], "not numbered from 1"),
            Damage(["ALTER TABLE lineitem DROP INDEX i_l_partkey,"
                    " ADD INDEX i_l_partkey (l_partkey, l_quantity)"], "the index i_l_partkey"),
            Damage(["ALTER TABLE lineitem DROP INDEX i_l_suppkey_partkey"],
                   "the index i_l_suppkey_partkey"),
            Damage(["UPDATE part SET p_container = 'WRAP CAN' WHERE p_partkey = "
                    f"{self.answer.matched[0][2]}"], "the query gives")]

    @functools.cached_property
    def _digest(self) -> check.Digest:
        return check.digest(self.generator)


@dataclasses.dataclass(frozen=True)
class _Rows:
    """A chunk as text; `last` is the value of the first key column in its last row."""

    text: bytes
    key: str
    last: int


def _fill(target: Target, table: str, chunks: range, make: Callable[[int], _Rows]) -> None:
    """Loads chunk by chunk; the next is made while the server loads one.

    The rows come in the order of the primary key, which MyRocks can write as finished files.
    """
    can_bulk_load = target.query("SHOW VARIABLES LIKE 'rocksdb_bulk_load'")
    prefix = "SET STATEMENT rocksdb_bulk_load = 1 FOR " if can_bulk_load else ""
    with tempfile.TemporaryDirectory(prefix="q19-") as folder, ThreadPoolExecutor(1) as pool:
        Path(folder).chmod(0o755)
        path = Path(folder) / f"{table}.txt"
        coming = pool.submit(make, chunks[0])
        for chunk in chunks:
            rows = coming.result()
            if chunk + 1 in chunks:
                coming = pool.submit(make, chunk + 1)
            path.write_bytes(rows.text)
            target.query(f"{prefix}LOAD DATA INFILE '{path}' INTO TABLE {table}"
                         " CHARACTER SET latin1")
            if can_bulk_load:
                _await(target, table, rows)


def _await(target: Target, table: str, rows: _Rows) -> None:
    """Returns when the chunk is there: a bulk load ends after the connection has been closed."""
    deadline = time.monotonic() + _PATIENCE
    while target.query(f"SELECT MAX({rows.key}) FROM {table}") != [(rows.last,)]:
        if time.monotonic() > deadline:
            raise BasaltError(f"rows that were bulk loaded into {table} did not appear")
        time.sleep(0.01)
