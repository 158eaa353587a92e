"""What the optimizer and SHOW are told of random tables: near enough to what is in them.

Usage: ./basalt python tests/differential/figures.py [--cases N] [--seed S]

A case loads a table whose columns have known numbers of distinct values, in one statement or in
several, and changes some of it; perhaps somebody looks at it before that is committed. While rows
are in memory, when they are in files, and after ANALYZE and OPTIMIZE, the numbers of rows and of
distinct values must be within a factor of the true ones, lengths within a factor of each other,
and times must be there where InnoDB has them. The factors are wide: they judge kinds of error, not
estimates.

Figures are made anew when somebody asks, but only so often that this takes less than a hundredth of
the time (stats/table_statistics.h). Where a machine is slow, a look may come within such a pause:
what is wrong is looked at again until the pause must be over; and it may be wrong at first in no
more than a third of all looks.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence

from basaltcli.server import Server
from tests.support import workspace
from tests.support.workspace import Tally, Workspace

CASES = 6
_DATABASE = "figures"
# Estimates of distinct values may be wrong by this factor, and by a few.
_FACTOR = 2.0
_FEW = 3
# Files are smaller than rows in memory, by what compression gives.
_LENGTH_FACTOR = 12.0
_COUNTS = (1, 2, 10, 100, 1000, 30000)
# A refresh takes some 10 ms, its pause a hundred times as long; more under load.
_PAUSE_MAX_S = 10.0
_LATE_SHARE = 1 / 3


class Figures:
    """One table, and what is said of it."""

    def __init__(self, server: Server, seed: int) -> None:
        self.problems: list[str] = []
        self.looks = 0
        self.late = 0
        self._server = server
        self._chance = random.Random(f"{seed} figures")
        chance = self._chance
        self._rows = chance.choice((300, 3000, 20000, 50000))
        self._distinct = {name: min(chance.choice(_COUNTS), self._rows) for name in "abc"}
        self._is_padded = chance.random() < 0.5

    def run(self) -> list[str]:
        """All states of the table."""
        chance = self._chance
        lengths: list[tuple[str, int, int]] = []
        self._load()
        lengths.append(self._look("loaded"))
        if chance.random() < 0.5:
            self._do("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
            lengths.append(self._look("flushed"))
        if chance.random() < 0.4:
            # Also what is changed and deleted counts once.
            self._change("UPDATE t SET pad = CONCAT('x', LEFT(pad, 20)) WHERE id % 3 = 0")
            lengths.append(self._look("updated"))
        if chance.random() < 0.4:
            name = chance.choice("bc")
            self._distinct[name] = min(chance.choice(_COUNTS), self._rows)
            self._change(f"UPDATE t SET {name} = id % {self._distinct[name]}")
            self._look(f"{name} updated")
        for verb in ("ANALYZE", "OPTIMIZE"):
            self._do(f"{verb} TABLE t")
            lengths.append(self._look(f"after {verb}"))
        self._compare_lengths(lengths)
        return self.problems

    def _load(self) -> None:
        columns = ", ".join(f"{name} INT" for name in self._distinct)
        keys = ", ".join(f"KEY {name} ({name})" for name in self._distinct)
        self._do("DROP TABLE IF EXISTS t")
        self._do(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}, pad VARCHAR(200), {keys}, "
                 "KEY ab (a, b)) ENGINE=ROCKSDB")
        parts = self._chance.choice((1, 1, 4))
        for part in range(parts):
            first = self._rows * part // parts + 1
            last = self._rows * (part + 1) // parts
            values = ", ".join(f"seq % {count}" for count in self._distinct.values())
            pad = "SHA2(seq, 512)" if self._is_padded else "'x'"
            self._change(f"INSERT INTO t SELECT seq, {values}, {pad} FROM seq_{first}_to_{last}")

    def _change(self, sql: str) -> None:
        """Perhaps others look before the commit, when nothing is there that tells of values."""
        looks = self._chance.random() < 0.5
        with self._server.connect(database=_DATABASE) as connection, \
                connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(sql)
            if looks:
                self._do("SHOW INDEX FROM t")
            connection.commit()

    def _look(self, when: str) -> tuple[str, int, int]:
        """What is told, once it is right, or after the longest pause. Notes what is still wrong."""
        self.looks += 1
        deadline = time.monotonic() + _PAUSE_MAX_S
        lengths, problems = self._look_once(when)
        self.late += bool(problems)
        while problems and time.monotonic() < deadline:
            time.sleep(0.2)
            lengths, problems = self._look_once(when)
        self.problems += problems
        return lengths

    def _look_once(self, when: str) -> tuple[tuple[str, int, int], list[str]]:
        problems: list[str] = []
        # A new look: the server keeps figures of open tables.
        self._do("FLUSH TABLES t")
        expected = {("PRIMARY", 1): self._rows}
        expected |= {(name, 1): count for name, count in self._distinct.items()}
        expected["ab", 1] = self._distinct["a"]
        for row in self._do("SHOW INDEX FROM t"):
            at = (str(row[2]), int(row[3]))
            if at in expected:
                problems += _judge(f"distinct values of {at[0]}", when, row[6], expected[at])
        told = self._do("SELECT TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, CREATE_TIME, UPDATE_TIME "
                        "FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND "
                        "TABLE_NAME = 't'")[0]
        problems += _judge("rows", when, told[0], self._rows)
        for name, value in zip(("DATA_LENGTH", "INDEX_LENGTH"), told[1:3], strict=True):
            if not value:
                problems.append(f"{when}: {name} is {value}")
        for name, value in zip(("CREATE_TIME", "UPDATE_TIME"), told[3:], strict=True):
            if value is None:
                problems.append(f"{when}: {name} is NULL")
        return (when, int(told[1]), int(told[2])), problems

    def _compare_lengths(self, lengths: Sequence[tuple[str, int, int]]) -> None:
        for at, name in ((1, "DATA_LENGTH"), (2, "INDEX_LENGTH")):
            values = [int(each[at]) for each in lengths]
            if min(values) == 0 or max(values) / max(1, min(values)) > _LENGTH_FACTOR:
                told = ", ".join(f"{each[0]} {each[at]}" for each in lengths)
                self.problems.append(f"{name}: {told}")

    def _do(self, sql: str) -> list[tuple[object, ...]]:
        with self._server.connect(database=_DATABASE) as connection, \
                connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []


def _judge(what: str, when: str, found: object, expected: int) -> list[str]:
    number = -1 if found is None else int(str(found))
    if expected / _FACTOR - _FEW <= number <= expected * _FACTOR + _FEW:
        return []
    return [f"{when}: {what}: {found}, and there are {expected}"]


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All cases."""
    server = work.server("data", options=("--loose-rocksdb-flush-log-at-trx-commit=0",))
    server.start()
    server.query(f"CREATE DATABASE {_DATABASE}")
    failed = looks = late = 0
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        figures = Figures(server, seed)
        problems = figures.run()
        looks += figures.looks
        late += figures.late
        failed += bool(problems)
        if problems:
            print(f"seed {seed}:", *(f"  {each}" for each in problems), sep="\n", flush=True)
    server.stop()
    print(f"{late} of {looks} looks were right only after a pause, or never", flush=True)
    passed = arguments.cases - failed
    return Tally(passed, failed + (late > looks * _LATE_SHARE))


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--cases", type=int, default=CASES, help="(default: %(default)s)")
    workspace.add_seed(parser)
    return workspace.main("figures", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
