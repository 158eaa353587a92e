"""Tables that are written to while they get indexes: clients, definitions, and what must hold."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.crash._threads import is_end, run_until
from tests.support import checks, spilling

DATABASE = "online"
_KEYS = 400
_COLUMNS = ("a INT, u INT, w BIGINT NOT NULL, s VARCHAR(40) COLLATE utf8mb4_general_ci, t TEXT, "
            "v VARCHAR(60) AS (CONCAT(LEFT(s, 3), u)) VIRTUAL, r TEXT AS (REVERSE(t)) VIRTUAL")
# One id is of one row each, whatever the primary key is.
_KEYED = f"id INT NOT NULL, {_COLUMNS}, PRIMARY KEY (id), UNIQUE KEY id (id)"
_TABLES = {
    "plain": f"CREATE TABLE plain ({_KEYED}) ENGINE=ROCKSDB",
    "hidden": f"CREATE TABLE hidden (id INT, {_COLUMNS}, KEY id (id)) ENGINE=ROCKSDB",
    "parted": f"CREATE TABLE parted ({_KEYED}) ENGINE=ROCKSDB "
              "PARTITION BY HASH (id) PARTITIONS 3",
    "parent": f"CREATE TABLE parent ({_KEYED}) ENGINE=ROCKSDB",
    "child": f"CREATE TABLE child ({_KEYED}, KEY a (a), FOREIGN KEY (a) "
             "REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=ROCKSDB",
}
_WAITS = (ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK, ER.QUERY_INTERRUPTED)
# What others do may be in a writer's way.
_OF_WRITERS = (*_WAITS, ER.DUP_ENTRY, ER.CHECKREAD, ER.TABLE_DEF_CHANGED, ER.ROW_IS_REFERENCED_2,
               ER.NO_REFERENCED_ROW_2)
# The values of w are of one row each; not those of u, nor, without a primary key, of id.
_INDEXES = (("x1", "INDEX x1 (a, s)"), ("x2", "INDEX x2 (s(3), u DESC)"),
            ("x3", "UNIQUE INDEX x3 (w, id)"), ("x4", "UNIQUE INDEX x4 (u, id, s)"),
            ("x5", "INDEX x5 (t(4))"), ("x8", "INDEX x8 (v, a)"), ("x9", "INDEX x9 (r(4), v(2))"))
_PRIMARY_KEYS = ("(id)", "(id DESC)", "(id, w)", "(w, id)")
_UNIQUE_W = ("x6", "UNIQUE INDEX x6 (w)")
_UNIQUE_U = ("x7", "UNIQUE INDEX x7 (u)")


def create(server: Server) -> None:
    """The tables, with rows in each."""
    server.query(f"CREATE DATABASE {DATABASE}")
    with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
        for table, text in _TABLES.items():
            cursor.execute(text)
            reference = f"1 + seq MOD {_KEYS}" if table == "child" else "seq"
            cursor.execute(f"INSERT INTO {table} (id, a, u, w, s, t) SELECT seq, {reference}, seq, "
                           "1000000000 + seq, MD5(seq), REPEAT('t', seq) "
                           f"FROM seq_1_to_{_KEYS}")


class Clients:
    """Sessions that write, and others that define indexes, until they are told to stop, or the
    server ends."""

    def __init__(self, server: Server, writers: int) -> None:
        self.errors: list[str] = []
        self.counts: Counter[str] = Counter()
        self._server = server
        self._writers = writers
        self._values = itertools.count(1)
        self._threads: list[threading.Thread] = []
        self._timers: list[threading.Timer] = []
        self._stops = threading.Event()
        self._defining: set[int] = set()

    def start(self, seed: int) -> None:
        self._stops.clear()
        bodies: list[Callable[[random.Random], None]] = [self._write] * self._writers
        bodies += [self._define, self._define, self._kill]
        for number, body in enumerate(bodies):
            chance = random.Random(f"{seed} {number}")
            thread = threading.Thread(target=self._run, args=(body, chance), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Returns when all have ended what they do."""
        self._stops.set()
        for thread in (*self._threads, *self._timers):
            thread.join()
        self._threads.clear()
        self._timers.clear()

    def _run(self, body: Callable[[random.Random], None], chance: random.Random) -> None:
        run_until(self._stops, body, chance, self.errors)

    # ---- writers

    def _write(self, chance: random.Random) -> None:
        """One session with some transactions."""
        with self._server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            level = chance.choice(("READ COMMITTED", "REPEATABLE READ"))
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
            cursor.execute("SET rocksdb_lock_wait_timeout = 1, lock_wait_timeout = 20, "
                           f"{spilling.setting(chance)}")
            for _ in range(chance.randrange(1, 30)):
                if self._stops.is_set():
                    return
                if chance.random() < 0.1:
                    if self._write_xa(cursor, chance):
                        return
                else:
                    self._write_transaction(cursor, chance)

    def _write_transaction(self, cursor: pymysql.cursors.Cursor, chance: random.Random) -> None:
        try:
            cursor.execute("BEGIN")
            for _ in range(chance.randrange(1, 6)):
                if chance.random() < 0.1:
                    cursor.execute("SAVEPOINT s")
                    self._statement(cursor, chance)
                    cursor.execute("ROLLBACK TO SAVEPOINT s")
                self._statement(cursor, chance)
            if chance.random() < 0.1:
                time.sleep(chance.random() * 0.3)
            cursor.execute("ROLLBACK" if chance.random() < 0.2 else "COMMIT")
            self.counts["transactions"] += 1
        except pymysql.err.Error as error:
            if error.args[0] not in _OF_WRITERS:
                raise
            cursor.execute("ROLLBACK")
            self.counts["refused transactions"] += 1

    def _write_xa(self, cursor: pymysql.cursors.Cursor, chance: random.Random) -> bool:
        """Whether the session goes, and leaves the transaction to another one."""
        xid = f"'x{next(self._values)}'"
        cursor.execute(f"XA START {xid}")
        try:
            self._statement(cursor, chance)
        except pymysql.err.Error as error:
            if error.args[0] not in _OF_WRITERS:
                raise
            # The server refuses the first where the statement's error has ended the transaction.
            for end in ("END", "ROLLBACK"):
                with contextlib.suppress(pymysql.err.OperationalError):
                    cursor.execute(f"XA {end} {xid}")
            return False
        cursor.execute(f"XA END {xid}")
        cursor.execute(f"XA PREPARE {xid}")
        leaves = chance.random() < 0.2
        decision = f"XA {chance.choice(('COMMIT', 'COMMIT', 'ROLLBACK'))} {xid}"
        if leaves:
            timer = threading.Timer(chance.random(), self._decide, (decision,))
            timer.start()
            self._timers.append(timer)
        else:
            cursor.execute(decision)
        self.counts["XA transactions"] += 1
        return leaves

    def _decide(self, decision: str) -> None:
        """In a session of its own. Who stays prepared is decided at the end of the round."""
        try:
            self._server.query(decision)
        except Exception as error:  # noqa: BLE001: the session that prepared it may not be gone yet
            self.counts[f"not decided: {error.__class__.__name__}"] += 1

    def _statement(self, cursor: pymysql.cursors.Cursor, chance: random.Random) -> None:
        table = chance.choice(list(_TABLES))
        key, other = chance.randrange(1, _KEYS), chance.randrange(1, 2 * _KEYS)
        draw = chance.random()
        if draw < 0.3:
            rows = ", ".join(
                f"({chance.randrange(1, 2 * _KEYS)}, {chance.randrange(1, _KEYS)}, "
                f"{chance.randrange(10_000)}, {next(self._values)}, "
                f"'{chance.choice('abcABC')}{chance.randrange(99)}', 'new')"
                for _ in range(chance.randrange(1, 4)))
            verb = chance.choice(("INSERT", "INSERT IGNORE", "REPLACE"))
            cursor.execute(f"{verb} INTO {table} (id, a, u, w, s, t) VALUES {rows}")
        elif draw < 0.45:
            cursor.execute(f"DELETE FROM {table} WHERE id BETWEEN {key} AND {key + 2}")
        elif draw < 0.6:
            cursor.execute(f"UPDATE {table} SET id = {other} WHERE id = {key}")
        elif draw < 0.7:
            cursor.execute(f"UPDATE {table} SET s = IF(BINARY s = LOWER(s), UPPER(s), LOWER(s)) "
                           f"WHERE id BETWEEN {key} AND {key + 5}")
        elif draw < 0.8:  # the values of w change their rows
            cursor.execute(f"UPDATE {table} SET w = -w WHERE id BETWEEN {key} AND {key + 3}")
        else:
            cursor.execute(f"UPDATE {table} SET u = {other}, t = CONCAT(s, id), "
                           f"s = 's{other % 7}' WHERE id BETWEEN {key} AND {key + 3}")

    # ---- definitions

    def _define(self, chance: random.Random) -> None:
        """One statement that adds indexes, and perhaps columns, and then what takes them away; or
        one that gives a table another primary key."""
        table = chance.choice(list(_TABLES))
        # The server has it copied where there are partitions.
        if table != "parted" and chance.random() < 0.25:
            self._replace_primary(table, chance)
            return
        indexes = chance.sample(_INDEXES, chance.randrange(1, 3))
        # On `hidden`, that of w would be its primary key.
        if table not in ("parted", "hidden"):
            indexes += [_UNIQUE_W] * (chance.random() < 0.3) + [_UNIQUE_U] * (chance.random() < 0.1)
        parts = [f"ADD {text}" for _, text in indexes]
        if chance.random() < 0.3:
            parts = ["ADD COLUMN c INT DEFAULT 5 FIRST", "ADD INDEX xc (c, s)", *parts]
        elif chance.random() < 0.2:
            parts = ["ALTER a SET DEFAULT 7", *parts]
        if chance.random() < 0.3:
            parts = ["FORCE", *parts[:chance.randrange(2)]]
        lock = chance.choice((", LOCK=NONE", ", LOCK=NONE", "", ", LOCK=SHARED"))
        text = f"ALTER TABLE {table} {', '.join(parts)}, ALGORITHM=NOCOPY{lock}"
        may_be_twice = _UNIQUE_U in indexes or (table == "hidden" and " UNIQUE INDEX x4" in text)
        with self._server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute("SET lock_wait_timeout = 3")
            self._defining.add(connection.thread_id())
            try:
                self._try(cursor, text, (*_WAITS, ER.DUP_KEYNAME, ER.DUP_FIELDNAME,
                                         *([ER.DUP_ENTRY] if may_be_twice else [])))
            finally:
                self._defining.discard(connection.thread_id())
            while not self._stops.is_set():
                try:
                    self._restore(cursor, table)
                    return
                except pymysql.err.Error as error:
                    # The KILL was late, or somebody is in the way.
                    if error.args[0] not in _WAITS:
                        raise

    def _replace_primary(self, table: str, chance: random.Random) -> None:
        primary = chance.choice(_PRIMARY_KEYS)
        change = f"DROP PRIMARY KEY, ADD PRIMARY KEY {primary}"
        if table == "hidden":
            # It loses it by a copy.
            change = "DROP PRIMARY KEY" if chance.random() < 0.5 else "ADD PRIMARY KEY (w)"
        is_copy = change == "DROP PRIMARY KEY"
        more = chance.choice(("", "", ", ALTER a SET DEFAULT 7", ", FORCE"))
        how = "COPY" if is_copy else f"INPLACE{chance.choice((', LOCK=NONE', ''))}"
        with self._server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute("SET lock_wait_timeout = 3")
            self._defining.add(connection.thread_id())
            try:
                self._try(cursor, f"ALTER TABLE {table} {change}{more}, ALGORITHM={how}",
                          (*_WAITS, ER.MULTIPLE_PRI_KEY, ER.CANT_DROP_FIELD_OR_KEY))
            finally:
                self._defining.discard(connection.thread_id())

    def _try(self, cursor: pymysql.cursors.Cursor, text: str, expected: tuple[int, ...]) -> None:
        try:
            cursor.execute(text)
            self.counts["definitions"] += 1
            self.counts["primary keys"] += " PRIMARY KEY" in text
        except pymysql.err.Error as error:
            if error.args[0] not in expected:
                if not is_end(error):
                    self.errors.append(f"{text}: {error}")
                raise
            self.counts[f"definitions refused with {error.args[0]}"] += 1

    def _restore(self, cursor: pymysql.cursors.Cursor, table: str) -> None:
        """The table without what was added."""
        cursor.execute(f"SHOW CREATE TABLE {table}")
        text = cursor.fetchall()[0][1]
        gone = [f"DROP INDEX {name}" for name in ("x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8",
                                                  "x9", "xc")
                if f"`{name}`" in text]
        if "`c`" in text:
            gone.append("DROP COLUMN c")
        if not gone:
            return
        try:
            cursor.execute(f"ALTER TABLE {table} {', '.join(gone)}, ALGORITHM=INSTANT")
        except pymysql.err.Error as error:
            if error.args[0] != ER.CANT_DROP_FIELD_OR_KEY:  # the other session has
                raise

    def _kill(self, chance: random.Random) -> None:
        """KILL of a statement that defines something, now and then."""
        self._stops.wait(chance.random() * 2)
        for thread in list(self._defining)[:1]:
            try:
                self._server.query(f"KILL QUERY {thread}")
                self.counts["KILL"] += 1
            except Exception as error:  # noqa: BLE001: it may have ended
                if "Unknown thread" not in str(error):
                    raise


def decide(server: Server) -> None:
    """Commits what is prepared."""
    for name in [row[3] for row in server.query("XA RECOVER")]:
        text = name.decode() if isinstance(name, bytes) else name
        server.query(f"XA COMMIT '{text}'")


def problems(server: Server) -> list[str]:
    """What is wrong while nobody writes."""
    found = checks.check_tables(server)
    for table in _TABLES:
        name = f"{DATABASE}.{table}"
        rows = server.query(f"SELECT COUNT(*) FROM {name} USE INDEX ()")[0][0]
        text = str(server.query(f"SHOW CREATE TABLE {name}")[0][1])
        for index in [line.split("`")[1] for line in text.splitlines() if "KEY `" in line
                      and "CONSTRAINT" not in line]:
            counted = server.query(f"SELECT COUNT(*) FROM {name} FORCE INDEX (`{index}`) "
                                   f"WHERE {_first_column(text, index)} IS NOT NULL OR "
                                   f"{_first_column(text, index)} IS NULL")[0][0]
            if counted != rows:
                found.append(f"{table}: {counted} rows by {index}, {rows} by the table")
    orphans = server.query(f"SELECT COUNT(*) FROM {DATABASE}.child LEFT JOIN {DATABASE}.parent ON "
                           "parent.id = child.a WHERE child.a IS NOT NULL AND parent.id IS NULL")
    if orphans[0][0]:
        found.append(f"{orphans[0][0]} rows of child without a parent")
    found += [f"nobody's index: {row}" for row in server.query(
        "SELECT * FROM information_schema.ROCKSDB_INDEX_SPACE WHERE STATE IN ('unknown', "
        "'building')")]
    return found


def _first_column(text: str, index: str) -> str:
    line = next(line for line in text.splitlines() if f"KEY `{index}` (" in line)
    return line.partition("(")[2].split("`")[1]
