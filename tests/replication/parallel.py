"""Parallel replication of transactions that conflict: everything arrives, and nothing stands still.

Usage: ./basalt python tests/replication/parallel.py [--transactions N] [--clients N] [--rows N]
                                                     [--engine NAME]

Clients of the source change a few hot rows, rows without any unique key, and values of a unique
index that go from row to row, with ALTER TABLE, CREATE and DROP TABLE in between. The source groups
its commits. Then replicas with 8 threads apply all of it, one after the other in the modes
conservative, optimistic and aggressive, and once more each with the log in mixed format. A later
transaction that holds what an earlier one needs must give way at once: the engine tells the server
whom it waits for (thd_rpl_deadlock_check), the server kills the later one, which is tried again.
Without that the replica stands still until the lock wait times out, which is 60 s here.

One more case reads the replica's position and then its rows, again and again while it applies: what
the position says is applied must be visible.

A case passes if the replica ends equal to its source, without having stopped, and never stood still
for longer than 5 s; under optimistic replication transactions must have been tried again, or the
load was no test. The last line is "N passed, N failed".
"""

from __future__ import annotations

import argparse
import sys
import threading
import time

from basaltcli.server import Server
from tests.replication._clients import DATABASE, Clients
from tests.support import checks, replication, workspace
from tests.support.replication import REPLICA_OPTIONS, SOURCE_OPTIONS, Link
from tests.support.workspace import Tally, Workspace

# Half of what a lock wait takes that nobody ends.
_STANDSTILL_SECONDS = 30.0
_GROUPS = ("--binlog-commit-wait-count=8", "--binlog-commit-wait-usec=5000")
_WAITS = ("--loose-rocksdb-lock-wait-timeout=60", "--innodb-lock-wait-timeout=60")
_DDL = ("ALTER TABLE uniques ADD KEY s (s)", "CREATE TABLE between_them (a INT) ENGINE={engine}",
        "INSERT INTO between_them VALUES (1)", "ALTER TABLE t1 COMMENT 'altered'",
        "DROP TABLE between_them", "ALTER TABLE uniques DROP KEY s, ALGORITHM=COPY",
        "ALTER TABLE keyless ADD COLUMN later INT DEFAULT 7 FIRST",
        "ALTER TABLE keyless DROP COLUMN later")


def apply(work: Workspace, source: Server, name: str, options: tuple[str, ...],
          mode: str) -> tuple[list[str], str]:
    """A fresh replica applies the whole log; its problems, and figures in words."""
    replica = work.server(name, options=(*REPLICA_OPTIONS, *_WAITS, *options,
                                         *replication.parallel(mode)))
    replica.start()
    link = Link(source, replica)
    link.begin(start=False)
    started = time.monotonic()
    replica.query("START SLAVE")
    problems, standstill = watch(link)
    seconds = time.monotonic() - started
    retries = replication.status_variable(replica, "Slave_retried_transactions")
    problems += link.catch_up() or link.compare([DATABASE])
    if standstill > _STANDSTILL_SECONDS:
        problems.append(f"nothing was applied for {standstill:.1f} s")
    problems += checks.engine_errors(replica)
    replica.stop()
    if not problems:
        work.remove(replica)
    return problems, (f"{seconds:.1f} s, {retries} retries, longest standstill "
                      f"{standstill * 1000:.0f} ms")


def watch(link: Link) -> tuple[list[str], float]:
    """Follows the replica to the source's end; its problems, and its longest standstill in s."""
    wanted = link.position()
    last, since, longest = "", time.monotonic(), 0.0
    while True:
        position = str(link.replica.query("SELECT @@gtid_slave_pos")[0][0])
        now = time.monotonic()
        longest = max(longest, now - since)
        if position == wanted:
            return [], longest
        if position != last:
            last, since = position, now
        problems = link.problems() if now - since > 1 else []
        if problems or now - since > 70:
            return [*problems, f"stopped at {position} on the way to {wanted}"], longest
        time.sleep(0.01)


def position_and_rows(work: Workspace, arguments: argparse.Namespace) -> list[str]:
    """Each transaction is one row, so there must be as many rows as the position says."""
    source = work.server("source-rows", options=(*SOURCE_OPTIONS, *_GROUPS,
                                                 *replication.server_id(1)))
    replica = work.server("replica-rows", options=(
        *REPLICA_OPTIONS, *replication.server_id(2), *replication.parallel("conservative")))
    link = Link(source, replica)
    source.start()
    replica.start()
    source.client(f"CREATE DATABASE {DATABASE}; CREATE TABLE {DATABASE}.told (n INT PRIMARY KEY) "
                  f"ENGINE={arguments.engine}")
    beginning = _sequence(link.position())
    threads = [threading.Thread(target=source.client, args=(
        "".join(f"INSERT INTO {DATABASE}.told VALUES ({client * 100_000 + number});"
                for number in range(arguments.transactions)),))
               for client in range(arguments.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    link.begin()
    problems: list[str] = []
    wanted, reads = _sequence(link.position()), 0
    position = 0
    with replica.connect() as connection, connection.cursor() as cursor:
        while position < wanted and not problems:
            cursor.execute("SELECT @@gtid_slave_pos")
            position = _sequence(str(cursor.fetchone()[0]))
            if position <= beginning:
                problems += link.problems()
                continue
            cursor.execute(f"SELECT COUNT(*) FROM {DATABASE}.told")
            rows, reads = cursor.fetchone()[0], reads + 1
            if rows < position - beginning:
                problems.append(f"the position tells of {position - beginning} transactions, "
                                f"{rows} are visible (in read {reads})")
    print(f"position and rows, read {reads} times", flush=True)
    replica.stop()
    source.stop()
    return problems


def _sequence(position: str) -> int:
    """The last number of a GTID; 0 for none."""
    return int(position.rpartition("-")[2] or 0)


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """Each format of the log, each mode."""
    passed = failed = 0
    for number, log_format in enumerate(arguments.formats.split(",")):
        source = work.server(f"source-{log_format}", options=(
            *SOURCE_OPTIONS, *_GROUPS, *replication.server_id(1, log_format)))
        source.port = replication.free_port()
        source.start()
        clients = Clients(source, rows=arguments.rows, engine=arguments.engine)
        clients.create_tables()
        clients.run(arguments.clients, arguments.transactions, arguments.seed + number,
                    [statement.format(engine=arguments.engine) for statement in _DDL])
        groups = replication.status_variable(source, "Binlog_group_commits")
        print(f"{log_format}: {clients.committed} transactions of {arguments.clients} clients in "
              f"{groups} groups", flush=True)
        for mode in arguments.modes.split(","):
            problems, figures = apply(work, source, f"{mode}-{log_format}",
                                      replication.server_id(2, log_format), mode)
            if mode == "optimistic" and ", 0 retries" in figures:
                problems.append("no transaction was tried again: the load has no conflicts")
            problems += clients.errors
            passed, failed = passed + (not problems), failed + bool(problems)
            print(f"{'FAILED' if problems else 'passed'}  {mode}, {log_format}: {figures}",
                  flush=True)
            for problem in problems[:12]:
                print(f"        {problem}", flush=True)
        source.stop()
    problems = position_and_rows(work, arguments)
    for problem in problems:
        print(f"FAILED  {problem}", flush=True)
    return Tally(passed + (not problems), failed + bool(problems))


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--transactions", type=int, default=200, help="of each client")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rows", type=int, default=5, help="of each table: fewer, more conflicts")
    parser.add_argument("--engine", default="ROCKSDB", help="InnoDB, to compare")
    parser.add_argument("--formats", default="ROW,MIXED")
    parser.add_argument("--modes", default="conservative,optimistic")
    workspace.add_seed(parser)
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse()
    sys.exit(workspace.main("parallel", arguments, run))
