"""The replica's table of positions after many transactions: each has put a row and removed one.

Usage: ./basalt python tests/replication/position_table.py [--transactions N] [--parts N]
                                                           [--threads N]

The table of a replica with gtid_pos_auto_engines=rocksdb never has more than a few hundred rows,
but each transaction leaves the traces of two changes, and the server reads the whole table when it
starts. Part by part a source makes transactions of one row, the replica applies them, is killed and
started again. Measured for each part: transactions applied per second, the processor time of each,
the time of a start, then the time of reading the table and its number of rows.

It passes if the last parts cost as much as the first ones (half as much again for a transaction and
1 s more for a start are noise), and the stored position is that of the source after each crash.
The last line is "N passed, N failed", a case being one part.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from basaltcli.server import Server
from tests.support import replication, workspace
from tests.support.replication import POSITION_TABLE, REPLICA_OPTIONS, SOURCE_OPTIONS, Link
from tests.support.workspace import Tally, Workspace

_DATABASE = "positions"
_CLIENTS = 4
_ROWS = 1000
_MAKE = f"""
CREATE DATABASE {_DATABASE}; USE {_DATABASE};
CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=ROCKSDB;
INSERT INTO t SELECT seq, 0 FROM seq_1_to_{_ROWS};
DELIMITER //
CREATE PROCEDURE work(n INT, beginning INT)
BEGIN
  DECLARE i INT DEFAULT 0;
  WHILE i < n DO
    UPDATE t SET v = v + 1 WHERE id = 1 + (beginning + i * 7) % {_ROWS};
    SET i = i + 1;
  END WHILE;
END//
"""


@dataclass
class Part:
    """What was measured of one part."""

    transactions: int
    per_second: float
    cpu_us: float
    start_seconds: float
    scan_seconds: float
    rows: int


def make(source: Server, transactions: int) -> None:
    """Commits that many transactions, on several connections."""
    threads = [threading.Thread(target=source.query,
                                args=(f"CALL {_DATABASE}.work({transactions // _CLIENTS}, "
                                      f"{number * _ROWS // _CLIENTS})",))
               for number in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(link: Link, transactions: int) -> tuple[Part, list[str]]:
    """Lets the replica apply what the source has made, kills it, and starts it again."""
    make(link.source, transactions)
    started, cpu = time.monotonic(), _cpu_seconds(link.replica)
    link.replica.query("START SLAVE")
    problems = link.catch_up(seconds=60 + transactions / 100)
    applied, cpu = time.monotonic() - started, _cpu_seconds(link.replica) - cpu
    start_seconds = min(_seconds_to_start(link.replica) for _ in range(3))
    position = link.replica.query("SELECT @@gtid_slave_pos")[0][0]
    if position != link.position():
        problems.append(f"after the crash the position is {position}, not {link.position()}")
    started = time.monotonic()
    rows = len(link.replica.query(f"SELECT * FROM {POSITION_TABLE}"))
    scan = time.monotonic() - started
    return Part(transactions, transactions / applied, cpu / transactions * 1e6, start_seconds, scan,
                rows), problems


def _seconds_to_start(server: Server) -> float:
    """How long it takes to start after a kill."""
    server.kill()
    started = time.monotonic()
    server.start()
    return time.monotonic() - started


def _cpu_seconds(server: Server) -> float:
    """Processor time that a running server has used so far."""
    fields = Path(f"/proc/{server.pid()}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def judge(first: Part, part: Part) -> list[str]:
    """A later part beside the first; one line per problem.

    A cost that grows with the number of transactions is many times the first part's; beside other
    programs processor time differs by less than a factor of two.
    """
    problems = []
    if part.cpu_us > first.cpu_us * 3:
        problems.append(f"a transaction takes {part.cpu_us:.0f} us of processor time, "
                        f"{first.cpu_us:.0f} us at first")
    if part.start_seconds > first.start_seconds + 2:
        problems.append(f"a start takes {part.start_seconds:.1f} s, "
                        f"{first.start_seconds:.1f} s at first")
    if part.rows > 1000:
        problems.append(f"{POSITION_TABLE} has {part.rows} rows")
    return problems


def show(parts: list[Part]) -> None:
    """One line per part."""
    table = Table(box=None, pad_edge=False)
    for name in ("transactions so far", "applied/s", "us of CPU each", "start s",
                 "reading the table ms", "rows"):
        table.add_column(name, justify="right")
    total = 0
    for part in parts:
        total += part.transactions
        table.add_row(str(total), f"{part.per_second:.0f}", f"{part.cpu_us:.0f}",
                      f"{part.start_seconds:.2f}", f"{part.scan_seconds * 1000:.1f}",
                      str(part.rows))
    Console(soft_wrap=True, width=100).print(table)


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All parts."""
    # Speed is wanted of the source only; of the replica, what a user has.
    source = work.server("source", options=(
        *SOURCE_OPTIONS, *replication.server_id(1), "--sync-binlog=0",
        "--loose-rocksdb-flush-log-at-trx-commit=0"))
    replica = work.server("replica", options=(
        *REPLICA_OPTIONS, *replication.server_id(2), "--skip-slave-start",
        *(replication.parallel("optimistic", arguments.threads) if arguments.threads else ())))
    link = Link(source, replica)
    source.start()
    replica.start()
    source.client(_MAKE)
    link.begin(start=False)
    parts: list[Part] = []
    passed = failed = 0
    for _ in range(arguments.parts):
        part, problems = measure(link, arguments.transactions // arguments.parts)
        parts.append(part)
        problems += judge(parts[0], part)
        print(f"part {len(parts)}: {part.per_second:.0f}/s, {part.cpu_us:.0f} us, start "
              f"{part.start_seconds:.2f} s", flush=True)
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print(f"        part {len(parts)}: {problem}", flush=True)
    show(parts)
    replica.query("START SLAVE")
    problems = link.catch_up() or link.compare([_DATABASE])
    for problem in problems:
        print(f"        at the end: {problem}", flush=True)
    replica.stop()
    source.stop()
    return Tally(passed, failed + bool(problems))


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--transactions", type=int, default=8000)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--threads", type=int, default=8, help="of the replica; 0: one")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(workspace.main("position", parse(), run))
