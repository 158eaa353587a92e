"""Clients that change tables as sysbench's oltp_write_only does, and journal what they did."""

from __future__ import annotations

import random
import string
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.support import spilling
from tests.support.journal import Attempt, Fate, Journal, Row, Verdict, judge

DATABASE = "journal"
# The server rolls back one of us; the client goes on with another transaction.
_RETRIED = (ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK)
# A big transaction now and then, which spans several writes to the binary log.
_BULK_ROWS = 200


class Load:
    """Tables, journals, and the threads between them. One Load lasts for several crashes.

    Errors of the server with a number among `refusals` do not end a client: it rolls back, goes on
    after a moment, and their texts are kept in `refused`. A commit that is refused is none. Errors
    among `uncertain` are refusals likewise, but a commit that meets one may be done: KILL is one.
    With `spills` some sessions have their changes go to files.
    """

    def __init__(self, server: Server, directory: Path, tables: int, rows: int,
                 clients: int, refusals: frozenset[int] = frozenset(),
                 uncertain: frozenset[int] = frozenset(), *, spills: bool = False) -> None:
        self.server = server
        self.refusals = refusals | uncertain
        self.uncertain = uncertain
        self.spills = spills
        self.refused: Counter[str] = Counter()
        self.tables = [f"t{number}" for number in range(1, tables + 1)]
        self.rows = rows
        self.journals = [Journal(number, directory / f"journal.{number}.jsonl")
                         for number in range(1, clients + 1)]
        self.errors: list[str] = []
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()

    def create_tables(self) -> None:
        """Makes and fills the tables; without binary log, so that its replay needs no DDL."""
        with (self.server.connect(autocommit=False) as connection,
              connection.cursor() as cursor):
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute(f"CREATE DATABASE {DATABASE}")
            cursor.execute(f"USE {DATABASE}")
            cursor.execute(
                "CREATE TABLE history (id BIGINT AUTO_INCREMENT PRIMARY KEY, client INT NOT NULL, "
                "number INT NOT NULL, part INT NOT NULL, payload VARCHAR(200), "
                "UNIQUE KEY (client, number, part)) ENGINE=ROCKSDB")
            for name in self.tables:
                cursor.execute(
                    f"CREATE TABLE {name} (id INT PRIMARY KEY, version INT NOT NULL, "
                    "client INT NOT NULL, number INT NOT NULL, k INT NOT NULL, "
                    "c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k (k), "
                    "KEY writer (client, number)) ENGINE=ROCKSDB")
                cursor.executemany(
                    f"INSERT INTO {name} VALUES (%s, 0, 0, 0, %s, %s, %s)",
                    [(i, i * 7 % self.rows, "c" * 120, "pad") for i in range(1, self.rows + 1)])
            connection.commit()

    def start(self, seed: int) -> None:
        """Starts one thread per client."""
        self._stopping.clear()
        self._threads = [
            threading.Thread(target=self._run, args=(journal, random.Random(f"{seed} {index}")),
                             daemon=True)
            for index, journal in enumerate(self.journals)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Waits until all clients have met the dead server."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)
            if thread.is_alive():
                self.errors.append("a client still waits for an answer, 60 s after the crash")

    def acknowledged(self) -> int:
        """Number of acknowledged transactions so far, of all rounds."""
        return sum(attempt.fate is Fate.ACKNOWLEDGED
                   for journal in self.journals for attempt in journal.attempts)

    def judge(self) -> Verdict:
        """Compares the tables with the journals."""
        history = {(client, number): count for client, number, count in self.server.query(
            f"SELECT client, number, COUNT(*) FROM {DATABASE}.history GROUP BY 1, 2")}
        tables = {name: self.server.query(f"SELECT * FROM {DATABASE}.{name} ORDER BY id")
                  for name in self.tables}
        return judge(self.journals, history, tables)

    def _run(self, journal: Journal, chance: random.Random) -> None:
        try:
            connection = self.server.connect(database=DATABASE, autocommit=False)
            client = Client(connection, self, chance)
            client.execute("SET rocksdb_lock_wait_timeout = 5")
            if self.spills:
                client.execute(f"SET {spilling.setting(chance)}")
            while not self._stopping.is_set():
                attempt = journal.begin()
                try:
                    if not client.transact(attempt):
                        return
                finally:
                    journal.end(attempt)
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError, OSError) as error:
            if not is_connection_lost(error):
                self.errors.append(f"client {journal.client}: {error}")
        except (pymysql.err.Error, AssertionError) as error:
            self.errors.append(f"client {journal.client}: {type(error).__name__} {error}")


class Client:
    """One connection and its transactions."""

    def __init__(self, connection: pymysql.connections.Connection, load: Load,
                 chance: random.Random) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        self._load = load
        self._tables = load.tables
        self._rows = load.rows
        self._chance = chance

    def execute(self, sql: str, arguments: tuple[Any, ...] = ()) -> list[Row]:
        self._cursor.execute(sql, arguments)
        return list(self._cursor.fetchall())

    def transact(self, attempt: Attempt) -> bool:
        """One transaction; its fate is in `attempt`. False when the server is gone."""
        try:
            self.execute("SET TRANSACTION ISOLATION LEVEL "
                         + self._chance.choice(("READ COMMITTED", "REPEATABLE READ")))
            self._change(attempt)
            if self._chance.random() < 0.05:
                self.connection.rollback()
                return True
        except pymysql.err.Error as error:
            if error.args and error.args[0] in _RETRIED:
                self.connection.rollback()
                return True
            if self._is_refusal(error):
                return True
            if is_connection_lost(error):
                return False
            raise
        try:
            self.connection.commit()
        except pymysql.err.Error as error:
            if error.args and error.args[0] in self._load.uncertain:
                attempt.fate = Fate.IN_DOUBT
            if self._is_refusal(error):
                return True
            attempt.fate = Fate.IN_DOUBT
            if is_connection_lost(error):
                return False
            raise
        attempt.fate = Fate.ACKNOWLEDGED
        return True

    def _is_refusal(self, error: pymysql.err.Error) -> bool:
        """Whether the client is to go on after the error; then it has rolled back."""
        if not error.args or error.args[0] not in self._load.refusals:
            return False
        self._load.refused[f"{error.args[0]} {error.args[1]}"] += 1
        self.connection.rollback()
        time.sleep(0.05)
        return True

    def _change(self, attempt: Attempt) -> None:
        kind = self._chance.random()
        if kind < 0.02:
            attempt.history_rows = _BULK_ROWS
        self._write_history(attempt, 0)
        if kind < 0.2:
            return self._write_history_rest(attempt)  # an insert alone, as oltp_insert
        for change in (self._update_index, self._update_non_index, self._delete_insert):
            name = self._chance.choice(self._tables)
            # A few rows are everybody's favourites: clients wait for each other.
            hot = self._chance.random() < 0.2
            identity = self._chance.randint(1, 10 if hot else self._rows)
            change(name, identity, attempt)
            attempt.changes.setdefault(name, Counter())[identity] += 1
        self._write_history_rest(attempt)
        for name, counts in attempt.changes.items():
            attempt.rows[name] = self._own_rows(name, set(counts), attempt)

    def _update_index(self, name: str, identity: int, attempt: Attempt) -> None:
        self.execute(f"UPDATE {name} SET k = k + %s, version = version + 1, client = %s, "
                     "number = %s WHERE id = %s",
                     (self._chance.randint(1, 9), attempt.client, attempt.number, identity))

    def _update_non_index(self, name: str, identity: int, attempt: Attempt) -> None:
        self.execute(f"UPDATE {name} SET c = %s, version = version + 1, client = %s, number = %s "
                     "WHERE id = %s", (self._text(), attempt.client, attempt.number, identity))

    def _delete_insert(self, name: str, identity: int, attempt: Attempt) -> None:
        rows = self.execute(f"DELETE FROM {name} WHERE id = %s RETURNING version", (identity,))
        assert len(rows) == 1, f"DELETE of {name}, row {identity} met {len(rows)} rows"
        self.execute(f"INSERT INTO {name} VALUES (%s, %s, %s, %s, %s, %s, %s)",
                     (identity, rows[0][0] + 1, attempt.client, attempt.number,
                      self._chance.randint(0, self._rows), self._text(), self._text()[:60]))

    def _write_history(self, attempt: Attempt, part: int) -> None:
        self.execute("INSERT INTO history (client, number, part, payload) VALUES (%s, %s, %s, %s)",
                     (attempt.client, attempt.number, part, self._text()))

    def _write_history_rest(self, attempt: Attempt) -> None:
        if attempt.history_rows > 1:
            self._cursor.executemany(
                "INSERT INTO history (client, number, part, payload) VALUES (%s, %s, %s, %s)",
                [(attempt.client, attempt.number, part, self._text())
                 for part in range(1, attempt.history_rows)])

    def _own_rows(self, name: str, identities: set[int], attempt: Attempt) -> list[Row]:
        wanted = ", ".join(map(str, sorted(identities)))
        rows = self.execute(f"SELECT * FROM {name} WHERE id IN ({wanted}) ORDER BY id")
        assert len(rows) == len(identities), f"{name}: own rows {wanted} are {rows}"
        for row in rows:
            assert row[2:4] == (attempt.client, attempt.number), f"{name}: not our row: {row}"
        return rows

    def _text(self) -> str:
        return "".join(self._chance.choices(string.ascii_lowercase, k=100))


def is_connection_lost(error: BaseException) -> bool:
    """Whether a client met the server's end rather than an answer."""
    if isinstance(error, (pymysql.err.InterfaceError, OSError)):
        return True
    # 2003, 2006, 2013: refused, gone, lost. 1053, 1927: the server shuts down, was killed.
    return bool(error.args) and error.args[0] in (2003, 2006, 2013, 1053, 1927)
