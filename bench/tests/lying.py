"""A Target whose secondary indexes are damaged, which SQL cannot do to a real one."""

from __future__ import annotations

from typing import Any

from lab.workload import Client, Target


class LyingTarget:
    """Passes everything on to a target, but reads through one index miss the rows of a condition.

    The statement must name the index last: SELECT ... FROM table FORCE INDEX (name).
    """

    def __init__(self, target: Target, index: str, lost: str) -> None:
        self._target = target
        self._ending = f"FORCE INDEX ({index})"
        self._lost = lost
        self.lies = 0

    @property
    def engine_name(self) -> str:
        return self._target.engine_name

    @property
    def table_options(self) -> str:
        return self._target.table_options

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        if sql.endswith(self._ending):
            self.lies += 1
            sql += f" WHERE NOT ({self._lost})"
        return self._target.query(sql)

    def sysbench(self, client: Client, command: str = "run", *, seconds: float = 0,
                 events: int = 0) -> None:
        self._target.sysbench(client, command, seconds=seconds, events=events)
