"""Real servers take all options that the laboratory gives them, and without a word."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator

import pytest

from basaltcli import server_release
from basaltcli.server import Server
from lab.server import plugin_dir
from lab.setup import (
    D1, INNODB, MIB, MYROCKS, Engine, Limits, Setup, loading_options, server_options)
from lab.study import Size
from lab.throttle import IoLimits
from studies.catalogue import STUDIES

_LIMITS = Limits(512 * MIB)
_COMPLAINT = re.compile(r"\[(ERROR|Warning)\] (?P<text>.*)")
# About the machine, the plugin, and the accounts of mariadb-install-db, whatever the options are.
_ALWAYS = re.compile(
    r"number of max_open_files|ignored in --skip-name-resolve mode|is of maturity level")


def setups() -> dict[str, Setup]:
    """All setups of all studies, by name."""
    return {setup.name: setup for study in STUDIES for size in Size
            for cell in study.cells(size) for setup in cell.setups}


def option_lists() -> dict[str, tuple[Setup, list[str]]]:
    """Each different list of options once, under the name of a setup that uses it."""
    found: dict[tuple[str, ...], tuple[str, Setup]] = {}
    for name, setup in setups().items():
        for label, options in ((name, server_options(setup, _LIMITS, D1)),
                               (f"{name}, loading", loading_options(setup))):
            found.setdefault((setup.engine.value, *options), (label, setup))
    slow = server_options(INNODB, Limits(512 * MIB, IoLimits(42, 42)), D1)
    found[("innodb", *slow)] = ("innodb, slow disk", INNODB)
    return {label: (setup, list(options)) for (_, *options), (label, setup) in found.items()}


LISTS = option_lists()


@pytest.fixture(scope="session")
def started(tmp_path_factory) -> Iterator[Callable[[Setup, list[str]], Server]]:
    """Starts a server on a fresh data directory; it is killed when the next one is asked for."""
    release = server_release.current()
    assert release is not None, "there is no server to test with: ./basalt build"
    if not release.stock_engine.exists():
        pytest.skip("this release of MariaDB was unpacked without Debian's MyRocks")
    folder = tmp_path_factory.mktemp("options")
    empty = Server(release, folder / "empty", release.plugins, engine=False)
    empty.initialise()
    running: list[Server] = []

    def start(setup: Setup, options: list[str]) -> Server:
        stop()
        datadir = folder / "data"
        shutil.copytree(empty.datadir, datadir)
        server = Server(release, datadir, plugin_dir(release, setup.engine),
                        engine=setup.engine is not Engine.INNODB,
                        options=[*options, "--log-warnings=2"])
        running.append(server)
        server.log.unlink(missing_ok=True)
        server.start()
        return server

    def stop() -> None:
        while running:
            server = running.pop()
            server.kill()
            shutil.rmtree(server.datadir)

    yield start
    stop()


@pytest.mark.parametrize("label", LISTS)
def test_servers_take_every_setups_options_without_a_complaint(started, label):
    server = started(*LISTS[label])
    complaints = [match["text"] for match in _COMPLAINT.finditer(server.log.read_text())
                  if not _ALWAYS.search(match["text"])]
    assert complaints == []


@pytest.mark.parametrize(("setup", "prefix"), [(INNODB, "innodb"), (MYROCKS, "rocksdb")],
                         ids=["innodb", "myrocks"])
def test_a_setup_that_is_not_tuned_has_the_engines_own_defaults(started, setup, prefix):
    untuned = setup.variant("x", "x", is_tuned=False)
    server = started(untuned, server_options(untuned, _LIMITS, D1))
    changed = server.query(
        "SELECT VARIABLE_NAME, GLOBAL_VALUE, DEFAULT_VALUE FROM information_schema.SYSTEM_VARIABLES"
        f" WHERE VARIABLE_NAME LIKE '{prefix}%' AND GLOBAL_VALUE_ORIGIN <> 'COMPILE-TIME'"
        " AND GLOBAL_VALUE <> DEFAULT_VALUE")
    assert changed == []


def test_the_laboratorys_settings_win_over_those_of_private_servers(started):
    server = started(INNODB, server_options(INNODB, _LIMITS, D1))
    found = dict(server.query(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_buffer_pool_size',"
        " 'innodb_log_file_size', 'character_set_server', 'sync_binlog', 'tx_isolation')"))
    assert found == {"innodb_buffer_pool_size": str(362 * MIB),
                     "innodb_log_file_size": str(1024 * MIB), "character_set_server": "latin1",
                     "sync_binlog": "1", "tx_isolation": "READ-COMMITTED"}
