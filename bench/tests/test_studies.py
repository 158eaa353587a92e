"""All studies, without running them: what they ask for exists, what they claim can be judged."""

from __future__ import annotations

import pytest

from basaltcli.errors import BasaltError
from lab import estimate, runner
from lab.charts import Curves, OverTime, SecondsBoxes
from lab.results import Results
from lab.setup import Engine
from lab.store import Run
from lab.study import Finding, Size, Verdict
from studies import catalogue
from studies.catalogue import chosen_studies
from studies.cloud_iops import costs
from synthetic import measured, record

STUDIES = {study.name: study for study in catalogue.STUDIES}
SAMPLES = {"t", "reads", "writes", "read_bytes", "written_bytes", "server_cpu", "memory_bytes",
           "data_bytes", "log_bytes", "binlog_bytes"}
# The claim about the prices of volumes needs no trial.
_ARITHMETIC = "2.1"
SIZES = pytest.mark.parametrize("size", list(Size), ids=lambda size: size.value)
EACH = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


@EACH
@SIZES
def test_every_claim_is_judged_on_a_run_of_any_size(study, size):
    results = measured(study, size)
    for claim in study.claims():
        finding = claim.judge(results)
        assert isinstance(finding, Finding)
        assert finding.reason, claim.name
        assert not finding.reason.endswith("expected "), f"{claim.name} expects nothing"
        if finding.verdict is not Verdict.NOT_COMPARABLE:
            assert finding.measured, claim.name


@EACH
@SIZES
@pytest.mark.parametrize("left_out", [engine.value for engine in Engine])
def test_claims_are_judged_when_an_engine_was_left_out(study, size, left_out):
    for claim in study.claims():
        claim.judge(measured(study, size, left_out))


@EACH
def test_claims_without_any_trial_are_not_comparable(study):
    empty = Results([])
    assert {claim.judge(empty).verdict for claim in study.claims()
            if claim.name != _ARITHMETIC} <= {Verdict.NOT_COMPARABLE}


@EACH
@pytest.mark.parametrize("size", [Size.FULL, Size.LONG])
def test_a_full_run_measures_what_every_claim_needs(study, size):
    """Only what cannot be had here at all stays without a verdict, and says so."""
    empty = Results([])
    for claim in study.claims():
        full = claim.judge(measured(study, size))
        if full.verdict is Verdict.NOT_COMPARABLE:
            assert full.reason == claim.judge(empty).reason, f"{claim.name}: {full.reason}"


@EACH
@SIZES
def test_cells_have_names_and_files_of_their_own(study, size, tmp_path):
    cells = study.cells(size)
    assert cells
    assert len({cell.name for cell in cells}) == len(cells)
    run = Run(tmp_path, size.value, [study.name], [], "now")
    trials = [(cell.name, setup.name) for cell in cells for setup in cell.setups]
    assert len({run.trial_path(study.name, *trial, 1) for trial in trials}) == len(trials)


@EACH
@SIZES
def test_setups_of_one_name_are_the_same_setup(study, size):
    setups = {}
    for cell in study.cells(size):
        for setup in cell.setups:
            assert setups.setdefault(setup.name, setup) == setup
    assert len({setup.title for setup in setups.values()}) == len(setups)


@EACH
@SIZES
def test_basalt_is_in_every_run(study, size):
    engines = {setup.engine for cell in study.cells(size) for setup in cell.setups}
    assert Engine.BASALT in engines


@EACH
def test_charts_use_axes_that_the_cells_have(study):
    for size in Size:
        axes = [cell.axes for cell in study.cells(size)]
        for chart in study.charts():
            if isinstance(chart, Curves | SecondsBoxes):
                assert any(chart.axis in each for each in axes), (size, chart.title)
                assert chart.x_label and chart.y_label, chart.title
        for chart in study.charts() if size in (Size.FULL, Size.LONG) else ():
            shown = [each for each in axes
                     if all(each.get(name) == value for name, value in chart.where.items())]
            assert shown, f"{chart.title} shows no cell of a {size.value} run"


@EACH
def test_every_picture_has_a_title_of_its_own(study):
    titles = [chart.title for chart in study.charts()]
    assert titles and all(titles) and len(set(titles)) == len(titles)


@EACH
def test_pictures_over_time_show_what_is_sampled(study):
    for chart in study.charts():
        if isinstance(chart, OverTime):
            assert chart.sample in SAMPLES, chart.title


@EACH
def test_no_text_is_empty(study):
    for text in (study.name, study.title, study.question, study.published, study.scaling,
                 study.__doc__):
        assert text and text.strip()
    assert study.question.endswith("?")
    for claim in study.claims():
        assert claim.name and claim.statement and claim.published


def test_no_two_claims_have_the_same_name():
    names = [claim.name for study in STUDIES.values() for claim in study.claims()]
    assert sorted(names) == sorted(set(names))


@EACH
def test_a_full_run_repeats_everything_and_smoke_is_short(study):
    assert study.blocks(Size.LONG) >= 3
    # The study with the most cells is the exception.
    assert study.blocks(Size.FULL) >= (1 if study.name == "constrained_sysbench" else 2)
    assert study.blocks(Size.SMOKE) == 1
    smoke = study.cells(Size.SMOKE)
    assert sum(len(cell.setups) * (cell.warm_seconds + min(cell.seconds, 30))
               for cell in smoke) <= 120
    full = {setup.name for cell in study.cells(Size.FULL) for setup in cell.setups}
    assert {setup.name for cell in smoke for setup in cell.setups} <= full


def minutes(names: list[str], size: Size) -> float:
    """What a run is foretold to take, with the loading of all its data."""
    planned = runner.plan(chosen_studies(names), size, list(Engine))
    templates = [(trial.setup, trial.cell.workload) for trial in planned]
    return (sum(trial.seconds for trial in planned) + estimate.of_loading(templates)) / 60


def test_runs_are_foretold_to_take_what_the_manual_says():
    assert minutes(["all"], Size.QUICK) <= 51
    three = ["memory_sweep", "constrained_sysbench", "insert_benchmark"]
    assert minutes(three, Size.FULL) <= 48


@EACH
def test_windows_of_a_full_run_are_of_half_a_minute_or_more(study):
    """What is done once is a guess instead of a window; so are queries in a loop short."""
    if study.name != "icp":
        assert min(cell.seconds for cell in study.cells(Size.FULL)) >= 30


@EACH
def test_a_full_run_uses_the_data_of_a_quick_one(study):
    """So that the one after the other need not load them again."""
    if study.name in ("icp", "large_transactions"):
        pytest.skip("their data are too small in a quick run")
    def data(size):
        return {str((cell.workload.name, dict(cell.workload.identity())))
                for cell in study.cells(size)}
    assert data(Size.QUICK) <= data(Size.FULL)
    assert len(data(Size.FULL) - data(Size.QUICK)) <= (study.name == "storage_speed")


def test_studies_are_chosen_by_name_in_the_order_of_the_report():
    chosen = chosen_studies(["noise", "memory_sweep"])
    assert [study.name for study in chosen] == ["memory_sweep", "noise"]
    assert chosen_studies(["noise", "all"]) == [
        study for study in catalogue.STUDIES if study.is_published]
    own = ["goals", "by_hand", "foreign_keys", "definitions"]
    assert len(chosen_studies([*own, "all"])) == len(STUDIES)


def test_a_study_that_is_none_is_refused_with_those_that_are():
    with pytest.raises(BasaltError) as error:
        chosen_studies(["noise", "speed"])
    assert "speed" in error.value.message and "noise" not in error.value.message
    assert "memory_sweep" in error.value.remedy


def test_every_folder_of_studies_is_a_study_of_that_name():
    from pathlib import Path

    import studies
    folders = {path.parent.name for path in Path(studies.__path__[0]).glob("*/__init__.py")}
    assert folders == set(STUDIES)


def test_the_noise_floor_shows_basalt_against_itself():
    trials = [record("mixed, 448 MB", setup, per_second=rate) for setup, rate in (
        ("innodb", 10), ("innodb-again", 11), ("basalt", 100), ("basalt-again", 96))]
    findings = [claim.judge(Results(trials)) for claim in STUDIES["noise"].claims()]
    assert [finding.measured for finding in findings] == ["x 1.10", "x 0.96"]
    assert [finding.ours for finding in findings] == ["x 0.96", "x 0.96"]


@pytest.mark.parametrize(("iops", "dollars"), [
    (5000, 5400), (10000, 9300), (15000, 13200), (20000, 17100), (30000, 24900)])
def test_a_volume_costs_what_the_studys_table_says(iops, dollars):
    assert costs.per_year(iops, 1000) == pytest.approx(dollars)


def test_a_million_transactions_cost_the_time_that_they_take():
    # One a second: a million takes 11.57 days of a volume that is twice as large as its data.
    expected = costs.per_year(5000, 1000) * 1e6 / (365 * 86400)
    assert costs.per_million(5000, 500, 1) == pytest.approx(expected)
    assert costs.per_million(5000, 500, 100) == pytest.approx(expected / 100)


def sweep(**by_setup: list[float]) -> Results:
    return Results([record(f"{iops}", setup, axes={"iops": iops}, per_second=rate)
                    for setup, found in by_setup.items()
                    for iops, rate in zip((300, 600, 1500), found, strict=False)])


def test_operations_needed_are_read_from_between_the_points():
    need = costs.iops_ratio(sweep(innodb=[10, 20, 50], myrocks=[30]), ["300", "600", "1500"],
                            "iops", "myrocks")
    assert need == costs.Need(3.0, is_lower_bound=False)
    assert costs.as_text(need) == "x 3"


def test_a_throughput_that_innodb_never_reaches_gives_only_a_bound():
    need = costs.iops_ratio(sweep(innodb=[10, 20, 50], myrocks=[51]), ["300", "600", "1500"],
                            "iops", "myrocks")
    assert need == costs.Need(5.0, is_lower_bound=True)
    assert costs.as_text(need) == "more than x 5"


def test_one_point_is_too_few_for_operations_needed():
    assert costs.iops_ratio(sweep(innodb=[10], myrocks=[5]), ["300"], "iops", "myrocks") is None
    assert costs.iops_ratio(sweep(innodb=[10, 20]), ["300", "600"], "iops", "myrocks") is None


def test_a_server_that_died_of_a_large_transaction_reproduces_its_limit() -> None:
    study = STUDIES["large_transactions"]
    dead = record("one transaction", "myrocks", problems=("the kernel ended the server",))
    dead.details = {"update": "Lost connection"}
    alive = record("one transaction", "basalt")
    alive.details = {name: "done in 1.0 s" for name in ("update", "insert_select", "delete")}
    finding = study.claims()[0].judge(Results([dead, alive]))
    assert finding.verdict is Verdict.REPRODUCED
    assert "the kernel ended the server" in finding.measured
    assert "done in 1.0 s" in finding.ours
