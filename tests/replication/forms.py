"""Replication of everything our tables can do: what is on the source ends up on the replica.

Usage: ./basalt python tests/replication/forms.py [--only TEXT] [--rows N]

Each case is made in row and in mixed format; those of statements that are logged as statements also
in statement format. A case: an engine on one side and another on the other, tables without any key,
XA transactions, large transactions, rows that expire, savepoints and failed statements, generated
values, a third server that follows the replica, the table of positions, acknowledgements before and
after the commit of the source (semi-synchronous replication) with a crash of the source.

After each case replica and source must be equal: rows, definitions, indexes, positions.
The last line is "N passed, N failed".
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable

import pymysql

from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.support import checks, replication, workspace
from tests.support.replication import POSITION_TABLE, REPLICA_OPTIONS, SOURCE_OPTIONS, Link
from tests.support.workspace import Tally, Workspace

_DATABASE = "forms"

_STATEMENTS = """
CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, u INT, k INT, v VARCHAR(60), UNIQUE (u),
                KEY (k));
INSERT INTO s (u, k, v) VALUES {values};
UPDATE s SET v = CONCAT(v, '+'), k = k + 1 WHERE k = 3;
UPDATE s SET u = u + 1000 ORDER BY u DESC LIMIT 20;
DELETE FROM s WHERE k = 2 ORDER BY id LIMIT 10;
INSERT IGNORE INTO s (u, k, v) VALUES (1, 1, 'ignored'), (5001, 1, 'new');
INSERT INTO s (u, k, v) VALUES (4, 9, 'dup') ON DUPLICATE KEY UPDATE v = 'updated', k = 99;
REPLACE INTO s (u, k, v) VALUES (5, 5, 'replaced'), (6000, 6, 'new');
BEGIN; SAVEPOINT a; DELETE FROM s WHERE k < 4; SAVEPOINT b; UPDATE s SET k = -1;
ROLLBACK TO b; INSERT INTO s (u, k, v) VALUES (7001, 1, LAST_INSERT_ID()); COMMIT;
BEGIN; INSERT INTO s (u, k) VALUES (8001, 1); SAVEPOINT a; DELETE FROM s; ROLLBACK TO a; COMMIT;
BEGIN; DELETE FROM s; ROLLBACK;
SET @x = 42; INSERT INTO s (u, k, v) VALUES (9001, @x, RAND(3));
CREATE TABLE copied ENGINE=ROCKSDB SELECT id, k FROM s WHERE k > 1;
INSERT INTO copied SELECT id + 10000, k FROM s WHERE k = 1;
TRUNCATE TABLE copied; INSERT INTO copied SELECT id, u FROM s;
"""
_ROWS_ALONE = """
INSERT INTO s (u, k, v) SELECT seq + 20000, 1, UUID() FROM seq_1_to_20;
DELETE FROM s WHERE k = 1 LIMIT 3;
UPDATE s SET k = RAND() * 100;
"""
_KEYLESS = """
CREATE TABLE h (a INT, b VARCHAR(40));
CREATE TABLE hk (a INT, b VARCHAR(40), KEY (a));
CREATE TABLE hu (a INT, b VARCHAR(40), UNIQUE (a));
INSERT INTO h SELECT seq % 10, CONCAT('b', seq % 3) FROM seq_1_to_100;
INSERT INTO hk SELECT seq % 10, CONCAT('b', seq % 3) FROM seq_1_to_100;
INSERT INTO hu SELECT IF(seq % 2, NULL, seq), 'b' FROM seq_1_to_100;
BEGIN; UPDATE h SET b = 'changed' WHERE a = 3; UPDATE hk SET a = a + 1 WHERE b = 'b1';
UPDATE hu SET a = a + 1 WHERE a > 50 ORDER BY a DESC; COMMIT;
DELETE FROM h WHERE a = 4; DELETE FROM hk WHERE a = 5; DELETE FROM hu WHERE a IS NULL;
INSERT INTO h SELECT * FROM hk; DELETE FROM hk;
"""
_XA = """
CREATE TABLE x (id INT PRIMARY KEY, v INT, KEY (v));
INSERT INTO x SELECT seq, seq FROM seq_1_to_20;
XA START 'one'; UPDATE x SET v = v + 100 WHERE id < 5; XA END 'one'; XA PREPARE 'one';
"""
_XA_AFTER = """
INSERT INTO x VALUES (100, 100);
XA COMMIT 'one';
XA START 'two'; UPDATE x SET v = v + 100 WHERE id < 5; XA END 'two'; XA PREPARE 'two';
XA ROLLBACK 'two';
XA START 'three'; DELETE FROM x WHERE id = 5; XA END 'three'; XA COMMIT 'three' ONE PHASE;
XA START 'four'; INSERT INTO x VALUES (200, 1); XA END 'four'; XA PREPARE 'four';
"""
_LARGE = """
CREATE TABLE big (id INT PRIMARY KEY, k INT, v VARCHAR(200), KEY (k));
BEGIN; INSERT INTO big SELECT seq, seq % 100, REPEAT(CHAR(65 + seq % 26), 150) FROM seq_1_to_{rows};
UPDATE big SET k = k + 1, v = CONCAT(v, 'x') WHERE id % 3 = 0; DELETE FROM big WHERE id % 5 = 0;
COMMIT;
UPDATE big SET k = k + 1;
"""
_OTHER_ENGINE = """
INSERT INTO {t} SELECT seq, seq % 9, CONCAT('v', seq) FROM seq_1_to_300;
BEGIN; UPDATE {t} SET v = 'changed' WHERE k = 3; DELETE FROM {t} WHERE k = 4; COMMIT;
UPDATE {t} SET id = id + 1000 WHERE k = 5; REPLACE INTO {t} VALUES (1, 1, 'replaced');
"""


_EXPIRING = """
CREATE TABLE e (id INT PRIMARY KEY, k INT, KEY (k)) COMMENT='ttl_duration=2';
CREATE TABLE c (id INT PRIMARY KEY, k INT, born BIGINT UNSIGNED NOT NULL, UNIQUE (k))
  COMMENT='ttl_duration=2;ttl_col=born';
"""
_EXPIRING_ROWS = """
INSERT INTO c SELECT seq, seq, UNIX_TIMESTAMP() - 1 FROM seq_1_to_20;
SET timestamp = UNIX_TIMESTAMP() - 1; INSERT INTO e SELECT seq, seq FROM seq_1_to_20;
"""
_WRITE_FILE = """
SET sql_log_bin = 0; CREATE TABLE filler ENGINE=ROCKSDB SELECT 1 AS id;
SET GLOBAL rocksdb_force_flush_memtable_now = 1; DROP TABLE filler;
"""
_EXPIRED_ROWS_REPLACED = """
INSERT INTO c SELECT seq, seq + 1, UNIX_TIMESTAMP() + 1000000 FROM seq_5_to_12;
INSERT INTO c SELECT seq + 100, seq, UNIX_TIMESTAMP() + 1000000 FROM seq_14_to_17;
UPDATE c SET k = k + 1000 WHERE id > 8; DELETE FROM c WHERE id = 110;
INSERT INTO e SELECT seq, seq + 1 FROM seq_5_to_12;
"""


class Scene:
    """A source, its replica, and the replica's replica, in one format of the log."""

    def __init__(self, work: Workspace, log_format: str, rows: int) -> None:
        self.log_format = log_format
        self.rows = rows
        engine = "--default-storage-engine=rocksdb"
        self.source = work.server(f"source-{log_format}", options=(
            *SOURCE_OPTIONS, engine, *replication.server_id(1, log_format)))
        self.replica = work.server(f"replica-{log_format}", options=(
            *REPLICA_OPTIONS, engine, *replication.server_id(2, log_format)))
        self.third = work.server(f"third-{log_format}", options=(
            *REPLICA_OPTIONS, engine, *replication.server_id(3, log_format)))
        self.link = Link(self.source, self.replica)
        self.chain = Link(self.replica, self.third)
        for server in (self.source, self.replica, self.third):
            server.start()
        self.link.begin()
        self.chain.begin()
        self.source.query(f"CREATE DATABASE {_DATABASE}")

    def compare(self, **options: bool) -> list[str]:
        return self.link.catch_up() or self.link.compare([_DATABASE], **options)

    def compare_prepared(self, names: list[str]) -> list[str]:
        """Whether those are prepared on the source and on the replica, which restarts with them."""
        problems = self.link.catch_up()
        self.replica.kill()
        self.replica.start()
        problems += self.link.catch_up()
        for server in (self.source, self.replica):
            found = sorted(row[3].decode() for row in server.query("XA RECOVER"))
            if found != names:
                problems.append(f"{server.datadir.name}: prepared are {found}, not {names}")
        return problems

    def finish(self) -> None:
        for server in (self.third, self.replica, self.source):
            server.stop()


def statements(scene: Scene) -> list[str]:
    values = ", ".join(f"({number}, {number % 7}, 'v{number}')" for number in range(1, 201))
    scene.source.client(_STATEMENTS.format(values=values), _DATABASE)
    if scene.log_format != "STATEMENT":
        scene.source.client(_ROWS_ALONE, _DATABASE)
    return scene.compare()


def tables_without_key(scene: Scene) -> list[str]:
    scene.source.client(_KEYLESS, _DATABASE)
    return scene.compare()


def large_transaction(scene: Scene) -> list[str]:
    scene.source.client(_LARGE.format(rows=scene.rows), _DATABASE)
    return scene.compare()


def xa(scene: Scene) -> list[str]:
    """A prepared transaction is applied at its commit, whether its session is there or not."""
    scene.source.client(_XA, _DATABASE)
    scene.source.client(_XA_AFTER, _DATABASE)
    problems = scene.compare_prepared(["four"])
    scene.source.client("XA COMMIT 'four'")
    return problems + scene.compare_prepared([]) + scene.compare()


def expiring_rows(scene: Scene) -> list[str]:
    """What the source changed the replica finds, though it comes when that is expired and after a
    crash; and what the source inserted in the place of expired rows replaces them."""
    scene.source.client(_EXPIRING, _DATABASE)
    problems = scene.link.catch_up()
    scene.replica.query("STOP SLAVE")
    with scene.source.connect(database=_DATABASE, autocommit=False) as early, \
            early.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM e")  # by the time of which rows are expired for it
        scene.source.client(_EXPIRING_ROWS, _DATABASE)
        problems += _wait_until_expired(scene.source)
        for table in ("e", "c"):
            if cursor.execute(f"UPDATE {table} SET k = k + 100 WHERE id < 10") != 9:
                problems.append(f"rows of {table} vanished in a transaction")
            cursor.execute(f"DELETE FROM {table} WHERE id > 18")
        early.commit()
    scene.source.client(_EXPIRED_ROWS_REPLACED, _DATABASE)
    # With a file, and so a manifest, from when they are expired. A start makes it follow.
    scene.replica.client(_WRITE_FILE, _DATABASE)
    scene.replica.kill()
    scene.replica.start()
    problems += scene.link.catch_up()
    for server in (scene.source, scene.replica):
        problems += _wait_until_expired(server, "e")
    return problems or scene.compare()


def _wait_until_expired(server: Server, *tables: str) -> list[str]:
    deadline = time.monotonic() + 60
    for table in tables or ("e", "c"):
        while server.query(f"SELECT COUNT(*) FROM {_DATABASE}.{table}")[0][0] != 0:
            if time.monotonic() > deadline:
                return [f"{server.datadir.name}: rows of {table} do not expire"]
            time.sleep(0.1)
    return []


def other_engine(scene: Scene) -> list[str]:
    """Ours on the source and InnoDB on the replica, and the other way round."""
    columns = "(id INT PRIMARY KEY, k INT, v VARCHAR(40), KEY (k), KEY (v))"
    sides = {"ours_to_innodb": ("ROCKSDB", "InnoDB"), "innodb_to_ours": ("InnoDB", "ROCKSDB")}
    for table, engines in sides.items():
        for server, engine in zip((scene.source, scene.replica), engines):
            server.client(f"SET sql_log_bin = 0; CREATE TABLE {table} {columns} ENGINE={engine}",
                          _DATABASE)
        scene.third.client(f"SET sql_log_bin = 0; CREATE TABLE {table} {columns}", _DATABASE)
    for table in sides:
        scene.source.client(_OTHER_ENGINE.format(t=table), _DATABASE)
    scene.source.client("BEGIN; UPDATE ours_to_innodb SET k = k + 1; "
                        "UPDATE innodb_to_ours SET k = k + 2; COMMIT;", _DATABASE)
    return scene.compare(engines_differ=True)


def third_server(scene: Scene) -> list[str]:
    """All that came so far, and a transaction while its source restarts, is on the third."""
    scene.replica.kill()
    values = ", ".join(f"({number}, 3, 'later')" for number in range(30000, 30050))
    scene.source.client(f"INSERT INTO s (u, k, v) VALUES {values}; "
                        "DELETE FROM s WHERE u BETWEEN 30010 AND 30020;", _DATABASE)
    scene.replica.start()
    problems = scene.link.catch_up() + scene.chain.catch_up()
    return problems or scene.chain.compare([_DATABASE], engines_differ=True)


def positions(scene: Scene) -> list[str]:
    """The position is stored in our engine by transactions of ours, and old ones are removed."""
    for _ in range(40):
        scene.source.client("".join(f"UPDATE s SET k = k + 1 WHERE id = {number};"
                                    for number in range(1, 11)), _DATABASE)
    problems = scene.link.catch_up()
    wanted = scene.link.position()
    rows = scene.replica.query(f"SELECT CONCAT_WS('-', domain_id, server_id, seq_no) "
                               f"FROM {POSITION_TABLE} ORDER BY sub_id")
    engine = scene.replica.query("SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA "
                                 "= 'mysql' AND TABLE_NAME = 'gtid_slave_pos_ROCKSDB'")
    if engine != [("ROCKSDB",)]:
        problems.append(f"{POSITION_TABLE} is of engine {engine}")
    if not rows or rows[-1][0] != wanted:
        problems.append(f"{POSITION_TABLE} ends with {rows[-1:]}, the source with {wanted}")
    # Removed in batches of gtid_cleanup_batch_size = 64.
    if len(rows) > 200:
        problems.append(f"{POSITION_TABLE} has {len(rows)} rows after 400 transactions")
    return problems


def _semi_sync(wait_point: str) -> Callable[[Scene], list[str]]:
    def case(scene: Scene) -> list[str]:
        """The source dies under load: what clients were told is on the replica."""
        scene.source.client("CREATE OR REPLACE TABLE told (client INT, number INT, "
                            "PRIMARY KEY (client, number))", _DATABASE)
        scene.source.query(f"SET GLOBAL rpl_semi_sync_master_wait_point = {wait_point}, "
                           "GLOBAL rpl_semi_sync_master_timeout = 60000, "
                           "GLOBAL rpl_semi_sync_master_enabled = ON")
        scene.replica.query("STOP SLAVE")
        scene.replica.query("SET GLOBAL rpl_semi_sync_slave_enabled = ON")
        scene.replica.query("START SLAVE")
        _wait_for_semi_sync(scene.source)
        told: list[tuple[int, int]] = []
        threads = [threading.Thread(target=_insert, args=(scene.source, number, told))
                   for number in range(6)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        deadline = time.monotonic() + 60
        while len(told) < 50 and time.monotonic() < deadline:
            time.sleep(0.05)
        yes, no = (replication.status_variable(scene.source, f"Rpl_semi_sync_master_{name}_tx")
                   for name in ("yes", "no"))
        scene.source.kill()
        for thread in threads:
            thread.join()
        problems = scene.link.apply_received()
        there = set(scene.replica.query(f"SELECT client, number FROM {_DATABASE}.told"))
        lost = [row for row in told if row not in there]
        if lost:
            problems.append(f"{len(lost)} of {len(told)} acknowledged transactions are not on the "
                            f"replica: {lost[:5]}")
        if not yes or no:
            problems.append(f"{yes} transactions were acknowledged by the replica, {no} were not")
        scene.source.start()
        return problems + scene.compare()
    return case


def _insert(server: Server, client: int, told: list[tuple[int, int]]) -> None:
    try:
        with server.connect(database=_DATABASE) as connection, connection.cursor() as cursor:
            for number in range(1_000_000):
                cursor.execute("INSERT INTO told VALUES (%s, %s)", (client, number))
                told.append((client, number))
    except (pymysql.err.Error, OSError):
        return


def _wait_for_semi_sync(source: Server) -> None:
    deadline = time.monotonic() + 120
    while source.query("SHOW STATUS LIKE 'Rpl_semi_sync_master_status'")[0][1] != "ON" or \
            not replication.status_variable(source, "Rpl_semi_sync_master_clients"):
        if time.monotonic() > deadline:
            raise BasaltError("semi-synchronous replication does not start", f"see {source.log}")
        time.sleep(0.05)


_CASES: tuple[tuple[str, Callable[[Scene], list[str]]], ...] = (
    ("statements", statements),
    ("tables without any key", tables_without_key),
    ("a large transaction", large_transaction),
    ("XA transactions", xa),
    ("rows that expire", expiring_rows),
    ("another engine on one side", other_engine),
    ("a third server", third_server),
    ("the table of positions", positions),
    ("semi-synchronous, AFTER_SYNC", _semi_sync("AFTER_SYNC")),
    ("semi-synchronous, AFTER_COMMIT", _semi_sync("AFTER_COMMIT")),
)


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All cases in all formats."""
    passed = failed = 0
    for log_format in arguments.formats.split(","):
        scene = Scene(work, log_format, arguments.rows)
        for name, case in _CASES:
            if name != "statements" and arguments.only not in name:
                continue
            try:
                problems = case(scene)
            except (BasaltError, pymysql.err.Error) as error:
                problems = [f"{type(error).__name__}: {error}"]
            passed, failed = passed + (not problems), failed + bool(problems)
            print(f"{'FAILED' if problems else 'passed'}  {name}, {log_format}", flush=True)
            for problem in problems[:12]:
                print(f"        {problem}", flush=True)
        problems = [line for server in (scene.source, scene.replica, scene.third)
                    for line in checks.engine_errors(server)]
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems[:12]:
            print(f"        {problem}", flush=True)
        if failed:
            break
        scene.finish()
    return Tally(passed, failed)


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain this")
    parser.add_argument("--formats", default="ROW,MIXED")
    parser.add_argument("--rows", type=int, default=20000, help="of the large transaction")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(workspace.main("forms", parse(), run))
