"""./basalt server: a private server for trying things out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from basaltcli import build, layout, server_release, ui
from basaltcli.errors import BasaltError
from basaltcli.server import Server


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that every subcommand has."""
    function = click.option("--datadir", type=click.Path(path_type=Path), metavar="DIRECTORY",
                            help="Data directory; default build/server/data.")(function)
    return click.option("--flavour", type=click.Choice(layout.FLAVOURS), default="release",
                        show_default=True, help="Which build of the engine.")(function)


def _server(flavour: str, datadir: Path | None, **arguments: Any) -> Server:
    release = server_release.current()
    if release is None:
        raise BasaltError("there is no private server yet", "run ./basalt server start")
    directory = datadir or layout.server_dir() / "data"
    return Server(release, directory, layout.plugin_dir(flavour), flavour=flavour, **arguments)


@click.group()
def server() -> None:
    """A private MariaDB server with the engine loaded.

    It listens on a Unix socket only, unless --port is given, and knows nothing of a MariaDB that is
    installed on this machine.

    \b
    Example:
      ./basalt server start
      ./basalt server client
      ./basalt server stop
    """


@server.command()
@_options
@click.option("--port", type=click.IntRange(1, 65535),
              help="Listen on this port of 127.0.0.1 too; everybody on this machine can then be "
                   "root on the server, without a password.")
@click.option("--engine/--no-engine", default=True, help="Load our plugin.", show_default=True)
@click.option("--build/--no-build", "is_built", default=True, help="Build first.",
              show_default=True)
@click.argument("options", nargs=-1, metavar="[-- MARIADBD-OPTION...]")
def start(flavour: str, datadir: Path | None, port: int | None, engine: bool, is_built: bool,
          options: tuple[str, ...]) -> None:
    """Start the server; builds the engine and creates the data directory if need be.

    \b
    Examples:
      ./basalt server start
      ./basalt server start --flavour asan --datadir build/asan-data/data
      ./basalt server start --port 3307 -- --log-bin --rocksdb-block-cache-size=1G
    """
    if is_built:
        build.build(flavour)
    instance = _server(flavour, datadir, port=port, options=options, engine=engine)
    with ui.progress("Starting the server"):
        instance.start()
    where = f" and port {port}" if port else ""
    ui.info(f"MariaDB {instance.release.version} runs (process {instance.pid()}), "
            f"socket {instance.socket}{where}")
    chosen = f" --datadir {datadir}" if datadir else ""
    ui.info(f"SQL prompt: ./basalt server client{chosen}")


@server.command()
@_options
def stop(flavour: str, datadir: Path | None) -> None:
    """Stop the server in order.

    \b
    Example:
      ./basalt server stop
    """
    is_stopped = _server(flavour, datadir).stop()
    ui.info("stopped" if is_stopped else "it was not running")


@server.command()
@_options
def status(flavour: str, datadir: Path | None) -> None:
    """Say whether the server runs, and with which engines; exit code 1 if it does not run.

    \b
    Example:
      ./basalt server status
    """
    instance = _server(flavour, datadir)
    pid = instance.pid()
    if pid is None:
        ui.info(f"not running; data directory {instance.datadir}")
        raise SystemExit(1)
    engines = instance.query("SELECT ENGINE FROM information_schema.ENGINES "
                             "WHERE SUPPORT IN ('YES', 'DEFAULT') ORDER BY ENGINE")
    (uptime, version), = instance.query(
        "SELECT VARIABLE_VALUE, VERSION() FROM information_schema.GLOBAL_STATUS "
        "WHERE VARIABLE_NAME = 'UPTIME'")
    ui.info(f"MariaDB {version} runs (process {pid}) since {ui.duration(float(uptime))}")
    ui.info(f"data directory {instance.datadir}")
    ui.info(f"socket {instance.socket}")
    ui.info("engines " + ", ".join(row[0] for row in engines))


@server.command()
@_options
@click.argument("arguments", nargs=-1, metavar="[-- CLIENT-ARGUMENT...]")
def client(flavour: str, datadir: Path | None, arguments: tuple[str, ...]) -> None:
    """Open an SQL prompt (MariaDB's own client) on the running server.

    \b
    Examples:
      ./basalt server client
      ./basalt server client -- -e 'SHOW ENGINES'
      ./basalt server client < script.sql
    """
    instance = _server(flavour, datadir)
    if instance.pid() is None:
        raise BasaltError("the server is not running", "start it: ./basalt server start")
    command = instance.client_command(*arguments)
    os.execv(command[0], command)


@server.command()
@_options
@click.option("--follow", "-f", is_flag=True, help="Go on showing what is added.")
@click.option("--lines", "-n", default=40, show_default=True, help="How many lines to show.")
def log(flavour: str, datadir: Path | None, follow: bool, lines: int) -> None:
    """Show the end of the server's error log.

    \b
    Example:
      ./basalt server log --follow
    """
    path = _server(flavour, datadir).log
    if not path.exists():
        raise BasaltError(f"there is no log {path}", "start the server: ./basalt server start")
    os.execvp("tail", ["tail", "-n", str(lines), *(["-F"] if follow else []), str(path)])


def stop_private_server() -> None:
    """Stops the server of this checkout's default data directory, if it runs."""
    if server_release.current() is not None:
        _server("release", None).stop()
