"""Servers that are up at once, on a machine whose clock stands while nobody works or waits."""

from __future__ import annotations

import math
import types
from collections.abc import Iterable

import pytest

from lab import bursts
from lab.control_groups import CpuUse
from lab.counters import HostCpu
from lab.histogram import Histogram
from lab.meter import Reading
from lab.setup import SETUPS, Setup
from lab.sysbench import ClientResult
from lab.workload import Client, Load

CORES = 2


class ImitatedServer:
    """A server, its meter and its connection in one; `rate` is what a client gets done a second.

    It uses half of a core while it has its turn, and `background` of one in any case, until the
    moment `ends`.
    """

    def __init__(self, machine: ImitatedMachine, setup: Setup, rate: float) -> None:
        self.machine = machine
        self.setup = setup
        self.rate = rate
        self.background = 0.0
        self.ends = math.inf
        self.cpu = 0.0
        self.said: list[str] = []
        self.meter = self
        self.socket = self

    def read(self, *, exact_sizes: bool = True) -> Reading:
        now = self.machine.now
        host = HostCpu(0, 0, 0, CORES * now - self.machine.stolen, self.machine.stolen)
        return Reading(now, now, host, None, CpuUse(self.cpu, self.cpu, 0), None, None)

    def query(self, sql: str) -> list:
        """A statement takes as long as reading a thousand rows."""
        self.said.append(sql)
        self.work(1000 / self.rate)
        return []

    def work(self, seconds: float) -> None:
        self.cpu += seconds / 2
        self.machine.sleep(seconds)


class ImitatedMachine:
    """`turns` are who had one, with its seed; `before_turn` is called when the next one begins."""

    def __init__(self, rates: Iterable[float] = (1000, 800, 1200)) -> None:
        self.now = 100.0
        self.stolen = 0.0
        self.steals = 0.0
        self.turns: list[tuple[str, int]] = []
        self.before_turn = lambda: None
        self.servers = {setup.name: ImitatedServer(self, setup, rate)
                        for setup, rate in zip(SETUPS, rates, strict=True)}

    def sleep(self, seconds: float) -> None:
        for server in self.servers.values():
            server.cpu += server.background * min(seconds, max(0.0, server.ends - self.now))
        self.stolen += CORES * self.steals * seconds
        self.now += seconds

    def run_load(self, load: Load, server: ImitatedServer) -> list[ClientResult]:
        client = load.clients[0]
        self.before_turn()
        self.turns.append((server.setup.name, client.seed))
        server.work(load.seconds)
        units = round(server.rate * load.seconds)
        return [ClientResult(client, load.seconds, units, 0, 0, 0, [], Histogram({}, 0), {})]


class ImitatedData:
    """A workload of a thousand rows, in which `problems` are found."""

    name = "imitated"

    def __init__(self) -> None:
        self.problems: list[str] = []

    def identity(self) -> dict[str, str]:
        return {}

    def expected_rows(self) -> int:
        return 1000

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        return Load((Client("x", "x", threads, seed=seed),), seconds)

    def check(self, server: ImitatedServer) -> list[str]:
        server.said.append("check")
        return self.problems


def imitate(monkeypatch: pytest.MonkeyPatch) -> ImitatedMachine:
    """The machine on which lab.bursts measures from now on."""
    imitated = ImitatedMachine()
    monkeypatch.setattr(bursts, "time", types.SimpleNamespace(
        monotonic=lambda: imitated.now, sleep=imitated.sleep))
    monkeypatch.setattr(bursts.sysbench, "run_load", imitated.run_load)
    return imitated
