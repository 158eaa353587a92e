"""sysbench's own OLTP scripts, as Debian has them.

The tables are made and filled here, so that the setup's table options hold and equal seeds give
equal rows whatever the threads; their columns and values are those that sysbench makes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from lab.workload import Client, Damage, Load, Target, Workload, found_by
from workloads.indexes import indexed
from workloads.sysbench_oltp import check
from workloads.sysbench_oltp.bulk_insert import SysbenchBulkInsert
from workloads.sysbench_oltp.scripts import SCRIPTS

__all__ = ["LONG_RANGES", "SCRIPTS", "SMOKE_ROWS", "SysbenchBulkInsert", "SysbenchOltp"]

_FILL = Path(__file__).resolve().parent / "fill.lua"
_PREPARING_THREADS = 4

# Rows of the four tables that the studies' smallest form has: room for two long ranges.
SMOKE_ROWS = 20_000
# Concurrent long range scans, for oltp_read_only.
LONG_RANGES: Mapping[str, str | int | float] = {"point_selects": 0, "range_size": 10000}


@dataclasses.dataclass(frozen=True)
class SysbenchOltp(Workload):
    """Tables `sbtest1` and so on with `rows` rows each, and one of sysbench's scripts on them.

    `script` names the script that load() runs; `rand_type` is the distribution of the ids, and
    `options` are the script's own: {"range_size": 1000}. check() expects what the script leaves.
    """

    name: ClassVar[str] = "sysbench_oltp"
    tables: int = 1
    rows: int = 10000
    script: str = "oltp_read_write"
    rand_type: str = "uniform"
    options: Mapping[str, str | int | float] = dataclasses.field(default_factory=dict, hash=False)
    seed: int = 1

    def __post_init__(self) -> None:
        self._require(self.script)

    def identity(self) -> Mapping[str, Any]:
        return {"tables": self.tables, "rows": self.rows, "seed": self.seed}

    def expected_rows(self) -> int:
        return self.tables * self.rows

    def prepare(self, target: Target) -> None:
        tables = {f"sbtest{number}": f"ADD INDEX k_{number} (k)"
                  for number in range(1, self.tables + 1)}
        for table in tables:
            target.query(
                f"CREATE TABLE {table} (id INT NOT NULL AUTO_INCREMENT,"
                " k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '',"
                f" pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id)) {target.table_options}")
        with indexed(target, tables):
            target.sysbench(Client("prepare", _FILL, min(self.tables, _PREPARING_THREADS),
                                   self._sizes(), self.seed), "prepare")

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        """The workload's own script."""
        return self.load_of(self.script, threads, seconds, seed)

    def load_of(self, script: str, threads: int, seconds: float, seed: int,
                options: Mapping[str, str | int | float] | None = None) -> Load:
        """Any script that leaves the rows as the workload's own script does, or reads only."""
        self._require(script)
        own = SCRIPTS[self.script]
        if not SCRIPTS[script].leaves_no_more_than(own):
            raise ValueError(f"{script} changes rows that {self.script} does not: make a workload "
                             f"with script={script!r}, whose check expects it")
        merged = {**self._sizes(), "rand-type": self.rand_type, **self.options, **(options or {})}
        client = Client(script, script, threads, merged, seed, SCRIPTS[script].unit)
        return Load((client,), seconds=seconds)

    def check(self, target: Target) -> list[str]:
        script = SCRIPTS[self.script]
        return found_by([partial(check.findings, target, number, self.rows, script)
                         for number in range(1, self.tables + 1)])

    def damages(self) -> Sequence[Damage]:
        return check.damages(self.rows, SCRIPTS[self.script])

    def _sizes(self) -> dict[str, str | int | float]:
        return {"tables": self.tables, "table_size": self.rows}

    def _require(self, script: str) -> None:
        if script not in SCRIPTS:
            raise ValueError(f"there is no script {script} on these tables; there are "
                             f"{', '.join(SCRIPTS)}, and SysbenchBulkInsert for bulk_insert")
        if SCRIPTS[script].needs_one_table and self.tables != 1:
            raise ValueError(f"{script} works on one table, and there are {self.tables}")
