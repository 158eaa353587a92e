"""Two runs are compared only where nothing but Basalt's version differs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from rich.console import Console

from basaltcli.errors import BasaltError
from lab.compare import compare, first_difference
from lab.store import Run
from synthetic_run import make_run


def text_of(before: Run, after: Run) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    console.print(compare(before, after))
    return console.export_text()


def with_identity(run: Run, **changes: object) -> Run:
    return dataclasses.replace(run, identity={**run.identity, **changes})


def test_a_run_is_as_fast_as_itself(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one")
    lines = [line for line in text_of(run, run).splitlines()
             if "memory" in line and "basalt" in line]
    assert lines
    assert all(line.count("x 1.00") == 4 for line in lines)


def test_ratios_are_those_of_the_later_run_to_the_earlier(tmp_path: Path) -> None:
    before, after = make_run(tmp_path / "one", 1), make_run(tmp_path / "two", 2)
    medians = [run.results("memory").median("per_second", "512 MB", "basalt")
               for run in (before, after)]
    assert medians[0] and medians[1]
    line = next(line for line in text_of(before, after).splitlines()
                if "512 MB " in line and line.split()[3] == "basalt")
    assert f"x {medians[1] / medians[0]:.2f}" in line


def test_another_basalt_may_be_compared(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one")
    other = with_identity(run, versions={**run.identity["versions"], "basalt": "another"},
                          fsync={"4096 bytes, p50 us": 1.0})
    assert first_difference(run, other) == ""


@pytest.mark.parametrize("part, name, value", [
    ("host", "cpu", "Another 1000"), ("host", "memory_bytes", 1), ("versions", "server", "10.11.1"),
    ("versions", "sysbench", "1.1")])
def test_another_host_or_server_is_refused_and_named(
        tmp_path: Path, part: str, name: str, value: object) -> None:
    run = make_run(tmp_path / "one")
    other = with_identity(run, **{part: {**run.identity[part], name: value}})
    with pytest.raises(BasaltError, match=f"{part}.{name}"):
        compare(run, other)


def test_runs_of_another_size_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one")
    with pytest.raises(BasaltError, match="size: full and quick"):
        compare(run, dataclasses.replace(run, size="quick"))


def test_runs_without_a_common_study_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one")
    with pytest.raises(BasaltError, match="no study in common"):
        compare(run, dataclasses.replace(run, studies=["other"]))
