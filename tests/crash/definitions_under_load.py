"""Definitions that change under load, and servers that end and start again.

Usage: ./basalt python tests/crash/definitions_under_load.py [--rounds N] [--seconds S]
                                                             [--writers N]
       ./basalt python tests/crash/definitions_under_load.py --rounds 1000 --seconds 1 --seed 0

Clients write rows and remember what was acknowledged. Beside them partitions are added, dropped,
reorganized and exchanged, tables are created, renamed, emptied and dropped, and columns, indexes
and primary keys changed (_definitions.py). Each round ends with the end of the server: a stop, or
SIGKILL, in the middle of all that. After the restart:

  - every table is there, and has the rows that were acknowledged, by its primary key and an index
  - CHECK TABLE of every table is clean; the dictionary has no table that the server does not know
  - no index is nobody's, and none is being built; the error log has no error of the engine

The last line counts rounds; a failed run keeps its files.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from tests.crash import _definitions
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

_OPTIONS = ("--loose-rocksdb-flush-log-at-trx-commit=2", "--loose-rocksdb-write-buffer-size=1M",
            "--max-connections=100", "--debug-no-sync")
_PATIENCE = 20.0


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All rounds, up to the first that fails."""
    chance = random.Random(arguments.seed)
    server = work.server("data", options=_OPTIONS)
    server.start()
    _definitions.create(server)
    clients = _definitions.Clients(server, arguments.writers)
    total: Counter[str] = Counter()
    passed = failed = 0
    for number in range(arguments.rounds):
        log_size = server.log.stat().st_size
        clients.start(chance.randrange(1 << 30))
        clients.await_definition(_PATIENCE)
        time.sleep(arguments.seconds * chance.random())
        problems = [] if server.pid() else [f"the server ended: {server.log}"]
        is_killed = chance.random() < 0.7
        if is_killed:
            server.kill()
        else:
            server.stop()
        clients.stop()
        server.start()
        problems += clients.problems()
        problems += checks.engine_errors(server, log_size)
        total += clients.counts
        total["killed" if is_killed else "stopped"] += 1
        for problem in problems[:20]:
            print(f"  {problem}", flush=True)
        clients.errors.clear()
        clients.counts.clear()
        passed, failed = passed + (not problems), failed + bool(problems)
        if problems or (number + 1) % 50 == 0 or number + 1 == arguments.rounds:
            counts = ", ".join(f"{count} {what}" for what, count in total.most_common(20))
            print(f"round {number + 1}: {counts}; {len(problems)} problems", flush=True)
        if problems:
            break
    for kind in _definitions.KINDS:
        if not total[kind]:
            print(f"no definition {kind} was done: nothing is tested")
            failed += 1
    return Tally(passed, failed)


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2,
                        help="longest load of a round behind its first definition "
                             "(default: %(default)s)")
    parser.add_argument("--writers", type=int, default=4, help="(default: %(default)s)")
    workspace.add_seed(parser)
    return workspace.main("definitions", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
