"""basalt-migrate innodb: tables of all kinds are taken over, and what goes wrong is noticed.

Usage: ./basalt python tests/migrate/in_place.py [--rows N]

A server with InnoDB tables of all types, partitions, generated columns, history, triggers, views,
sequences, foreign keys and a FULLTEXT index. The program is refused for lack of space, run dry,
killed amid an ALTER TABLE, and run again; then it must have taken over all but what it named, with
the same rows. A copy that is falsified, and a run that ends between copy and comparison, are
brought about inside the program. The last line is "N passed, N failed".
"""

from __future__ import annotations

import argparse
import signal
import sys

from basalt_migrate import space
from basalt_migrate.connection import Address, run
from basalt_migrate.errors import MigrateError
from basalt_migrate.in_place import InPlace, Options
from basalt_migrate.tables import Table
from basaltcli.server import Server
from tests.migrate import _tables
from tests.migrate._tables import DATABASE
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

_LEFT = {"parent": "child refers to it", "child": "its foreign key to_parent refers to",
         "searched": "FULLTEXT", "history": "system versioned"}
_KEYS = """
CREATE TABLE parent (id INT PRIMARY KEY) ENGINE=InnoDB;
CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT to_parent FOREIGN KEY (p)
  REFERENCES parent (id)) ENGINE=InnoDB;
CREATE TABLE searched (t TEXT, FULLTEXT (t)) ENGINE=InnoDB;
"""


class Falsifier(InPlace):
    """Changes a row of the copy before it is compared."""

    def _alter(self, table: Table, title: str) -> None:
        super()._alter(table, title)
        run(self.connection, f"UPDATE {table.quoted} SET v = v + 1 LIMIT 1")


class Interrupted(InPlace):
    """Ends between a table's copy and the comparison, as if killed."""

    def _alter(self, table: Table, title: str) -> None:
        super()._alter(table, title)
        raise KeyboardInterrupt


def check_refusals(server: Server, options: list[str]) -> list[str]:
    """Nothing is changed by a dry run, nor where the disk would not hold it."""
    problems: list[str] = []
    code, text = _tables.run(server, "innodb", *options, "--dry-run")
    if code != 0 or "dry run: nothing was changed" not in text:
        problems.append(f"dry run: exit code {code}: {text}")
    problems += [f"dry run does not name {table}: {text}" for table, reason in _LEFT.items()
                 if f"left out: {DATABASE}.{table}: " not in text or reason not in text]
    code, text = _tables.run(server, "innodb", *options, "--free-space", "1000000")
    if code != 2 or "the disk would not hold it" not in text:
        problems.append(f"without space: exit code {code}: {text}")
    code, text = _tables.run(server, "innodb", *options, "--only", "shop.nosuch")
    if code != 2 or "there is no schema and no table shop.nosuch" not in text:
        problems.append(f"unknown table: exit code {code}: {text}")
    if checks.rocksdb_tables(server):
        problems.append(f"tables were taken over: {checks.rocksdb_tables(server)}")
    return problems


def check_kill_and_resume(server: Server, options: list[str]) -> list[str]:
    """A killed run leaves each table whole; the next one does the rest."""
    before = _tables.contents(server)
    process = _tables.start(server, "innodb", *options)
    _tables.await_rows(server, "SELECT 1 FROM information_schema.PROCESSLIST "
                               f"WHERE INFO LIKE 'ALTER TABLE `{DATABASE}`.`big`%'")
    process.kill()
    process.wait()
    problems = [f"after the kill: {line}"
                for line in _tables.difference(before, _tables.contents(server))]
    some = checks.rocksdb_tables(server)
    if not some:
        problems.append("no table was taken over before the kill")
    code, text = _tables.run(server, "innodb", *options)
    if code != 1 or "0 not, 4 left out" not in text or "rows, verified" not in text:
        problems.append(f"the second run: exit code {code}: {text}")
    problems += _tables.difference(before, _tables.contents(server))
    engines = dict(server.query("SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES "
                                "WHERE TABLE_SCHEMA = %s AND ENGINE IS NOT NULL", [DATABASE]))
    problems += [f"{name} is in {engine}" for name, engine in engines.items()
                 if (engine == "InnoDB") != (name in _LEFT)]
    if server.query("SHOW DATABASES LIKE 'basalt_migrate'"):
        problems.append("the schema basalt_migrate is still there")
    return problems + _tables.problems(server)


def check_crash(server: Server, options: list[str]) -> list[str]:
    """A server that dies amid an ALTER has the table as it was, and the next run takes it."""
    before = _tables.contents(server)
    server.query(f"ALTER TABLE {DATABASE}.big ENGINE=InnoDB")
    process = _tables.start(server, "innodb", *options)
    _tables.await_rows(server, "SELECT 1 FROM information_schema.PROCESSLIST "
                               f"WHERE INFO LIKE 'ALTER TABLE `{DATABASE}`.`big`%'")
    server.kill()
    text, _ = process.communicate()
    problems = []
    if process.returncode != 2 or "the same command goes on" not in text:
        problems.append(f"after the crash: exit code {process.returncode}: {text}")
    server.start()
    code, text = _tables.run(server, "innodb", *options)
    if code != 1 or "shop.big: " not in text or "rows, verified" not in text:
        problems.append(f"the second run: exit code {code}: {text}")
    problems += _tables.difference(before, _tables.contents(server))
    return problems + _tables.problems(server)


def check_interrupt(server: Server, options: list[str]) -> list[str]:
    """Ctrl-C ends the ALTER, and the lock with it."""
    server.query(f"ALTER TABLE {DATABASE}.big ENGINE=InnoDB")
    process = _tables.start(server, "innodb", *options)
    altering = "SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER %`big` %'"
    _tables.await_rows(server, altering)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate()
    problems = []
    if process.returncode != 130 or "stopped; the same command goes on" not in text:
        problems.append(f"interrupted: exit code {process.returncode}: {text}")
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET lock_wait_timeout = 20")
        cursor.execute(f"UPDATE {DATABASE}.big SET k = k WHERE id = 1")
    code, text = _tables.run(server, "innodb", *options, "--no-verify")
    if code != 1 or "not verified" not in text and "run before" not in text:
        problems.append(f"the second run: exit code {code}: {text}")
    return problems


def check_what_belongs_to_them(server: Server, _: list[str]) -> list[str]:
    """Counters, triggers, views, sequences and routines go on."""
    counter = server.query("SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE "
                           f"TABLE_SCHEMA = '{DATABASE}' AND TABLE_NAME = 'counted'")[0][0]
    server.query(f"CALL {DATABASE}.adds()")
    problems = [] if counter > 1000 else [f"the counter is {counter}"]
    for sql, wanted in (
            ("SELECT id, x FROM {}.counted ORDER BY id DESC LIMIT 1", (counter, "by procedure!")),
            ("SELECT COUNT(*), MIN(x) FROM {}.a_of_view", (9, "ROW 1")),
            ("SELECT NEXTVAL({}.numbers)", (1010,)),
            ("SELECT COUNT(*) FROM {}.parted PARTITION (p0)", (99,)),
            ("SELECT g FROM {}.generated WHERE g = 50", (50,))):
        found = server.query(sql.format(DATABASE))[0]
        if found != wanted:
            problems.append(f"{sql}: {found} instead of {wanted}")
    if server.query("SHOW BINARY LOGS") and "ENGINE=ROCKSDB" in str(server.query(
            "SHOW BINLOG EVENTS")):
        problems.append("the binary log tells replicas to do the same")
    return problems


def check_history_by_hand(server: Server, _: list[str]) -> list[str]:
    """What the program says of system versioned tables can be done, and keeps the history."""
    before = _tables.contents(server)["history"]
    server.client("CREATE TABLE other (id INT PRIMARY KEY, v INT) ENGINE=ROCKSDB WITH SYSTEM "
                  "VERSIONING; SET system_versioning_insert_history = 1; INSERT INTO other (id, "
                  "v, row_start, row_end) SELECT id, v, row_start, row_end FROM history FOR "
                  "SYSTEM_TIME ALL; RENAME TABLE history TO old, other TO history; DROP TABLE old",
                  DATABASE)
    after = _tables.contents(server)["history"]
    return [] if len(before) == 4 and before == after else [f"{before} became {after}"]


def check_falsified_copy(server: Server, _: list[str]) -> list[str]:
    """The difference is an error, and what was before is there if that was asked for."""
    _back_to_innodb(server)
    before = server.query(f"SELECT * FROM {DATABASE}.parted ORDER BY id")
    problems: list[str] = []
    try:
        Falsifier(_address(server), Options(only=[f"{DATABASE}.parted"],
                                            keep_originals=True)).run()
        problems.append("a falsified copy was not noticed")
    except MigrateError as error:
        if "differs from what it was" not in error.message:
            problems.append(f"another error: {error.message}")
    if server.query("SELECT * FROM basalt_migrate.`shop.parted` ORDER BY id") != before:
        problems.append("the rows of before are not there")
    server.query("DROP DATABASE basalt_migrate")
    return problems


def check_interrupted_comparison(server: Server, options: list[str]) -> list[str]:
    """The next run makes up for the comparison, and says so if writers were faster."""
    problems: list[str] = []
    for change, wanted in (("DO 1", "was taken over by the run before; 1000 rows, verified"),
                           (f"DELETE FROM {DATABASE}.parted LIMIT 1",
                            "writers may have changed it")):
        _back_to_innodb(server)
        try:
            Interrupted(_address(server), Options(only=[f"{DATABASE}.parted"])).run()
        except KeyboardInterrupt:
            pass
        server.query(change)
        _, text = _tables.run(server, "innodb", *options, "--only", f"{DATABASE}.parted")
        if wanted not in text:
            problems.append(f"not said: {wanted}: {text}")
    return problems


def check_busy_table(server: Server, options: list[str]) -> list[str]:
    """A table that others hold is left as it is after the wait; the rest goes on."""
    _back_to_innodb(server)
    with server.connect(autocommit=False) as holder, holder.cursor() as cursor:
        cursor.execute(f"UPDATE {DATABASE}.parted SET v = 1 WHERE id = 1")
        code, text = _tables.run(server, "innodb", *options, "--lock-wait", "1", "--only",
                                 f"{DATABASE}.parted")
    if code != 1 or "not taken over, as it was" not in text:
        return [f"a busy table: exit code {code}: {text}"]
    return []


def check_error_log(server: Server, _: list[str]) -> list[str]:
    """The engine has found nothing wrong."""
    return checks.engine_errors(server)


def check_space_elsewhere(server: Server, _: list[str]) -> list[str]:
    """A server on another machine tells of its disk by its plugin DISKS, if it has that."""
    problems: list[str] = []
    with _address(server).connect() as connection:
        run(connection, "SET SESSION sql_log_bin = 0")
        here = space.free_bytes(connection, None)
        elsewhere = space.free_bytes(connection, None, machine="another")
        if elsewhere is not None:
            problems.append(f"without the plugin it is {elsewhere}")
        run(connection, "INSTALL SONAME 'disks'")
        elsewhere = space.free_bytes(connection, None, machine="another")
        run(connection, "UNINSTALL SONAME 'disks'")
    if here is None or elsewhere is None or abs(here - elsewhere) > here / 4:
        problems.append(f"{here} bytes are free, the plugin says {elsewhere}")
    return problems


_CHECKS = (check_refusals, check_kill_and_resume, check_crash, check_interrupt,
           check_what_belongs_to_them, check_history_by_hand, check_falsified_copy,
           check_interrupted_comparison, check_busy_table, check_space_elsewhere,
           check_error_log)


def _address(server: Server) -> Address:
    return Address("database", socket=str(server.socket), user="root")


def _back_to_innodb(server: Server) -> None:
    server.query(f"ALTER TABLE {DATABASE}.parted ENGINE=InnoDB")


def run_all(work: Workspace, arguments: argparse.Namespace) -> Tally:
    server = work.server("data", options=("--log-bin=binlog", "--server-id=1"))
    server.start()
    _tables.create(server, "InnoDB", arguments.rows)
    server.client(_KEYS, DATABASE)
    server.query("FLUSH BINARY LOGS")
    server.query("PURGE BINARY LOGS TO 'binlog.000002'")
    # No privilege that docs/migration.md does not name.
    server.client("CREATE USER mover@localhost; GRANT SELECT, INSERT, ALTER, CREATE, DROP, INDEX, "
                  "UPDATE, DELETE, CREATE TEMPORARY TABLES, LOCK TABLES, PROCESS, BINLOG ADMIN "
                  "ON *.* TO mover@localhost")
    return workspace.run_checks(_CHECKS, server, [f"--socket={server.socket}", "--user=mover"])


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="of the largest table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(workspace.main("migrate", parse(), run_all))
