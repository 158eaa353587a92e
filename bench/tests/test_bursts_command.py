"""./basalt bench bursts: what is chosen, foretold, stored and said."""

from __future__ import annotations

import contextlib
import json
import types

import pytest
from imitated_servers import ImitatedData, imitate

from basaltcli.errors import BasaltError
from lab import bursts_command, estimate
from lab.bursts import Contest
from lab.bursts_command import Request
from lab.cell import Cell
from lab.setup import SETUPS, Engine, Limits
from lab.study import Size
from studies.goals.side_by_side import contests

ALL = [engine.value for engine in Engine]


def imitated(*names: str) -> list[Contest]:
    return [Contest(Cell(name, ImitatedData(), SETUPS, {}, Limits(), warm_seconds=0))
            for name in names]


@pytest.fixture
def bench(monkeypatch):
    """The imitated servers in the place of those of a bench."""
    machine = imitate(monkeypatch)
    found = types.SimpleNamespace(reason_against=lambda limits: None)

    @contextlib.contextmanager
    def opened(*_):
        yield found

    @contextlib.contextmanager
    def side_by_side(_, cell, setups):
        yield {setup.name: machine.servers[setup.name] for setup in setups}

    monkeypatch.setattr(bursts_command, "open_bench", opened)
    monkeypatch.setattr(bursts_command, "identity", lambda *_: {"versions": {}})
    monkeypatch.setattr(bursts_command, "Templates", lambda *_: None)
    monkeypatch.setattr(bursts_command.bursts, "side_by_side", side_by_side)
    return found


def test_all_rounds_are_measured_stored_and_told(bench, tmp_path, capsys):
    request = Request(imitated("reads", "writes"), ALL, rounds=4, seconds=3)
    assert bursts_command.run(request, tmp_path, None)
    stored, = tmp_path.glob("runs/*-bursts/bursts.json")
    data = json.loads(stored.read_text())
    assert (data["rounds"], data["seconds"], list(data["cells"])) == (4, 3, ["reads", "writes"])
    cell = data["cells"]["reads"]
    assert len(cell["bursts"]) == 12 and all(burst["counts"] for burst in cell["bursts"])
    assert [line["setup"] for line in cell["ratios"]] == ALL
    assert cell["ratios"][2]["rate"] == pytest.approx(
        {"median": 1.2, "low": 1.2, "high": 1.2, "blocks": 4})
    output = capsys.readouterr().out
    assert "| writes | stock MyRocks | 800 |" in output
    assert "x 1.20 (1.20 to 1.20)" in output and "| 4 of 4 |" in output


def test_a_second_run_of_a_minute_does_not_replace_the_first(bench, tmp_path):
    request = Request(imitated("reads"), ["innodb", "basalt"], rounds=1, seconds=1)
    for _ in range(2):
        bursts_command.run(request, tmp_path, None)
    assert len(list(tmp_path.glob("runs/*-bursts*/bursts.json"))) == 2


def test_wrong_data_fail_the_command(bench, tmp_path):
    request = Request(imitated("reads"), ["innodb", "basalt"], rounds=1, seconds=1)
    request.contests[0].cell.workload.problems = ["a row is missing"]
    assert not bursts_command.run(request, tmp_path, None)
    data = json.loads(next(tmp_path.glob("runs/*/bursts.json")).read_text())
    # Before and after the bursts.
    assert data["cells"]["reads"]["problems"] == [
        "InnoDB: a row is missing", "Basalt: a row is missing"] * 2


def test_without_control_groups_the_remedy_is_told_and_nothing_is_measured(bench, tmp_path,
                                                                           capsys):
    bench.reason_against = lambda limits: "this is not root; run as root"
    assert bursts_command.run(Request(imitated("reads"), ALL, 1, 1), tmp_path, None)
    assert "not here: this is not root; run as root" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("engines", [["basalt", "myrocks"], ["innodb"], ["innodb", "innodb"]])
def test_there_is_nothing_to_compare_without_innodb_and_another(engines):
    with pytest.raises(BasaltError, match="compare engines with InnoDB"):
        Request(imitated("reads"), engines, 1, 1).chosen()


def test_cells_are_chosen_by_their_names():
    request = Request(imitated("point select", "scan"), ALL, 1, 1, cells="^scan")
    assert [each.cell.name for each in request.chosen()] == ["scan"]
    for wrong in ("deletes", "("):
        with pytest.raises(BasaltError):
            Request(imitated("scan"), ALL, 1, 1, cells=wrong).chosen()


def test_what_is_foretold_follows_the_rounds_and_the_engines():
    few, many = (Request(imitated("reads"), ALL, rounds, 3) for rounds in (5, 10))
    contest = few.contests[0]
    assert many.seconds_of(contest) - few.seconds_of(contest) > 5 * 3 * 3
    two = Request(few.contests, ALL[:2], 5, 3)
    assert two.seconds_of(contest) == pytest.approx(few.seconds_of(contest) * 2 / 3)
    assert bursts_command.foretell(few)[0].startswith("reads: 5 rounds of 3 bursts, ")
    assert bursts_command.foretell(few)[1].startswith("in all 1 cells, about ")


def test_the_defaults_take_less_than_an_hour():
    request = Request(contests(Size.FULL), ALL, 20, 3)
    data = [(setup, contest.cell.workload) for contest in request.chosen()
            for setup in request.setups(contest)]
    seconds = sum(map(request.seconds_of, request.chosen())) + estimate.of_loading(data)
    assert 1200 < seconds < 3600


@pytest.mark.parametrize("size", [Size.SMOKE, Size.FULL])
def test_contests_are_the_goals_cached_cells_with_few_clients(size):
    found = contests(size)
    names = [contest.cell.name for contest in found]
    assert len(set(names)) == len(names) and "full scan" in names
    for contest in found:
        assert contest.cell.threads <= 8
        assert contest.cell.limits.disk == Limits().disk
        assert contest.cell.workload.expected_rows() == (800_000 if size is Size.FULL else 15_000)


def test_a_scan_reads_every_row_of_all_tables_once(server_of):
    contest, = (each for each in contests(Size.SMOKE) if each.cell.name == "full scan")
    target = server_of("innodb")
    target.empty()
    contest.cell.workload.prepare(target)
    read = sum(target.query(statement.replace("SUM(LENGTH(pad))", "COUNT(pad)"))[0][0]
               for statement in contest.statements)
    assert read == contest.cell.workload.expected_rows()
