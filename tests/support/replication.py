"""A server that follows another one by GTID, and the comparison of the two.

    source, replica = work.server("source", ...), work.server("replica", ...)
    link = Link(source, replica)       # gives both their ids and the source a port
    source.start()
    replica.start()
    link.begin()                       # from the source's first binary log on
    ...                                # load, crashes, restarts; a restarted replica goes on itself
    problems = link.catch_up() or link.compare(["load"])

The comparison: definitions, number of rows and checksums of all rows of every table, CHECK TABLE on
both sides, and the position that the replica has stored against the one of the source's log.
"""

from __future__ import annotations

import re
import shutil
import socket
import time
from collections.abc import Sequence

import pymysql

from basaltcli.server import Server
from tests.support import checks
from tests.support.workspace import Workspace

# The replica's log has what it applied, and can be compared; it never refuses a lost connection.
SOURCE_OPTIONS = ("--log-bin=binlog", "--sync-binlog=1", "--log-slave-updates",
                  "--innodb-flush-log-at-trx-commit=1")
REPLICA_OPTIONS = (*SOURCE_OPTIONS, "--gtid-strict-mode=1", "--relay-log=relay",
                   "--gtid-pos-auto-engines=rocksdb", "--relay-log-recovery=1",
                   "--slave-net-timeout=20")
POSITION_TABLE = "mysql.gtid_slave_pos_ROCKSDB"
_USER = "follower"
# Errors of the server by which a replica refuses half an event, and a transaction without its end.
_ER_MASTER_FATAL_ERROR_READING_BINLOG = 1236
_ER_SLAVE_RELAY_LOG_WRITE_FAILURE = 1595
# Names of generated values and of engines may differ between the two sides.
_VARYING = re.compile(r" AUTO_INCREMENT=\d+| ENGINE=\w+")


class Link:
    """One replica and its source. Neither need run when the object is made."""

    def __init__(self, source: Server, replica: Server) -> None:
        self.source = source
        self.replica = replica
        if source.port is None:
            source.port = free_port()

    def begin(self, *, start: bool = True) -> None:
        """Makes the replica follow the source from its stored position on."""
        with self.source.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute(f"CREATE OR REPLACE USER {_USER}@127.0.0.1")
            cursor.execute(f"GRANT REPLICATION SLAVE ON *.* TO {_USER}@127.0.0.1")
        self.replica.query(
            f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={self.source.port}, "
            f"MASTER_USER='{_USER}', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1")
        if start:
            self.replica.query("START SLAVE")

    def position(self) -> str:
        """The source's last transaction."""
        return str(self.source.query("SELECT @@gtid_binlog_pos")[0][0])

    def catch_up(self, seconds: float = 120, *, source_died: bool = False) -> list[str]:
        """Waits until the replica has all that the source has; one line per problem.

        A source that died amid writing a transaction to its log (`source_died`) lets its beginning
        stand, and the replica refuses it; then it is started again, once, as a user would.
        """
        wanted = self.position()
        deadline = time.monotonic() + seconds
        while True:
            try:
                done = self.replica.query("SELECT MASTER_GTID_WAIT(%s, 1)", [wanted])[0][0]
            except pymysql.err.Error as error:
                return [f"the replica gives no answer: {error}"]
            if done == 0:
                return self.problems()
            if source_died and self._refuses_a_beginning():
                source_died = False
                self.start_again()
            problems = self.problems()
            if problems and source_died and self._refuses_a_beginning():
                continue  # since it was asked last
            if problems or time.monotonic() > deadline:
                return problems or [f"the replica has not come to {wanted} in {seconds:.0f} s, is "
                                    f"at {self.replica.query('SELECT @@gtid_slave_pos')[0][0]}"]

    def apply_received(self, seconds: float = 120) -> list[str]:
        """Waits until the replica has applied what it has received; the source may be dead."""
        deadline = time.monotonic() + seconds
        while True:
            received = slave_status(self.replica)["Gtid_IO_Pos"]
            if received == self.replica.query("SELECT @@gtid_slave_pos")[0][0]:
                return []
            problems = self.problems()
            if problems or time.monotonic() > deadline:
                return problems or [f"{received} was received and is not applied"]
            time.sleep(0.05)

    def start_again(self) -> None:
        """Stops both threads when all that was received whole is applied, and starts them.

        The replica asks for what follows its position, and the source begins with the file after
        the one that it ends.
        """
        self.apply_received()
        self.replica.query("STOP SLAVE")
        self.replica.query("START SLAVE")

    def _refuses_a_beginning(self) -> bool:
        """Whether half an event, or a transaction without its end, has stopped the IO thread."""
        status = slave_status(self.replica)
        number = int(status["Last_IO_Errno"])
        return number == _ER_SLAVE_RELAY_LOG_WRITE_FAILURE or (
            number == _ER_MASTER_FATAL_ERROR_READING_BINLOG
            and "truncated in the middle of event" in status["Last_IO_Error"])

    def problems(self) -> list[str]:
        """What stopped the replica, if it has stopped."""
        status = slave_status(self.replica)
        problems = [f"the replica's {thread} thread: {status[f'Last_{thread}_Error']}"
                    for thread in ("SQL", "IO") if status.get(f"Last_{thread}_Error")
                    # 2003, 2013, ...: the source is away, the thread tries again.
                    and not 2000 < int(status[f"Last_{thread}_Errno"]) < 3000]
        if not problems and status.get("Slave_SQL_Running") != "Yes":
            problems.append("the replica's SQL thread does not run")
        return problems

    def compare(self, databases: Sequence[str], *, engines_differ: bool = False) -> list[str]:
        """How the two sides differ, after catch_up(); one line per problem."""
        problems: list[str] = []
        for database in databases:
            here, there = (_tables(server, database) for server in (self.source, self.replica))
            problems += checks.difference(here, there, (f"the source's {database}", "the replica"))
            for (table,) in here if here == there else []:
                problems += self._compare_table(f"`{database}`.`{table}`", engines_differ)
        for server in (self.source, self.replica):
            problems += checks.check_tables(server)
        ends = [server.query(f"SELECT @@{name}")[0][0] for server, name in (
            (self.source, "gtid_binlog_pos"), (self.replica, "gtid_slave_pos"),
            (self.replica, "gtid_binlog_pos"))]
        if len(set(ends)) != 1:
            problems.append(f"the source's log ends at {ends[0]}, the replica's stored position is "
                            f"{ends[1]}, its own log ends at {ends[2]}")
        return problems

    def _compare_table(self, table: str, engines_differ: bool) -> list[str]:
        problems: list[str] = []
        sides = (self.source, self.replica)
        definitions = [_VARYING.sub("", str(server.query(f"SHOW CREATE TABLE {table}")[0][1]))
                       for server in sides]
        if definitions[0] != definitions[1] and not engines_differ:
            problems.append(f"{table} is defined {definitions[0]} and {definitions[1]}")
        figures = [server.query(f"CHECKSUM TABLE {table} EXTENDED")[0][1:]
                   + server.query(f"SELECT COUNT(*) FROM {table}")[0] for server in sides]
        if figures[0] != figures[1]:
            rows = [sorted(server.query(f"SELECT * FROM {table}"), key=repr) for server in sides]
            problems += [f"{table}: {line}" for line in
                         checks.difference(rows[0], rows[1], ("the source", "the replica"))
                         or ["checksums differ"]]
        return problems


def follow_with_copy(work: Workspace, source: Server, name: str,
                     options: Sequence[str]) -> Link:
    """A replica that begins with a copy of a running source's data. Both run afterwards.

    The source's log must be empty: what is in the copy would be applied again.
    """
    source.stop()
    shutil.copytree(source.datadir, work.directory / name)
    link = Link(source, work.server(name, options=options))
    source.start()
    link.replica.start()
    link.begin()
    return link


def server_id(number: int, mode: str = "ROW") -> tuple[str, ...]:
    """Options of one of several servers."""
    return (f"--server-id={number}", f"--binlog-format={mode}")


def parallel(mode: str, threads: int = 8) -> tuple[str, ...]:
    """Options of a replica that applies in parallel: conservative, optimistic, aggressive."""
    return (f"--slave-parallel-threads={threads}", f"--slave-parallel-mode={mode}",
            "--slave-parallel-max-queued=4M")


def slave_status(server: Server) -> dict[str, str]:
    """SHOW SLAVE STATUS, empty for a server that follows nobody."""
    with (server.connect(cursorclass=pymysql.cursors.DictCursor) as connection,
          connection.cursor() as cursor):
        cursor.execute("SHOW SLAVE STATUS")
        return cursor.fetchone() or {}


def status_variable(server: Server, name: str) -> int:
    """A global status variable that is a number."""
    return int(server.query("SHOW GLOBAL STATUS LIKE %s", [name])[0][1])


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tables(server: Server, database: str) -> list[tuple[str]]:
    return server.query("SELECT TABLE_NAME FROM information_schema.TABLES "
                        "WHERE TABLE_SCHEMA = %s ORDER BY 1", [database])
