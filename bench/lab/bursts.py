"""Side by side: the engines' servers are up at once and have their turns in bursts of seconds.

    contest = Contest(cell)
    with side_by_side(bench, cell, setups) as servers:
        problems = warm_up(contest, servers)
        bursts = [burst for number in range(1, 21)
                  for burst in round_of(contest, number, servers, seconds=3)]

What a host gives to a guest changes within minutes, by more than engines differ when all data are
cached. Bursts that follow one another directly get about the same of it; what changes between two
of them is left out by the median of many rounds. While one server has its turn the others rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence

from lab import sysbench
from lab.bench import Bench
from lab.cell import Cell
from lab.meter import STEAL_MAX, Window, between
from lab.server import MeasuredServer
from lab.setup import Setup

# Part of one core that a server may use while it is not its turn.
_REST = 0.05
# Seconds between two looks at who rests, and how long a burst waits for that.
_LOOK, _PATIENCE = 0.2, 15
_ATTEMPTS = 2


@dataclasses.dataclass(frozen=True)
class Contest:
    """What each engine does in its turns: the cell's load, or `statements`, again and again.

    All statements together are to read each row of the workload once.
    """

    cell: Cell
    statements: tuple[str, ...] = ()

    def run(self, server: MeasuredServer, seconds: float, seed: int) -> tuple[float, float]:
        """Units done, and the seconds that they took."""
        if not self.statements:
            client = sysbench.run_load(self.cell.load(seconds, seed), server.socket)[0]
            return client.units, client.seconds
        started, rows = time.monotonic(), 0
        while (elapsed := time.monotonic() - started) < seconds:
            for statement in self.statements:
                server.query(statement)
            rows += self.cell.workload.expected_rows()
        return rows, elapsed


@dataclasses.dataclass(frozen=True)
class Burst:
    """One turn of one setup in a round.

    `others` is the part of a core that the busiest of the other servers used meanwhile, `stolen`
    the part of the machine's time that the host took.
    """

    round: int
    setup: str
    per_second: float
    cpu_us_per_unit: float
    others: float
    stolen: float

    @property
    def counts(self) -> bool:
        """Whether it was the engine's own turn, and nobody else's."""
        return self.others <= _REST and self.stolen <= STEAL_MAX


@contextlib.contextmanager
def side_by_side(bench: Bench, cell: Cell,
                 setups: Sequence[Setup]) -> Iterator[Mapping[str, MeasuredServer]]:
    """The setups' servers, by name, each on a fresh copy of its own template."""
    places = [(setup, bench.beside(setup.engine)) for setup in setups]
    with contextlib.ExitStack() as stack:
        for setup, place in places:
            stack.callback(place.remove_data)
            place.restore(bench.templates.get(setup, cell.workload))
        yield {setup.name: stack.enter_context(
            place.serving(setup, cell.limits, cell.durability)) for setup, place in places}


def warm_up(contest: Contest, servers: Mapping[str, MeasuredServer]) -> list[str]:
    """Each server reads all of its data and has a turn that is not measured; what is wrong."""
    problems = check(contest, servers)
    if contest.cell.warm_seconds:
        for server in servers.values():
            contest.run(server, contest.cell.warm_seconds, _seed(contest, 0))
    return problems


def check(contest: Contest, servers: Mapping[str, MeasuredServer]) -> list[str]:
    """What is wrong with the servers' data, a sentence each."""
    return [f"{server.setup.title}: {problem}" for server in servers.values()
            for problem in contest.cell.workload.check(server)]


def order(contest: Contest, number: int, names: Sequence[str]) -> list[str]:
    """Who has the first turn of a round, and who the next: drawn for it, the same every time."""
    drawn = list(names)
    random.Random(f"{contest.cell.name} {number}").shuffle(drawn)
    return drawn


def round_of(contest: Contest, number: int, servers: Mapping[str, MeasuredServer],
             seconds: float) -> Iterator[Burst]:
    """A turn of each; where something else was going on it is had once more."""
    for name in order(contest, number, list(servers)):
        for _ in range(_ATTEMPTS):
            burst = _turn(contest, number, name, servers, seconds)
            yield burst
            if burst.counts:
                break


def _turn(contest: Contest, number: int, name: str, servers: Mapping[str, MeasuredServer],
          seconds: float) -> Burst:
    _wait_until_all_rest(servers)
    begin = {each: server.meter.read(exact_sizes=False) for each, server in servers.items()}
    units, elapsed = contest.run(servers[name], seconds, _seed(contest, number))
    windows = {each: between(begin[each], server.meter.read(exact_sizes=False))
               for each, server in servers.items()}
    own = windows.pop(name)
    return Burst(number, name, units / elapsed, _cores(own) * own.seconds * 1e6 / max(units, 1),
                 max(map(_cores, windows.values()), default=0.0), own.steal_share)


def _wait_until_all_rest(servers: Mapping[str, MeasuredServer]) -> None:
    """What a burst leaves to be done is not the next one's. Who never rests is seen in it."""
    deadline = time.monotonic() + _PATIENCE
    meters = [server.meter for server in servers.values()]
    begin = [meter.read(exact_sizes=False) for meter in meters]
    while time.monotonic() < deadline:
        time.sleep(_LOOK)
        end = [meter.read(exact_sizes=False) for meter in meters]
        if all(_cores(between(*each)) <= _REST for each in zip(begin, end, strict=True)):
            return
        begin = end


def _cores(window: Window) -> float:
    assert window.server_cpu is not None
    return window.server_cpu.total / window.seconds


def _seed(contest: Contest, number: int) -> int:
    """The same for all engines of a round, so that they get the same requests."""
    return zlib.crc32(f"bursts {contest.cell.name} {number}".encode()) >> 8
