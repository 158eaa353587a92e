"""The steps of the demo, in their order."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from basaltcli import build, layout, locking, ui
from basaltcli.demo import compare, crash, disk, packages, queries, report, tables
from basaltcli.demo.engines import ROCKSDB
from basaltcli.server import Server
from basaltcli.server_release import ServerRelease

# Every commit is synced, of the engines and of the binary log. Both engines get the same memory:
# a buffer pool of 256 MB, or a block cache and two memtables of 256 MB together.
BINLOG_OPTIONS = ("--log-bin=binlog", "--sync-binlog=1")
_OPTIONS = (*BINLOG_OPTIONS, "--binlog-format=ROW", "--server-id=1",
            "--innodb-buffer-pool-size=256M", "--innodb-log-file-size=128M",
            "--innodb-flush-log-at-trx-commit=1", "--rocksdb-flush-log-at-trx-commit=1",
            "--rocksdb-block-cache-size=192M", "--rocksdb-write-buffer-size=32M")


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    flavour: str
    is_small: bool
    is_stopped: bool

    @property
    def directory(self) -> Path:
        return layout.BUILD / ("demo-small" if self.is_small else "demo")


def run(settings: Settings) -> bool:
    """Builds, then runs the demo; True when both engines agree and nothing was lost."""
    release = build.build(settings.flavour)
    return demonstrate(settings, release, layout.plugin_dir(settings.flavour))


def demonstrate(settings: Settings, release: ServerRelease, plugin_dir: Path) -> bool:
    """The demo with a given build of the plugin."""
    started = time.monotonic()
    lock = settings.directory.with_name(settings.directory.name + ".lock")
    with locking.exclusive(lock, settings.directory.name):
        server = Server(release, settings.directory / "data", plugin_dir,
                        flavour=settings.flavour, options=_OPTIONS)
        _start_afresh(settings, server)
        with _ended_on_failure(server):
            results = _steps(settings, server)
            report.show(results)
            if settings.is_stopped:
                server.stop()
    _say_how_to_go_on(settings, server)
    ui.info(f"The demo took {ui.duration(time.monotonic() - started)}.")
    return results.is_good


def _start_afresh(settings: Settings, server: Server) -> None:
    """Removes what an earlier demo has left, its server included."""
    if server.kill():
        ui.info("The server of an earlier demo ran and was ended.")
    shutil.rmtree(settings.directory, ignore_errors=True)
    with ui.progress("Starting a private server with a new data directory"):
        server.start()
    ui.info(f"MariaDB {server.release.version} with InnoDB and ROCKSDB; binary log on, every "
            "commit synced to disk")


@contextmanager
def _ended_on_failure(server: Server) -> Iterator[None]:
    """Half a demo is of no use to anybody: its server is ended when the demo cannot go on."""
    try:
        yield
    except BaseException:
        server.kill()
        raise


def _steps(settings: Settings, server: Server) -> report.Results:
    index = packages.read(settings.is_small)
    results = report.Results(len(index.packages), len(index.dependencies))
    ui.info(f"{results.packages:,} packages with {results.dependencies:,} dependencies")
    tables.create(server)
    results.load = tables.load(server, index)
    results.loaded = disk.settle(server, "loaded")
    results.reads = compare.run_reads(server, queries.reads(index))
    results.writes = compare.run_writes(server, queries.writes(index))
    results.tables = compare.compare_tables(server, "after the changes")
    results.changed = disk.settle(server, "changed")
    rounds, seconds = (2, 1.0) if settings.is_small else (3, 3.0)
    results.crash = crash.run(server, len(index.packages), rounds, seconds)
    crash.replay(server)
    results.tables += compare.compare_tables(server, "after the crashes")
    results.checked, results.check_problems = crash.check_tables(server)
    return results


def _say_how_to_go_on(settings: Settings, server: Server) -> None:
    path = server.datadir
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    datadir = f"--datadir {path}"
    flavour = "" if settings.flavour == "release" else f" --flavour {settings.flavour}"
    start = f"./basalt server start {datadir}{flavour} -- {' '.join(BINLOG_OPTIONS)}"
    client = f"./basalt server client {datadir} -- {ROCKSDB.database}"
    state = "is stopped" if settings.is_stopped else "is still running"
    ui.info(f"\nThe demo's server {state}. To go on:")
    if not settings.is_stopped:
        ui.info(f"  {client}")
        ui.info(f"  ./basalt server stop {datadir}")
    ui.info(f"  {start}")
    if settings.is_stopped:
        ui.info(f"  {client}")
