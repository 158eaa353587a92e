"""Replays a server's binary log into InnoDB copies of the tables, and compares.

    replay = BinlogReplay(server, ["load"])
    replay.create_copies()            # while the originals still have the state the log starts at
    ...                               # load, crash, restart
    problems = replay.catch_up()      # every log file that is complete by now
    problems += replay.compare()

Method: the binary log holds row events, so `mariadb-binlog --rewrite-db` turns the changes of
database `load` into changes of `load_replayed`, whose tables are InnoDB. Every start of the server
begins a new log file; catch_up() begins one too and replays, in order and once, all files before
it, each as it stands on disk. The copies are written with the binary log off. What differs
afterwards was committed in the tables and not in the log, or the other way round.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from basaltcli.server import Server
from tests.support import checks


class BinlogReplay:
    """Binary log of one server, replayed file by file. compare() needs primary keys.

    `options` of mariadb-binlog may choose what is read: changes of other databases are not to be
    made once more.
    """

    def __init__(self, server: Server, databases: Sequence[str],
                 options: Sequence[str] = ()) -> None:
        self.server = server
        self.databases = tuple(databases)
        self._options = tuple(options)
        self.transactions = 0
        self._done: set[str] = set()

    def create_copies(self) -> None:
        """Makes the copies, contents included, and begins the binary log anew."""
        with self.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0")
            for database in self.databases:
                cursor.execute(f"CREATE DATABASE {copy_of(database)}")
            for original, copy in self._tables():
                cursor.execute(f"CREATE TABLE {copy} LIKE {original}")
                cursor.execute(f"ALTER TABLE {copy} ENGINE=InnoDB")
                cursor.execute(f"INSERT INTO {copy} SELECT * FROM {original}")
            cursor.execute("RESET MASTER")
        self._done.clear()

    def catch_up(self) -> list[str]:
        """Replays the files not replayed yet; one line per problem."""
        self.server.query("FLUSH BINARY LOGS")
        names = [str(row[0]) for row in self.server.query("SHOW BINARY LOGS")]
        fresh = [name for name in names[:-1] if name not in self._done]
        self._done.update(fresh)
        return self._replay([self.server.datadir / name for name in fresh]) if fresh else []

    def compare(self) -> list[str]:
        """Rows of every table against its copy; one line per difference."""
        problems: list[str] = []
        for original, copy in self._tables():
            rows = [self.server.query(f"SELECT * FROM {table} ORDER BY 1")
                    for table in (original, copy)]
            problems += [f"{original}: {line}" for line in checks.difference(
                rows[0], rows[1], ("the table", "the binary log"))]
        return problems

    def _tables(self) -> list[tuple[str, str]]:
        """Names of the tables and of their copies."""
        return [(f"{database}.{name}", f"{copy_of(database)}.{name}")
                for database in self.databases
                for (name,) in self.server.query(
                    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s "
                    "ORDER BY 1", [database])]

    def _replay(self, files: list[Path]) -> list[str]:
        release = self.server.release
        rewrites = [f"--rewrite-db={database}->{copy_of(database)}"
                    for database in self.databases]
        read = [str(release.program("mariadb-binlog")), "--no-defaults", "--disable-log-bin",
                f"--character-sets-dir={release.usr}/share/mysql/charsets", *rewrites,
                *self._options]
        problems, changes = [], b""
        for file in files:
            decoded = subprocess.run([*read, str(file)], capture_output=True, check=False)
            errors = [line for line in decoded.stderr.decode(errors="replace").splitlines()
                      if "ERROR" in line]
            # A killed server may leave the beginning of an event at a file's end.
            problems += [f"mariadb-binlog: {line}" for line in errors
                         if "Event truncated" not in line]
            if decoded.returncode != 0 and not errors:
                problems.append(f"mariadb-binlog ended with exit code {decoded.returncode}")
            changes += decoded.stdout
            if errors:
                changes += b"\nROLLBACK /*!*/;\n"  # of what it belongs to, whatever delimits
        self.transactions += changes.count(b"\nCOMMIT")
        applied = subprocess.run(self.server.client_command("--binary-mode"),
                                 input=changes, capture_output=True, check=False)
        if applied.returncode != 0:
            problems.append("the binary log does not apply to the copies: "
                            + applied.stderr.decode(errors="replace").strip())
        return problems


def copy_of(database: str) -> str:
    """The database that has the copies."""
    return f"{database}_replayed"
