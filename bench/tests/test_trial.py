"""The protocol of a trial: what happens in which order, and what its record holds."""

from __future__ import annotations

import contextlib
import types

import pytest

import synthetic
from lab import directory_size
from lab import trial as trials
from lab.cell import Cell
from lab.charts import Bars, Curves
from lab.control_groups import CpuUse, MemoryUse
from lab.counters import DeviceCounters, HostCpu
from lab.directory_size import DirectorySize
from lab.fidelity import MEASURING
from lab.histogram import Histogram
from lab.meter import Reading
from lab.metrics import METRICS, metric
from lab.results import TrialRecord
from lab.setup import BASALT, D1, Limits
from lab.study import Size
from lab.sysbench import ClientResult
from lab.template import Template
from lab.throttle import IoLimits
from lab.trial import Trial
from lab.workload import Client, Load
from studies.catalogue import STUDIES

_SLOW = IoLimits(300, 300)


class World:
    """A bench, a server and clients whose only effects are a list of events and bytes written."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.events: list[str] = []
        self.written = 0
        self.moment = 0.0
        self.problems: list[str] = []
        self.meter = self
        self.device = "loop0"
        self.socket = "socket"
        self.options = ["--an-option"]
        self.templates = self
        self.fidelity = MEASURING

    # The bench.
    def get(self, setup, workload) -> Template:
        self.events.append("template")
        return Template(None, 12.5, 200_000_000, 7)

    def restore(self, template) -> float:
        self.events.append("restore")
        return 3.5

    @contextlib.contextmanager
    def serving(self, setup, limits, durability):
        self.events.append(f"start {limits.disk.write_iops}")
        yield self
        self.events.append("stop")

    def limit_disk(self, limits: IoLimits) -> None:
        self.events.append(f"limit {limits.write_iops}")

    # The server and its meter.
    def status(self) -> dict[str, float]:
        return {"Handler_write": self.written, "Handler_read": 4.0}

    def read(self, *, exact_sizes: bool = True) -> Reading:
        self.moment += 1
        device = DeviceCounters(0, 0, 0, 0, 0, 0, self.written, 0, 0, 0, 0)
        size, none = (directory_size.Size(1, amount, amount) for amount in (300_000_000, 0))
        memory = MemoryUse(1, 1, None, 0, 0, 0, 0, 0, 0)
        return Reading(self.moment, self.moment, HostCpu(0, 0, 0, self.moment, 0), device,
                       CpuUse(0, 0, 0), memory, DirectorySize(size, none, none, none))

    @contextlib.contextmanager
    def sampling(self):
        yield [self.read(), self.read()]

    # The workload.
    def load(self, threads: int, seconds: float, seed: int) -> Load:
        return Load((Client("main", "x", threads, seed=seed, unit="row", per_event=10),
                     Client("beside", "x", 1, seed=seed)), seconds)

    def query(self, sql: str) -> list:
        self.said.append(sql)
        return []

    def check(self, server) -> list[str]:
        self.events.append("check")
        return self.problems

    # The clients: each run writes 1 MB, the deferred work is 4 MB.
    def run_load(self, load: Load, socket) -> list[ClientResult]:
        first = load.clients[0]
        self.events.append(f"load {load.seconds} s, seed {first.seed}")
        self.written += 1_000_000
        return [ClientResult(client, 10.0, 100, 0, 0, 0, [10.04] * 5, Histogram({1.0: 100}, 1.0),
                             {"insert": Histogram({2.0: 5}, 2.0)} if client is first else {})
                for client in load.clients]

    def drain(self, server, written, quiet_seconds) -> float | None:
        assert quiet_seconds == self.fidelity.quiet_seconds
        self.events.append("drain")
        before = written()
        self.written += 4_000_000
        assert written() - before == 4_000_000
        return 6.0


@pytest.fixture
def world(monkeypatch) -> World:
    world = World()
    monkeypatch.setattr(trials.sysbench, "run_load", world.run_load)
    monkeypatch.setattr(trials, "drain", world.drain)
    monkeypatch.setattr(trials, "os", types.SimpleNamespace(sync=lambda: None))
    return world


def measured(world: World, warm_seconds: float = 5, load: Load | None = None) -> TrialRecord:
    cell = Cell("cell", world, [BASALT], {}, Limits(512 << 20, _SLOW), D1, threads=4, seconds=20,
                warm_seconds=warm_seconds)
    record = TrialRecord("study", "cell", "basalt", 1, {}, "now")
    Trial(world, cell, BASALT, record, seed=77).measure_load(cell, load)
    return record


def test_a_trial_is_restored_warmed_up_measured_drained_and_checked(world):
    measured(world)
    assert world.events == [
        "template", "restore", "start 300", "load 5 s, seed 78", "load 20 s, seed 77",
        "limit None", "drain", "check", "stop"]


def test_a_cold_trial_has_no_warm_up(world):
    measured(world, warm_seconds=0)
    assert "load 20 s, seed 77" in world.events and "load 5 s, seed 78" not in world.events


def test_another_load_has_the_window_directly_behind_the_cells_own(world):
    other = Load((Client("other", "y", 4, seed=77, unit="query"),), 30)
    assert measured(world, load=other).unit == "query"
    assert world.events[2:6] == ["start 300", "load 5 s, seed 78", "load 30 s, seed 77",
                                 "limit None"]


def test_the_window_holds_only_what_was_written_in_it(world):
    # 1000 rows and 1 MB in the window, as many in the warm-up, 4 MB later.
    values = measured(world).values
    assert values["write_kb_per_unit"] == 1


def test_deferred_work_is_paid_by_all_units_since_the_restore(world):
    values = measured(world).values
    assert values["deferred_write_kb_per_unit"] == 2
    assert values["total_write_kb_per_unit"] == 3
    assert values["deferred_seconds"] == 6


def test_without_a_warm_up_the_window_pays_for_everything(world):
    assert measured(world, warm_seconds=0).values["total_write_kb_per_unit"] == 5


def test_work_that_was_not_done_in_time_is_noted(world, monkeypatch):
    monkeypatch.setattr(trials, "drain", lambda server, written, **settings: None)
    record = measured(world)
    assert "deferred_seconds" not in record.values and record.details["drain"]


def test_the_first_client_is_the_trials_and_the_others_have_names(world):
    record = measured(world)
    assert (record.unit, record.values["per_second"]) == ("row", 100)
    assert record.values["beside_per_second"] == 10
    assert record.seconds == [10.0] * 5
    assert set(record.latency) == {"main", "beside", "insert"}
    assert record.latency["insert"]["p99"] == 2.0


def test_the_record_says_how_the_server_was_set_and_what_changed_in_its_status(world):
    record = measured(world)
    assert record.options == ["--an-option"]
    assert record.details["status"] == {"Handler_write": 1_000_000}


def test_the_template_and_its_copy_are_part_of_the_record(world):
    values = measured(world).values
    assert (values["template_data_mb"], values["load_seconds"], values["restore_seconds"]) == (
        200, 12.5, 3.5)
    assert values["drained_data_mb"] == 300


def test_wrong_data_are_a_problem_of_the_trial(world):
    world.problems = ["a row is missing"]
    assert measured(world).problems == ["a row is missing"]


def test_a_check_may_not_take_for_ever(world):
    measured(world)
    assert world.said == ["SET GLOBAL max_statement_time = 120"]


def test_without_a_disk_of_its_own_nothing_is_said_of_deferred_work(world):
    world.device = None
    values = measured(world).values
    assert "drain" not in world.events
    assert "total_write_kb_per_unit" not in values


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_pictures_show_values_that_trials_have(study, world):
    """What the standard protocol records, or what the study says that it adds."""
    known = set(measured(world).values) | set(METRICS) | set(study.metrics)
    for chart in study.charts():
        if isinstance(chart, Bars | Curves):
            assert chart.metric in known, chart.title


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_claims_are_about_values_that_have_a_meaning(study):
    results = synthetic.measured(study, Size.FULL)
    for claim in study.claims():
        claim.judge(results)
    asked = {name for trial in results.all for name in trial.values.asked}
    assert asked
    for name in asked:
        assert metric(name, study.metrics).meaning, name


def test_every_value_of_a_trial_has_a_meaning(world):
    values = set(measured(world).values) - {"beside_per_second"}
    assert sorted(name for name in values if not metric(name).meaning) == []
