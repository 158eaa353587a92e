"""A temporary directory with private servers in it, kept when a test fails.

    with Workspace("crash", settings) as workspace:
        server = workspace.server("data", options=["--log-bin=binlog"])
        server.start()
        ...

The directory is removed when the block ends well. When it ends with an exception, or after
`workspace.keep()`, it stays and its name is printed. Servers of the workspace never outlive it.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pymysql

from basaltcli import layout, server_release
from basaltcli.errors import BasaltError
from basaltcli.server import Server


@dataclass(frozen=True)
class Tally:
    """How many parts of a test passed."""

    passed: int
    failed: int


@dataclass(frozen=True)
class Settings:
    """Which plugin to test, and whether to keep the files of a run that passed."""

    flavour: str
    plugin_dir: Path
    keep: bool


def parser(documentation: str | None) -> argparse.ArgumentParser:
    """A parser of the options that all of these tests have in common.

    The first line of a module's documentation tells what the test is.
    """
    common = argparse.ArgumentParser(description=(documentation or "").partition("\n")[0])
    common.add_argument("--flavour", default=os.environ.get("BASALT_FLAVOUR", "dev"),
                        choices=layout.FLAVOURS, help="build to test (default: %(default)s)")
    common.add_argument("--plugin-dir", type=Path,
                        help="directory of another ha_rocksdb.so to test instead")
    common.add_argument("--keep", action="store_true", help="keep the files of a passed run too")
    return common


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The option of a test that draws by chance; main() prints what it came to.

    One seed by default, so that a change is judged by its own merits; 0 to look for more.
    """
    parser.add_argument("--seed", type=_seed, default="1",
                        help="0: a random one (default: %(default)s)")


def _seed(text: str) -> int:
    return int(text) or random.randrange(1, 1 << 30)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings that parser() asks for."""
    plugin_dir = arguments.plugin_dir or layout.plugin_dir(arguments.flavour)
    return Settings(arguments.flavour, plugin_dir, arguments.keep)


def main(name: str, arguments: argparse.Namespace,
         run: Callable[[Workspace, argparse.Namespace], Tally]) -> int:
    """A test in a workspace, which stays when it fails. Prints the tally; returns the exit code."""
    # Servers end with a test that is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if "seed" in arguments:
        print(f"seed {arguments.seed}", flush=True)
    try:
        with Workspace(name, settings_of(arguments)) as work:
            tally = run(work, arguments)
            if tally.failed:
                work.keep()
    except BasaltError as error:
        print(f"error: {error.message}\nwhat to do: {error.remedy}")
        tally = Tally(0, 1)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


def run_checks(functions: Sequence[Callable[..., list[str]]], *subject: Any) -> Tally:
    """Calls each with `subject`, prints its name and the problems that it returns.

    What a server or the tool refuses is a problem, too.
    """
    passed = 0
    for function in functions:
        try:
            problems = function(*subject)
        except (BasaltError, pymysql.err.Error) as error:
            problems = [f"{type(error).__name__}: {error}"]
        passed += not problems
        print(f"{'FAILED' if problems else 'passed'}  {function.__name__}", flush=True)
        for problem in problems[:12]:
            print(f"        {problem}", flush=True)
    return Tally(passed, len(functions) - passed)


def check(name: str, documentation: str | None, functions: Sequence[Callable[..., list[str]]],
          subject: Callable[[Workspace], Any]) -> int:
    """A test that is a list of checks of one subject, which is made first, in its workspace.

    It has the options of parser(); returns the exit code.
    """
    return main(name, parser(documentation).parse_args(),
                lambda work, _: run_checks(functions, subject(work)))


def skip(reason: str) -> int:
    """Says why a test has nothing to do, and returns the exit code."""
    print(f"skipped: {reason}\n0 passed, 0 failed")
    return 0


class Workspace:
    """See the module. The plugin is copied first, so that a build may go on beside the test.

    A `directory` that is given is used in place of a temporary one, with what is in it, and stays.
    """

    def __init__(self, name: str, settings: Settings, directory: Path | None = None) -> None:
        self.settings = settings
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory or Path(tempfile.mkdtemp(prefix=f"basalt-{name}-"))
        self.is_kept = settings.keep or directory is not None
        self._servers: list[Server] = []
        self._plugin_dir = self.directory / "plugin"
        self._template = self.directory / "template"
        if settings.plugin_dir.is_dir():
            shutil.rmtree(self._plugin_dir, ignore_errors=True)
            shutil.copytree(settings.plugin_dir, self._plugin_dir, symlinks=True)
        self.release = server_release.ensure()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for server in self._servers:
            server.kill()
        if kind is None and not self.is_kept:
            shutil.rmtree(self.directory, ignore_errors=True)
        else:
            print(f"files kept: {self.directory} (logs *.log, data directories)", flush=True)

    def keep(self) -> None:
        """Lets the directory stay when the block ends."""
        self.is_kept = True

    def server(self, name: str, *, options: Sequence[str] = (),
               environment: Mapping[str, str] | None = None) -> Server:
        """A server with a data directory of its own, initialised and not started."""
        server = Server(self.release, self.directory / name, self._plugin_dir,
                        flavour=self.settings.flavour, options=options,
                        environment=dict(environment or {}))
        if not server.datadir.exists():
            if not self._template.exists():
                self._server_of(self._template).initialise()
            shutil.copytree(self._template, server.datadir)
        self._servers.append(server)
        return server

    def past_the_page_cache(self) -> tuple[str, ...]:
        """Options for a server that reads and writes tables with direct I/O, through a small cache.
        None, and it says so, where the directory's file system has no direct I/O."""
        probe = self.directory / "direct_io"
        try:
            os.close(os.open(probe, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600))
        except OSError as error:
            print(f"without direct I/O: {self.directory}: {error.strerror}", flush=True)
            return ()
        finally:
            probe.unlink(missing_ok=True)
        return ("--loose-rocksdb-direct-io=ON", "--loose-rocksdb-block-cache-size=1M")

    def remove(self, server: Server) -> None:
        """Forgets a server that is not running, with its data."""
        self._servers.remove(server)
        shutil.rmtree(server.datadir, ignore_errors=True)
        shutil.rmtree(server.tmpdir, ignore_errors=True)

    def _server_of(self, datadir: Path) -> Server:
        return Server(self.release, datadir, self._plugin_dir, flavour=self.settings.flavour)
