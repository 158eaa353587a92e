"""The tables of the user guide against the server: variables, their defaults, how they are set.

Usage: ./basalt python tests/clauses/guide.py

What src/server/settings.def has of each system variable is compared with what the server says of
it, and with the row of docs/user-guide.md (tools/settings_table_test.py does that part without a
server). Status variables are those of the guide. What else the guide says, and which test would
fail if it were false, is in _guide.toml.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

import pymysql

from basaltcli import settings_table
from basaltcli.server import Server
from tests.support import workspace
from tests.support.workspace import Tally, Workspace

_GUIDE = settings_table.GUIDE.read_text()
_SETTINGS = settings_table.load()
_MACHINE = ["memory", "cores"]  # what ROCKSDB_SETTINGS has before the settings


def check_guide(_: Server) -> Iterator[str]:
    yield from settings_table.guide_problems(_GUIDE, _SETTINGS)


def check_system_variables(server: Server) -> Iterator[str]:
    rows = server.query(f"SELECT {', '.join(settings_table.COLUMNS)} "
                        "FROM information_schema.SYSTEM_VARIABLES "
                        "WHERE VARIABLE_NAME LIKE 'rocksdb%'")
    yield from settings_table.server_problems(rows, _SETTINGS)


def check_status_variables(server: Server) -> Iterator[str]:
    actual = {name for name, _ in server.query("SHOW GLOBAL STATUS LIKE 'Rocksdb%'")}
    guide = settings_table.guide_rows(_GUIDE, "Rocksdb_")
    yield from (f"the guide has no status variable {name}" for name in actual - guide.keys())
    yield from (f"there is no status variable {name}" for name in guide.keys() - actual)


def check_settings_table(server: Server) -> Iterator[str]:
    query = re.search(r"^SELECT .*ROCKSDB_SETTINGS;$", _GUIDE, re.MULTILINE)
    if query is None:
        yield "the guide has no query of ROCKSDB_SETTINGS"
        return
    try:
        names = [row[0] for row in server.query(query[0])]
    except pymysql.err.Error as error:
        yield f"the guide's query fails: {error}"
        return
    chosen = [setting.name for setting in _SETTINGS if setting.is_chosen]
    if names != _MACHINE + chosen:
        yield f"ROCKSDB_SETTINGS has {names}, the table {chosen}"


def run(work: Workspace, _: argparse.Namespace) -> Tally:
    server = work.server("data")
    server.start()
    passed = failed = 0
    for check in (check_guide, check_system_variables, check_status_variables,
                  check_settings_table):
        problems = list(check(server))
        passed, failed = passed + (not problems), failed + bool(problems)
        print(f"{'FAILED' if problems else 'passed'}  {check.__name__}", flush=True)
        for problem in problems:
            print(f"        {problem}", flush=True)
    server.stop()
    return Tally(passed, failed)


def main() -> int:
    return workspace.main("guide", workspace.parser(__doc__).parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
