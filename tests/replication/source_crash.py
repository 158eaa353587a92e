"""A source dies amid writing a transaction to its binary log: the replica goes on and is the same.

Usage: ./basalt python tests/replication/source_crash.py [--engine ENGINE] [--verbose]

The log is written in pieces and a crash leaves some of them: whole events of a transaction, perhaps
the beginning of another one. The server lets them stand and begins a new file. It sends whole
events, and a replica rolls back what does not end; at half an event it refuses, and the replica has
to be started again once it has applied the rest (Link.catch_up, the user guide).

A real crash at a wanted byte cannot be had, so each case makes one: a transaction commits, the
source is killed, the end of the transaction is cut off its log, and off its table after the start.
Each kind of event of a transaction is cut amid, and the transaction between two of them. The last
line is "N passed, N failed", a case being one cut.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass

from tests.support import checks, replication, workspace
from tests.support.replication import REPLICA_OPTIONS, SOURCE_OPTIONS, Link
from tests.support.workspace import Tally, Workspace

_DATABASE = "cut"
_MAKE = f"""
CREATE DATABASE {_DATABASE}; USE {_DATABASE};
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(200), KEY (s)) ENGINE=%s;
"""
_LOST = "lost"


@dataclass(frozen=True)
class Event:
    """One event of a binary log; positions in bytes."""

    kind: str
    begin: int
    end: int


@dataclass(frozen=True)
class Cut:
    """Where the log of a transaction ends: `kept` bytes of `event` are there."""

    event: str
    kept: float

    def position(self, events: list[Event]) -> int:
        event = next(event for event in events if event.kind == self.event)
        return event.begin + int((event.end - event.begin) * self.kept)

    def __str__(self) -> str:
        return f"{self.kept:.0%} of {self.event}" if self.kept else f"nothing from {self.event} on"


CUTS = (Cut("Gtid", 0.1), Cut("Gtid", 0.9), Cut("Table_map", 0), Cut("Table_map", 0.5),
        Cut("Write_rows_v1", 0), Cut("Write_rows_v1", 0.7), Cut("Xid", 0), Cut("Xid", 0.9))


def crash(link: Link, cut: Cut) -> None:
    """The source dies while it writes a transaction's events, up to the cut."""
    source = link.source
    source.query(f"INSERT INTO {_DATABASE}.t (s) VALUES ('{cut}')")
    file, begin = source.query("SHOW MASTER STATUS")[0][:2]
    source.query(f"INSERT INTO {_DATABASE}.t (s) VALUES ('{_LOST}')")
    events = [Event(str(row[2]), int(row[1]), int(row[4])) for row in
              source.query(f"SHOW BINLOG EVENTS IN '{file}' FROM {begin}")]
    source.kill()
    os.truncate(source.datadir / file, cut.position(events))
    source.start()
    with source.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_log_bin = 0")
        cursor.execute(f"DELETE FROM {_DATABASE}.t WHERE s = '{_LOST}'")
    source.query(f"INSERT INTO {_DATABASE}.t (s) VALUES ('after {cut}')")


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All cuts, one after the other, on one pair of servers."""
    source = work.server("source", options=(*SOURCE_OPTIONS, *replication.server_id(1)))
    replica = work.server("replica", options=(
        *REPLICA_OPTIONS, *replication.server_id(2), *replication.parallel("optimistic")))
    link = Link(source, replica)
    source.start()
    replica.start()
    source.client(_MAKE % arguments.engine)
    link.begin()
    passed = failed = 0
    for cut in CUTS:
        problems = link.catch_up()
        replica.query("STOP SLAVE")
        crash(link, cut)
        log_size = source.log.stat().st_size
        replica.query("START SLAVE")
        problems += link.catch_up(source_died=True) or link.compare([_DATABASE])
        problems += checks.engine_errors(source, log_size)
        passed, failed = passed + (not problems), failed + bool(problems)
        if problems or arguments.verbose:
            print(f"{'FAILED' if problems else 'passed'}  {cut}", flush=True)
        for problem in problems[:12]:
            print(f"        {problem}", flush=True)
    return Tally(passed, failed)


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--engine", default="ROCKSDB", help="of the table (default: %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="name passed cases too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(workspace.main("source", parse(), run))
