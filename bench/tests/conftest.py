"""Tiny private servers, one for each engine, that tests of workloads share.

    def test_something(target):             # once for each engine; its database `bench` is empty
        workload.prepare(target)

    def test_of_one(server_of):
        target = server_of("innodb")        # shared with other tests: target.empty() first

A server starts when the first test asks for it and ends with the session. Basalt's plugin is the
release build of this checkout, or the one in the directory that BASALT_PLUGIN_DIR names.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from basaltcli import layout, server_release
from basaltcli.errors import BasaltError
from basaltcli.server import Server
from lab.setup import Engine, common_options
from lab.sysbench import run_command
from lab.workload import DATABASE, Client

ENGINES = tuple(engine.value for engine in Engine)
_SMALL = {Engine.INNODB: ("--innodb-buffer-pool-size=96M",),
          # By default it finds deadlocks by waiting a second.
          Engine.MYROCKS: ("--rocksdb-block-cache-size=32M", "--rocksdb-deadlock-detect=ON"),
          Engine.BASALT: ()}


class TinyServer:
    """A Target (lab.workload) on a running server; its database `bench` exists."""

    def __init__(self, engine: Engine, server: Server) -> None:
        self.engine = engine
        self.server = server
        self.empty()

    @property
    def engine_name(self) -> str:
        return self.engine.sql_name

    @property
    def table_options(self) -> str:
        return f"ENGINE={self.engine_name}"

    def empty(self) -> None:
        """Makes the database anew."""
        self.server.query(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.server.query(f"CREATE DATABASE {DATABASE}")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with self.server.connect(database=DATABASE, charset="latin1") as connection, \
                connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def sysbench(self, client: Client, command: str = "run", *, seconds: float = 0,
                 events: int = 0) -> None:
        self.output_of(client, command, seconds=seconds, events=events)

    def output_of(self, client: Client, command: str = "run", *, seconds: float = 0,
                  events: int = 0, options: tuple[str, ...] = ()) -> str:
        """What sysbench() does, with what sysbench prints; `options` are like "--events=3"."""
        more = dict(option.removeprefix("--").split("=", 1) for option in options)
        client = dataclasses.replace(client, options={**client.options, **more})
        return run_command(client, self.server.socket, command, seconds=seconds, events=events)


@pytest.fixture(scope="session")
def server_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], TinyServer]]:
    """A function from the name of an engine to its running server."""
    targets: dict[str, TinyServer] = {}

    def target_of(name: str) -> TinyServer:
        if name not in targets:
            targets[name] = _start(Engine(name), tmp_path_factory.mktemp(name))
        return targets[name]

    yield target_of
    for target in targets.values():
        target.server.stop()


@pytest.fixture(params=ENGINES)
def target(request: pytest.FixtureRequest,
           server_of: Callable[[str], TinyServer]) -> TinyServer:
    """Each engine's server in turn, with an empty database."""
    tiny = server_of(request.param)
    tiny.empty()
    return tiny


def _start(engine: Engine, folder: Path) -> TinyServer:
    release = server_release.current()
    if release is None:
        raise BasaltError("there is no server to test with", "run ./basalt build")
    if engine is Engine.MYROCKS and not release.stock_engine.exists():
        pytest.skip("this release of MariaDB was unpacked without Debian's MyRocks")
    plugins = {Engine.INNODB: release.plugins, Engine.MYROCKS: release.stock_engine.parent,
               Engine.BASALT: Path(os.environ.get("BASALT_PLUGIN_DIR")
                                   or layout.plugin_dir("release"))}
    prefix = "innodb" if engine is Engine.INNODB else "rocksdb"
    server = Server(
        release, folder / "data", plugins[engine], engine=engine is not Engine.INNODB,
        options=[*common_options(), *_SMALL[engine], "--innodb-log-file-size=8M", "--log-bin",
                 "--binlog-format=ROW", "--server-id=1", "--sync-binlog=0",
                 f"--{prefix}-flush-log-at-trx-commit=2"])
    server.start()
    return TinyServer(engine, server)
