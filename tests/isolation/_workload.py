"""Clients that run random transactions on lists and sets, and write down what they saw.

A list is a row of `lists`, whose text gets longer; a set is the rows of `items` with its number.
Both are reached by primary key, by secondary index and by ranges of either.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.isolation._history import Append, Fate, History, Key, Read, Transaction, Value
from tests.support import spilling

_DATABASE = "history"
# The keys of the tables; one of each is drawn.
_LISTS_KEYS = ("PRIMARY KEY (id), KEY k (k)", "PRIMARY KEY (id DESC), KEY k (k)",
               "PRIMARY KEY (id), UNIQUE KEY k (k)", "PRIMARY KEY (id), KEY k (k DESC, id)")
_ITEMS_KEYS = ("PRIMARY KEY (value), KEY number (number)",
               "PRIMARY KEY (number, value), UNIQUE KEY (value), KEY number (number)",
               "UNIQUE KEY (value), KEY number (number)")
_RECORD_CHANGED = 1020
# The server gave up one of us, or refused a change of an old version; nothing is wrong.
_RETRIED = (ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK, ER.DUP_ENTRY, _RECORD_CHANGED)
_LISTS_AT_ONCE = 6
_SETS_AT_ONCE = 4
# An object that has so many values is left for a new one.
_VALUES = 24
_RECONNECT_SECONDS = 0.05
LEVEL_NAMES = {"RU": "READ UNCOMMITTED", "RC": "READ COMMITTED", "RR": "REPEATABLE READ",
               "SI": "REPEATABLE READ", "SER": "SERIALIZABLE"}


class Objects:
    """Which lists and sets are in use: a window of numbers that moves on as they fill."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._counts: dict[Key, int] = {}
        self._first = {"L": 1, "S": 1}

    def window(self, kind: str) -> range:
        size = _LISTS_AT_ONCE if kind == "L" else _SETS_AT_ONCE
        with self._mutex:
            return range(self._first[kind], self._first[kind] + size)

    def count(self, kind: str, number: int) -> None:
        """Counts one more value of an object; the window moves when its first object is full."""
        with self._mutex:
            key = f"{kind}{number}"
            self._counts[key] = self._counts.get(key, 0) + 1
            while self._counts.get(f"{kind}{self._first[kind]}", 0) >= _VALUES:
                self._first[kind] += 1


class Workload:
    """All clients of one level, and their history."""

    def __init__(self, server: Server, engine: str, level: str, clients: int, seed: int) -> None:
        self.server = server
        self.engine = engine
        self.level = level
        self.problems: list[str] = []
        self.objects = Objects()
        self.numbers = itertools.count(1)
        chance = random.Random(f"{seed} {level}")
        self.tables = (
            f"CREATE TABLE lists (id INT NOT NULL, k INT NOT NULL, v TEXT NOT NULL, "
            f"{chance.choice(_LISTS_KEYS)}) ENGINE={engine}",
            f"CREATE TABLE items (value INT NOT NULL, number INT NOT NULL, "
            f"{chance.choice(_ITEMS_KEYS)}) ENGINE={engine}")
        self._stopping = threading.Event()
        self._clients = [_Client(self, number, random.Random(f"{seed} {level} {number}"))
                         for number in range(1, clients + 1)]
        self._threads = [threading.Thread(target=client.run, daemon=True)
                         for client in self._clients]

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def start(self) -> None:
        """Makes the tables and starts the clients."""
        with self.server.connect() as connection, connection.cursor() as cursor:
            for sql in (
                    f"DROP DATABASE IF EXISTS {_DATABASE}", f"CREATE DATABASE {_DATABASE}",
                    f"USE {_DATABASE}", *self.tables):
                cursor.execute(sql)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Lets the clients finish their transactions."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(120)
            if thread.is_alive():
                self.problems.append("a client still waits for an answer after 120 s")

    def history(self) -> History:
        """What the clients did, and the objects in the end."""
        final: dict[Key, tuple[Value, ...]] = {}
        for number, text in self.server.query(f"SELECT id, v FROM {_DATABASE}.lists"):
            final[f"L{number}"] = _values(text)
        for number, value in self.server.query(
                f"SELECT number, value FROM {_DATABASE}.items WHERE number > 0 ORDER BY value"):
            final[f"S{number}"] = (*final.get(f"S{number}", ()), value)
        transactions = [each for client in self._clients for each in client.transactions]
        return History(self.level, sorted(transactions, key=lambda each: each.number), final)

    def table_problems(self) -> list[str]:
        """What CHECK TABLE has to say."""
        return [str(row) for table in ("lists", "items")
                for row in self.server.query(f"CHECK TABLE {_DATABASE}.{table}")
                if row[2:] != ("status", "OK")]


class _Aborted(Exception):
    """The transaction is over, and was not committed."""


class _Gone(Exception):
    """The server is gone."""


class _Client:
    """One client: a connection at a time, and transactions one after the other."""

    def __init__(self, workload: Workload, number: int, chance: random.Random) -> None:
        self.transactions: list[Transaction] = []
        self._workload = workload
        self._number = number
        self._chance = chance
        self._values = itertools.count(number * 1_000_000)
        self._spares: list[Value] = []
        self._connection: pymysql.connections.Connection | None = None
        self._transaction = Transaction(0, number)
        self._is_alone = False
        self._started = 0.0

    def run(self) -> None:
        while not self._workload.is_stopping:
            try:
                if self._connection is None:
                    self._connect()
                self._make_spares()
                self._transact()
            except _Gone:
                self._connection = None
                time.sleep(_RECONNECT_SECONDS)
            except Exception as error:  # noqa: BLE001: a thread has nobody to raise it to
                self._workload.problems.append(
                    f"client {self._number}: {type(error).__name__}: {error}")
                return
        if self._connection is not None:
            self._connection.close()

    # Statements.

    def _connect(self) -> None:
        try:
            self._connection = self._workload.server.connect(database=_DATABASE)
        except (pymysql.err.Error, OSError) as error:
            raise _Gone from error
        prefix = "rocksdb" if self._workload.engine == "ROCKSDB" else "innodb"
        self._execute(f"SET SESSION {prefix}_lock_wait_timeout = 5")
        if prefix == "rocksdb" and self._chance.random() < 0.3:
            # Ranges instead of rows, before a transaction is over.
            self._execute(f"SET SESSION rocksdb_max_row_locks = {self._chance.randint(1, 6)}")
        if prefix == "rocksdb":
            self._execute(f"SET {spilling.setting(self._chance)}")
        self._execute("SET SESSION TRANSACTION ISOLATION LEVEL "
                      + LEVEL_NAMES[self._workload.level])
        if self._execute(f"SHOW VARIABLES LIKE '{prefix}_snapshot_isolation'") \
                or self._workload.level == "SI":
            value = "ON" if self._workload.level == "SI" else "OFF"
            self._execute(f"SET SESSION {prefix}_snapshot_isolation = {value}")

    def _execute(self, sql: str) -> list[tuple[Any, ...]]:
        assert self._connection is not None
        self._started = time.monotonic()
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall()) if cursor.description else [(cursor.rowcount,)]
        except (pymysql.err.InterfaceError, OSError) as error:
            raise _Gone from error
        except pymysql.err.Error as error:
            if error.args[0] in (2003, 2006, 2013, 1053, 1927):
                raise _Gone from error
            if error.args[0] in _RETRIED:
                raise _Aborted from error
            raise

    # Transactions.

    def _transact(self) -> None:
        transaction = Transaction(next(self._workload.numbers), self._number)
        self._transaction = transaction
        self.transactions.append(transaction)
        transaction.began = time.monotonic()
        self._is_alone = self._chance.random() < 0.1
        try:
            if self._is_alone:
                self._transact_alone(transaction)
                return
            self._begin(transaction)
            for _ in range(self._chance.randint(1, 6)):
                self._chance.choice(self._operations())()
            self._end(transaction)
        except _Aborted:
            # The locks were held at least until the statement that failed.
            transaction.held_until = self._started
            self._execute("ROLLBACK")
        except _Gone:
            transaction.held_until = transaction.held_until or self._started
            raise
        finally:
            transaction.ended = time.monotonic()

    def _transact_alone(self, transaction: Transaction) -> None:
        """A statement that commits itself."""
        transaction.fate = Fate.UNKNOWN
        try:
            self._chance.choice((self._read_list, self._read_set, self._append, self._add))()
        except _Aborted:
            transaction.fate = Fate.ABORTED
            raise
        transaction.held_until = self._started
        transaction.fate = Fate.COMMITTED

    def _begin(self, transaction: Transaction) -> None:
        transaction.has_early_snapshot = self._chance.random() < 0.1
        self._execute("START TRANSACTION WITH CONSISTENT SNAPSHOT"
                      if transaction.has_early_snapshot else "BEGIN")

    def _end(self, transaction: Transaction) -> None:
        transaction.held_until = time.monotonic()
        if self._chance.random() < 0.1:
            self._execute("ROLLBACK")
            return
        transaction.fate = Fate.UNKNOWN
        self._execute("COMMIT")
        transaction.fate = Fate.COMMITTED

    def _operations(self) -> Sequence[Callable[[], None]]:
        usual = (self._read_list, self._read_list, self._read_lists, self._read_set,
                 self._read_sets, self._append, self._append, self._append, self._add, self._add,
                 self._replace_list, self._undo)
        # Where what was read may have been changed since, this would lose updates.
        safe = self._workload.level in ("SI", "SER")
        return (*usual, self._overwrite_list) if safe else usual

    # Operations. What a statement does is written down before it is sent: it may be done and never
    # be answered.

    def _append(self) -> None:
        number = self._some("L")
        value = next(self._values)
        where = self._chance.choice((f"id = {number}", f"k = {-number}"))
        insert = (f"INSERT INTO lists VALUES ({number}, {-number}, '{value}') "
                  f"ON DUPLICATE KEY UPDATE v = CONCAT(v, ',{value}')")
        update = f"UPDATE lists SET v = CONCAT(v, ',{value}') WHERE {where}"
        if self._chance.random() < 0.5 and not self._is_alone:
            append = self._record(f"L{number}", value, update)
            if self._sent(append, update) == 0:
                # There was no such row: nothing has been added.
                self._transaction.operations.remove(append)
                self._sent(self._record(f"L{number}", value, insert), insert)
        else:
            self._sent(self._record(f"L{number}", value, insert), insert)
        self._workload.objects.count("L", number)

    def _add(self) -> None:
        number = self._some("S")
        if self._spares and self._chance.random() < 0.5:
            value = self._spares.pop()
            sql = f"UPDATE items SET number = {number} WHERE value = {value}"
        else:
            value = next(self._values)
            sql = f"INSERT INTO items VALUES ({value}, {number})"
        self._sent(self._record(f"S{number}", value, sql), sql)
        self._workload.objects.count("S", number)

    def _replace_list(self) -> None:
        """The new text is made by the client, from what it has locked."""
        number = self._some("L")
        text = self._read_rows(f"SELECT id, v FROM lists WHERE id = {number} FOR UPDATE", [number],
                               is_locking=True).get(number)
        if text is None:
            return
        value = next(self._values)
        new = f"{text},{value}"
        row = f"({number}, {-number}, '{new}')"
        kind = self._chance.choice(("UPDATE", "REPLACE", "DELETE"))
        if kind == "REPLACE":
            sql = f"REPLACE INTO lists VALUES {row}"
        elif kind == "UPDATE":
            sql = f"UPDATE lists SET v = '{new}' WHERE k = {-number}"
        else:
            self._execute(f"DELETE FROM lists WHERE id = {number}")
            sql = f"INSERT INTO lists VALUES {row}"
        append = self._record(f"L{number}", value, sql)
        self._sent(append, sql)
        # What this transaction had added to the row before was away for a moment.
        for each in self._transaction.appends:
            if each.key == append.key:
                each.ended = append.ended
        self._workload.objects.count("L", number)

    def _overwrite_list(self) -> None:
        """The new text is made by the client, from what it has read without a lock of its own."""
        number = self._some("L")
        text = self._read_rows(f"SELECT id, v FROM lists WHERE id = {number}", [number],
                               is_locking=self._locks_plain_reads).get(number)
        if text is None:
            return
        value = next(self._values)
        sql = f"UPDATE lists SET v = '{text},{value}' WHERE id = {number}"
        self._sent(self._record(f"L{number}", value, sql), sql)
        self._workload.objects.count("L", number)

    def _undo(self) -> None:
        """Adds something and takes it back."""
        self._execute("SAVEPOINT a")
        before = len(self._transaction.operations)
        self._chance.choice((self._append, self._add))()
        for each in self._transaction.operations[before:]:
            if isinstance(each, Append):
                each.is_undone = True
        self._execute("ROLLBACK TO a")

    def _read_list(self) -> None:
        number = self._some("L")
        where = self._chance.choice((f"WHERE id = {number}",
                                     f"FORCE INDEX (k) WHERE k = {-number}"))
        lock, is_locking = self._lock()
        self._read_rows(f"SELECT id, v FROM lists {where}{lock}", [number], is_locking=is_locking,
                        is_range="FORCE" in where)

    def _read_lists(self) -> None:
        window = self._workload.objects.window("L")
        first = self._chance.choice(window)
        last = first + self._chance.randint(1, 3)
        where = self._chance.choice((f"WHERE id BETWEEN {first} AND {last}",
                                     f"FORCE INDEX (k) WHERE k BETWEEN {-last} AND {-first}",
                                     f"WHERE id BETWEEN {first} AND {last} ORDER BY id DESC"))
        lock, is_locking = self._lock()
        self._read_rows(f"SELECT id, v FROM lists {where}{lock}", range(first, last + 1),
                        is_locking=is_locking, is_range=True)

    def _read_set(self) -> None:
        self._read_items(0)

    def _read_sets(self) -> None:
        self._read_items(self._chance.randint(1, 2))

    def _read_items(self, more: int) -> None:
        first = self._some("S")
        lock, is_locking = self._lock()
        sql = (f"SELECT number, value FROM items FORCE INDEX (number) WHERE number "
               f"BETWEEN {first} AND {first + more}{lock}")
        read = self._read(sql, is_locking, is_range=True)
        rows = self._execute(sql)
        read.ended = time.monotonic()
        for number in range(first, first + more + 1):
            read.found[f"S{number}"] = tuple(sorted(value for each, value in rows
                                                    if each == number))
        self._transaction.operations.append(read)

    def _read_rows(self, sql: str, numbers: Sequence[int], *, is_locking: bool,
                   is_range: bool = False) -> dict[int, str]:
        read = self._read(sql, is_locking, is_range)
        rows = dict(self._execute(sql))
        read.ended = time.monotonic()
        for number in numbers:
            read.found[f"L{number}"] = _values(rows.get(number, ""))
        self._transaction.operations.append(read)
        return rows

    def _read(self, sql: str, is_locking: bool, is_range: bool) -> Read:
        return Read({}, time.monotonic(), 0.0, is_locking, is_range, sql)

    def _record(self, key: Key, value: Value, sql: str) -> Append:
        append = Append(key, value, time.monotonic(), float("inf"), sql=sql)
        self._transaction.operations.append(append)
        return append

    def _sent(self, append: Append, sql: str) -> int:
        """Sends the change that is written down; the number of changed rows."""
        changed = int(self._execute(sql)[0][0])
        append.ended = time.monotonic()
        return changed

    def _make_spares(self) -> None:
        """Items that are in no set yet: an UPDATE will put them into one."""
        if len(self._spares) > 2:
            return
        values = [next(self._values) for _ in range(10)]
        rows = ", ".join(f"({value}, {-self._number})" for value in values)
        try:
            self._execute(f"INSERT INTO items VALUES {rows}")
        except _Aborted:
            return
        self._spares += values

    def _some(self, kind: str) -> int:
        return self._chance.choice(self._workload.objects.window(kind))

    def _lock(self) -> tuple[str, bool]:
        """What a SELECT ends with, and whether it locks."""
        if self._chance.random() < 0.6:
            return "", self._locks_plain_reads
        return self._chance.choice((" FOR UPDATE", " LOCK IN SHARE MODE")), True

    @property
    def _locks_plain_reads(self) -> bool:
        return self._workload.level == "SER" and not self._is_alone


def _values(text: str) -> tuple[Value, ...]:
    return tuple(map(int, text.split(","))) if text else ()
