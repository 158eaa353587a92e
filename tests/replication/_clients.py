"""Clients that change the source's tables in ways that are hard to apply in parallel.

`t1`, `t2`, ...: few rows, found by primary key, so that most transactions conflict; `keyless`: no
unique key, so that a transaction applied twice leaves its rows twice; `uniques`: values of a unique
index that are given up and taken again.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server

DATABASE = "conflicts"
_RETRIED = (ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK)
_UNIQUE_VALUES = 40


class Clients:
    """Threads that each commit a number of transactions."""

    def __init__(self, server: Server, *, rows: int, tables: int = 2,
                 engine: str = "ROCKSDB") -> None:
        self.server = server
        self.rows = rows
        self.tables = [f"t{number}" for number in range(1, tables + 1)]
        self.engine = engine
        self.committed = 0
        self.errors: list[str] = []
        self._guard = threading.Lock()

    def create_tables(self) -> None:
        """Makes and fills the tables."""
        with self.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {DATABASE}")
            cursor.execute(f"USE {DATABASE}")
            for name in self.tables:
                cursor.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, n INT NOT NULL, "
                               "k INT NOT NULL, s VARCHAR(80), KEY k (k), KEY s (s, n)) "
                               f"ENGINE={self.engine}")
                cursor.execute(f"INSERT INTO {name} SELECT seq, 0, seq % 5, 's' "
                               f"FROM seq_1_to_{self.rows}")
            cursor.execute("CREATE TABLE keyless (client INT, number INT, s VARCHAR(80), "
                           f"KEY (client, number)) ENGINE={self.engine}")
            cursor.execute("CREATE TABLE uniques (id INT AUTO_INCREMENT PRIMARY KEY, u INT, "
                           f"s VARCHAR(80), UNIQUE KEY (u)) ENGINE={self.engine}")

    def run(self, clients: int, transactions: int, seed: int,
            extra: Sequence[str] = ()) -> None:
        """Runs all clients to their end, and beside them the `extra` statements."""
        threads = [threading.Thread(target=self._client, args=(number, transactions, seed))
                   for number in range(clients)]
        for thread in threads:
            thread.start()
        for statement in extra:
            self._extra(statement)
        for thread in threads:
            thread.join()

    def _extra(self, statement: str) -> None:
        try:
            with self.server.connect(database=DATABASE) as connection, \
                    connection.cursor() as cursor:
                cursor.execute(statement)
        except pymysql.err.Error as error:
            self.errors.append(f"{statement}: {error}")

    def _client(self, number: int, transactions: int, seed: int) -> None:
        chance = random.Random(f"{seed} {number}")
        try:
            with self.server.connect(database=DATABASE, autocommit=False) as connection:
                done = 0
                while done < transactions:
                    if self._transaction(connection, chance, number, done):
                        done += 1
                        with self._guard:
                            self.committed += 1
        except pymysql.err.Error as error:
            self.errors.append(f"client {number}: {error}")

    def _transaction(self, connection: pymysql.connections.Connection, chance: random.Random,
                     client: int, number: int) -> bool:
        text = f"{client} {number} " + "x" * chance.randint(0, 60)
        try:
            with connection.cursor() as cursor:
                for _ in range(chance.randint(1, 3)):
                    self._change(cursor, chance, text)
                cursor.execute("INSERT INTO keyless (client, number, s) VALUES (%s, %s, %s)",
                               (client, number, text))
                if chance.random() < 0.1:
                    cursor.execute("UPDATE keyless SET s = %s WHERE client = %s AND number = %s",
                                   (text + "!", client, number // 2))
                if chance.random() < 0.05:
                    cursor.execute("DELETE FROM keyless WHERE client = %s AND number = %s",
                                   (client, number // 3))
            connection.commit()
        except pymysql.err.Error as error:
            if error.args[0] not in _RETRIED and error.args[0] != ER.DUP_ENTRY:
                raise
            connection.rollback()
            return False
        return True

    def _change(self, cursor: pymysql.cursors.Cursor, chance: random.Random, text: str) -> None:
        name, row = chance.choice(self.tables), chance.randint(1, self.rows)
        kind = chance.random()
        if kind < 0.5:
            cursor.execute(f"UPDATE {name} SET n = n + 1, s = %s WHERE id = %s", (text, row))
        elif kind < 0.7:
            cursor.execute(f"UPDATE {name} SET n = n + 1, k = k + %s WHERE id = %s",
                           (chance.randint(-2, 2), row))
        elif kind < 0.8:
            cursor.execute(f"REPLACE INTO {name} VALUES (%s, 0, %s, %s)", (row, row % 5, text))
        elif kind < 0.9:
            cursor.execute("INSERT INTO uniques (u, s) VALUES (%s, %s)",
                           (chance.randint(1, _UNIQUE_VALUES), text))
        else:
            cursor.execute("DELETE FROM uniques WHERE u = %s", (chance.randint(1, _UNIQUE_VALUES),))
