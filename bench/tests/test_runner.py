"""Plans and their execution: order, resuming, trials that fail, studies that cannot run here."""

from __future__ import annotations

import types

import pymysql
import pytest

from basaltcli.errors import BasaltError
from lab import runner
from lab.cell import Cell
from lab.progress import Progress
from lab.setup import BASALT, INNODB, MYROCKS, SETUPS, Engine, Limits
from lab.store import Run, open_run
from lab.study import Size, Study

ALL = list(Engine)
_DATA = types.SimpleNamespace(expected_rows=lambda: 0)


class Imagined(Study):
    """A study of three cells; `measure` notes what it was asked for, or fails as told."""

    name = "imagined"
    title = question = published = scaling = "x"

    def __init__(self, failures=None, name: str = "imagined", limits: Limits = Limits()) -> None:
        self.name = name  # type: ignore[misc]
        self.failures = failures or {}
        self.limits = limits
        self.measured: list[tuple[str, str, int]] = []
        self.seeds: dict[tuple[str, str, int], int] = {}

    def cells(self, size):
        return [Cell(cell, _DATA, SETUPS, {"number": number}, self.limits)
                for number, cell in enumerate(("a", "b", "c"))]

    def measure(self, trial, cell) -> None:
        key = (cell.name, trial.setup.name, trial.record.block)
        self.measured.append(key)
        self.seeds[key] = trial.seed
        trial.record.values["per_second"] = 7.0
        error = self.failures.get((cell.name, trial.setup.name))
        if error is not None:
            raise error

    def claims(self):
        return ()

    def charts(self):
        return ()


class ImaginedBench:
    """A bench on which nothing happens."""

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason

    def reason_against(self, limits: Limits) -> str | None:
        return self.reason if limits.memory else None


@pytest.fixture
def run(tmp_path) -> Run:
    return Run(tmp_path / "run", "full", ["imagined"], [each.value for each in Engine], "now")


def keys(planned) -> list[tuple[str, str, int]]:
    return [(each.cell.name, each.setup.name, each.block) for each in planned]


def test_each_block_holds_every_trial_once():
    planned = runner.plan([Imagined()], Size.LONG, ALL)
    everything = sorted((cell, setup.name) for cell in "abc" for setup in SETUPS)
    for block in (1, 2, 3):
        assert sorted(key[:2] for key in keys(planned) if key[2] == block) == everything
    assert len(planned) == 27


def test_blocks_follow_one_another():
    assert [key[2] for key in keys(runner.plan([Imagined()], Size.LONG, ALL))] == \
        [1] * 9 + [2] * 9 + [3] * 9


def test_the_order_is_the_same_every_time():
    assert keys(runner.plan([Imagined()], Size.LONG, ALL)) == \
        keys(runner.plan([Imagined()], Size.LONG, ALL))


def test_each_block_has_an_order_of_its_own():
    planned = keys(runner.plan([Imagined()], Size.LONG, ALL))
    orders = [[key[:2] for key in planned if key[2] == block] for block in (1, 2, 3)]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert sorted(orders[0]) not in orders


def test_setups_are_interleaved_and_not_measured_one_after_the_other():
    """All of A and then all of B would be the mistake; also not A always before B."""
    planned = runner.plan([Imagined()], Size.LONG, ALL, blocks=8)
    changes = sum(before.setup != after.setup
                  for before, after in zip(planned, planned[1:], strict=False))
    assert changes > len(planned) / 2
    first = {}
    for each in planned:
        first.setdefault((each.block, each.cell.name), []).append(each.setup.name)
    assert {order[0] for order in first.values()} == {setup.name for setup in SETUPS}


def test_only_the_engines_asked_for_are_planned():
    planned = runner.plan([Imagined()], Size.QUICK, [Engine.BASALT, Engine.INNODB])
    assert {each.setup for each in planned} == {BASALT, INNODB}
    assert runner.plan([Imagined()], Size.QUICK, []) == []


def test_only_the_cells_asked_for_are_planned():
    planned = runner.plan([Imagined()], Size.QUICK, ALL, cells="^[ab]$")
    assert {each.cell.name for each in planned} == {"a", "b"}
    assert runner.plan([Imagined()], Size.QUICK, ALL, cells="d") == []


def test_the_number_of_blocks_can_be_asked_for():
    assert max(key[2] for key in keys(runner.plan([Imagined()], Size.LONG, ALL, 5))) == 5
    assert max(key[2] for key in keys(runner.plan([Imagined()], Size.QUICK, ALL))) == 1


def test_studies_follow_one_another_in_their_order():
    planned = runner.plan([Imagined(name="one"), Imagined(name="two")], Size.QUICK, ALL)
    assert [each.study.name for each in planned] == ["one"] * 9 + ["two"] * 9


def test_all_setups_of_a_block_get_the_same_requests_and_other_blocks_others():
    planned = runner.plan([Imagined()], Size.LONG, ALL)
    seeds: dict[tuple[str, int], set[int]] = {}
    for each in planned:
        seeds.setdefault((each.cell.name, each.block), set()).add(each.seed)
    assert all(len(found) == 1 for found in seeds.values())
    distinct = {seed for found in seeds.values() for seed in found}
    assert len(distinct) == len(seeds)
    # sysbench takes 31 bits, and a warm-up has the next one.
    assert all(0 <= seed < 2 ** 31 - 1 for seed in distinct)


def test_everything_planned_is_measured_and_stored(run):
    study = Imagined()
    planned = runner.plan([study], Size.LONG, ALL)
    runner.execute(run, planned, ImaginedBench())
    assert study.measured == keys(planned)
    results = run.results("imagined")
    assert len(results.trials) == 27
    assert results.axes("b") == {"number": 1}
    assert study.seeds[("a", "innodb", 1)] == study.seeds[("a", "basalt", 1)]


def test_what_was_measured_is_not_measured_again(run):
    study = Imagined()
    planned = runner.plan([study], Size.LONG, ALL)
    runner.execute(run, planned[:10], ImaginedBench())
    runner.execute(run, planned, ImaginedBench())
    runner.execute(run, planned, ImaginedBench())
    assert study.measured == keys(planned)


def test_what_failed_is_measured_again_and_nothing_else(run):
    failing = Imagined({("b", "myrocks"): BasaltError("the disk was full")})
    runner.execute(run, runner.plan([failing], Size.QUICK, ALL), ImaginedBench())
    again = Imagined()
    runner.execute(run, runner.plan([again], Size.QUICK, ALL), ImaginedBench())
    assert again.measured == [("b", "myrocks", 1)]
    results = run.results("imagined")
    assert len(results.trials) == len(results.all) == 9


def test_an_interrupted_trial_is_measured_again_from_its_beginning(run):
    planned = runner.plan([Imagined()], Size.QUICK, ALL)
    cell, setup, _ = keys(planned)[4]
    interrupted = Imagined({(cell, setup): KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        runner.execute(run, runner.plan([interrupted], Size.QUICK, ALL), ImaginedBench())
    assert len(run.results("imagined").all) == 4
    again = Imagined()
    runner.execute(run, runner.plan([again], Size.QUICK, ALL), ImaginedBench())
    assert again.measured == keys(planned)[4:]


@pytest.mark.parametrize("error", [
    BasaltError("the data are wrong"),
    pymysql.err.OperationalError(2013, "the data are wrong"),
    OSError("the data are wrong")])
def test_a_trial_that_fails_is_stored_with_its_problem_and_the_run_goes_on(run, error):
    study = Imagined({("b", "myrocks"): error})
    runner.execute(run, runner.plan([study], Size.QUICK, ALL), ImaginedBench())
    assert len(study.measured) == 9
    results = run.results("imagined")
    failed, = (trial for trial in results.all if trial.problems)
    assert (failed.cell, failed.setup) == ("b", "myrocks")
    assert "the data are wrong" in failed.problems[0]
    assert len(results.trials) == 8 and results.values("per_second", "b", "myrocks") == []


def test_a_defect_of_the_laboratory_is_not_mistaken_for_a_result(run):
    study = Imagined({("b", "myrocks"): AssertionError("defect")})
    with pytest.raises(AssertionError):
        runner.execute(run, runner.plan([study], Size.QUICK, ALL), ImaginedBench())


def test_a_study_that_cannot_run_here_is_noted_and_the_others_run(run):
    limited, free = Imagined(name="limited", limits=Limits(512 << 20)), Imagined(name="free")
    runner.execute(run, runner.plan([limited, free], Size.QUICK, ALL),
                   ImaginedBench("no control groups; run as root"))
    assert limited.measured == [] and len(free.measured) == 9
    assert open_run(run.directory).notes == {"limited": "no control groups; run as root"}


def test_a_note_is_dropped_when_the_study_can_run_after_all(run):
    study = Imagined(limits=Limits(512 << 20))
    planned = runner.plan([study], Size.QUICK, ALL)
    runner.execute(run, planned, ImaginedBench("no control groups; run as root"))
    runner.execute(run, planned, ImaginedBench())
    assert len(study.measured) == 9
    assert open_run(run.directory).notes == {}


class Stealing(Imagined):
    """The host takes time away in the first attempts at each trial."""

    def __init__(self, attempts: int, window: float) -> None:
        super().__init__()
        self.attempts = attempts
        self.window = window

    def measure(self, trial, cell) -> None:
        super().measure(trial, cell)
        times = self.measured.count((cell.name, trial.setup.name, trial.record.block))
        trial.record.values |= {"window_s": self.window,
                                "host_steal_percent": 5 if times <= self.attempts else 1}


def stolen(run: Run, attempts: int, window: float = 30) -> tuple[int, list[str]]:
    study = Stealing(attempts, window)
    planned = runner.plan([study], Size.QUICK, ALL)[:1]
    runner.execute(run, planned, ImaginedBench())
    trial, = run.results("imagined").all
    return len(study.measured), trial.problems


def test_a_trial_from_which_the_host_took_time_is_measured_once_more(run):
    assert stolen(run, attempts=1) == (2, [])


def test_a_trial_from_which_the_host_took_time_twice_does_not_count(run):
    times, problems = stolen(run, attempts=2)
    assert times == 2 and "twice" in problems[0]


def test_a_quiet_trial_is_measured_once(run):
    assert stolen(run, attempts=0) == (1, [])


def test_windows_of_a_test_are_not_repeated(run):
    assert stolen(run, attempts=5, window=2) == (1, [])


def test_time_left_follows_from_what_trials_took(monkeypatch):
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr("lab.progress.time.monotonic", lambda: next(clock))
    with Progress([10, 10, 30]) as progress:
        assert progress.left() == 50
        progress.begin("first")
        progress.end("done")  # took 20 instead of 10
        assert progress.left() == 80


def test_trials_that_are_skipped_say_nothing_about_the_time_left():
    with Progress([10, 10, 30]) as progress:
        progress.skip()
        assert progress.left() == 40


def test_each_trial_has_a_line_with_what_came_out(run, capsys):
    study = Imagined({("b", "myrocks"): BasaltError("first line\nsecond line")})
    runner.execute(run, runner.plan([study], Size.QUICK, ALL), ImaginedBench())
    lines = capsys.readouterr().out.splitlines()
    assert sum("7 transactions/s" in line for line in lines) == 8
    assert any(f"imagined: b, {MYROCKS.title}: first line (" in line for line in lines)
    assert "[9 of 9]" in lines[-1]
