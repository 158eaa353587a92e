"""Ends a replica with SIGKILL while it applies: nothing is lost, and nothing is applied twice.

Usage: ./basalt python tests/replication/replica_crash.py [--kills N] [--visits N,N,...]
                                                          [--modes M,M] [--verbose]

A source has a log of conflicting transactions, XA transactions of one phase among them. Replicas
apply it with one thread and with 8, and die

  - at each failpoint of prepare and commit (BASALT_FAILPOINT in src/), at its given visits; that a
    first visit does not come is a failure
  - at random moments, again and again

No statements that define tables: the server does not store them together with the position.
After a crash in one it completes it from its DDL log, notes it in its own log as a statement of
its own, and the replica stops at the source's, with any engine. No XA PREPARE either: the server
writes it to its log, prepares it and stores its position one after the other (MDEV-31038). A
replica that dies between them stops at it; one with InnoDB did so in the first of such tests.

Each time the replica starts again on its data, goes on by its stored position, and must end equal
to the source: rows (those of a table without any key, too), indexes, definitions, position, its
own log. The last line is "N passed, N failed", a case being one death, or a series of random ones.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

import pymysql

from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.replication._clients import DATABASE, Clients
from tests.support import checks, replication, workspace
from tests.support.failpoints import source_points
from tests.support.replication import REPLICA_OPTIONS, SOURCE_OPTIONS, Link
from tests.support.workspace import Tally, Workspace

# Replicated rows are not loaded by files.
_POINTS = ("txn.prepare.", "txn.commit.", "server.")
_XA = """
XA START 'x1'; INSERT INTO keyless (client, s) VALUES (-1, 'xa'); UPDATE t1 SET n = n + 1;
XA END 'x1'; XA COMMIT 'x1' ONE PHASE;
XA START 'x2'; UPDATE t2 SET n = n + 1; INSERT INTO keyless (client, s) VALUES (-2, 'xa');
XA END 'x2'; XA COMMIT 'x2' ONE PHASE;
"""


class ReplicaCrash:
    """The source with its log, and one replica after the other."""

    def __init__(self, work: Workspace, arguments: argparse.Namespace) -> None:
        self._work = work
        self._arguments = arguments
        self._replicas = 0
        self.passed = self.failed = 0
        self._source = work.server("source", options=(
            *SOURCE_OPTIONS, *replication.server_id(1), "--binlog-commit-wait-count=4",
            "--binlog-commit-wait-usec=2000"))
        self._source.port = replication.free_port()
        self._source.start()
        clients = Clients(self._source, rows=20)
        clients.create_tables()
        self._beginning = str(self._source.query("SELECT @@gtid_binlog_pos")[0][0])
        for half in range(2):
            clients.run(6, arguments.transactions // 2, arguments.seed + half)
            self._source.client(_XA, DATABASE)
        assert not clients.errors, clients.errors
        print(f"a log of {clients.committed} transactions", flush=True)

    def case(self, title: str, problems: list[str]) -> None:
        """Counts one."""
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)
        if problems or self._arguments.verbose:
            print(f"{'FAILED' if problems else 'passed'}  {title}", flush=True)
        for problem in problems[:12]:
            print(f"        {problem}", flush=True)

    def at_failpoints(self, mode: str) -> None:
        """One death at each point, at each of its visits that are wanted."""
        before = self.passed + self.failed
        for point in (name for name in source_points() if name.startswith(_POINTS)):
            for visit in map(int, self._arguments.visits.split(",")):
                link = self._follow(mode, f"{point}:{visit}")
                has_died = _wait_for_death(link, 120)
                if has_died:
                    problems = self._go_on(link)
                    self.case(f"{mode}, {point}, visit {visit}", problems)
                    self._forget(link, problems)
                    continue
                if visit == 1:
                    self.case(f"{mode}, {point}", ["is not reached"])
                self._forget(link, [])
                break
        print(f"{mode}: {self.passed + self.failed - before} deaths at failpoints", flush=True)

    def at_random(self, mode: str, kills: int, chance: random.Random) -> None:
        """Deaths at random moments, until it has all; then the next replica, up to `kills`."""
        done = 0
        while done < kills:
            link = self._follow(mode, "")
            wanted = link.position()
            problems: list[str] = []
            deaths = 0
            while not problems and done < kills:
                time.sleep(chance.uniform(0, 0.25))
                is_there = link.replica.query("SELECT @@gtid_slave_pos")[0][0] == wanted
                link.replica.kill()
                done, deaths = done + 1, deaths + 1
                log_size = link.replica.log.stat().st_size
                link.replica.start()
                link.replica.query("START SLAVE")
                problems += checks.engine_errors(link.replica, log_size)
                if is_there:
                    break
            link.replica.kill()
            problems += self._go_on(link)
            self.case(f"{mode}, {deaths} kills", problems)
            self._forget(link, problems)
        print(f"{mode}: {done} random kills", flush=True)

    def finish(self) -> Tally:
        self._source.stop()
        return Tally(self.passed, self.failed)

    def _follow(self, mode: str, failpoint: str) -> Link:
        """A replica that begins at the beginning; with a failpoint it may be dead by now."""
        self._replicas += 1
        threads = () if mode == "single" else replication.parallel(mode)
        replica = self._work.server(f"replica-{self._replicas}", options=(
            *REPLICA_OPTIONS, *replication.server_id(2), *threads, "--skip-slave-start"))
        link = Link(self._source, replica)
        replica.start()
        link.begin(start=False)
        self._make_position_table(replica)
        if failpoint:
            replica.stop()
            replica.environment["BASALT_FAILPOINT"] = failpoint
        try:
            # The start itself removes old rows of the position's table, and may die of it.
            if failpoint:
                replica.start()
            replica.query("START SLAVE")
        except (BasaltError, pymysql.err.Error):
            if not failpoint or replica.pid() is not None:
                raise
        return link

    def _make_position_table(self, replica: Server) -> None:
        """Applies the first transactions; the server makes the position's table beside them."""
        replica.query(f"START SLAVE UNTIL MASTER_GTID_POS = '{self._beginning}'")
        deadline = time.monotonic() + 120
        while not replica.query("SELECT 1 FROM information_schema.TABLES WHERE TABLE_NAME = "
                                "'gtid_slave_pos_ROCKSDB'") or \
                replication.slave_status(replica)["Slave_SQL_Running"] == "Yes":
            assert time.monotonic() < deadline, f"no {replication.POSITION_TABLE}: {replica.log}"
            time.sleep(0.05)
        replica.query("STOP SLAVE")

    def _go_on(self, link: Link) -> list[str]:
        """Starts the dead replica and compares it when it has all."""
        link.replica.environment.clear()
        log_size = link.replica.log.stat().st_size
        link.replica.start()
        link.replica.query("START SLAVE")
        problems = link.catch_up() or link.compare([DATABASE])
        prepared = link.replica.query("XA RECOVER")
        if prepared:
            problems.append(f"transactions stay prepared: {prepared}")
        return problems + checks.engine_errors(link.replica, log_size)

    def _forget(self, link: Link, problems: list[str]) -> None:
        link.replica.kill()
        if not problems:
            self._work.remove(link.replica)


def _wait_for_death(link: Link, seconds: float) -> bool:
    """Whether the replica dies before it has everything."""
    deadline = time.monotonic() + seconds
    wanted = link.position()
    while time.monotonic() < deadline:
        if link.replica.pid() is None:
            link.replica.kill()  # collects the exit code
            return True
        if _position(link.replica) == wanted:
            return False
        time.sleep(0.02)
    return False


def _position(server: Server) -> str:
    try:
        return str(server.query("SELECT @@gtid_slave_pos")[0][0])
    except pymysql.err.Error:
        return ""


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All modes."""
    test = ReplicaCrash(work, arguments)
    chance = random.Random(arguments.seed)
    for mode in arguments.modes.split(","):
        if arguments.flavour != "release":
            test.at_failpoints(mode)
        test.at_random(mode, arguments.kills, chance)
    return test.finish()


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--kills", type=int, default=6, help="at random moments, in each mode")
    parser.add_argument("--visits", default="1,3", help="of each failpoint: 1,2,50,...")
    parser.add_argument("--modes", default="optimistic", help="single,conservative,optimistic")
    parser.add_argument("--transactions", type=int, default=200, help="of each of 6 clients")
    workspace.add_seed(parser)
    parser.add_argument("--verbose", action="store_true", help="name passed cases too")
    return parser.parse_args()


if __name__ == "__main__":
    parsed = parse()
    sys.exit(workspace.main("replica", parsed, run))
