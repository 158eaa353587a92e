"""Kills the server under load, again and again: nothing acknowledged is lost, nothing is halved.

Usage: ./basalt python tests/crash/kill_under_load.py [--rounds N] [--seconds S] [--threads T]
                                                      [--sysbench] [--no-replica]

Each round runs T clients (updates of indexed and of plain columns, delete and insert, inserts;
several changes per transaction, both isolation levels), while a replica follows with 8 threads in
optimistic mode; ends the source, the replica, or both with SIGKILL at a random moment, starts them
again on the same data and demands:

  - it starts, and no transaction stays prepared
  - CHECK TABLE of every table is clean
  - every acknowledged commit is there, no other but those in doubt, each wholly
    (support/journal.py)
  - the binary log, replayed into InnoDB tables, gives the same rows (support/binlog.py)
  - the replica catches up and is the same: rows, definitions, indexes, position, own log
    (support/replication.py)

The binary log and the engine's log are synced. With --sysbench, Debian's sysbench runs
oltp_write_only with T threads beside a few journal clients. The last line counts rounds; a
failed run keeps its files.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from basaltcli.server import Server
from tests.crash._sysbench import DATABASE as SYSBENCH_DATABASE
from tests.crash._sysbench import Sysbench
from tests.support import checks, replication, workspace
from tests.support.binlog import BinlogReplay
from tests.support.journal import Fate, Verdict
from tests.support.load import DATABASE as LOAD_DATABASE
from tests.support.load import Load
from tests.support.replication import Link
from tests.support.workspace import Tally, Workspace

_ENGINE = ("--loose-rocksdb-flush-log-at-trx-commit=1", "--loose-rocksdb-write-buffer-size=4M",
           "--max-connections=100")
OPTIONS = (*replication.SOURCE_OPTIONS, *replication.server_id(1), *_ENGINE)
REPLICA_OPTIONS = (*replication.REPLICA_OPTIONS, *replication.server_id(2),
                   *replication.parallel("optimistic"), *_ENGINE)
JOURNAL_CLIENTS_BESIDE_SYSBENCH = 4


@dataclass
class Round:
    """What one round came to."""

    number: int
    died: str = ""
    source_died: bool = False
    seconds: float = 0
    commits: int = 0
    restart: float = 0
    verdict: Verdict = field(default_factory=Verdict)
    replayed: int = 0
    problems: list[str] = field(default_factory=list)


class KillUnderLoad:
    """The server, its load, and the checks after each crash."""

    def __init__(self, work: Workspace, arguments: argparse.Namespace) -> None:
        self._chance = random.Random(arguments.seed)
        self._seconds: float = arguments.seconds
        self._server = work.server("data", options=(*OPTIONS, *work.past_the_page_cache()))
        clients = JOURNAL_CLIENTS_BESIDE_SYSBENCH if arguments.sysbench else arguments.threads
        self._load = Load(self._server, work.directory, arguments.tables, arguments.rows, clients,
                          spills=True)
        self._sysbench: Sysbench | None = None
        databases = [LOAD_DATABASE]
        if arguments.sysbench:
            self._sysbench = Sysbench(self._server, work.directory / "sysbench.log",
                                      arguments.sysbench_rows, arguments.threads)
            databases.append(SYSBENCH_DATABASE)
        self._replay = BinlogReplay(self._server, databases)
        self._databases = databases
        self._work = work
        self._link: Link | None = None
        self._has_replica: bool = arguments.replica

    def prepare(self) -> None:
        """Starts the server, makes the tables, and starts a replica from a copy of its data."""
        self._server.start()
        self._load.create_tables()
        if self._sysbench is not None:
            self._sysbench.create_tables()
        self._replay.create_copies()
        if self._has_replica:
            self._link = replication.follow_with_copy(self._work, self._server, "replica",
                                                      REPLICA_OPTIONS)

    def round(self, number: int) -> Round:
        """Load, crash, restart, checks."""
        result = Round(number)
        before, replayed = self._load.acknowledged(), self._replay.transactions
        self._crash(result)
        result.commits = self._load.acknowledged() - before
        log_sizes = {server: server.log.stat().st_size for server in self._servers()}
        started = time.monotonic()
        for server in self._servers():
            if server.pid() is None:
                server.start()
        result.restart = time.monotonic() - started
        self._check(result, log_sizes)
        result.replayed = self._replay.transactions - replayed
        return result

    def _crash(self, result: Round) -> None:
        self._load.start(self._chance.randrange(1 << 30))
        if self._sysbench is not None:
            self._sysbench.start()
        started = time.monotonic()
        time.sleep(self._seconds * self._chance.uniform(0.3, 1))
        if self._server.pid() is None:
            result.problems.append(f"mariadbd died by itself, see {self._server.log}")
        if self._sysbench is not None and self._sysbench.ended_early():
            result.problems.append(f"sysbench stopped with an error, see {self._sysbench.log}")
        victims = self._victims()
        for server in victims:
            server.kill()
        result.source_died = self._server in victims
        result.died = " and ".join("source" if server is self._server else "replica"
                                   for server in victims)
        result.seconds = time.monotonic() - started
        if self._sysbench is not None and self._server not in victims:
            self._sysbench.stop()
        self._load.join()
        if self._sysbench is not None:
            result.problems += self._sysbench.join()
        result.problems += self._load.errors
        self._load.errors.clear()

    def _servers(self) -> list[Server]:
        return [self._server] if self._link is None else [self._server, self._link.replica]

    def _victims(self) -> list[Server]:
        """Who dies in this round: mostly the source, and often the replica."""
        if self._link is None:
            return [self._server]
        return self._chance.choice((self._servers(), self._servers(), [self._server],
                                    [self._link.replica]))

    def _check(self, result: Round, log_sizes: dict[Server, int]) -> None:
        prepared = self._server.query("XA RECOVER")
        if prepared:
            result.problems.append(f"transactions stay prepared: {prepared}")
        result.problems += checks.check_tables(self._server)
        result.verdict = self._load.judge()
        result.problems += result.verdict.problems
        result.problems += self._replay.catch_up()
        result.problems += self._replay.compare()
        if self._link is not None:
            result.problems += (self._link.catch_up(source_died=result.source_died)
                                or self._link.compare(self._databases))
        for server, log_size in log_sizes.items():
            result.problems += checks.engine_errors(server, log_size)

    def finish(self) -> None:
        for server in reversed(self._servers()):
            server.stop()


def show(rounds: list[Round]) -> None:
    """One line per round."""
    table = Table(box=None, pad_edge=False)
    for name in ("round", "died", "load s", "commits", "in doubt", "of them there", "restart s",
                 "transactions replayed", "problems"):
        table.add_column(name, justify="right")
    in_doubt, there = 0, 0
    for result in rounds:
        doubts = result.verdict.fates[Fate.IN_DOUBT] - in_doubt
        found = result.verdict.in_doubt_committed - there
        in_doubt, there = in_doubt + doubts, there + found
        table.add_row(str(result.number), result.died, f"{result.seconds:.1f}", str(result.commits),
                      str(doubts), str(found), f"{result.restart:.1f}", str(result.replayed),
                      str(len(result.problems)))
    Console(soft_wrap=True, width=110).print(table)


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All rounds, up to the first that fails."""
    test = KillUnderLoad(work, arguments)
    test.prepare()
    rounds: list[Round] = []
    for number in range(1, arguments.rounds + 1):
        result = test.round(number)
        rounds.append(result)
        print(f"round {number}: {result.died} killed after {result.seconds:.1f} s and "
              f"{result.commits} commits, {len(result.problems)} problems", flush=True)
        for problem in result.problems[:20]:
            print(f"  {problem}", flush=True)
        if result.problems:
            break
    show(rounds)
    if rounds[-1].problems:
        return Tally(len(rounds) - 1, 1)
    test.finish()
    return Tally(len(rounds), 0)


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="crashes (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=5,
                        help="longest load before a crash (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=16,
                        help="clients (default: %(default)s)")
    parser.add_argument("--tables", type=int, default=4, help="tables of the journal clients")
    parser.add_argument("--rows", type=int, default=1000, help="rows in each of them")
    parser.add_argument("--sysbench", action="store_true",
                        help="load by sysbench oltp_write_only, beside "
                             f"{JOURNAL_CLIENTS_BESIDE_SYSBENCH} journal clients")
    parser.add_argument("--no-replica", dest="replica", action="store_false",
                        help="the source alone")
    parser.add_argument("--sysbench-rows", type=int, default=10000, help="rows in its tables")
    workspace.add_seed(parser)
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    return workspace.main("crash", arguments, run)


if __name__ == "__main__":
    sys.exit(main())
