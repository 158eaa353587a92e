"""Transactions of very many rows: whether an engine does them at all, in what time and memory.

    workload = LargeTransaction(rows=1_000_000)
    outcome = workload.run(target, Statement.UPDATE)
    outcome.seconds, outcome.error_code, outcome.error

Each statement changes every row and is a transaction by itself. What engines do when a transaction
grows too large differs: give `settings`, such as COMMIT_IN_THE_MIDDLE or row_lock_limit(1000).
"""

from __future__ import annotations

import dataclasses
import enum
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pymysql

from lab.workload import Client, Damage, Load, Target, Workload
from workloads.large_transaction import check

_UPDATE = Path(__file__).resolve().parent / "update.lua"
_ROWS_OF_PREPARING_INSERT = 20_000
_BULK_LOAD_ENDS_WITHIN = 60.0

Settings = Mapping[str, str | int]

# Stock MyRocks and Basalt commit by themselves every rocksdb_bulk_load_size rows: a crash or an
# error leaves the statement half done.
COMMIT_IN_THE_MIDDLE: Settings = {"rocksdb_commit_in_the_middle": 1, "rocksdb_bulk_load_size": 1000}
# Stock MyRocks writes the rows past the transaction, into files that it adds at the end; Basalt's
# come with the transaction's commit.
BULK_LOAD: Settings = {"rocksdb_bulk_load_allow_sk": 1, "rocksdb_bulk_load": 1}


class Statement(enum.Enum):
    """What is done to every row of the table `source`."""

    UPDATE = "UPDATE source FORCE INDEX (PRIMARY) SET version = version + 1 WHERE id > 0"
    INSERT_SELECT = "INSERT INTO copied SELECT * FROM source"
    DELETE = "DELETE FROM source WHERE id > 0"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a statement ended: after `seconds`, with the server's error unless the code is None."""

    statement: Statement
    seconds: float
    error_code: int | None = None
    error: str = ""
    undo_seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        return self.error_code is None


def _failed(statement: Statement, started: float, error: pymysql.err.MySQLError) -> Outcome:
    code, text = (*error.args, "", "")[:2]
    return Outcome(statement, time.monotonic() - started, int(code or 0), str(text))


def row_lock_limit(locks: int) -> Settings:
    """At most so many row locks: stock MyRocks then fails, Basalt locks ranges instead."""
    return {"rocksdb_max_row_locks": locks}


@dataclasses.dataclass(frozen=True)
class LargeTransaction(Workload):
    """A table `source` of `rows` rows with a secondary index, and an empty `copied` like it.

    With `is_atomic=False` the check accepts statements that are half done, as commits in the middle
    leave them.
    """

    name: ClassVar[str] = "large_transaction"
    rows: int = 1_000_000
    is_atomic: bool = True
    seed: int = 1
    # Of 40 bytes, in a row.
    hashes: int = 2

    def identity(self) -> Mapping[str, Any]:
        return {"rows": self.rows, "seed": self.seed, "hashes": self.hashes}

    def expected_rows(self) -> int:
        return self.rows

    def prepare(self, target: Target) -> None:
        for table in check.TABLES:
            target.query(
                f"CREATE TABLE {table} (id BIGINT NOT NULL, version INT NOT NULL,"
                f" code INT UNSIGNED NOT NULL, payload CHAR({40 * self.hashes}) NOT NULL,"
                f" PRIMARY KEY (id), KEY by_version (version)) {target.table_options}")
        payload = ", ".join(f"SHA1(CONCAT(seq, ' {self.seed} {number}'))"
                            for number in range(self.hashes))
        for first in range(1, self.rows + 1, _ROWS_OF_PREPARING_INSERT):
            last = min(first + _ROWS_OF_PREPARING_INSERT - 1, self.rows)
            target.query(
                f"INSERT INTO source SELECT id, 0, {check.CODE}, payload FROM (SELECT seq AS id,"
                f" CONCAT({payload}) AS payload FROM seq_{first}_to_{last}) made")

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        """One client, whatever `threads`: two would only wait for each other's locks."""
        client = Client("update", _UPDATE, 1, {}, seed, "row", self.rows)
        return Load((client,), seconds=seconds)

    def run(self, target: Target, statement: Statement,
            settings: Settings | None = None) -> Outcome:
        """Runs a statement to its end; `settings` are variables that hold for it alone."""
        sql = statement.value
        if settings:
            listed = ", ".join(f"{name} = {value}" for name, value in settings.items())
            sql = f"SET STATEMENT {listed} FOR {sql}"
        started = time.monotonic()
        try:
            target.query(sql)
        except pymysql.err.MySQLError as error:
            return _failed(statement, started, error)
        return Outcome(statement, time.monotonic() - started)

    def run_and_roll_back(self, target: Target, statement: Statement) -> Outcome:
        """Runs a statement in a transaction that is rolled back; the outcome tells what both took.

        Undoing alone took `undo_seconds`.
        """
        started = time.monotonic()
        try:
            rows = target.query(
                f"BEGIN NOT ATOMIC START TRANSACTION; {statement.value}; SET @done = SYSDATE(6);"
                " ROLLBACK; SELECT TIMESTAMPDIFF(MICROSECOND, @done, SYSDATE(6)); END")
        except pymysql.err.MySQLError as error:
            return _failed(statement, started, error)
        return Outcome(statement, time.monotonic() - started, undo_seconds=rows[0][0] / 1e6)

    def run_committing_in_the_middle(self, target: Target, statement: Statement) -> Outcome | None:
        """run() with commits on the way; None where the engine has no such thing."""
        if target.engine_name == "InnoDB":
            return None
        return self.run(target, statement, COMMIT_IN_THE_MIDDLE)

    def run_with_bulk_load(self, target: Target) -> Outcome | None:
        """INSERT..SELECT by files; None where the engine has no such thing.

        In MyRocks the rows are there when the engine has noticed the end of the connection: the
        time goes on until then.
        """
        if target.engine_name == "InnoDB":
            return None
        started = time.monotonic()
        outcome = self.run(target, Statement.INSERT_SELECT, BULK_LOAD)
        while outcome.is_done and target.query("SELECT MAX(id) FROM copied") != [(self.rows,)]:
            if time.monotonic() - started > outcome.seconds + _BULK_LOAD_ENDS_WITHIN:
                return dataclasses.replace(outcome, error_code=0, error="the rows did not appear")
            time.sleep(0.01)
        return dataclasses.replace(outcome, seconds=time.monotonic() - started)

    def check(self, target: Target) -> list[str]:
        return [finding for table in check.TABLES
                for finding in check.findings(target, table, self.rows, is_atomic=self.is_atomic)]

    def damages(self) -> Sequence[Damage]:
        return check.damages(self.rows, is_atomic=self.is_atomic)
