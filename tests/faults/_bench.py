"""What the fault tests share: a server under load with its journal, and questions to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.support import checks
from tests.support.binlog import BinlogReplay
from tests.support.load import DATABASE as LOAD_DATABASE
from tests.support.load import Load
from tests.support.workspace import Workspace

OPTIONS = ("--log-bin=binlog", "--sync-binlog=1", "--binlog-format=ROW", "--server-id=1",
           "--innodb-flush-log-at-trx-commit=1", "--loose-rocksdb-flush-log-at-trx-commit=1",
           "--loose-rocksdb-write-buffer-size=4M", "--max-connections=100")
# What clients may meet while the engine cannot write; texts come with them.
REFUSALS = frozenset((ER.OPEN_AS_READONLY, ER.RECORD_FILE_FULL, ER.ERROR_DURING_COMMIT,
                      ER.GET_ERRMSG))


class Bench:
    """One server, its load, and what must hold of them. Problems are lines of text."""

    def __init__(self, work: Workspace, server: Server, clients: int, rows: int = 300, *,
                 spills: bool = False) -> None:
        self.server = server
        self.load = Load(server, work.directory, 2, rows, clients, REFUSALS, spills=spills)
        self.replay_from_start()
        self._rounds = 0
        # Numbers of the transactions of two engines; those that are acknowledged.
        self._pair = 0
        self._pairs: set[int] = set()

    def prepare(self) -> None:
        """Makes the tables; one of another engine among them."""
        self.load.create_tables()
        self.server.query("CREATE DATABASE other")
        self.server.query("CREATE TABLE other.i (id INT AUTO_INCREMENT PRIMARY KEY, v INT) "
                          "ENGINE=InnoDB")
        self.server.query("CREATE TABLE other.left_half (id INT PRIMARY KEY) ENGINE=InnoDB")
        self.server.query("CREATE TABLE other.right_half (id INT PRIMARY KEY) ENGINE=ROCKSDB")
        self.server.query("CREATE TABLE other.flushed (id INT PRIMARY KEY) ENGINE=ROCKSDB")
        self._replay.create_copies()

    def replay_from_start(self) -> None:
        """To be called when the data directory is again as it was: nothing is replayed yet."""
        self._replay = BinlogReplay(self.server, [LOAD_DATABASE, "other"])

    def start_load(self) -> None:
        self._rounds += 1
        self.load.start(self._rounds)
        self._pairs_thread = threading.Thread(target=self._write_pairs, daemon=True)
        self._pairs_thread.start()

    def _write_pairs(self) -> None:
        """Transactions of two engines, one after the other, until the server is gone."""
        try:
            with self.server.connect(autocommit=False) as connection:
                cursor = connection.cursor()
                while True:
                    self._pair += 1
                    try:
                        cursor.execute(f"INSERT INTO other.left_half VALUES ({self._pair})")
                        cursor.execute(f"INSERT INTO other.right_half VALUES ({self._pair})")
                        connection.commit()
                        self._pairs.add(self._pair)
                    except pymysql.err.Error as error:
                        if error.args[0] not in REFUSALS:
                            raise
                        connection.rollback()
                        time.sleep(0.02)
        except (pymysql.err.Error, OSError):
            return

    def run_unlogged(self, *statements: str) -> None:
        """Runs statements that are not to be in the binary log."""
        with self.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0")
            for statement in statements:
                cursor.execute(statement)

    def state(self) -> str:
        return self.status("Rocksdb_state")

    def status(self, name: str) -> str:
        return str(self.server.query(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1])

    def wait_for_state(self, states: Sequence[str], seconds: float) -> bool:
        """Whether the engine comes into one of these states within that time."""
        deadline = time.monotonic() + seconds
        while self.state() not in states:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def wait_for_commits(self, count: int, seconds: float) -> bool:
        """Whether that many more transactions are acknowledged within that time."""
        wanted = self.load.acknowledged() + count
        deadline = time.monotonic() + seconds
        while self.load.acknowledged() < wanted:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def check_read_only(self, words: Sequence[str]) -> list[str]:
        """While writes fail: with what text, what else goes on. `words` are to be in every text."""
        problems: list[str] = []
        problems += self._check_refusal("INSERT INTO journal.t1 VALUES (0, 0, 0, 0, 0, '', '')",
                                        words)
        problems += self._check_refusal("UPDATE journal.t1 SET k = k + 1 WHERE id = 1", words)
        problems += self._check_refusal("CREATE TABLE journal.n (a INT) ENGINE=ROCKSDB", ())
        if self.server.query("SHOW TABLES FROM journal LIKE 'n'"):
            problems.append("CREATE TABLE failed and the table is there")
        if not self.server.query("SELECT COUNT(*) FROM journal.t1")[0][0]:
            problems.append("no rows can be read")
        with self.server.connect(autocommit=False) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO other.i (v) VALUES (1)")
            cursor.execute("SELECT COUNT(*) FROM journal.t2")
            connection.commit()
            cursor.execute("INSERT INTO other.i (v) VALUES (1)")
            try:
                cursor.execute("UPDATE journal.t1 SET k = k + 1 WHERE id = 1")
                problems.append("an UPDATE is not refused")
            except pymysql.err.Error:
                pass
            connection.rollback()
        for name in ("Rocksdb_state_cause", ):
            missing = [word for word in words if word not in self.status(name)]
            if missing:
                problems.append(f"{name} is '{self.status(name)}', without {missing}")
        return problems

    def check_refused_rows(self, word: str) -> list[str]:
        """While only rows are refused, with a text that has the word."""
        problems = self._check_refusal(
            "INSERT INTO journal.t1 VALUES (0, 0, 0, 0, 0, '', '')", (word, "is full"))
        self.run_unlogged("CREATE TABLE journal.n (a INT) ENGINE=ROCKSDB", "DROP TABLE journal.n")
        self.server.query("INSERT INTO other.i (v) VALUES (1)")
        return problems

    def check_tables(self) -> list[str]:
        return checks.check_tables(self.server)

    def _check_refusal(self, statement: str, words: Sequence[str]) -> list[str]:
        started = time.monotonic()
        try:
            self.server.query(statement)
        except pymysql.err.Error as error:
            text = str(error.args[1])
            problems = [f"{statement[:30]}: '{text}' has no '{word}'" for word in words
                        if word not in text]
            # One that waited for a lock or a resume would take longer still.
            if time.monotonic() - started > 30:
                problems.append(f"{statement[:30]}: took {time.monotonic() - started:.1f} s")
            return problems
        return [f"not refused: {statement[:60]}"]

    def resume(self) -> list[str]:
        """As an administrator does it, in letters of any case."""
        try:
            self.server.query("SET GLOBAL rocksdb_resume = 'On'")
        except pymysql.err.Error as error:
            return [f"rocksdb_resume: {error}"]
        if self.state() != "writable":
            return [f"resumed, and the state is {self.state()}"]
        if self.status("Rocksdb_decided_transactions") != "0":
            return ["resumed, and decided transactions are left"]
        return []

    def crash(self) -> list[str]:
        """Kills the server and ends the load."""
        return self._end(self.server.kill)

    def stop(self) -> list[str]:
        """Shuts the server down, under load."""
        return self._end(lambda: self.server.stop(60))

    def _end(self, end: Callable[[], bool]) -> list[str]:
        problems = [] if self.server.pid() else [f"mariadbd died by itself: {self.server.log}"]
        end()
        self.load.join()
        self._pairs_thread.join(60)
        problems += self.load.errors
        self.load.errors.clear()
        return problems

    def check_data(self) -> list[str]:
        """After a start: journal, tables and binary log agree; nothing is left prepared."""
        prepared = self.server.query("XA RECOVER")
        problems = [f"transactions stay prepared: {prepared}"] if prepared else []
        problems += checks.check_tables(self.server)
        problems += self.load.judge().problems
        left, right = ({row[0] for row in self.server.query(f"SELECT id FROM other.{name}_half")}
                       for name in ("left", "right"))
        if left != right:
            problems.append(f"one engine has transactions {sorted(left ^ right)[:5]}, "
                            "the other has not")
        if not self._pairs <= right:
            problems.append(f"lost of two engines: {sorted(self._pairs - right)[:5]}")
        problems += self._replay.catch_up()
        problems += self._replay.compare()
        return problems

    def check_texts(self) -> list[str]:
        """The errors that clients met: each names a file or says that the engine is read-only."""
        return [f"a client met: {text}" for text in self.load.refused
                if "#rocksdb" not in text and "read-only" not in text and "reserve" not in text]

    def log_lines(self, start: int, word: str) -> list[str]:
        """Lines of the error log, from byte `start`, that have the word."""
        text = self.server.log.read_bytes()[start:].decode(errors="replace")
        return [line for line in text.splitlines() if word in line]
