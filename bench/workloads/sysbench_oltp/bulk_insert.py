"""sysbench's bulk_insert: each thread inserts into a table of its own, many rows at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from lab.workload import Client, Damage, Load, Target, Workload


@dataclasses.dataclass(frozen=True)
class SysbenchBulkInsert(Workload):
    """Empty tables, one for each thread. The script numbers its rows from 1: it runs once."""

    name: ClassVar[str] = "sysbench_bulk_insert"
    tables: int = 1

    def identity(self) -> Mapping[str, Any]:
        return {"tables": self.tables}

    def expected_rows(self) -> int:
        return 0

    def prepare(self, target: Target) -> None:
        for number in range(1, self.tables + 1):
            target.query(f"CREATE TABLE sbtest{number} (id INT NOT NULL, k INT NOT NULL DEFAULT 0,"
                         f" PRIMARY KEY (id)) {target.table_options}")

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        """An event is a row, which the script sends together with many others."""
        if threads > self.tables:
            raise ValueError(f"{threads} threads of bulk_insert need as many tables, and there are "
                             f"{self.tables}")
        client = Client("bulk_insert", "bulk_insert", threads, {}, seed, "row")
        return Load((client,), seconds=seconds)

    def check(self, target: Target) -> list[str]:
        found = []
        for number in range(1, self.tables + 1):
            table = f"sbtest{number}"
            rows, least, greatest, wrong = target.query(
                "SELECT COUNT(*), COALESCE(MIN(id), 1), COALESCE(MAX(id), 0),"
                f" COALESCE(SUM(k <> id), 0) FROM {table}")[0]
            if (least, greatest) != (1, rows):
                found.append(f"{table}: its {rows} ids from {least} to {greatest} have gaps")
            if wrong:
                found.append(f"{table}: {wrong} rows have a k that is not their id")
        return found

    def damages(self) -> Sequence[Damage]:
        """For a first table of at least 9 rows."""
        return [Damage(["DELETE FROM sbtest1 WHERE id = 5"], "have gaps"),
                Damage(["DELETE FROM sbtest1 WHERE id = 1"], "have gaps"),
                Damage(["UPDATE sbtest1 SET k = k + 1 WHERE id = 5"], "not their id")]
