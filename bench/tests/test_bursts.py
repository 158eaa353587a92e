"""Side by side: turns, and which of them count."""

from __future__ import annotations

import contextlib
import math

import pytest
from imitated_servers import ImitatedData, ImitatedMachine, imitate

from lab import bursts
from lab.bursts import Burst, Contest
from lab.cell import Cell
from lab.setup import SETUPS, Limits

NAMES = [setup.name for setup in SETUPS]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> ImitatedMachine:
    return imitate(monkeypatch)


def contest(*statements: str, warm_seconds: float = 0) -> Contest:
    cell = Cell("cell", ImitatedData(), SETUPS, {}, Limits(), warm_seconds=warm_seconds)
    return Contest(cell, statements)


def measured(machine: ImitatedMachine, number: int = 1,
             what: Contest | None = None) -> list[Burst]:
    return list(bursts.round_of(what or contest(), number, machine.servers, 3))


def test_each_round_has_an_order_of_its_own_the_same_every_time():
    orders = [bursts.order(contest(), number, NAMES) for number in range(1, 21)]
    assert all(sorted(each) == sorted(NAMES) for each in orders)
    assert len({tuple(each) for each in orders}) >= 4
    assert {each[0] for each in orders} == set(NAMES)
    assert orders == [bursts.order(contest(), number, NAMES) for number in range(1, 21)]


def test_each_engine_has_one_turn_in_a_round_with_the_same_requests(machine):
    first, second = measured(machine, 1), measured(machine, 2)
    assert [burst.setup for burst in first] == bursts.order(contest(), 1, NAMES)
    assert [name for name, _ in machine.turns] == [burst.setup for burst in first + second]
    seeds = [seed for _, seed in machine.turns]
    assert len(set(seeds[:3])) == len(set(seeds[3:])) == 1 and seeds[0] != seeds[3]


def test_a_burst_has_the_rate_and_the_processor_time_of_its_engine(machine):
    machine.servers["basalt"].background = 0.04
    found = {burst.setup: burst for burst in measured(machine)}
    assert [found[name].per_second for name in NAMES] == [1000, 800, 1200]
    # Half of a core while it works: of InnoDB's 3000 units in 3 s each takes 500 us.
    assert found["innodb"].cpu_us_per_unit == pytest.approx(500)
    assert found["basalt"].cpu_us_per_unit == pytest.approx((0.5 + 0.04) / 1200 * 1e6)
    assert found["innodb"].others == pytest.approx(0.04) and found["basalt"].others == 0
    assert all(burst.counts for burst in found.values())


@pytest.mark.parametrize("turns, expected", [(0, [True]), (1, [False, True]),
                                             (2, [False, False]), (9, [False, False])])
def test_a_burst_beside_a_server_that_works_is_repeated_once(machine, turns, expected):
    """It works for a second in each of the first so many turns."""
    other = machine.servers["myrocks"]

    def begin() -> None:
        other.background = 0.3 if len(machine.turns) < turns else 0.0
        other.ends = machine.now + 1

    machine.before_turn = begin
    found = [burst for burst in measured(machine) if burst.setup == "innodb"]
    first = bursts.order(contest(), 1, NAMES).index("innodb") == 0
    assert first, "the turns before InnoDB's would count"
    assert [burst.counts for burst in found] == expected
    # 0.3 of a core for one second of three.
    assert [burst.others for burst in found] == pytest.approx(
        [0.0 if counts else 0.1 for counts in expected])


@pytest.mark.parametrize("steals, counts", [(0.029, True), (0.031, False)])
def test_a_burst_of_which_the_host_took_a_part_does_not_count(machine, steals, counts):
    machine.steals = steals
    found = measured(machine)
    assert {burst.counts for burst in found} == {counts}
    assert len(found) == (3 if counts else 6)
    assert found[0].stolen == pytest.approx(steals)


def test_a_turn_begins_when_all_servers_rest(machine):
    """What the turn before has left to be done is paid first, but not waited for without end."""
    began: list[float] = []
    machine.before_turn = lambda: began.append(machine.now)
    working = machine.servers["basalt"]
    working.background, working.ends = 0.5, machine.now + 2
    started = machine.now
    assert all(burst.counts for burst in measured(machine))
    assert 2 < began[0] - started < 2.5
    working.ends, started = math.inf, machine.now
    measured(machine)
    assert 15 < began[3] - started < 16


def test_statements_are_repeated_whole_until_the_time_is_over(machine):
    # A statement takes a second, 1.25 s and 0.83 s.
    found = {burst.setup: burst for burst in measured(machine, what=contest("SELECT 1"))}
    assert len(machine.servers["innodb"].said) == 3
    assert len(machine.servers["myrocks"].said) == 3
    assert len(machine.servers["basalt"].said) == 4
    assert [found[name].per_second for name in NAMES] == pytest.approx([1000, 800, 1200])


def test_before_the_first_round_all_data_are_read_and_each_has_a_turn(machine):
    assert bursts.warm_up(contest(warm_seconds=5), machine.servers) == []
    assert [server.said for server in machine.servers.values()] == [["check"]] * 3
    assert [name for name, _ in machine.turns] == NAMES
    assert bursts.warm_up(contest(), machine.servers) == [] and len(machine.turns) == 3


def test_wrong_data_are_told_with_their_engine(machine):
    what = contest()
    what.cell.workload.problems = ["a row is missing"]
    assert bursts.check(what, machine.servers) == [
        f"{setup.title}: a row is missing" for setup in SETUPS]


class Bench:
    """Notes what is done in which order."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.templates = self

    def get(self, setup, workload) -> str:
        return setup.name

    def beside(self, engine):
        side = Bench()
        side.events, side.restore = self.events, lambda name: self.events.append(f"copy {name}")
        side.remove_data = lambda: self.events.append(f"remove {engine.value}")
        return side

    @contextlib.contextmanager
    def serving(self, setup, limits, durability):
        self.events.append(f"start {setup.name}")
        yield setup
        self.events.append(f"stop {setup.name}")


def test_all_servers_are_up_at_once_on_copies_that_are_gone_afterwards():
    bench = Bench()
    with bursts.side_by_side(bench, contest().cell, SETUPS[:2]) as servers:
        assert list(servers) == ["innodb", "myrocks"]
        assert bench.events == ["copy innodb", "copy myrocks", "start innodb", "start myrocks"]
    assert bench.events[4:] == ["stop myrocks", "stop innodb", "remove myrocks", "remove innodb"]
