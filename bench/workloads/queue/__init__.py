"""A table as a queue: half of the clients put rows at its end, the others take its oldest.

What is taken leaves a trace in engines that write a deletion beside the row: whoever looks for the
oldest row comes by all of them that are not yet gone. The two sides wait for each other, so that
the queue stays about as long as it was made. Several queues may share a table, and an index.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lab.workload import Client, Damage, Load, Target, Workload
from workloads.queue import check

_SCRIPT = Path(__file__).resolve().parent / "queue.lua"
# Of an event; queue.lua has the same number.
_ROWS_OF_EVENT = 10
# The part of the queue by which it may grow or shrink during a load.
_AHEAD = 0.05


@dataclasses.dataclass(frozen=True)
class Queue(Workload):
    """A table `queue` with `rows` rows to begin with, in queues of as many names."""

    name: ClassVar[str] = "queue"
    rows: int = 10_000
    names: int = 1

    def identity(self) -> Mapping[str, Any]:
        return {"rows": self.rows, "names": self.names}

    def expected_rows(self) -> int:
        return self.rows

    def prepare(self, target: Target) -> None:
        """The first rows are those of producers 0 and below, who are none of the clients."""
        key = ", KEY (name)" if self.names > 1 else ""
        target.query(
            "CREATE TABLE queue (id BIGINT NOT NULL AUTO_INCREMENT, name CHAR(8) NOT NULL,"
            " producer INT NOT NULL, number BIGINT NOT NULL, body CHAR(100) NOT NULL,"
            f" PRIMARY KEY (id){key}) {target.table_options}")
        target.query(
            "INSERT INTO queue (name, producer, number, body)"
            f" SELECT CONCAT('name', queue), -queue, number, {check.BODY}"
            f" FROM (SELECT seq, seq MOD {self.names} AS queue, seq DIV {self.names} AS number"
            f" FROM seq_1_to_{self.rows}) made ORDER BY seq")

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        """A row counts twice: when it is put, and when it is taken."""
        if threads < 2 or threads % 2:
            raise ValueError(f"half of the clients put and half take, and there are {threads}")
        ahead = max(round(self.rows * _AHEAD / _ROWS_OF_EVENT), 1)
        client = Client("queue", _SCRIPT, threads, {"ahead": ahead, "names": self.names}, seed,
                        "row", _ROWS_OF_EVENT)
        return Load((client,), seconds=seconds)

    def check(self, target: Target) -> list[str]:
        return check.findings(target, self.rows)

    def damages(self) -> Sequence[Damage]:
        return check.damages()
