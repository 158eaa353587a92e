#!/usr/bin/python3 -ES
"""Runs in the place of the server's test program and says whether the case used our engine.

mariadb-test-run.pl starts it for every case instead of mariadb-test. It asks all servers of the
case for Rocksdb_newest_id before and after, and appends one line of JSON to $BASALT_OBSERVATIONS.
The id grows with every table made in our engine and outlives restarts, so it is a proof. Everything
else that mariadb-test is used for goes through unchanged.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

_QUESTION = "SHOW GLOBAL STATUS LIKE 'Rocksdb_newest_id'"


def main(arguments: list[str]) -> int:
    program = os.environ["BASALT_MARIADB_TEST"]
    case = os.environ.get("MTR_TEST_NAME")
    test_file = _option(arguments, "test-file")
    # Checks between the cases have a test file as well, but none of a suite.
    if case is None or not test_file.endswith("/" + case.partition(".")[2] + ".test"):
        os.execv(program, [program, *arguments])
    sockets = _sockets(_option(arguments, "defaults-file"))
    rejected = os.path.splitext(_option(arguments, "result-file"))[0] + ".reject"
    if os.path.exists(rejected):
        os.unlink(rejected)
    before = [_newest_id(socket) for socket in sockets]
    status = subprocess.call([program, *arguments])
    after = [_newest_id(socket) for socket in sockets]
    line = {"case": case, "combinations": os.environ.get("MTR_COMBINATIONS", ""),
            "made_tables": made_tables(before, after), "before": before, "after": after,
            "rejected": _keep(rejected)}
    with open(os.environ["BASALT_OBSERVATIONS"], "a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
    return status


def _keep(rejected: str) -> str:
    """Copies a result that was not the expected one: the next case may overwrite it."""
    if not os.path.exists(rejected):
        return ""
    copy = f"{os.environ['BASALT_OBSERVATIONS']}.{os.getpid()}"
    with open(rejected, "rb") as source, open(copy, "wb") as target:
        target.write(source.read())
    return copy


def made_tables(before: list[int | None], after: list[int | None]) -> bool:
    """Whether an id of a server that could be asked both times has changed.

    It may be smaller afterwards: a case may begin again with an empty data directory.
    """
    return any(old is not None and new is not None and new not in (0, old)
               for old, new in zip(before, after))


def _option(arguments: list[str], name: str) -> str:
    prefix = f"--{name}="
    return next((word[len(prefix):] for word in arguments if word.startswith(prefix)), "")


def _sockets(config: str) -> list[str]:
    """The sockets of all servers in the driver's configuration file."""
    try:
        with open(config, encoding="utf-8", errors="replace") as lines:
            text = lines.read()
    except OSError:
        return []
    return sorted(set(re.findall(r"(?m)^socket\s*=\s*(\S+)", text)))


def _newest_id(socket: str) -> int | None:
    client = os.environ["BASALT_MARIADB"]
    try:
        done = subprocess.run(
            [client, "--no-defaults", "--user=root", f"--socket={socket}", "--connect-timeout=10",
             "--batch", "--skip-column-names", "--execute", _QUESTION],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
        return int(done.stdout.split()[1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
