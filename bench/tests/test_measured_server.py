"""Servers under test, and the bench that puts them under limits."""

from __future__ import annotations

import contextlib
import os
import signal
import types

import pymysql
import pytest

from basaltcli import server_release
from basaltcli.errors import BasaltError
from lab import bench as benches
from lab.bench import Bench
from lab.fidelity import TESTING
from lab.host import Capability
from lab.server import MeasuredServer, plugin_dir
from lab.setup import BASALT, D1, INNODB, MYROCKS, Engine, Limits
from lab.throttle import IoLimits
from lab.workload import Client

_WANTED = Limits(512 << 20, IoLimits(300, 300))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """An InnoDB server behind a prefix that sets a variable of its environment."""
    release = server_release.current()
    assert release is not None, "there is no server to test with: ./basalt build"
    setup = INNODB.variant("x", "x", table_options="ROW_FORMAT=COMPACT")
    server = MeasuredServer(release, setup, tmp_path_factory.mktemp("server") / "data",
                            ["--max-connections=77"], prefix=("env", "BEHIND=prefix"))
    with server.running():
        yield server


def test_the_server_runs_behind_its_prefix_with_its_options(server):
    with open(f"/proc/{server.pid()}/environ", "rb") as file:
        assert b"BEHIND=prefix" in file.read().split(b"\0")
    assert server.variable("max_connections") == "77"


def test_an_unknown_variable_has_no_value(server):
    assert server.variable("rocksdb_force_flush_memtable_now") is None


def test_the_laboratorys_database_is_there_and_its_tables_are_listed(server):
    assert server.query("SELECT DATABASE()") == [("bench",)]
    server.query(f"CREATE TABLE b (a INT PRIMARY KEY) {server.table_options}")
    server.query(f"CREATE TABLE a (a INT PRIMARY KEY) {server.table_options}")
    assert server.tables() == ["a", "b"]
    assert "row_format=COMPACT" in server.query("SHOW TABLE STATUS LIKE 'a'")[0][16]


def test_the_status_holds_numbers_that_follow_the_work(server):
    before = server.status()
    server.query("SELECT COUNT(*) FROM information_schema.ENGINES")
    after = server.status()
    assert after["Com_select"] == before["Com_select"] + 1
    assert all(isinstance(value, float) for value in after.values())
    assert "Innodb_data_read" in after and "Uptime" not in after


def test_sysbench_that_fails_is_an_error_with_its_words(server):
    with pytest.raises(BasaltError, match="sbtest1"):
        server.sysbench(Client("x", "oltp_read_only", 1), seconds=1)


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> MeasuredServer:
    """A server that starts with each test that uses it."""
    datadir = tmp_path_factory.mktemp("other") / "data"
    return MeasuredServer(server_release.current(), INNODB, datadir, [])


def test_a_server_is_killed_when_its_block_fails(other):
    with pytest.raises(BasaltError, match="defect"), other.running():
        process = other.pid()
        raise BasaltError("defect")
    assert other.pid() is None and not os.path.exists(f"/proc/{process}")


def test_a_server_that_died_is_not_taken_for_one_that_was_stopped(other):
    with pytest.raises(BasaltError, match="ended by itself"), other.running():
        os.kill(other.pid(), signal.SIGKILL)
        with pytest.raises(pymysql.err.OperationalError):
            for _ in range(100):
                other.query("DO SLEEP(0.1)")
    assert other.pid() is None


def test_a_server_that_does_not_stop_is_killed(other, monkeypatch):

    def never(timeout: float) -> bool:
        raise BasaltError("it did not stop")

    monkeypatch.setattr(other._server, "stop", never)
    with pytest.raises(BasaltError, match="did not stop"), other.running():
        process = other.pid()
    assert not os.path.exists(f"/proc/{process}")


def test_plugins_are_those_of_the_engine(tmp_path, monkeypatch):
    release = types.SimpleNamespace(plugins=tmp_path / "server",
                                    stock_engine=tmp_path / "stock" / "ha_rocksdb.so")
    monkeypatch.setenv("BASALT_PLUGIN_DIR", str(tmp_path / "ours"))
    assert plugin_dir(release, Engine.INNODB) == tmp_path / "server"
    assert plugin_dir(release, Engine.BASALT) == tmp_path / "ours"
    with pytest.raises(BasaltError) as error:
        plugin_dir(release, Engine.MYROCKS)
    assert "--engines innodb,basalt" in error.value.remedy
    release.stock_engine.parent.mkdir()
    release.stock_engine.touch()
    assert plugin_dir(release, Engine.MYROCKS) == tmp_path / "stock"


def bench(tmp_path, *missing: str) -> Bench:
    """A bench of a machine that lacks some abilities."""
    names = ("memory_limit", "iops_limit", "disk", "page_cache")
    return Bench(tmp_path, types.SimpleNamespace(), None, {
        name: Capability(name not in missing, f"no {name}", f"get {name}") for name in names},
                 TESTING)


def test_a_machine_that_can_do_everything_refuses_nothing(tmp_path):
    assert bench(tmp_path).reason_against(_WANTED) is None


@pytest.mark.parametrize("ability", ["memory_limit", "iops_limit"])
def test_limits_that_cannot_be_set_are_refused_with_reason_and_remedy(tmp_path, ability):
    assert bench(tmp_path, ability).reason_against(_WANTED) == f"no {ability}; get {ability}"


def test_only_limits_that_are_wanted_must_be_possible(tmp_path):
    nothing = bench(tmp_path, "memory_limit", "iops_limit", "disk", "page_cache")
    assert nothing.reason_against(Limits()) is None
    assert bench(tmp_path, "iops_limit").reason_against(Limits(512 << 20)) is None
    assert bench(tmp_path, "memory_limit").reason_against(Limits(None, _WANTED.disk)) is None


class Recorder:
    """A disk and a control group that note what is done with them."""

    name = "loop9"

    def __init__(self, tmp_path) -> None:
        self.mount_point = tmp_path
        self.events: list[str] = []

    def limit(self, limits: IoLimits, throttle: object) -> None:
        self.events.append(f"disk {limits.write_iops}")

    def create(self, *, memory_limit: int | None) -> None:
        self.events.append(f"group {memory_limit}")

    def command_prefix(self) -> list[str]:
        return ["limited"]

    def kill(self) -> None:
        self.events.append("kill")

    def remove(self) -> None:
        self.events.append("remove")


@pytest.fixture
def recorder(tmp_path, monkeypatch) -> Recorder:
    recorder = Recorder(tmp_path)

    class Server:
        def __init__(self, release, setup, datadir, options, *, prefix, meter) -> None:
            self.prefix = prefix

        @contextlib.contextmanager
        def running(self):
            recorder.events.append(f"start {' '.join(self.prefix)}")
            yield self
            recorder.events.append("stop")

    monkeypatch.setattr(benches, "MeasuredServer", Server)
    monkeypatch.setattr(benches, "open_group", lambda name: recorder)
    monkeypatch.setattr(benches, "open_throttle", lambda group: None)
    return recorder


def test_a_server_starts_under_its_limits_and_leaves_none(tmp_path, recorder):
    here = bench(tmp_path)
    here.disk = recorder
    with here.serving(BASALT, _WANTED, D1):
        here.limit_disk(IoLimits())
    assert recorder.events == ["group 536870912", "disk 300", "start limited", "disk None", "stop",
                               "disk None", "kill", "remove"]


def test_limits_are_taken_back_when_a_trial_fails(tmp_path, recorder):
    here = bench(tmp_path)
    here.disk = recorder
    with pytest.raises(KeyboardInterrupt), here.serving(MYROCKS, _WANTED, D1):
        raise KeyboardInterrupt
    assert recorder.events[-3:] == ["disk None", "kill", "remove"]


def test_without_the_abilities_a_server_runs_without_limits(tmp_path, recorder):
    here = bench(tmp_path, "memory_limit", "iops_limit")
    here.disk = recorder
    with here.serving(INNODB, Limits(), D1):
        pass
    assert recorder.events == ["start ", "stop"]
