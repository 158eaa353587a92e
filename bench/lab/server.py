"""A server under test: one engine, its options, its data directory, its control group."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from basaltcli import layout
from basaltcli.errors import BasaltError
from basaltcli.server import Server
from basaltcli.server_release import ServerRelease

from lab import sysbench
from lab.meter import Meter
from lab.setup import Engine, Setup
from lab.workload import DATABASE, Client

PLUGIN_DIR_VARIABLE = "BASALT_PLUGIN_DIR"
# What is kept of SHOW GLOBAL STATUS: enough to say where reads and writes went.
_KEPT_STATUS = re.compile(
    r"^(Handler_|Innodb_(data|pages|buffer_pool_(reads|read_requests|wait)|dblwr|os_log|log_w|row|"
    r"ibuf)|Rocksdb_|Binlog_(commits|group|bytes|cache)|Created_tmp|Sort_|Select_|Com_|Bytes_)")


def plugin_dir(release: ServerRelease, engine: Engine) -> Path:
    """The directory with the engine's plugin; for InnoDB the server's own plugins.

    Basalt is this checkout's release build, or what is in the directory BASALT_PLUGIN_DIR.
    """
    if engine is Engine.MYROCKS:
        if not release.stock_engine.exists():
            raise BasaltError("Debian's mariadb-plugin-rocksdb was not unpacked for this release",
                              "leave it out: --engines innodb,basalt")
        return release.stock_engine.parent
    if engine is Engine.BASALT:
        return Path(os.environ.get(PLUGIN_DIR_VARIABLE) or layout.plugin_dir("release"))
    return release.plugins


class _LimitedServer(Server):
    """A private server whose command runs behind a prefix that puts it under limits."""

    prefix: Sequence[str] = ()

    def command(self) -> list[str]:
        return [*self.prefix, *super().command()]


class MeasuredServer:
    """A Target of workloads: a running server with the database of the laboratory.

    `prefix` are the words of a command that runs another under limits, `meter` measures it.
    """

    def __init__(self, release: ServerRelease, setup: Setup, datadir: Path, options: Sequence[str],
                 *, prefix: Sequence[str] = (), meter: Meter | None = None) -> None:
        self.setup = setup
        self.meter = meter or Meter()
        self.options = list(options)
        self._server = _LimitedServer(
            release, datadir, plugin_dir(release, setup.engine),
            engine=setup.engine is not Engine.INNODB, options=options)
        self._server.prefix = prefix

    @property
    def datadir(self) -> Path:
        return self._server.datadir

    @property
    def socket(self) -> Path:
        return self._server.socket

    @property
    def engine_name(self) -> str:
        return self.setup.engine.sql_name

    @property
    def table_options(self) -> str:
        return f"ENGINE={self.engine_name} {self.setup.table_options}".rstrip()

    @contextlib.contextmanager
    def running(self) -> Iterator[MeasuredServer]:
        """Starts the server; afterwards it is stopped, or killed if the block failed."""
        self._server.start()
        try:
            self._server.query(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            yield self
            if not self.stop():
                raise BasaltError("the server ended by itself", f"see why: {self._server.log}")
        except BaseException:
            self._server.kill()
            raise

    def stop(self) -> bool:
        """A clean stop, with time for an engine that has much to write at its end; False when the
        server was not running."""
        return self._server.stop(timeout=900)

    def kill(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()

    def pid(self) -> int | None:
        return self._server.pid()

    def connect(self) -> Any:
        """A connection in the laboratory's database."""
        return self._server.connect(database=DATABASE, charset="latin1")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def sysbench(self, client: Client, command: str = "run", *, seconds: float = 0,
                 events: int = 0) -> None:
        sysbench.run_command(client, self.socket, command, seconds=seconds, events=events)

    def variable(self, name: str) -> str | None:
        """A global variable, None when this server has none of that name."""
        rows = self.query(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
        return rows[0][1] if rows else None

    def status(self) -> dict[str, float]:
        """The numeric status variables that tell what the engine did."""
        found: dict[str, float] = {}
        for name, value in self.query("SHOW GLOBAL STATUS"):
            if _KEPT_STATUS.match(name):
                with contextlib.suppress(ValueError):
                    found[name] = float(value)
        return found

    def tables(self) -> list[str]:
        """The workload's tables."""
        return [name for name, in self.query(
            "SELECT TABLE_NAME FROM information_schema.TABLES "
            f"WHERE TABLE_SCHEMA = '{DATABASE}' ORDER BY TABLE_NAME")]
