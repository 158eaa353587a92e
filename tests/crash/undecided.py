"""What a crash has left prepared keeps others out until it is decided, and is decided as a whole.

Usage: ./basalt python tests/crash/undecided.py [--only TEXT]

A transaction dies when it is prepared and not in the binary log: with its changes in a batch, with
rows in files that its commit is to take in, or with so many of them that ranges are locked. The
plugin is not loaded when the server starts again, but into the running server: nothing is decided
then, and others come first. They must be told what the transaction's locks told them before the
crash: who inserts a key or a unique value of it, changes a row to have one, reads with locks where
its entries will be, or drops, empties or copies the table, waits. What it has not changed is free,
and generated values come behind its own. Then a start with --tc-heuristic-recover commits it or
rolls it back, and:

  - all of its rows are there or none is, and the others' are
  - CHECK TABLE is clean; no files of loads are left; the error log has no error of the engine

A case is one kind of transaction and one decision.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import pymysql

from basaltcli import layout
from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.crash._trial import BINLOG, wait_for_death
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

_DATABASE = "undecided"
_POINT = "txn.prepare.after_write"
_PATIENCE = 120.0
_ER_LOCK_WAIT_TIMEOUT = 1205
_TABLES = (
    "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, u INT, k INT, s LONGTEXT, "
    "UNIQUE KEY u (u), KEY k (k) COMMENT 'cfname=undecided') ENGINE=ROCKSDB",
    "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
    "INSERT INTO t VALUES (0, 0, 0, 'before'), (-1, -1, -1, 'before')",
)
_BEFORE = [(-1, -1), (0, 0)]
_FREE = (
    "INSERT INTO t VALUES (-7, -7, -7, 'free')",
    # Behind all values that the transaction has generated or given.
    "INSERT INTO t (u, k, s) VALUES (-8, -8, 'free')",
)
_KEPT_OUT = (
    "INSERT INTO t VALUES (500, -2, 0, '')",
    "INSERT INTO t VALUES (-2, 500, 0, '')",
    "INSERT IGNORE INTO t VALUES (500, -2, 0, '')",
    "INSERT INTO t VALUES (-2, 500, 0, '') ON DUPLICATE KEY UPDATE k = 9",
    "REPLACE INTO t VALUES (-2, 500, 0, '')",
    "UPDATE t SET u = 500 WHERE id = 0",
    "UPDATE t SET id = 500 WHERE id = 0",
    "DELETE FROM t WHERE k BETWEEN 490 AND 510",
    "SELECT id FROM t WHERE id BETWEEN 495 AND 505 FOR UPDATE",
    "SELECT id FROM t FORCE INDEX (k) WHERE k = 500 LOCK IN SHARE MODE",
    "ALTER TABLE t ADD KEY s (s(9)), ALGORITHM=INPLACE",
    "ALTER TABLE t DROP KEY k, ALGORITHM=INPLACE",
    "ALTER TABLE t FORCE, ALGORITHM=COPY",
    "TRUNCATE TABLE t",
    "DROP TABLE t",
    "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY) ENGINE=ROCKSDB",
)


@dataclass(frozen=True)
class Kind:
    """A transaction of `count` rows with `bytes` each."""

    name: str
    count: int
    bytes: int
    is_load: bool
    spills_at: int = 0  # bytes of changes; 0: never

    def statements(self) -> tuple[str, ...]:
        """The last one dies."""
        insert = (f"INSERT INTO t SELECT seq * 10, seq * 10, seq * 10, REPEAT('x', {self.bytes}) "
                  f"FROM seq_1_to_{self.count}")
        return (f"SET SESSION rocksdb_bulk_load = {int(self.is_load)}",
                f"SET SESSION rocksdb_write_batch_spill_bytes = {self.spills_at}", insert)

    def rows(self) -> list[tuple[int, int]]:
        """What it has of `u` and `k`."""
        return [(10 * i, 10 * i) for i in range(1, self.count + 1)]


# Of a load the first 8 MiB are in the batch until it is prepared.
_KINDS = (
    Kind("changes in a batch", 100, 10, is_load=False),
    Kind("changes in files", 100, 10, is_load=False, spills_at=1000),
    Kind("many changes in files", 30_000, 10, is_load=False, spills_at=1_000_000),
    Kind("rows in files", 100, 1 << 18, is_load=True),
    Kind("many rows in files", 120_000, 150, is_load=True),
)


def _die_prepared(server: Server, kind: Kind) -> None:
    server.start()
    server.query(f"CREATE DATABASE {_DATABASE}")
    with server.connect(database=_DATABASE) as connection, connection.cursor() as cursor:
        for statement in _TABLES:
            cursor.execute(statement)
    server.stop()
    server.environment["BASALT_FAILPOINT"] = _POINT
    server.start()
    try:
        with server.connect(database=_DATABASE) as connection, connection.cursor() as cursor:
            for statement in kind.statements():
                cursor.execute(statement)
    except (pymysql.err.OperationalError, pymysql.err.InterfaceError):
        pass
    if not wait_for_death(server, _PATIENCE):
        raise BasaltError(f"{kind.name}: nothing is prepared")
    server.environment.clear()


def _loads(server: Server) -> list[str]:
    return [str(path) for path in server.datadir.glob("*rocksdb/loads/*")]


def _others(server: Server, kind: Kind) -> list[str]:
    """What others are told while nothing is decided."""
    problems = []
    with server.connect(database=_DATABASE) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION lock_wait_timeout = 0, "
                       "SESSION default_storage_engine = ROCKSDB")
        for statement in _KEPT_OUT:
            cursor.execute("BEGIN")
            try:
                cursor.execute(statement)
                problems.append(f"is not kept out: {statement}")
            except pymysql.err.Error as error:
                if error.args[0] != _ER_LOCK_WAIT_TIMEOUT:
                    problems.append(f"{statement}: {error}")
            cursor.execute("ROLLBACK")
        for statement in _FREE:
            try:
                cursor.execute(statement)
            except pymysql.err.Error as error:
                problems.append(f"{statement}: {error}")
        cursor.execute("SELECT id, u, k FROM t ORDER BY id")
        found = list(cursor.fetchall())
        generated = found.pop()
        if generated[0] <= 10 * kind.count:
            problems.append(f"the next generated value is {generated[0]}")
        if [row[1:] for row in found] != [(-7, -7), *_BEFORE]:
            problems.append("its rows are seen before it is decided")
    return problems


def _decide(server: Server, decision: str) -> None:
    """The server commits or rolls back whatever is prepared, and refuses to start further."""
    options = server.options
    server.options = (*options, f"--tc-heuristic-recover={decision}")
    try:
        server.start()
        server.kill()
        raise BasaltError("the server has decided nothing")
    except BasaltError as error:
        if "has decided nothing" in error.message:
            raise
    server.options = options


def _case(work: Workspace, kind: Kind, decision: str) -> list[str]:
    server = work.server(f"{kind.name}-{decision}".replace(" ", "-"), options=BINLOG)
    _die_prepared(server, kind)
    log_size = server.log.stat().st_size
    is_in_files = kind.is_load or kind.spills_at != 0
    problems = [] if bool(_loads(server)) == is_in_files else [f"the files are {_loads(server)}"]
    server.engine = False
    server.start()
    server.query("INSTALL SONAME 'ha_rocksdb'")
    problems += _others(server, kind)
    # From here on the server loads the plugin by itself.
    server.kill()
    _decide(server, decision)
    server.start()
    expected = [(-8, -8), (-7, -7), *_BEFORE, *(kind.rows() if decision == "COMMIT" else [])]
    found = server.query(f"SELECT u, k FROM {_DATABASE}.t ORDER BY u")
    problems += checks.difference(found, expected, ("the table", "what is expected"))
    problems += checks.check_tables(server) + checks.engine_errors(server, log_size)
    problems += [f"left: {path}" for path in _loads(server)]
    server.kill()
    if not problems:
        work.remove(server)
    return problems


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All kinds, and both decisions."""
    passed = failed = 0
    for kind in _KINDS:
        if arguments.only.lower() not in kind.name:
            continue
        for decision in ("COMMIT", "ROLLBACK"):
            problems = _case(work, kind, decision)
            print(f"{'FAILED' if problems else 'passed'}  {kind.name}, {decision}", flush=True)
            for problem in problems[:20]:
                print(f"        {problem}", flush=True)
            passed, failed = passed + (not problems), failed + bool(problems)
    return Tally(passed, failed)


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="only kinds whose names contain this")
    arguments = parser.parse_args()
    if arguments.flavour == "release":
        return workspace.skip("a release build has no failpoints")
    return workspace.main("undecided", arguments, run)


if __name__ == "__main__":
    sys.exit(main())
