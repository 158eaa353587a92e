"""SIGKILL while clients commit, and what must be true afterwards."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field

import pymysql

from basaltcli import ui
from basaltcli.demo import binlog
from basaltcli.demo.engines import INNODB, ROCKSDB
from basaltcli.errors import BasaltError
from basaltcli.server import Server

_WRITERS = 4
_PARTS = 3
_SCHEMA = (
    """CREATE TABLE commits (
      writer INT NOT NULL, number INT NOT NULL, part INT NOT NULL,
      package_id INT UNSIGNED NOT NULL, note VARCHAR(64) NOT NULL,
      PRIMARY KEY (writer, number, part), UNIQUE KEY note (note), KEY package_id (package_id)
    ) ENGINE=ROCKSDB""",
    """CREATE TABLE progress (
      writer INT NOT NULL PRIMARY KEY, number INT NOT NULL, KEY number (number)
    ) ENGINE=ROCKSDB""",
)


@dataclass
class Journal:
    """What one client knows: the transactions it began, and those whose COMMIT was answered."""

    writer: int
    begun: set[int] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)
    error: str = ""


@dataclass
class CrashReport:
    """All rounds together. `problems` is empty when everything is as it must be."""

    rounds: int = 0
    begun: int = 0
    acknowledged: int = 0
    unacknowledged: int = 0
    restart_seconds: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def run(server: Server, packages: int, rounds: int, seconds: float) -> CrashReport:
    """Kills and restarts the server `rounds` times, each after about `seconds` of commits."""
    report = CrashReport()
    journals = [Journal(writer) for writer in range(_WRITERS)]
    with server.connect(database=ROCKSDB.database) as connection, connection.cursor() as cursor:
        for definition in _SCHEMA:
            cursor.execute(definition)
        cursor.executemany("INSERT INTO progress VALUES (%s, 0)", [(j.writer,) for j in journals])
        cursor.execute("FLUSH BINARY LOGS")
    chance = random.Random()
    in_binlog: set[tuple[int, ...]] = set()
    title = f"Killing the server {rounds} times while {_WRITERS} clients commit"
    with ui.progress(title) as bar:
        for number in range(rounds):
            binlog_file = binlog.current(server)
            _write_and_kill(server, journals, packages, seconds * chance.uniform(0.6, 1.4))
            started = time.monotonic()
            server.start()
            report.restart_seconds.append(time.monotonic() - started)
            report.rounds += 1
            in_binlog |= binlog.inserted(server, binlog_file, f"{ROCKSDB.database}.commits")
            _verify(server, journals, in_binlog, report)
            bar.update(number + 1, rounds)
    report.begun = sum(len(journal.begun) for journal in journals)
    report.acknowledged = sum(len(journal.acknowledged) for journal in journals)
    if report.acknowledged == 0:
        report.problems.append("no commit was acknowledged at all")
    return report


def _write_and_kill(server: Server, journals: list[Journal], packages: int,
                    seconds: float) -> None:
    is_killed = threading.Event()
    threads = [threading.Thread(target=_write, args=(server, journal, packages, is_killed),
                                daemon=True) for journal in journals]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    is_running = server.pid() is not None
    is_killed.set()
    server.kill()
    for thread in threads:
        thread.join()
    if not is_running:
        raise BasaltError("the server died by itself while clients wrote",
                          f"its log says more: {server.log}")


def _write(server: Server, journal: Journal, packages: int, is_killed: threading.Event) -> None:
    """One client: transactions that touch three tables, until the connection breaks."""
    number = max(journal.begun, default=0)
    try:
        with server.connect(database=ROCKSDB.database) as connection, \
                connection.cursor() as cursor:
            while True:
                number += 1
                # Every client has packages of its own, so that nobody waits for anybody.
                package = (number * 7 * _WRITERS + journal.writer) % packages + 1
                journal.begun.add(number)
                cursor.execute("BEGIN")
                cursor.execute("INSERT INTO commits VALUES " + ", ".join(
                    f"({journal.writer}, {number}, {part}, {package}, "
                    f"'{journal.writer}/{number}/{part}')" for part in range(_PARTS)))
                cursor.execute("UPDATE package SET download_size = download_size + 1 "
                               f"WHERE id = {package}")
                cursor.execute(f"UPDATE progress SET number = {number} "
                               f"WHERE writer = {journal.writer}")
                cursor.execute("COMMIT")
                journal.acknowledged.add(number)
    except (pymysql.err.MySQLError, OSError) as error:
        if not is_killed.is_set() and server.pid() is not None:
            journal.error = f"client {journal.writer}: {error}"


def _verify(server: Server, journals: list[Journal], in_binlog: set[tuple[int, ...]],
            report: CrashReport) -> None:
    """After a restart: everything acknowledged, nothing by halves, nothing invented."""
    rows = set(server.query(f"SELECT writer, number, part FROM {ROCKSDB.database}.commits"))
    progress = dict(server.query(f"SELECT writer, number FROM {ROCKSDB.database}.progress"))
    report.unacknowledged = 0
    for journal in journals:
        present = {number for writer, number, _ in rows if writer == journal.writer}
        whole = {number for number in present
                 if all((journal.writer, number, part) in rows for part in range(_PARTS))}
        name = f"after kill {report.rounds}, client {journal.writer}"
        if journal.error:
            report.problems.append(f"before kill {report.rounds}, {journal.error}")
            journal.error = ""
        for what, numbers in (
                ("acknowledged but lost", journal.acknowledged - present),
                ("present by halves", present - whole),
                ("present but never begun", present - journal.begun)):
            if numbers:
                report.problems.append(f"{name}: {what}: {_shown(numbers)}")
        if progress.get(journal.writer) != max(present, default=0):
            report.problems.append(f"{name}: progress says {progress.get(journal.writer)}, "
                                   f"the newest commit is {max(present, default=0)}")
        report.unacknowledged += len(present - journal.acknowledged)
    for what, difference in (("in the table only", rows - in_binlog),
                             ("in the binary log only", in_binlog - rows)):
        if difference:
            report.problems.append(f"after kill {report.rounds}: rows {what}: "
                                   f"{_shown(difference)}")


def _shown(items: set[int] | set[tuple[int, ...]]) -> str:
    """Some of them, for a message."""
    few = ", ".join(str(item) for item in sorted(items)[:5])
    return f"{few} ({len(items)} in all)"


def replay(server: Server) -> None:
    """Repeats in InnoDB's copy what the survivors did to packages, so that both must be equal."""
    server.query(f"""
        UPDATE {INNODB.database}.package p
        JOIN (SELECT package_id, COUNT(*) AS times FROM {ROCKSDB.database}.commits
              WHERE part = 0 GROUP BY package_id) c ON c.package_id = p.id
        SET p.download_size = p.download_size + c.times""")


def check_tables(server: Server) -> tuple[int, list[str]]:
    """CHECK TABLE for every ROCKSDB table: how many, and what it complains about."""
    tables = [name for name, in server.query(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s "
        "ORDER BY TABLE_NAME", [ROCKSDB.database])]
    problems: list[str] = []
    with ui.progress("CHECK TABLE: every index against the rows") as bar:
        for number, table in enumerate(tables, 1):
            answers = server.query(f"CHECK TABLE {ROCKSDB.database}.{table}")
            problems += [f"{name}: {kind}: {text}" for name, _, kind, text in answers
                         if (kind, text) != ("status", "OK")]
            bar.update(number, len(tables))
    return len(tables), problems
