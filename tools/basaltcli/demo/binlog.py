"""Reading row events back from the server's binary log."""

from __future__ import annotations

import subprocess

from basaltcli.errors import BasaltError
from basaltcli.server import Server

_COLUMNS = 3


def current(server: Server) -> str:
    """Name of the binary log that the server writes now."""
    status = server.query("SHOW MASTER STATUS")
    if not status:
        raise BasaltError("the server writes no binary log", f"its log says more: {server.log}")
    return str(status[0][0])


def inserted(server: Server, file: str, table: str) -> set[tuple[int, ...]]:
    """First three columns, integers all, of the rows inserted by the finished transactions."""
    quoted = ".".join(f"`{part}`" for part in table.split("."))
    # A crash may cut the last event off; the program then shows all before it and fails.
    done = subprocess.run(
        [str(server.release.program("mariadb-binlog")), "--no-defaults", "--verbose",
         "--base64-output=decode-rows",
         f"--character-sets-dir={server.release.usr}/share/mysql/charsets",
         str(server.datadir / file)], capture_output=True, check=False)
    finished: set[tuple[int, ...]] = set()
    pending: list[list[int]] = []
    is_wanted = False
    for line in done.stdout.decode(errors="replace").splitlines():
        if line.startswith("### INSERT INTO "):
            is_wanted = line == f"### INSERT INTO {quoted}"
            if is_wanted:
                pending.append([])
        elif line.startswith("### UPDATE ") or line.startswith("### DELETE "):
            is_wanted = False
        elif is_wanted and line.startswith("###   @") and len(pending[-1]) < _COLUMNS:
            pending[-1].append(int(line.partition("=")[2].split(" ")[0]))
        elif line.startswith("COMMIT"):
            finished |= {tuple(row) for row in pending}
            pending = []
    return finished
