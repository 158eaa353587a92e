"""The bench: what it says of a server that did not live within its limits."""

from __future__ import annotations

import contextlib
from pathlib import Path
from unittest.mock import Mock

import pymysql
import pytest

from basaltcli.errors import BasaltError
from lab import bench as module
from lab.bench import Bench
from lab.fidelity import TESTING
from lab.host import Capability
from lab.setup import BASALT, D1, INNODB, MIB, Engine, Limits

_LIMITS = Limits(512 * MIB)


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """A control group, and servers that always die of a lost connection."""
    group = Mock()
    group.command_prefix.return_value = []
    server = Mock()

    @contextlib.contextmanager
    def running():
        yield server
        raise AssertionError("the block should have failed")

    server.running = running
    monkeypatch.setattr(module, "open_group", lambda name: group)
    monkeypatch.setattr(module, "MeasuredServer", lambda *_, **__: server)
    return group


def opened(directory: Path) -> Bench:
    abilities = {name: Capability(name == "memory_limit")
                 for name in ("memory_limit", "iops_limit", "page_cache")}
    return Bench(directory, Mock(), None, abilities, TESTING)


def serve_and_fail(directory: Path) -> None:
    with opened(directory).serving(INNODB, _LIMITS, D1):
        raise pymysql.err.OperationalError(2013, "Lost connection")


def test_a_server_that_the_kernel_ended_for_its_memory_is_said_to_be_that(
        group: Mock, tmp_path: Path) -> None:
    group.memory.return_value = Mock(oom_kills=1)
    with pytest.raises(BasaltError, match="needed more than the memory it was given"):
        serve_and_fail(tmp_path)


def test_a_server_that_died_of_something_else_keeps_its_error(group: Mock,
                                                              tmp_path: Path) -> None:
    group.memory.return_value = Mock(oom_kills=0)
    with pytest.raises(pymysql.err.OperationalError, match="Lost connection"):
        serve_and_fail(tmp_path)


@pytest.mark.parametrize("kills", [0, 1])
def test_the_group_is_gone_after_a_failure(group: Mock, tmp_path: Path, kills: int) -> None:
    group.memory.return_value = Mock(oom_kills=kills)
    with pytest.raises((BasaltError, pymysql.err.OperationalError)):
        serve_and_fail(tmp_path)
    group.kill.assert_called_once()
    group.remove.assert_called_once()


def test_servers_beside_each_other_have_groups_and_data_of_their_own(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    groups, places = [], []

    def server(release, setup, datadir, options, **_):
        places.append(datadir)
        datadir.mkdir()
        return Mock(running=lambda: contextlib.nullcontext())

    monkeypatch.setattr(module, "open_group", lambda name: groups.append(name) or Mock())
    monkeypatch.setattr(module, "MeasuredServer", server)
    bench = opened(tmp_path)
    sides = [bench.beside(Engine.INNODB), bench.beside(Engine.BASALT)]
    with sides[0].serving(INNODB, _LIMITS, D1), sides[1].serving(BASALT, _LIMITS, D1), \
            bench.serving(INNODB, _LIMITS, D1):
        assert len(set(groups)) == len(set(places)) == 3
    assert all(side.templates.directory == bench.templates.directory for side in sides)
    sides[0].remove_data()
    assert [place.exists() for place in places] == [False, True, True]


def test_what_a_killed_run_left_of_any_server_is_ended(monkeypatch: pytest.MonkeyPatch,
                                                       tmp_path: Path) -> None:
    ended: list[str] = []
    monkeypatch.setattr(module, "end_left_over", ended.append)
    module._end_left_over(tmp_path)
    bench = opened(tmp_path)
    assert ended == [each._group_name for each in (bench, *map(bench.beside, Engine))]
