"""gh-ost: a table of the engine is altered by its binary log, while clients write to it.

Usage: GH_OST=PROGRAM ./basalt python tests/tools/gh_ost.py

Debian has no package of gh-ost: docs/tools.md tells how it is built. Without $GH_OST, and without
gh-ost on the path, there is nothing to do. The last line is "N passed, N failed".
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

from basaltcli.server import Server
from tests.support import checks, replication, workspace
from tests.support.replication import SOURCE_OPTIONS
from tests.support.workspace import Tally, Workspace
from tests.tools import _bank


def check_migration(server: Server, program: str) -> list[str]:
    """Rows that are written meanwhile are in the new table, and it is the engine's."""
    server.client("CREATE USER ghost@127.0.0.1 IDENTIFIED BY 'ghost';"
                  "GRANT ALL ON *.* TO ghost@127.0.0.1")
    with _bank.Clients(server) as clients:
        done = subprocess.run(
            [program, "--host=127.0.0.1", f"--port={server.port}", "--user=ghost",
             "--password=ghost", "--allow-on-master", "--database=bank", "--table=moves",
             "--alter=ADD COLUMN added INT NOT NULL DEFAULT 5, ADD KEY (added)",
             "--chunk-size=100", "--max-load=Threads_running=500", "--execute",
             f"--serve-socket-file={server.datadir.parent}/gh-ost.sock"],
            capture_output=True, text=True, check=False)
    problems = [] if done.returncode == 0 else [done.stdout[-2000:] + done.stderr[-2000:]]
    problems += clients.errors + _bank.problems(server)
    if not clients.moves:
        problems.append("nothing was moved meanwhile")
    if problems:
        return problems
    text = server.query("SHOW CREATE TABLE bank.moves")[0][1]
    if "`added`" not in text or "ENGINE=ROCKSDB" not in text:
        problems.append(text)
    rows = server.query("SELECT COUNT(*), MIN(added), MAX(added) FROM bank.moves")[0]
    print(f"rows, least and greatest value of the new column: {rows}", flush=True)
    return problems + checks.check_tables(server) + checks.engine_errors(server)


def run_all(work: Workspace, arguments: argparse.Namespace) -> Tally:
    server = work.server("data", options=(*SOURCE_OPTIONS, *replication.server_id(1)))
    server.port = replication.free_port()
    server.start()
    _bank.create(server)
    return workspace.run_checks((check_migration,), server, arguments.program)


if __name__ == "__main__":
    chosen = workspace.parser(__doc__).parse_args()
    chosen.program = os.environ.get("GH_OST") or shutil.which("gh-ost")
    if chosen.program is None:
        sys.exit(workspace.skip("gh-ost is not here: docs/tools.md tells how it is built"))
    sys.exit(workspace.main("gh-ost", chosen, run_all))
