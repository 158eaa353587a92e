"""Prepared XA transactions whose sessions go away, and statements that define tables meanwhile.

Usage: ./basalt python tests/isolation/detached.py [--seconds N | --cases N] [--seed S]

In each case a session prepares changes of a table and ends: politely, without a word, or by KILL,
and with much or little to clean up. Another session wants to drop, empty, rebuild or index the
table, before or after that, and a third decides the transaction. Chance decides about each step,
its form and its time, so a seed repeats what is done but not when. Whatever the order: CHECK TABLE
finds nothing, a committed transaction's rows are there, each index has them, a rolled back one's
are not, and nothing destroys the table between prepare and decision.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.support import checks, workspace
from tests.support.watchdog import Watchdog
from tests.support.workspace import Tally, Workspace

SECONDS = 20.0
_WORKERS = 3
_DECIDE_SECONDS = 60
_OPTIONS = ("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync",
            "--debug-no-sync", "--loose-rocksdb-flush-log-at-trx-commit=0",
            "--loose-rocksdb-write-buffer-size=64K")
_BASE = {1: 10, 2: 20, 3: 30}
# What they do to rows. Those of the first kind leave nothing of an undecided transaction.
_DESTROYING = ("DROP TABLE x", "TRUNCATE TABLE x", "CREATE OR REPLACE TABLE x (id INT PRIMARY KEY, "
               "v INT) ENGINE=ROCKSDB", "DROP DATABASE {database}")
_KEEPING = ("ALTER TABLE x ADD KEY added (v), ALGORITHM=INPLACE",
            "ALTER TABLE x ADD KEY added (v), ALGORITHM=COPY", "ALTER TABLE x FORCE",
            "ALTER TABLE x FORCE, ALGORITHM=COPY", "OPTIMIZE TABLE x",
            "ALTER TABLE x ADD COLUMN w INT, ALGORITHM=COPY")
_OF_PARTITIONS = ("ALTER TABLE x TRUNCATE PARTITION ALL", "ALTER TABLE x REMOVE PARTITIONING",
                  "ALTER TABLE x REBUILD PARTITION ALL")
_CHANGES = (("INSERT INTO x (id, v) VALUES (7, 70), (8, 80)", {7: 70, 8: 80}),
            ("UPDATE x SET v = v + 1 WHERE id <> 0", {1: 11, 2: 21, 3: 31}),
            ("UPDATE x SET id = id + 100 WHERE id = 2", {2: None, 102: 20}),
            ("DELETE FROM x WHERE id = 3", {3: None}),
            ("REPLACE INTO x (id, v) VALUES (1, 99)", {1: 99}))
_MANY_VARIABLES = 150_000
# How often a transaction is decided while its session may still be on its way out.
_EARLY = 0.25
_NOT_IN_PLACE = 1845
_REFUSED = (ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK, _NOT_IN_PLACE)


@dataclass
class Case:
    """What is done, and how it came out."""

    number: int
    table: str
    change: str
    result: dict[int, int]
    definition: str
    is_definition_first: bool
    decision: str
    ending: str
    variables: int
    delays: tuple[float, float]
    is_decided_early: bool
    is_defined: bool = False
    defined_at: float = 0.0
    decided_at: float = 0.0
    is_decided: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def is_destroying(self) -> bool:
        return self.definition.startswith(("DROP", "TRUNCATE", "CREATE")) or (
            "TRUNCATE" in self.definition)

    def __str__(self) -> str:
        order = "begun before" if self.is_definition_first else "begun after"
        return (f"case {self.number}: {self.table}\n    {self.change}; prepared; {self.definition} "
                f"({'done' if self.is_defined else 'refused'}, {order} the session's end); "
                f"the session with {self.variables} variables ends by {self.ending}; "
                f"{self.decision} ({'done' if self.is_decided else 'not done'})")


def draw(seed: int) -> Case:
    """The case of a seed."""
    chance = random.Random(f"{seed} detached")
    is_partitioned = chance.random() < 0.4
    table = "CREATE TABLE x (id INT PRIMARY KEY, v INT, KEY v (v)) ENGINE=ROCKSDB"
    if is_partitioned:
        table += " PARTITION BY HASH (id) PARTITIONS 3"
    change, changes = chance.choice(_CHANGES)
    result = {**_BASE, **{key: value for key, value in changes.items() if value is not None}}
    result = {key: value for key, value in result.items() if changes.get(key, 0) is not None}
    definitions = [*_DESTROYING, *_KEEPING]
    # Only tables without partitions are indexed in place.
    definitions += _OF_PARTITIONS if is_partitioned else [_KEEPING[0]] * 5
    return Case(seed, table, change, result, chance.choice(definitions),
                is_definition_first=chance.random() < 0.6,
                decision=chance.choice(("XA COMMIT", "XA COMMIT", "XA ROLLBACK")),
                ending=chance.choice(("quit", "quit", "silence", "KILL")),
                variables=chance.choice((0, 0, 100, _MANY_VARIABLES)),
                delays=(chance.random() * 0.03, chance.random() * 0.05),
                is_decided_early=chance.random() < _EARLY)


class Worker:
    """Runs cases, one after the other, in a database of its own."""

    def __init__(self, server: Server, number: int, watchdog: Watchdog) -> None:
        self._server = server
        self._database = f"detached{number}"
        self._watchdog = watchdog
        self._made = 0

    def run(self, case: Case) -> None:
        """Leaves what is wrong in the case."""
        self._made += 1
        xid = f"'{self._database}_{self._made}'"
        self._server.query(f"DROP DATABASE IF EXISTS {self._database}")
        self._server.query(f"CREATE DATABASE {self._database}")
        session = self._connect()
        self._do(session, case.table)
        self._do(session, "INSERT INTO x VALUES (1, 10), (2, 20), (3, 30)")
        if case.variables:
            self._do(session, "SET " + ", ".join(
                f"@a{number} = {number}" for number in range(case.variables)))
        for sql in (f"XA START {xid}", case.change, f"XA END {xid}", f"XA PREPARE {xid}"):
            self._do(session, sql)
        prepared_at, thread_id = time.monotonic(), session.thread_id()
        definer = threading.Thread(target=self._define, args=(case,))
        if case.is_definition_first:
            definer.start()
            time.sleep(case.delays[0])
        self._end(session, case.ending)
        if not case.is_definition_first:
            time.sleep(case.delays[0])
            definer.start()
        time.sleep(case.delays[1])
        if not case.is_decided_early:
            self._await_end(thread_id)
        self._decide(case, xid)
        definer.join()
        self._judge(case, prepared_at)

    def _define(self, case: Case) -> None:
        """The definition, in a thread of its own."""
        try:
            connection = self._connect()
            self._do(connection, "SET lock_wait_timeout = 1, rocksdb_lock_wait_timeout = 1")
            with self._watchdog.over(connection.thread_id()), connection.cursor() as cursor:
                cursor.execute(case.definition.format(database=self._database))
                # OPTIMIZE says in its rows what went wrong.
                rows = cursor.fetchall() if cursor.description else ()
                case.is_defined = not any("rror" in str(row) for row in rows)
            case.defined_at = time.monotonic()
            connection.close()
        except pymysql.err.Error as error:
            if error.args[0] not in _REFUSED:
                case.problems.append(f"{case.definition}: {error}")

    def _end(self, session: pymysql.connections.Connection, how: str) -> None:
        if how == "KILL":
            self._server.query(f"KILL CONNECTION {session.thread_id()}")
        elif how == "quit":
            session.close()
        if session.open:
            # The socket closes, without COM_QUIT.
            session._force_close()

    def _await_end(self, thread_id: int) -> None:
        """Returns when the session has gone, with all that it leaves behind."""
        while self._server.query("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = %s",
                                 (thread_id,)):
            time.sleep(0.002)

    def _decide(self, case: Case, xid: str) -> None:
        """Tries until the session's end has given the transaction away."""
        connection = self._connect(database=None)
        deadline = time.monotonic() + _DECIDE_SECONDS
        while time.monotonic() < deadline:
            case.decided_at = time.monotonic()
            try:
                self._do(connection, f"{case.decision} {xid}")
                case.is_decided = True
                break
            except pymysql.err.Error as error:
                if error.args[0] != ER.XAER_NOTA:
                    case.problems.append(f"{case.decision}: {error}")
                    break
                time.sleep(0.002)
        else:
            case.problems.append(f"{case.decision}: not known after {_DECIDE_SECONDS} s")
        connection.close()

    def _judge(self, case: Case, prepared_at: float) -> None:
        if case.is_defined and case.is_destroying:
            if prepared_at < case.defined_at < case.decided_at:
                case.problems.append("the table was destroyed while the transaction was undecided")
            return
        tables = [name for name in checks.rocksdb_tables(self._server)
                  if name.startswith(f"`{self._database}`")]
        case.problems += checks.check_tables(self._server, tables)
        expected = case.result if case.decision == "XA COMMIT" else _BASE
        rows = sorted(expected.items())
        for key in ("PRIMARY", "v", "added"):
            if key == "added" and not (case.is_defined and "added" in case.definition):
                continue
            found = sorted(self._server.query(
                f"SELECT id, v FROM {self._database}.x FORCE INDEX ({key}) WHERE "
                f"{'id' if key == 'PRIMARY' else 'v'} > 0"))
            case.problems += checks.difference(found, rows, (f"index {key}", "what was decided"))

    def _connect(self, database: str | None = "") -> pymysql.connections.Connection:
        return self._server.connect(database=self._database if database == "" else database)

    def _do(self, connection: pymysql.connections.Connection, sql: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql)


class Cases:
    """Gives out cases to workers, and gathers what they came to."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.failed: list[Case] = []
        self.counts: Counter[str] = Counter()
        self._arguments = arguments
        self._deadline = time.monotonic() + arguments.seconds
        self._mutex = threading.Lock()
        self._given = 0

    def next(self) -> Case | None:
        """The next one; None at the end."""
        with self._mutex:
            arguments = self._arguments
            if len(self.failed) >= arguments.failures or (
                    self._given >= arguments.cases if arguments.cases
                    else time.monotonic() > self._deadline):
                return None
            # One case again and again, where only that is asked for: its times differ.
            seed = arguments.seed if arguments.repeat else arguments.seed + self._given
            self._given += 1
            return draw(seed)

    def done(self, case: Case) -> None:
        """Notes a case that is over."""
        with self._mutex:
            self.counts["cases"] += 1
            self.counts["definitions done" if case.is_defined else "definitions refused"] += 1
            self.counts["transactions decided"] += case.is_decided
            if case.problems:
                self.failed.append(case)
                print(case, *(f"    {each}" for each in case.problems[:5]), sep="\n", flush=True)


def _work(worker: Worker, cases: Cases, problems: list[str]) -> None:
    try:
        while (case := cases.next()) is not None:
            worker.run(case)
            cases.done(case)
    except Exception as error:  # noqa: BLE001: a thread has nobody to raise it to
        problems.append(f"{type(error).__name__}: {error}")


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """Cases until the time is over, or until enough have failed."""
    server = work.server("data", options=_OPTIONS)
    server.start()
    watchdog = Watchdog(server)
    cases = Cases(arguments)
    problems: list[str] = []
    threads = [threading.Thread(target=_work, args=(Worker(server, number, watchdog), cases,
                                                    problems)) for number in range(_WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    problems += [*watchdog.findings, *_left_over(server), *checks.engine_errors(server)]
    print(*problems, sep="\n")
    print(", ".join(f"{count} {name}" for name, count in sorted(cases.counts.items())))
    watchdog.stop()
    server.stop()
    failed = len(cases.failed) + len(problems)
    return Tally(cases.counts["cases"] - len(cases.failed), failed)


def _left_over(server: Server) -> Sequence[str]:
    """Transactions that nobody has decided."""
    return [f"still prepared: {row}" for row in server.query("XA RECOVER")]


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="(default: %(default)s)")
    parser.add_argument("--cases", type=int, default=0, help="instead of a time")
    parser.add_argument("--failures", type=int, default=3, help="stop after so many")
    parser.add_argument("--repeat", action="store_true", help="always the case of the seed")
    workspace.add_seed(parser)
    return workspace.main("detached", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
