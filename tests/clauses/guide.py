"""The tables of the user guide against the server: variables, their defaults, how they are set.

Usage: ./basalt python tests/clauses/guide.py

Each row of docs/user-guide.md that names a variable is compared with what the server says of it,
and the server has no variable of the engine that the guide does not name. What else the guide
says, and which test would fail if it were false, is in _guide.toml.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

import pymysql

from basaltcli import layout
from basaltcli.server import Server
from tests.support import workspace
from tests.support.workspace import Tally, Workspace

_GUIDE = layout.ROOT / "docs" / "user-guide.md"
_ROW = re.compile(r"^\| (.*?) \| (.*) \|$")
# These do something when they are set, and are set to ON or a name.
_COMMANDS = ("rocksdb_create_checkpoint", "rocksdb_force_flush_memtable_now",
             "rocksdb_remove_mariabackup_checkpoint")


def rows(prefix: str) -> dict[str, list[str]]:
    """Rows of the guide's tables whose first cell names variables, by name: the other cells."""
    found: dict[str, list[str]] = {}
    for line in _GUIDE.read_text().splitlines():
        match = _ROW.match(line)
        names = re.findall(rf"`({prefix}\w+)`", match[1]) if match else []
        for name in names:
            found[name] = match[2].split(" | ")
    return found


def check_system_variables(server: Server) -> Iterator[str]:
    actual = {name.lower(): (default, scope, read_only == "NO") for
              name, default, scope, read_only in server.query(
                  "SELECT VARIABLE_NAME, DEFAULT_VALUE, VARIABLE_SCOPE, READ_ONLY FROM "
                  "information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME LIKE 'rocksdb%'")}
    guide = rows("rocksdb_")
    yield from (f"the guide has no variable {name}" for name in actual.keys() - guide.keys())
    yield from (f"there is no variable {name}" for name in guide.keys() - actual.keys())
    for name in sorted(actual.keys() & guide.keys()):
        default, scope, is_dynamic = actual[name]
        words = guide[name][0].split(", ")
        if is_dynamic != ("dynamic" in words):
            yield f"{name} is {'' if is_dynamic else 'not '}dynamic"
        if (scope == "SESSION") != ("per session" in words):
            yield f"{name} has the scope {scope}"
        if name not in _COMMANDS and words[0].strip("`") != default:
            yield f"{name} is {default} by default, not {words[0]}"


def check_status_variables(server: Server) -> Iterator[str]:
    actual = {name for name, _ in server.query("SHOW GLOBAL STATUS LIKE 'Rocksdb%'")}
    guide = rows("Rocksdb_")
    yield from (f"the guide has no status variable {name}" for name in actual - guide.keys())
    yield from (f"there is no status variable {name}" for name in guide.keys() - actual)


def check_settings_table(server: Server) -> Iterator[str]:
    query = re.search(r"^SELECT .*ROCKSDB_SETTINGS;$", _GUIDE.read_text(), re.MULTILINE)
    try:
        if query is None or not server.query(query[0]):
            yield "ROCKSDB_SETTINGS is empty, or the guide has no query of it"
    except pymysql.err.Error as error:
        yield f"the guide's query fails: {error}"


def run(work: Workspace, _: argparse.Namespace) -> Tally:
    server = work.server("data")
    server.start()
    passed = failed = 0
    for check in (check_system_variables, check_status_variables, check_settings_table):
        problems = list(check(server))
        passed, failed = passed + (not problems), failed + bool(problems)
        print(f"{'FAILED' if problems else 'passed'}  {check.__name__}", flush=True)
        for problem in problems:
            print(f"        {problem}", flush=True)
    server.stop()
    return Tally(passed, failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    workspace.add_arguments(parser)
    return workspace.main("guide", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
