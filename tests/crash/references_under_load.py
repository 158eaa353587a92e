"""Foreign keys under load, with definitions that change, KILL and ends of the server.

Usage: ./basalt python tests/crash/references_under_load.py [--rounds N] [--seconds S]
                                                            [--clients N] [--no-replica]
       ./basalt python tests/crash/references_under_load.py --rounds 30 --seconds 25 --seed 0

Clients at READ COMMITTED, REPEATABLE READ and SERIALIZABLE insert rows that reference others,
remove and change those that are referenced, along cascades, trees and circles of tables, while
foreign keys are added and dropped, and referenced tables copied, renamed, emptied, dropped and made
anew (_references.py). Statements are ended by KILL, and each round ends with SIGKILL of the server.
After the restart:

  - each constraint of the information schema holds for each row, and its parent is there
  - what is inserted and removed with a cascade as a whole is a whole
  - SHOW CREATE TABLE and the information schema have the same constraints
  - CHECK TABLE of every table is clean; the error log has no error of the engine

Every other round the server has a replica with 8 threads in optimistic mode, which must be equal
then. In the other rounds there are XA transactions: all of that must hold before those that are
prepared are decided, and after. The last line counts rounds; a failed run keeps its files. The
second form of the command is the long one, about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from basaltcli.server import Server
from tests.crash import _references
from tests.support import checks, replication, workspace
from tests.support.replication import Link
from tests.support.workspace import Tally, Workspace

_ENGINE = ("--loose-rocksdb-flush-log-at-trx-commit=1", "--loose-rocksdb-write-buffer-size=1M",
           "--max-connections=100")
_SOURCE = (*replication.SOURCE_OPTIONS, *replication.server_id(1), *_ENGINE)
_REPLICA = (*replication.REPLICA_OPTIONS, *replication.server_id(2),
            *replication.parallel("optimistic"), *_ENGINE)


class Stage:
    """A server, perhaps with a replica, and its clients."""

    def __init__(self, work: Workspace, arguments: argparse.Namespace, *,
                 has_replica: bool) -> None:
        name = "source" if has_replica else "alone"
        self._seconds: float = arguments.seconds
        self._server: Server = work.server(name, options=_SOURCE)
        self._server.start()
        _references.create(self._server)
        self._link: Link | None = None
        if has_replica:
            self._server.query("RESET MASTER")
            self._link = replication.follow_with_copy(work, self._server, "replica", _REPLICA)
        # The server logs and prepares one after the other: a replica may differ (MDEV-31038).
        self.clients = _references.Clients(self._server, arguments.clients,
                                           has_xa=not has_replica)

    def round(self, chance: random.Random) -> list[str]:
        """Load, the end, the restart, and what is wrong then."""
        self.clients.start(chance.randrange(1 << 30))
        time.sleep(self._seconds * chance.uniform(0.5, 1))
        problems = [] if self._server.pid() else [f"the server ended: {self._server.log}"]
        self._server.kill()
        self.clients.join()
        problems += self.clients.errors
        self.clients.errors.clear()
        log_size = self._server.log.stat().st_size
        self._server.start()
        problems += _references.problems(self._server)
        if _references.decide(self._server, chance):
            problems += _references.problems(self._server)
        problems += self._check_replica()
        self._restore_names()
        return problems + checks.engine_errors(self._server, log_size)

    def _check_replica(self) -> list[str]:
        if self._link is None:
            return []
        return (self._link.catch_up(source_died=True)
                or self._link.compare([_references.DATABASE])
                or [f"replica: {line}" for line in _references.problems(self._link.replica)])

    def _restore_names(self) -> None:
        with (self._server.connect(database=_references.DATABASE) as connection,
              connection.cursor() as cursor):
            _references.restore_names(cursor)


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All rounds, up to the first that fails."""
    chance = random.Random(arguments.seed)
    stages = [Stage(work, arguments, has_replica=True)] if arguments.replica else []
    stages.append(Stage(work, arguments, has_replica=False))
    failed = passed = 0
    for number in range(arguments.rounds):
        stage = stages[number % len(stages)]
        problems = stage.round(chance)
        counts = ", ".join(f"{count} {what}" for what, count in
                           stage.clients.counts.most_common(14))
        print(f"round {number + 1}: {counts}; {len(problems)} problems", flush=True)
        stage.clients.counts.clear()
        for problem in problems[:20]:
            print(f"  {problem}", flush=True)
        passed, failed = passed + (not problems), failed + bool(problems)
        if problems:
            break
    return Tally(passed, failed)


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="ends (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=4,
                        help="longest load before an end (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=8, help="(default: %(default)s)")
    parser.add_argument("--no-replica", dest="replica", action="store_false",
                        help="the server alone, all rounds with XA transactions")
    workspace.add_seed(parser)
    return workspace.main("references", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
