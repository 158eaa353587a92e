"""The insert benchmark: rows of purchases as fast as they go in, then queries while some go in.

Names, types, indexes, values and steps are those of the published program, in its shape of January
2017 or its current one; the program here is our own. 2017: l (insert with the indexes in place),
q1000, q100. Current: l.i0 (insert, primary key only), l.x (add the indexes), l.i1, l.i2 (insert
with indexes), qr and qp.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from lab.workload import Client, Damage, Load, Target, Workload, found_by
from workloads.insert_benchmark import check
from workloads.insert_benchmark.shape import Shape, create_registers

_FOLDER = Path(__file__).resolve().parent
_INSERT = _FOLDER / "insert.lua"
_QUERY = _FOLDER / "query.lua"
# Rows of a commit, as the published scripts pass them.
_ROWS_2017 = _ROWS_L_I0 = 100
_ROWS_L_I1 = _ROWS_QUERY = 50
_ROWS_L_I2 = 5
_PREPARING_THREADS = 4


@dataclasses.dataclass(frozen=True)
class InsertBenchmark(Workload):
    """Tables `purchases1` and so on, with `rows` rows each to begin with.

    `is_indexed` says whether the secondary indexes are there from the start; by default they are in
    the shape of 2017, and are not in the current one, which adds them in l.x. Thread n of a load
    writes and reads table n, and after the last table the first again. With `delete_per_insert`,
    each inserted commit is followed by the deletion of as many of the oldest rows. With
    `has_registers`, which the published program has not, purchases reference a table of the cash
    registers by an index that is there in any case.
    """

    name: ClassVar[str] = "insert_benchmark"
    tables: int = 1
    rows: int = 0
    shape_name: str = "2017"
    is_indexed: bool | None = None
    delete_per_insert: bool = False
    seed: int = 1
    has_registers: bool = False

    @property
    def shape(self) -> Shape:
        return Shape.named(self.shape_name)

    @property
    def starts_indexed(self) -> bool:
        return self.shape_name == "2017" if self.is_indexed is None else self.is_indexed

    def identity(self) -> Mapping[str, Any]:
        return {"tables": self.tables, "rows": self.rows, "shape": self.shape.name,
                "is_indexed": self.starts_indexed, "seed": self.seed,
                **({"has_registers": True} if self.has_registers else {})}

    def expected_rows(self) -> int:
        return self.tables * self.rows

    def prepare(self, target: Target) -> None:
        for statement in create_registers(target.table_options) if self.has_registers else ():
            target.query(statement)
        for number in range(1, self.tables + 1):
            target.query(self.shape.create_table(number, target.table_options,
                                                 is_indexed=self.starts_indexed,
                                                 has_registers=self.has_registers))
        if self.rows:
            client = self._inserter("prepare", min(self.tables, _PREPARING_THREADS), self.seed,
                                    _ROWS_2017)
            # Prepared data do not hang on whether loads delete.
            options = {**client.options, "rows": self.rows, "delete-per-insert": 0}
            target.sysbench(dataclasses.replace(client, options=options), "prepare")

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        """Step l of 2017: as many inserts as the server takes."""
        return self.insert(threads, seconds=seconds, seed=seed)

    def insert(self, threads: int, *, seconds: float = 0, rows: int = 0, seed: int = 1,
               rows_per_commit: int = _ROWS_2017, label: str = "insert") -> Load:
        """Inserts for so long, or until all threads together have inserted `rows` rows."""
        client = self._inserter(label, threads, seed, rows_per_commit)
        return Load((client,), seconds=seconds, events=-(-rows // rows_per_commit))

    def q(self, rows_per_second: int, threads: int, seconds: float, seed: int) -> Load:
        """q1000 and q100 of 2017: range queries at full speed while each client inserts slowly."""
        return self._queries(f"q{rows_per_second}", "range", rows_per_second, threads, seconds,
                             seed, _ROWS_2017)

    def qr(self, rows_per_second: int, threads: int, seconds: float, seed: int) -> Load:
        """qr100, qr500, qr1000 of the current shape: range queries, and slow inserts."""
        return self._queries(f"qr{rows_per_second}", "range", rows_per_second, threads, seconds,
                             seed, _ROWS_QUERY)

    def qp(self, rows_per_second: int, threads: int, seconds: float, seed: int) -> Load:
        """qp100, qp500, qp1000 of the current shape: rows by their ids, and slow inserts."""
        return self._queries(f"qp{rows_per_second}", "point", rows_per_second, threads, seconds,
                             seed, _ROWS_QUERY)

    def l_i0(self, threads: int, rows: int, seed: int) -> Load:
        """The first step of the current shape: inserts without secondary indexes."""
        return self.insert(threads, rows=rows, seed=seed, label="l.i0",
                           rows_per_commit=_ROWS_L_I0)

    def l_x(self, threads: int, seed: int) -> Load:
        """What l.x inserts before it adds the indexes: 100 more rows for each client."""
        return self.insert(threads, rows=100 * threads, seed=seed, label="l.x",
                           rows_per_commit=_ROWS_L_I0)

    def l_x_statements(self, engine_name: str) -> Sequence[str]:
        """The ALTERs of l.x."""
        return [statement for number in range(1, self.tables + 1)
                for statement in self.shape.add_indexes(number, engine_name)]

    def l_i1(self, threads: int, budget: int, seed: int) -> Load:
        """Four fifths of the rows that go in at random: 50 rows in a commit."""
        return self.insert(threads, rows=budget * 4 // 5, seed=seed, label="l.i1",
                           rows_per_commit=_ROWS_L_I1)

    def l_i2(self, threads: int, budget: int, seed: int) -> Load:
        """The last fifth of the rows that go in at random: 5 rows in a commit."""
        return self.insert(threads, rows=budget - budget * 4 // 5, seed=seed, label="l.i2",
                           rows_per_commit=_ROWS_L_I2)

    def check(self, target: Target) -> list[str]:
        return found_by([partial(check.findings, target, self.shape, number,
                                 prepared_rows=self.rows, has_deletes=self.delete_per_insert)
                         for number in range(1, self.tables + 1)])

    def damages(self) -> Sequence[Damage]:
        """For prepared tables of at least 300 rows."""
        return check.damages(self.shape, self.rows)

    def _inserter(self, label: str, threads: int, seed: int, rows_per_commit: int,
                  rate: float = 0) -> Client:
        if self.delete_per_insert and threads > self.tables:
            raise ValueError(f"{threads} clients that delete need tables of their own, and there "
                             f"are {self.tables}")
        deleted = rows_per_commit if self.delete_per_insert else 0
        options = {"tables": self.tables, "shape": self.shape.name,
                   "rows-per-commit": rows_per_commit, "delete-per-insert": deleted}
        return Client(label, _INSERT, threads, options, seed, "row", rows_per_commit, rate)

    def _queries(self, label: str, kind: str, rows_per_second: int, threads: int, seconds: float,
                 seed: int, rows_per_commit: int) -> Load:
        reader = Client(label, _QUERY, threads,
                        {"tables": self.tables, "kind": kind, **self.shape.client_options()}, seed,
                        "query")
        writer = self._inserter(f"{label} insert", threads, seed, rows_per_commit,
                                rate=threads * rows_per_second / rows_per_commit)
        return Load((reader, writer), seconds=seconds)
