"""Clients that move money between accounts in two tables: the sum never changes.

Each move adds a row to a third table, in the same transaction, and counts in both accounts: any
state that is not one of the database's states shows.
"""

from __future__ import annotations

import random
import threading

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server

ACCOUNTS = 200
_START = 1000
_RETRIED = (ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK)


def create(server: Server, database: str = "bank", engine: str = "ROCKSDB") -> None:
    """The tables, full."""
    server.client(f"""CREATE DATABASE {database}; USE {database};
        CREATE TABLE a (id INT PRIMARY KEY, amount INT NOT NULL, moves INT NOT NULL DEFAULT 0,
          pad CHAR(100) NOT NULL DEFAULT 'pad', KEY (amount)) ENGINE={engine};
        CREATE TABLE b LIKE a;
        CREATE TABLE moves (client INT, number INT, source INT, target INT, amount INT,
          PRIMARY KEY (client, number), KEY (source), KEY (target)) ENGINE={engine};
        INSERT INTO a (id, amount) SELECT seq, {_START} FROM seq_1_to_{ACCOUNTS};
        INSERT INTO b SELECT * FROM a;""")


def problems(server: Server, database: str = "bank") -> list[str]:
    """What is wrong with the sums in one snapshot."""
    with server.connect(database=database, autocommit=False) as connection, \
            connection.cursor() as cursor:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        cursor.execute("SELECT (SELECT SUM(amount) FROM a) + (SELECT SUM(amount) FROM b), "
                       "(SELECT SUM(moves) FROM a), (SELECT SUM(moves) FROM b), "
                       "(SELECT COUNT(*) FROM moves), (SELECT SUM(amount) FROM b), "
                       "(SELECT COALESCE(SUM(amount), 0) FROM moves)")
        total, first, second, moves, of_b, moved = (int(value) for value in cursor.fetchone())
    found: list[str] = []
    if total != 2 * ACCOUNTS * _START or of_b != ACCOUNTS * _START + moved:
        found.append(f"the sum is {total}, of b {of_b}, moved {moved}")
    if first != moves or second != moves:
        found.append(f"{moves} moves, {first} in a, {second} in b")
    return found


class Clients:
    """Moves money from `a` to `b` until the block ends."""

    def __init__(self, server: Server, database: str = "bank", first: int = 1) -> None:
        self.moves = 0
        self.errors: list[str] = []
        self._server = server
        self._database = database
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True)
                         for number in (first, first + 1)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, client: int) -> None:
        draw = random.Random(client)
        with self._server.connect(database=self._database, autocommit=False) as connection, \
                connection.cursor() as cursor:
            number = 0
            while not self._stopping.is_set():
                source, target = draw.randint(1, ACCOUNTS), draw.randint(1, ACCOUNTS)
                amount = draw.randint(1, 9)
                try:
                    cursor.execute("UPDATE a SET amount = amount - %s, moves = moves + 1 "
                                   "WHERE id = %s", [amount, source])
                    cursor.execute("UPDATE b SET amount = amount + %s, moves = moves + 1 "
                                   "WHERE id = %s", [amount, target])
                    cursor.execute("INSERT INTO moves (client, number, source, target, amount) "
                                   "VALUES (%s, %s, %s, %s, %s)",
                                   [client, number + 1, source, target, amount])
                    connection.commit()
                    number += 1
                except pymysql.err.Error as error:
                    if error.args[0] not in _RETRIED:
                        self.errors.append(str(error))
                        return
                    connection.rollback()
            self.moves += number
