"""Tables whose definitions change while rows are written: clients, a model of the rows, statements.

Every row of `plain`, `ranged` and `hashed` that a writer has written is his alone, and he remembers
what was acknowledged. What definitions do never takes such a row away. Beside them:

  - the rows of px, which go to the table `spare` and come back, are always somewhere, once
  - a partition that is added is empty, whatever one of this name has had; it gets a row
  - a table of the statements' own has the rows of its last making, all of them or none
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.crash._threads import ENDS, is_end, run_until
from tests.support import checks, spilling

DATABASE = "definitions"
# Partitions p0 to p3 have the writers' rows, px the others'; from e10 on they come and go.
_WIDTH = 100_000
_OF_WRITERS_PARTITIONS = 4
_OTHERS = 9 * _WIDTH
_OTHER_ROWS = 200
_ADDED = _OTHERS + _WIDTH
_ADDED_AT_ONCE = 6
# More rows than that a writer does not have in a table.
_ROWS_OF_WRITER = 400
_COLUMNS = "id BIGINT NOT NULL, v INT, s VARCHAR(40), t TEXT"
_RANGES = ", ".join(f"PARTITION p{number} VALUES LESS THAN ({(number + 1) * _WIDTH})"
                    for number in range(_OF_WRITERS_PARTITIONS))
_TABLES = {
    "plain": f"CREATE TABLE plain ({_COLUMNS}, PRIMARY KEY (id), KEY v (v)) ENGINE=ROCKSDB",
    "ranged": f"CREATE TABLE ranged ({_COLUMNS}, PRIMARY KEY (id), KEY v (v)) ENGINE=ROCKSDB "
              f"PARTITION BY RANGE (id) ({_RANGES}, PARTITION px VALUES LESS THAN ({_ADDED}))",
    "hashed": f"CREATE TABLE hashed ({_COLUMNS}, PRIMARY KEY (id), KEY v (v)) ENGINE=ROCKSDB "
              "PARTITION BY HASH (id) PARTITIONS 3",
}
_SPARE = f"CREATE TABLE spare ({_COLUMNS}, PRIMARY KEY (id), KEY v (v)) ENGINE=ROCKSDB"
_OWN_ROWS = 100
# Errors that pymysql has no names for.
_RANGE_NOT_INCREASING, _PARTITION_DOES_NOT_EXIST, _DROP_LAST_PARTITION = 1493, 1507, 1508
_SAME_NAME_PARTITION, _NO_PARTITION_FOR_VALUE, _UNKNOWN_PARTITION = 1517, 1526, 1735
_CONNECTION_KILLED = 1927
_ENDS = (*ENDS, _CONNECTION_KILLED)
_WAITS = (ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK, ER.QUERY_INTERRUPTED)
_OF_WRITERS = (*_WAITS, ER.TABLE_DEF_CHANGED, ER.CHECKREAD)
# A statement with what the other session may have done before it, by which it is refused.
Statement = tuple[str, tuple[int, ...]]


def create(server: Server) -> None:
    """The tables, and the rows that no writer has."""
    server.query(f"CREATE DATABASE {DATABASE}")
    with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
        for text in (*_TABLES.values(), _SPARE):
            cursor.execute(text)
        cursor.execute(f"INSERT INTO ranged SELECT {_OTHERS} + seq, seq, 'other', REPEAT('o', seq) "
                       f"FROM seq_1_to_{_OTHER_ROWS}")


# By primary key: v, and the length of t.
Rows = dict[int, tuple[int, int]]


class Writer:
    """A session whose rows nobody else changes, and what is known of them."""

    def __init__(self, number: int, count: int) -> None:
        self._number = number
        self._count = count
        self._next = number
        self.rows: dict[str, Rows] = {table: {} for table in _TABLES}
        # The rows of a table as they are if the last transaction was committed, of which nobody
        # has said so.
        self.perhaps: tuple[str, Rows] | None = None

    def work(self, server: Server, chance: random.Random, stops: threading.Event,
             counts: Counter[str]) -> None:
        """One session with some transactions."""
        with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute("SET rocksdb_lock_wait_timeout = 1, lock_wait_timeout = 20, "
                           f"{spilling.setting(chance)}")
            for _ in range(chance.randrange(1, 40)):
                if stops.is_set():
                    return
                self._transaction(cursor, chance, counts)

    def settle(self, table: str, found: Rows) -> list[str]:
        """Compares with what a table has; afterwards that is what is known."""
        known = self.rows[table]
        mine = {key: value for key, value in found.items() if key % self._count == self._number}
        if self.perhaps is not None and self.perhaps[0] == table and mine == self.perhaps[1]:
            known = mine
        self.rows[table] = mine
        return [f"{table}, writer {self._number}: {line}" for line in checks.difference(
            sorted(known.items()), sorted(mine.items()), ("what was committed", "the table"))]

    def _transaction(self, cursor: pymysql.cursors.Cursor, chance: random.Random,
                     counts: Counter[str]) -> None:
        table = chance.choice(list(_TABLES))
        rows = dict(self.rows[table])
        try:
            cursor.execute("BEGIN")
            for _ in range(chance.randrange(1, 5)):
                self._change(cursor, table, rows, chance)
        except pymysql.err.Error as error:
            if error.args[0] not in _OF_WRITERS:
                raise
            cursor.execute("ROLLBACK")
            counts["refused transactions"] += 1
            return
        self.perhaps = (table, rows)
        cursor.execute("COMMIT")
        self.rows[table] = rows
        self.perhaps = None
        counts["transactions"] += 1

    def _change(self, cursor: pymysql.cursors.Cursor, table: str, rows: Rows,
                chance: random.Random) -> None:
        value, length = chance.randrange(1000), chance.randrange(2000)
        draw = chance.random()
        if rows and draw < 0.35:
            key = chance.choice(list(rows))
            if rows[key][0] == value:
                return
            count = cursor.execute(f"UPDATE {table} SET v = {value}, s = 's{value}' "
                                   f"WHERE id = {key}")
            rows[key] = (value, rows[key][1])
        elif rows and (draw < 0.6 or len(rows) >= _ROWS_OF_WRITER):
            key = chance.choice(list(rows))
            count = cursor.execute(f"DELETE FROM {table} WHERE id = {key}")
            del rows[key]
        else:
            room = _OF_WRITERS_PARTITIONS * _WIDTH // self._count * self._count
            self._next = (self._next + self._count * chance.randrange(1, 300)) % room
            key = self._next
            count = cursor.execute(f"REPLACE INTO {table} (id, v, s, t) VALUES ({key}, {value}, "
                                   f"'s{value}', REPEAT('t', {length}))") - (key in rows)
            rows[key] = (value, length)
        if count != 1:
            raise AssertionError(f"{table}, id {key}: {count} rows were changed, and one was there")


def _partitions(cursor: pymysql.cursors.Cursor, table: str) -> list[tuple[str, str]]:
    """Names and bounds."""
    cursor.execute("SELECT PARTITION_NAME, PARTITION_DESCRIPTION FROM "
                   "information_schema.PARTITIONS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s "
                   "ORDER BY PARTITION_ORDINAL_POSITION", (DATABASE, table))
    return [(str(name), str(bound)) for name, bound in cursor.fetchall()]


def _of_partitions(cursor: pymysql.cursors.Cursor, chance: random.Random) -> Iterator[Statement]:
    """What is done to the partitions of `ranged`, as they are now."""
    names = _partitions(cursor, "ranged")
    added = [name for name, _ in names if name.startswith("e")]
    top = max((int(bound) for _, bound in names if bound.isdigit()), default=_ADDED)
    draw = chance.random()
    if draw < 0.35 and len(added) < _ADDED_AT_ONCE:
        yield (f"ALTER TABLE ranged ADD PARTITION (PARTITION e{top // _WIDTH} VALUES LESS THAN "
               f"({top + _WIDTH}))", (_SAME_NAME_PARTITION, _RANGE_NOT_INCREASING))
        yield (f"INSERT INTO ranged (id, v, s, t) VALUES ({top + chance.randrange(_WIDTH)}, 1, "
               "'s1', '')", (_NO_PARTITION_FOR_VALUE,))
    elif added and draw < 0.6:
        name = added[-1]
        how, refusal = chance.choice((("DROP", _PARTITION_DOES_NOT_EXIST),
                                      ("TRUNCATE", _UNKNOWN_PARTITION)))
        yield f"ALTER TABLE ranged {how} PARTITION {name}", (refusal,)
    elif draw < 0.8:
        whole = f"(PARTITION p0 VALUES LESS THAN ({_WIDTH}))"
        halves = (f"(PARTITION h0a VALUES LESS THAN ({_WIDTH // 2}), "
                  f"PARTITION h0b VALUES LESS THAN ({_WIDTH}))")
        is_cut = any(name == "h0a" for name, _ in names)
        yield (f"ALTER TABLE ranged REORGANIZE PARTITION "
               f"{'h0a, h0b' if is_cut else 'p0'} INTO {whole if is_cut else halves}",
               (_PARTITION_DOES_NOT_EXIST, _SAME_NAME_PARTITION))
    else:
        yield "ALTER TABLE ranged EXCHANGE PARTITION px WITH TABLE spare", ()


def _of_tables(_: pymysql.cursors.Cursor, chance: random.Random) -> Iterator[Statement]:
    """Tables of the statements' own come, go, and have other names. Each making has a number."""
    name, other = chance.sample([f"own{number}" for number in range(4)], 2)
    making = chance.randrange(1, 1_000_000)
    rows = f"SELECT seq AS id, {making} AS v FROM seq_1_to_{_OWN_ROWS}"
    draw = chance.randrange(7)
    if draw == 0:
        yield (f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT, KEY v (v)) ENGINE=ROCKSDB",
               (ER.TABLE_EXISTS_ERROR,))
        yield f"INSERT INTO {name} (id, v) {rows}", (ER.NO_SUCH_TABLE, ER.DUP_ENTRY)
    elif draw == 1:
        yield (f"CREATE TABLE {name} (PRIMARY KEY (id), KEY v (v)) ENGINE=ROCKSDB {rows}",
               (ER.TABLE_EXISTS_ERROR,))
    elif draw == 2:
        yield (f"CREATE OR REPLACE TABLE {name} (PRIMARY KEY (id), KEY v (v)) ENGINE=ROCKSDB "
               f"{rows}", ())
    elif draw == 3:
        yield f"RENAME TABLE {name} TO {other}", (ER.NO_SUCH_TABLE, ER.TABLE_EXISTS_ERROR)
    elif draw == 4:
        yield f"TRUNCATE TABLE {name}", (ER.NO_SUCH_TABLE,)
    elif draw == 5:
        yield f"DROP TABLE {name}", (ER.BAD_TABLE_ERROR,)
    else:
        yield f"DROP TABLE IF EXISTS {name}, {other}", ()


def _of_columns(_: pymysql.cursors.Cursor, chance: random.Random) -> Iterator[Statement]:
    """What changes the form of rows, or makes indexes; some of it is taken back by another."""
    table = chance.choice(("plain", "hashed"))
    is_there, is_gone = (ER.DUP_FIELDNAME, ER.DUP_KEYNAME), (ER.CANT_DROP_FIELD_OR_KEY,)
    draw = chance.randrange(10)
    if draw < 2:
        yield (f"ALTER TABLE {table} ADD COLUMN g INT AS (v * 2) VIRTUAL FIRST", is_there)
        yield (f"ALTER TABLE {table} ADD INDEX g (g), ALGORITHM=NOCOPY, LOCK=NONE",
               (*is_there, ER.KEY_COLUMN_DOES_NOT_EXITS))
        yield f"ALTER TABLE {table} FORCE, ALGORITHM=INPLACE", ()
        yield f"ALTER TABLE {table} DROP INDEX g, DROP COLUMN g", is_gone
    elif draw == 2:
        yield f"ALTER TABLE {table} ADD COLUMN n INT DEFAULT 5 AFTER id", is_there
        yield f"ALTER TABLE {table} DROP COLUMN n", is_gone
    elif draw == 3:
        yield f"ALTER TABLE {table} ADD INDEX s (s(5), v)", is_there
        yield f"ALTER TABLE {table} DROP INDEX s", is_gone
    elif draw == 4:
        yield f"ALTER TABLE {table} MODIFY s VARCHAR({chance.choice((40, 200))})", ()
    elif draw == 5:
        yield f"ALTER TABLE {table} FORCE, ALGORITHM=COPY", ()
    elif draw == 6:
        yield f"OPTIMIZE TABLE {table}", ()
    elif draw == 7:
        yield f"ALTER TABLE {table} COMMENT = 'c{chance.randrange(100)}'", ()
    elif draw == 8:
        order = chance.choice(("", " DESC"))
        yield f"ALTER TABLE plain DROP PRIMARY KEY, ADD PRIMARY KEY (id{order})", ()
    else:
        change = chance.choice(("ADD PARTITION PARTITIONS 1", "COALESCE PARTITION 1"))
        yield f"ALTER TABLE hashed {change}", (_DROP_LAST_PARTITION,)


KINDS: dict[str, Callable[[pymysql.cursors.Cursor, random.Random], Iterator[Statement]]] = {
    "of partitions": _of_partitions, "of tables": _of_tables, "of columns": _of_columns}


class Clients:
    """Writers, and sessions that define, until they are told to stop, or the server ends."""

    def __init__(self, server: Server, writers: int) -> None:
        self.errors: list[str] = []
        self.counts: Counter[str] = Counter()
        self._server = server
        self._writers = [Writer(number, writers) for number in range(writers)]
        self._threads: list[threading.Thread] = []
        self._stops = threading.Event()
        self._defined = threading.Event()
        self._of_partitions = threading.Lock()

    def start(self, seed: int) -> None:
        self._stops.clear()
        self._defined.clear()
        bodies: list[Callable[[random.Random], None]] = [
            lambda chance, writer=writer: writer.work(  # type: ignore[misc]
                self._server, chance, self._stops, self.counts) for writer in self._writers]
        bodies += [self._define] * 2
        for number, body in enumerate(bodies):
            chance = random.Random(f"{seed} {number}")
            thread = threading.Thread(target=self._run, args=(body, chance), daemon=True)
            thread.start()
            self._threads.append(thread)

    def await_definition(self, seconds: float) -> None:
        """Until a statement has been done since start()."""
        self._defined.wait(seconds)

    def stop(self) -> None:
        """Returns when all have ended what they do."""
        self._stops.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def problems(self) -> list[str]:
        """What is wrong with the tables while nobody writes."""
        found = list(self.errors)
        for look in (lambda: checks.check_tables(self._server),
                     lambda: checks.left_tables(self._server), self._of_writers, self._of_others,
                     self._of_own_tables):
            try:
                found += look()
            except pymysql.err.Error as error:
                found.append(f"{type(error).__name__}: {error}")
        return found + [f"nobody's index: {row}" for row in self._server.query(
            "SELECT * FROM information_schema.ROCKSDB_INDEX_SPACE WHERE STATE IN ('unknown', "
            "'building')")]

    def _of_writers(self) -> list[str]:
        found = []
        for table in _TABLES:
            rows = self._server.query(
                f"SELECT id, v, LENGTH(t), s = CONCAT('s', v), t = REPEAT('t', LENGTH(t)) FROM "
                f"{DATABASE}.{table} USE INDEX () WHERE id < {_OTHERS}")
            found += [f"{table}: another value: {row}" for row in rows if row[3:] != (1, 1)][:5]
            for writer in self._writers:
                found += writer.settle(table, {key: (v, length) for key, v, length, *_ in rows})
            by_index = self._server.query(
                f"SELECT id, v FROM {DATABASE}.{table} FORCE INDEX (v) WHERE v >= 0 AND "
                f"id < {_OTHERS}")
            found += [f"{table}: {line}" for line in checks.difference(
                sorted(row[:2] for row in rows), sorted(by_index), ("the table", "the index v"))]
        for writer in self._writers:
            writer.perhaps = None
        return found

    def _of_others(self) -> list[str]:
        others = self._server.query(
            f"SELECT COUNT(*), SUM(v), SUM(LENGTH(t)) FROM (SELECT * FROM {DATABASE}.spare UNION "
            f"ALL SELECT * FROM {DATABASE}.ranged WHERE id >= {_OTHERS} AND id < {_ADDED}) other")
        total = _OTHER_ROWS * (_OTHER_ROWS + 1) // 2
        found = [f"the rows of px and spare: {row}" for row in others
                 if tuple(row) != (_OTHER_ROWS, total, total)]
        added = self._server.query(
            f"SELECT id DIV {_WIDTH}, COUNT(*) FROM {DATABASE}.ranged WHERE id >= {_ADDED} "
            "GROUP BY 1")
        return found + [f"partition e{number} has {count} rows, and was given one"
                        for number, count in added if count > 1]

    def _of_own_tables(self) -> list[str]:
        found = []
        for name, in self._server.query("SELECT TABLE_NAME FROM information_schema.TABLES WHERE "
                                        f"TABLE_SCHEMA = '{DATABASE}' AND TABLE_NAME LIKE 'own%'"):
            makings: list[tuple[Any, ...]] = self._server.query(
                f"SELECT v, COUNT(*) FROM {DATABASE}.{name} GROUP BY v")
            if len(makings) > 1 or any(count != _OWN_ROWS for _, count in makings):
                found.append(f"{name} has rows of these makings: {makings}")
        return found

    def _run(self, body: Callable[[random.Random], None], chance: random.Random) -> None:
        run_until(self._stops, body, chance, self.errors, _ENDS)

    def _define(self, chance: random.Random) -> None:
        with self._server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute("SET lock_wait_timeout = 5")
            while not self._stops.is_set():
                kind = chance.choice(list(KINDS))
                # So that no partition is added again before it has got its row.
                alone = self._of_partitions if kind == "of partitions" else nullcontext()
                with alone:
                    for text, refusals in KINDS[kind](cursor, chance):
                        self._execute(cursor, kind, text, refusals)
                time.sleep(chance.random() * 0.05)

    def _execute(self, cursor: pymysql.cursors.Cursor, kind: str, text: str,
                 refusals: tuple[int, ...]) -> None:
        try:
            cursor.execute(text)
            # OPTIMIZE tells its errors so.
            told = [row for row in cursor.fetchall() if "Error" in row]
            if told:
                self.errors.append(f"{text}: {told}")
            self.counts[kind] += 1
            self.counts["indexes on a virtual column"] += " ADD INDEX g " in text
            self._defined.set()
        except pymysql.err.Error as error:
            if error.args[0] in (*_WAITS, *refusals):
                self.counts[f"refused with {error.args[0]}"] += 1
                return
            if not is_end(error, _ENDS):
                self.errors.append(f"{text}: {error}")
            raise
