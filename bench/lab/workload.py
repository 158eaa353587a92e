"""What a workload is: data that can be made, loads that run on them, a check that finds damage.

A workload is a folder of bench/workloads: a Python module with a subclass of Workload, and the Lua
scripts of its clients, which Debian's sysbench drives.

Conventions of our own Lua scripts:
  * they take their numbers only from a generator seeded with --rand-seed and the thread's number,
    so that a run is repeatable for the same threads;
  * `require("recorder")` (bench/workloads/lua) counts latencies per kind of operation, where a
    transaction has kinds that differ;
  * deadlocks and lock wait timeouts are tried again by sysbench; any other error ends the run.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Protocol

DATABASE = "bench"
# The server under test has the cores of the smallest machine that the laboratory is made for.
_CHECKS_AT_A_TIME = 2


class Target(Protocol):
    """A running server, seen by a workload that fills it, looks into it, or damages it."""

    @property
    def engine_name(self) -> str:
        """What ENGINE= takes: InnoDB or ROCKSDB."""

    @property
    def table_options(self) -> str:
        """What follows the columns in CREATE TABLE: ENGINE=... and the setup's own options."""

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of one statement in the workload's database; autocommit is on.

        For any thread: checks run side by side.
        """

    def sysbench(self, client: Client, command: str = "run", *, seconds: float = 0,
                 events: int = 0) -> None:
        """Runs one sysbench command to its end; raises BasaltError with its output if it fails."""


@dataclasses.dataclass(frozen=True)
class Client:
    """One sysbench process.

    `script` is one of Debian's scripts by its name ("oltp_read_only") or a Lua file of ours.
    `per_event` is how many units, named by `unit`, one sysbench event does: 100 for inserts of 100
    rows. `rate` is the events per second of all threads together, 0 for as fast as possible.
    `options` are the script's own, without the leading dashes: {"tables": 8}.
    """

    label: str
    script: str | Path
    threads: int
    options: Mapping[str, str | int | float] = dataclasses.field(default_factory=dict)
    seed: int = 1
    unit: str = "transaction"
    per_event: int = 1
    rate: float = 0


@dataclasses.dataclass(frozen=True)
class Load:
    """Clients that run side by side, for `seconds`, or until each has done `events` if not 0.

    The first client is the one whose throughput the study is about.
    """

    clients: tuple[Client, ...]
    seconds: float = 0
    events: int = 0


@dataclasses.dataclass(frozen=True)
class Damage:
    """A change that no load makes, and the words by which the check must name it."""

    sql: Sequence[str]
    found_as: str


def found_by(checks: Sequence[Callable[[], Iterable[str]]]) -> list[str]:
    """What checks find, in their order. Two run at a time: they take as long as a window does."""
    with ThreadPoolExecutor(_CHECKS_AT_A_TIME) as pool:
        return [finding for found in pool.map(lambda check: list(check()), checks)
                for finding in found]


class Workload(abc.ABC):
    """Data and loads on them. Two workloads of the same name and identity have the same data."""

    name: ClassVar[str]

    @abc.abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """The parameters and the seed that the data depend on; JSON values."""

    @abc.abstractmethod
    def expected_rows(self) -> int:
        """About how many rows prepare() makes; times are guessed from it (lab/estimate.py)."""

    @abc.abstractmethod
    def prepare(self, target: Target) -> None:
        """Makes the tables in the empty database `bench` and fills them."""

    @abc.abstractmethod
    def load(self, threads: int, seconds: float, seed: int) -> Load:
        """The load that the workload is named after; studies may use others of its loads."""

    @abc.abstractmethod
    def check(self, target: Target) -> list[str]:
        """What is wrong with the data, a sentence each; empty when they are right.

        Holds after preparing and after any loads, also ones that ended in a crash.
        """

    @abc.abstractmethod
    def damages(self) -> Sequence[Damage]:
        """One change for each thing that check() looks at; tests make them and check."""
