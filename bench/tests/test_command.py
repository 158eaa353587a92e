"""Runs as a whole: which one is gone on with, and one study from its command to its report."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os

import pytest

from basaltcli import server_release
from basaltcli.errors import BasaltError
from lab import command, runner
from lab.host import capabilities
from lab.setup import GIB, Engine
from lab.store import Run, runs
from lab.study import Size
from studies import binlog_cost, by_hand, goals, memory_sweep, noise
from synthetic import record

_VERSIONS = {"server": "10.11.1", "basalt": "abc"}


def wanted(tmp_path, **changes) -> Run:
    fields = {"directory": tmp_path, "size": "quick", "studies": ["memory_sweep"],
              "setups": ["innodb"], "started": "", "identity": {"versions": _VERSIONS}, **changes}
    return Run(**fields)


def stored(tmp_path, name: str, started: str, trials: int = 0, **changes) -> Run:
    """A run that has measured some of what is planned."""
    run = wanted(tmp_path, **{"directory": tmp_path / name, "started": started, **changes})
    run.save()
    for trial in planned()[:trials]:
        done = record(trial.cell.name, trial.setup.name, trial.block)
        done.study = trial.study.name
        run.add(done)
    return run


def planned() -> list[runner.Planned]:
    return runner.plan([memory_sweep.STUDY], Size.QUICK, list(Engine))[:9]


def test_an_interrupted_run_is_gone_on_with(tmp_path):
    stored(tmp_path, "a", "1", trials=3)
    stored(tmp_path, "b", "2", trials=3)
    assert command._begun(wanted(tmp_path), planned()).name == "b"


def test_a_finished_run_is_not_gone_on_with(tmp_path):
    stored(tmp_path, "a", "1", trials=9)
    assert command._begun(wanted(tmp_path), planned()) is None


def test_a_run_whose_trial_failed_is_gone_on_with(tmp_path):
    run = stored(tmp_path, "a", "1", trials=9)
    failed = planned()[4]
    run.add(dataclasses.replace(
        record(failed.cell.name, failed.setup.name, failed.block, problems=("no room",)),
        study=failed.study.name))
    assert command._begun(wanted(tmp_path), planned()).name == "a"


@pytest.mark.parametrize("change", [
    {"size": "full"}, {"studies": ["noise"]}, {"setups": ["basalt"]}, {"cells": "a"},
    {"identity": {"versions": {**_VERSIONS, "basalt": "another"}}}, {"identity": {}}])
def test_a_run_of_something_else_is_not_gone_on_with(tmp_path, change):
    stored(tmp_path, "a", "1", trials=3, **change)
    assert command._begun(wanted(tmp_path), planned()) is None


def test_without_runs_there_is_none_to_go_on_with(tmp_path):
    assert command._begun(wanted(tmp_path / "none"), planned()) is None


def test_a_run_can_be_foretold_without_a_server():
    lines = command.foretell(command.Request([binlog_cost.STUDY, noise.STUDY], "quick",
                                             ["innodb", "basalt"], 3))
    assert [line.split(":")[0] for line in lines[:2]] == ["binlog_cost", "noise"]
    assert lines[0].startswith("binlog_cost: 18 trials, 3 blocks, ")
    assert lines[2].startswith("in all 30 trials, about ") and "loading" in lines[2]


def test_a_run_of_cells_that_are_not_there_is_refused_with_those_that_are():
    assert len(command.Request([goals.STUDY], "quick", ["basalt"], cells="^inserts").plan()) == 2
    for wrong in ("truncations", "("):
        with pytest.raises(BasaltError) as error:
            command.Request([goals.STUDY], "quick", ["basalt"], cells=wrong).plan()
        assert wrong in error.value.message and error.value.remedy


def test_a_run_of_engines_that_a_study_has_not_is_refused_with_their_names():
    with pytest.raises(BasaltError) as error:
        command.Request([by_hand.STUDY], "quick", ["innodb"]).plan()
    assert "innodb" in error.value.message


def test_two_runs_of_one_minute_are_two_runs(tmp_path, monkeypatch):
    class Now(datetime.datetime):
        @classmethod
        def now(cls, zone=None):
            return cls(2026, 11, 21, 14, 30, 12)

    monkeypatch.setattr(command.datetime, "datetime", Now)
    names = []
    for _ in range(3):
        run = command._new(wanted(tmp_path))
        run.save()
        names.append(run.name)
    assert names == ["2026-11-21-1430-quick", "2026-11-21-1430-quick-2",
                     "2026-11-21-1430-quick-3"]


def test_a_stored_run_is_found_by_its_name_or_as_the_newest(tmp_path):
    stored(tmp_path, "old", "1")
    stored(tmp_path, "new", "2")
    assert command.stored_run(tmp_path, "old").name == "old"
    assert command.stored_run(tmp_path, None).name == "new"


def test_without_any_run_the_remedy_is_to_measure(tmp_path):
    with pytest.raises(BasaltError) as error:
        command.stored_run(tmp_path, None)
    assert "bench run" in error.value.remedy


@pytest.fixture
def release():
    found = server_release.current()
    assert found is not None, "there is no server to test with: ./basalt build"
    return found


def test_a_study_is_measured_from_its_command_to_its_report(tmp_path, monkeypatch, release,
                                                             capsys):
    """Basalt under two names; where limits cannot be set the run says what would be needed."""
    monkeypatch.setitem(command.DISK_SIZE, Size.SMOKE, 2 * GIB)
    request = command.Request([noise.STUDY], "smoke", ["basalt"])
    ability = capabilities(tmp_path)["memory_limit"]
    assert command.run(request, False, tmp_path, release)
    run, = runs(tmp_path / "runs")
    assert (run.directory / "report.html").stat().st_size > 0
    if not ability.is_there:
        assert run.notes == {"noise": f"{ability.reason}; {ability.remedy}"}
        pytest.skip(run.notes["noise"])
    results = run.results("noise")
    assert [trial.problems for trial in results.all] == [[], []]
    assert {trial.setup for trial in results.all} == {"basalt", "basalt-again"}
    for trial in results.all:
        assert trial.values["per_second"] > 0 and trial.values["server_cpu_us_per_unit"] > 0
        assert trial.values["memory_peak_mb"] < 448 * 1.048576 + 1
        assert trial.values["total_write_kb_per_unit"] > trial.values["write_kb_per_unit"] > 0
        assert trial.values["template_data_mb"] > 0.1
        assert "--sync-binlog=1" in trial.options
        json.dumps(trial.values, allow_nan=False)
    assert not os.path.ismount(tmp_path / "disk")

    # A trial is lost: only this one is measured again, on the template that is there.
    lost = run.trial_path("noise", "mixed, 448 MB", "basalt-again", 1)
    kept = run.trial_path("noise", "mixed, 448 MB", "basalt", 1)
    before = kept.stat().st_mtime_ns
    lost.unlink()
    capsys.readouterr()
    assert command.run(request, False, tmp_path, release)
    output = capsys.readouterr().out
    assert f"going on with run {run.name}" in output and "Loading" not in output
    assert [each.name for each in runs(tmp_path / "runs")] == [run.name]
    assert lost.exists() and kept.stat().st_mtime_ns == before
