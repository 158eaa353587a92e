"""Indexes that are added while others write, with KILL and ends of the server.

Usage: ./basalt python tests/crash/online_indexes.py [--rounds N] [--seconds S] [--writers N]
       ./basalt python tests/crash/online_indexes.py --rounds 30 --seconds 20 --seed 0

Clients change rows of tables of all kinds, in transactions, some of them XA whose sessions go away,
along a cascade, with savepoints and rollbacks; primary keys and unique values move. Beside them
ALTER TABLE ... LOCK=NONE adds indexes, unique ones, and columns, and changes primary keys
(_online_indexes.py), and is killed now and then. Every other round ends with SIGKILL of the server.
When nobody writes any more:

  - CHECK TABLE of every table is clean; each index has all rows
  - a unique index that rows allow was not refused, and one that they do not was
  - no index is nobody's, and none is being built; the error log has no error of the engine

The last line counts rounds; a failed run keeps its files.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from tests.crash import _online_indexes
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

_OPTIONS = ("--loose-rocksdb-flush-log-at-trx-commit=0", "--loose-rocksdb-write-buffer-size=1M",
            "--max-connections=100", "--debug-no-sync")


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All rounds, up to the first that fails."""
    chance = random.Random(arguments.seed)
    server = work.server("data", options=_OPTIONS)
    server.start()
    _online_indexes.create(server)
    clients = _online_indexes.Clients(server, arguments.writers)
    passed = failed = definitions = 0
    for number in range(arguments.rounds):
        log_size = server.log.stat().st_size
        clients.start(chance.randrange(1 << 30))
        time.sleep(arguments.seconds * chance.uniform(0.5, 1))
        problems = [] if server.pid() else [f"the server ended: {server.log}"]
        is_killed = number % 2 == 1
        if is_killed:
            server.kill()
        clients.stop()
        if is_killed:
            server.start()
        _online_indexes.decide(server)
        problems += clients.errors + _online_indexes.problems(server)
        problems += checks.engine_errors(server, log_size)
        definitions += clients.counts["definitions"]
        counts = ", ".join(f"{count} {what}" for what, count in clients.counts.most_common(14))
        print(f"round {number + 1}: {counts}; {len(problems)} problems", flush=True)
        for problem in problems[:20]:
            print(f"  {problem}", flush=True)
        clients.errors.clear()
        clients.counts.clear()
        passed, failed = passed + (not problems), failed + bool(problems)
        if problems:
            break
    if not definitions:
        print("no definition was done: nothing is tested")
        failed += 1
    return Tally(passed, failed)


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=6,
                        help="longest load of a round (default: %(default)s)")
    parser.add_argument("--writers", type=int, default=6, help="(default: %(default)s)")
    workspace.add_seed(parser)
    return workspace.main("online", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
