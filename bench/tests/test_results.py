"""What is said of measured trials: medians, ratios within blocks, spread; and how they are kept."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from basaltcli.errors import BasaltError
from lab.results import Ratio, Results, TrialRecord
from lab.store import Run, open_run, runs, take_in
from synthetic import rates, record


def test_a_ratio_is_the_median_of_the_blocks_ratios_and_not_of_medians():
    results = rates(myrocks=[200, 30, 400], innodb=[100, 10, 400])
    assert results.ratio("per_second", "cell", "myrocks", "innodb") == Ratio(2.0, 1.0, 3.0, 3)
    assert results.median("per_second", "cell", "myrocks") == 200
    assert results.median("per_second", "cell", "innodb") == 100


def test_only_blocks_that_hold_both_setups_are_compared():
    trials = [record(setup="myrocks", block=1, per_second=50),
              record(setup="innodb", block=2, per_second=10),
              record(setup="myrocks", block=2, per_second=30),
              record(setup="innodb", block=3, per_second=1)]
    assert Results(trials).ratio("per_second", "cell", "myrocks", "innodb") == Ratio(3, 3, 3, 1)


def test_without_a_common_block_there_is_no_ratio():
    trials = [record(setup="myrocks", block=1, per_second=50),
              record(setup="innodb", block=2, per_second=10)]
    assert Results(trials).ratio("per_second", "cell", "myrocks", "innodb") is None


def test_nothing_is_divided_by_zero_but_zero_is_a_value():
    results = rates(myrocks=[0, 5], innodb=[10, 0])
    assert results.ratio("per_second", "cell", "myrocks", "innodb") == Ratio(0, 0, 0, 1)


def test_a_ratio_over_two_cells_stays_within_blocks():
    trials = [record(cell, "innodb", block, per_second=rate)
              for block, few, much in ((1, 10, 20), (2, 10, 50))
              for cell, rate in (("few", few), ("much", much))]
    ratio = Results(trials).ratio("per_second", "much", "innodb", "innodb", "few")
    assert ratio == Ratio(3.5, 2, 5, 2)


def test_a_trial_with_a_problem_is_kept_but_does_not_count():
    results = Results([record(block=1, per_second=10),
                       record(block=2, per_second=99, problems=("the data are wrong",)),
                       record("other", block=1, problems=("did not end",))])
    assert len(results.all) == 3
    assert results.values("per_second", "cell", "innodb") == [10]
    assert results.cells() == ["cell"]
    assert results.seconds("other", "innodb") == []


def test_a_trial_without_the_metric_does_not_count_for_it():
    results = Results([record(block=1, per_second=10, read_mb=3), record(block=2, per_second=20)])
    assert results.median("read_mb", "cell", "innodb") == 3
    assert results.median("missing", "cell", "innodb") is None


def test_trials_are_ordered_by_block_whatever_order_they_were_read_in():
    results = Results([record(block=block, per_second=block, seconds=(block,))
                       for block in (3, 1, 2)])
    assert results.values("per_second", "cell", "innodb") == [1, 2, 3]
    assert results.seconds("cell", "innodb") == [1, 2, 3]


def test_cells_are_chosen_by_all_their_coordinates():
    results = Results([record("a", axes={"kind": "read", "mb": 1}),
                       record("b", axes={"kind": "read", "mb": 2}),
                       record("c", axes={"kind": "write", "mb": 1}), record("d")])
    assert results.cells({"kind": "read"}) == ["a", "b"]
    assert results.cells({"kind": "read", "mb": 2}) == ["b"]
    assert results.cells() == ["a", "b", "c", "d"]
    assert results.axes("c") == {"kind": "write", "mb": 1}


def test_a_ratio_names_its_range_when_there_were_several_blocks():
    assert str(Ratio(1.234, 1.234, 1.234, 1)) == "x 1.23"
    assert str(Ratio(1.234, 0.5, 120.4, 3)) == "x 1.23 (0.50 to 120)"


def test_a_stored_trial_is_read_back_whole(tmp_path):
    run = Run(tmp_path / "run", "quick", ["study"], ["innodb"], "2026-11-21T10:00:00")
    trial = record("one, 2", axes={"mb": 512, "kind": "read"}, problems=("x",), seconds=(1, 2.5),
                   per_second=1.5)
    trial.samples = [{"t": 1.0}]
    trial.latency = {"get": {"p99": 3.0}}
    trial.details = {"status": {"a": 1}}
    run.add(trial)
    again, = run.results("study").all
    assert again == trial


def test_no_half_written_trial_is_ever_seen(tmp_path):
    run = Run(tmp_path, "quick", ["study"], ["innodb"], "now")
    run.add(record("a"))
    path = run.trial_path("study", "b", "innodb", 1)
    trial = record("b")
    trial.details = {"cannot be stored": object()}
    with pytest.raises(TypeError):
        trial.write(path)
    assert not path.exists()
    assert [each.cell for each in run.results("study").all] == ["a"]


def test_each_trial_has_a_file_of_its_own(tmp_path):
    run = Run(tmp_path, "quick", ["s", "t"], ["innodb"], "now")
    paths = {run.trial_path(study, cell, setup, block)
             for study in ("s", "t") for cell in ("a, 1 MB", "a, 10 MB", "a/b")
             for setup in ("innodb", "innodb-again") for block in (1, 2)}
    assert len(paths) == 24
    assert all(path.is_relative_to(tmp_path / "trials") for path in paths)
    assert len({len(path.parts) for path in paths}) == 1


def test_a_run_is_opened_as_it_was_saved(tmp_path):
    run = Run(tmp_path / "2026-11-21-quick", "quick", ["noise"], ["innodb"], "2026-11-21T10:00:00",
              {"versions": {"server": "10.11"}}, {"icp": "no root"})
    run.save()
    assert open_run(run.directory) == run
    assert run.name == "2026-11-21-quick"


def test_runs_are_listed_with_the_newest_last(tmp_path):
    for name, started in (("b", "2026-11-21T10:00:00"), ("a", "2026-11-22T10:00:00")):
        Run(tmp_path / name, "quick", [], [], started).save()
    (tmp_path / "not a run").mkdir()
    assert [run.name for run in runs(tmp_path)] == ["b", "a"]


def test_a_missing_run_is_refused_with_a_remedy(tmp_path):
    with pytest.raises(BasaltError) as error:
        open_run(tmp_path / "none")
    assert "bench list" in error.value.remedy


def test_the_json_beside_a_report_holds_every_trial(tmp_path):
    run = Run(tmp_path, "quick", ["study"], ["innodb"], "now")
    run.add(record("a", per_second=1))
    run.add(record("b", problems=("x",)))
    fields = json.loads(json.dumps(run.as_json()))
    assert {trial["cell"]: trial["problems"] for trial in fields["trials"]} == {
        "a": [], "b": ["x"]}
    assert TrialRecord(**fields["trials"][0]).study == "study"


def test_a_run_comes_back_from_the_json_beside_its_report(tmp_path):
    run = Run(tmp_path / "first" / "run", "quick", ["study"], ["innodb"], "now", {"host": {}})
    run.add(record("a", per_second=1))
    data = tmp_path / "run.json"
    data.write_text(json.dumps(run.as_json()).replace("NaN", "null"))
    taken = take_in(data, tmp_path / "second")
    assert dataclasses.replace(taken, directory=run.directory) == run
    assert [trial.values for trial in taken.results("study").all] == [
        trial.values for trial in run.results("study").all]


def test_null_in_the_json_is_what_is_not_a_number(tmp_path):
    run = Run(tmp_path / "run", "quick", ["study"], ["innodb"], "now")
    run.add(record("a", per_second=math.nan))
    data = tmp_path / "run.json"
    data.write_text(json.dumps(run.as_json()).replace("NaN", "null"))
    (trial,) = take_in(data, tmp_path / "second").results("study").all
    assert math.isnan(trial.values["per_second"])
