"""Clients whose tables reference each other, and what must hold of these tables at rest.

Who changes rows does it by transactions of a few statements, at all levels, some of them ended by
KILL. Beside them definitions change: foreign keys are added and dropped, referenced tables copied,
renamed, emptied, dropped and made anew. Checks are always on, so every constraint that is there
holds, however the statements met.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.support import checks, spilling
from tests.support.load import is_connection_lost

DATABASE = "linked"
_LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
_IDS = 30
_MEMBERS_MAX = 3
_LIMBS = 2
_TABLES = f"""
CREATE TABLE parent (id INT PRIMARY KEY, code VARCHAR(10), v INT, UNIQUE (code));
CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, p INT, code VARCHAR(10),
  FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY (code) REFERENCES parent (code) ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE grand (id INT AUTO_INCREMENT PRIMARY KEY, c INT, v INT,
  FOREIGN KEY (c) REFERENCES child (id) ON DELETE CASCADE);
CREATE TABLE under (id INT AUTO_INCREMENT PRIMARY KEY, code VARCHAR(10),
  FOREIGN KEY (code) REFERENCES child (code) ON UPDATE CASCADE);
CREATE TABLE deep (id INT AUTO_INCREMENT PRIMARY KEY, code VARCHAR(10),
  FOREIGN KEY (code) REFERENCES under (code));
CREATE TABLE deeper (id INT AUTO_INCREMENT PRIMARY KEY, code VARCHAR(10),
  FOREIGN KEY (code) REFERENCES under (code) ON UPDATE CASCADE);
CREATE TABLE strict (id INT AUTO_INCREMENT PRIMARY KEY, p INT,
  FOREIGN KEY (p) REFERENCES parent (id));
CREATE TABLE tree (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES tree (id)
  ON DELETE CASCADE);
CREATE TABLE one (id INT PRIMARY KEY, other INT);
CREATE TABLE two (id INT PRIMARY KEY, other INT,
  FOREIGN KEY (other) REFERENCES one (id) ON DELETE CASCADE);
ALTER TABLE one ADD FOREIGN KEY (other) REFERENCES two (id) ON DELETE SET NULL, ALGORITHM=COPY;
CREATE TABLE family (id INT PRIMARY KEY, members INT NOT NULL);
CREATE TABLE member (id INT AUTO_INCREMENT PRIMARY KEY, f INT NOT NULL,
  FOREIGN KEY (f) REFERENCES family (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE limb (id INT AUTO_INCREMENT PRIMARY KEY, m INT NOT NULL,
  FOREIGN KEY (m) REFERENCES member (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE lone (id INT PRIMARY KEY);
CREATE TABLE mover (id INT AUTO_INCREMENT PRIMARY KEY, p INT, l INT, KEY (p), KEY (l));
INSERT INTO parent SELECT seq, CONCAT('c', seq), 0 FROM seq_1_to_{_IDS};
INSERT INTO tree SELECT seq, IF(seq = 1, NULL, seq DIV 2) FROM seq_1_to_{_IDS};
INSERT INTO lone SELECT seq FROM seq_1_to_{_IDS}
"""
# XA_RBTIMEOUT and XA_RBDEADLOCK.
_XA_ENDED = (1613, 1614)
_TRUNCATE_ILLEGAL_FK = 1701
# What a statement may meet: locks, KILL, constraints, and definitions that others change.
_MET = frozenset({
    ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK, ER.QUERY_INTERRUPTED, ER.NO_REFERENCED_ROW_2,
    ER.ROW_IS_REFERENCED_2, ER.ROW_IS_REFERENCED, ER.DUP_ENTRY, ER.NO_SUCH_TABLE,
    ER.TABLE_DEF_CHANGED, ER.GET_ERRMSG, ER.CHECKREAD, ER.XAER_RMFAIL, ER.XAER_NOTA,
    ER.XA_RBROLLBACK, *_XA_ENDED})
_MET_BY_DEFINITIONS = _MET | {
    ER.CANT_CREATE_TABLE, ER.CANT_DROP_FIELD_OR_KEY, ER.ERROR_ON_RENAME, ER.TABLE_EXISTS_ERROR,
    ER.BAD_TABLE_ERROR, _TRUNCATE_ILLEGAL_FK, ER.DUP_FIELDNAME, ER.DUP_KEYNAME,
    ER.ERROR_ON_WRITE}

Transaction = Callable[[random.Random], list[str]]


def create(server: Server) -> None:
    """Makes the database and fills it."""
    server.query(f"CREATE DATABASE {DATABASE}")
    with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
        cursor.execute("SET default_storage_engine = ROCKSDB")
        for statement in _TABLES.split(";\n"):
            cursor.execute(statement)


# ---- transactions that change rows


def _id(chance: random.Random) -> int:
    return chance.randint(1, _IDS)


def _ids(chance: random.Random) -> str:
    return ", ".join(str(_id(chance)) for _ in range(chance.choice((1, 1, 2, 4))))


def _reference(chance: random.Random) -> str:
    return "NULL" if chance.random() < 0.1 else str(_id(chance))


def _children(chance: random.Random) -> list[str]:
    rows = ", ".join(f"({_reference(chance)}, 'c{_id(chance)}')" for _ in range(
        chance.choice((1, 1, 3))))
    verb = chance.choice(("INSERT", "INSERT", "INSERT IGNORE"))
    return [f"{verb} INTO child (p, code) VALUES {rows}",
            "INSERT IGNORE INTO grand (c) VALUES (LAST_INSERT_ID())",
            "INSERT IGNORE INTO grand (c) SELECT id FROM child ORDER BY id DESC LIMIT 2"]


def _change_children(chance: random.Random) -> list[str]:
    return [chance.choice((
        f"UPDATE child SET p = {_reference(chance)} WHERE p = {_id(chance)}",
        f"UPDATE child SET code = 'c{_id(chance)}' WHERE p = {_id(chance)}",
        f"UPDATE IGNORE child SET p = p + 1 WHERE p BETWEEN {_id(chance)} AND {_id(chance)}",
        f"DELETE FROM child WHERE p IN ({_ids(chance)})",
        f"UPDATE grand SET v = 1 WHERE c IN (SELECT id FROM child WHERE p = {_id(chance)})"))]


def _strict(chance: random.Random) -> list[str]:
    return [chance.choice((
        f"INSERT INTO strict (p) VALUES ({_reference(chance)}), ({_reference(chance)})",
        f"DELETE FROM strict WHERE p IN ({_ids(chance)})",
        f"DELETE FROM strict WHERE p IN ({_ids(chance)})",
        f"UPDATE strict SET p = {_reference(chance)} WHERE p = {_id(chance)}"))]


def _parents(chance: random.Random) -> list[str]:
    row = f"({_id(chance)}, 'c{_id(chance)}', {_id(chance)})"
    return [chance.choice((
        f"DELETE FROM parent WHERE id IN ({_ids(chance)})",
        f"DELETE IGNORE FROM parent WHERE id IN ({_ids(chance)})",
        f"INSERT IGNORE INTO parent VALUES {row}", f"REPLACE INTO parent VALUES {row}",
        f"INSERT INTO parent VALUES {row} ON DUPLICATE KEY UPDATE code = VALUES(code)",
        f"UPDATE IGNORE parent SET id = {_id(chance)} WHERE id = {_id(chance)}",
        f"UPDATE parent SET code = CONCAT('c', {_id(chance)}) WHERE id = {_id(chance)}",
        f"UPDATE parent SET code = UPPER(code) WHERE id IN ({_ids(chance)})",
        f"UPDATE parent SET v = v + 1 WHERE id IN ({_ids(chance)})",
        f"DELETE parent, strict FROM strict STRAIGHT_JOIN parent ON p = parent.id "
        f"WHERE p = {_id(chance)}"))] + [
            f"INSERT IGNORE INTO parent SELECT seq, CONCAT('c', seq), 0 FROM seq_1_to_{_IDS} "
            f"WHERE seq % 3 = {chance.randint(0, 2)}"] * (chance.random() < 0.4)


def _tree(chance: random.Random) -> list[str]:
    return [chance.choice((
        f"INSERT IGNORE INTO tree VALUES ({_id(chance)}, {_reference(chance)})",
        f"INSERT IGNORE INTO tree VALUES ({_id(chance)}, {_reference(chance)})",
        f"UPDATE tree SET up = {_reference(chance)} WHERE id = {_id(chance)}",
        f"DELETE FROM tree WHERE id IN ({_ids(chance)})"))]


def _circle(chance: random.Random) -> list[str]:
    here, there = chance.choice((("one", "two"), ("two", "one")))
    number = _id(chance)
    return chance.choice((
        [f"INSERT IGNORE INTO {here} VALUES ({number}, NULL)",
         f"INSERT IGNORE INTO {there} VALUES ({number}, {number})",
         f"UPDATE {here} SET other = {number} WHERE id = {number}"],
        [f"DELETE FROM {here} WHERE id IN ({_ids(chance)})"],
        [f"UPDATE {here} SET other = {_reference(chance)} WHERE id = {_id(chance)}"]))


def _family(chance: random.Random) -> list[str]:
    """Families come and go as a whole."""
    kind = chance.random()
    if kind < 0.3:
        return [f"DELETE FROM family WHERE id IN ({_ids(chance)})"]
    if kind < 0.45:
        return [f"UPDATE family SET id = {_id(chance)} WHERE id = {_id(chance)}"]
    if kind < 0.5:
        return [f"UPDATE member SET id = id + {chance.randint(1000, 9000)} WHERE f = {_id(chance)}"]
    number, members = _id(chance), chance.randint(0, _MEMBERS_MAX)
    statements = [f"INSERT INTO family VALUES ({number}, {members})"]
    for _ in range(members):
        statements += [f"INSERT INTO member (f) VALUES ({number})",
                       "INSERT INTO limb (m) VALUES "
                       + ", ".join(["(LAST_INSERT_ID())"] * _LIMBS)]
    return statements


def _mover(chance: random.Random) -> list[str]:
    return [chance.choice((
        f"INSERT INTO mover (p, l) VALUES ({_reference(chance)}, {_reference(chance)})",
        f"INSERT INTO mover (p, l) VALUES ({_reference(chance)}, NULL)",
        f"DELETE FROM mover WHERE p IN ({_ids(chance)})",
        f"DELETE FROM lone WHERE id IN ({_ids(chance)})",
        f"INSERT IGNORE INTO lone VALUES ({_id(chance)}), ({_id(chance)})",
        f"UPDATE mover SET l = {_reference(chance)} WHERE p = {_id(chance)}"))]


_CHANGES: tuple[Transaction, ...] = (_children, _children, _change_children, _strict, _parents,
                                     _parents, _tree, _circle, _family, _family, _mover)

# ---- definitions

# Children, and children of these, that come while statements change their parents.
_LATE = ("CREATE TABLE IF NOT EXISTS late (id INT AUTO_INCREMENT PRIMARY KEY, p INT, "
         "FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE) "
         "ENGINE=ROCKSDB")
_LATER = ("CREATE TABLE IF NOT EXISTS later (id INT AUTO_INCREMENT PRIMARY KEY, l INT, "
          "FOREIGN KEY (l) REFERENCES late (id) ON DELETE CASCADE ON UPDATE SET NULL) "
          "ENGINE=ROCKSDB")
_LATE_STRICT = ("CREATE TABLE IF NOT EXISTS late_strict (id INT AUTO_INCREMENT PRIMARY KEY, "
                "p INT, c INT, FOREIGN KEY (p) REFERENCES parent (id), FOREIGN KEY (c) REFERENCES "
                "child (id)) ENGINE=ROCKSDB")

# Rows without a parent go first: mostly the key can then be added.
_DEFINITIONS: tuple[tuple[str, ...], ...] = (
    ("DELETE mover FROM mover LEFT JOIN parent ON p = parent.id WHERE parent.id IS NULL",
     "ALTER TABLE mover ADD CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES parent (id) "
     "ON DELETE CASCADE ON UPDATE SET NULL, ALGORITHM=COPY"),
    ("UPDATE mover SET l = NULL",
     "ALTER TABLE mover ADD CONSTRAINT to_lone FOREIGN KEY (l) REFERENCES lone (id) "
     "ON DELETE SET NULL, ALGORITHM=COPY"),
    ("ALTER TABLE mover DROP FOREIGN KEY to_parent",),
    ("ALTER TABLE mover DROP FOREIGN KEY to_lone",),
    ("ALTER TABLE parent FORCE, ALGORITHM=COPY",), ("ALTER TABLE child FORCE, ALGORITHM=COPY",),
    ("ALTER TABLE parent RENAME away, ALGORITHM=COPY",
     "ALTER TABLE away RENAME parent, ALGORITHM=COPY"),
    ("ALTER TABLE tree FORCE, ALGORITHM=COPY",), ("ALTER TABLE member FORCE, ALGORITHM=COPY",),
    *((f"ALTER TABLE {table} FORCE, LOCK=NONE",)
      for table in ("parent", "child", "tree", "member")),
    # To which a removal comes by way of NULL, so that no statement keeps them.
    ("INSERT IGNORE INTO under (code) SELECT DISTINCT code FROM child",
     "INSERT IGNORE INTO deeper (code) SELECT code FROM under WHERE id % 2 = 0",
     "INSERT IGNORE INTO deep (code) SELECT code FROM under WHERE id % 9 = 0"),
    ("DELETE FROM deep",), ("DELETE FROM deeper",),
    *((f"ALTER TABLE {table} FORCE, {how}",) for table in ("under", "deep", "deeper")
      for how in ("LOCK=NONE", "ALGORITHM=COPY")),
    ("ALTER TABLE parent ADD KEY more (v), ALGORITHM=INPLACE",),
    ("ALTER TABLE parent DROP KEY more",),
    ("RENAME TABLE parent TO away", "RENAME TABLE away TO parent"),
    ("RENAME TABLE lone TO lone_away", "RENAME TABLE lone_away TO lone"),
    ("RENAME TABLE child TO off", "RENAME TABLE off TO child"),
    # Several at once, which the server takes back after an end in between.
    ("RENAME TABLE parent TO away, child TO off, lone TO lone_away",
     "RENAME TABLE off TO child, lone_away TO lone, away TO parent"),
    ("RENAME TABLE lone TO lone_away, away TO parent, parent TO away, child TO strict",),
    ("RENAME TABLE child TO off, parent TO away, away TO parent, off TO child",),
    ("TRUNCATE TABLE parent",), ("TRUNCATE TABLE grand",), ("TRUNCATE TABLE lone",),
    ("DROP TABLE lone", "CREATE TABLE IF NOT EXISTS lone (id INT PRIMARY KEY) ENGINE=ROCKSDB",
     f"INSERT IGNORE INTO lone SELECT seq FROM seq_1_to_{_IDS}"),
    ("DROP TABLE parent",),
    (_LATE, "INSERT IGNORE INTO late (p) SELECT id FROM parent", _LATER,
     "INSERT IGNORE INTO later (l) SELECT id FROM late"),
    (_LATE_STRICT, "INSERT IGNORE INTO late_strict (p) SELECT id FROM parent WHERE id % 4 = 1",
     "INSERT IGNORE INTO late_strict (c) SELECT id FROM child LIMIT 3"),
    (f"{_LATE} SELECT id AS p FROM parent FOR UPDATE",),
    (f"{_LATER} SELECT id AS l FROM late LOCK IN SHARE MODE",),
    ("DROP TABLE later",), ("DROP TABLE late",), ("DROP TABLE IF EXISTS later, late",),
    ("DROP TABLE IF EXISTS late_strict",), ("ALTER TABLE late FORCE, ALGORITHM=COPY",),
    ("ALTER TABLE late_strict FORCE, ALGORITHM=COPY",),
)
_OTHER_NAMES = {"parent": "away", "child": "off", "lone": "lone_away"}
# Back to the names that all statements use.
_NAMES = ("RENAME TABLE away TO parent", "RENAME TABLE off TO child",
          "RENAME TABLE lone_away TO lone",
          "CREATE TABLE IF NOT EXISTS lone (id INT PRIMARY KEY) ENGINE=ROCKSDB")


class Clients:
    """Threads that change rows and definitions, and one that ends statements by KILL."""

    def __init__(self, server: Server, clients: int, *, has_xa: bool) -> None:
        self._server = server
        self._clients = clients
        self._has_xa = has_xa
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._rounds = 0
        self.counts: Counter[str] = Counter()
        self.errors: list[str] = []

    def start(self, seed: int) -> None:
        """Starts all threads."""
        self._stop.clear()
        self._rounds += 1
        parts: list[Callable[[random.Random, str], None]] = [
            *[self._change_rows] * self._clients, *[self._define] * 2, self._end_statements]
        self._threads = [threading.Thread(
            target=self._work, args=(part, random.Random(f"{seed} {number}"), str(number)))
            for number, part in enumerate(parts)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Lets them come to their ends; they end by themselves when the server has."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, part: Callable[[random.Random, str], None], chance: random.Random,
              name: str) -> None:
        while not self._stop.is_set():
            try:
                part(chance, name)
            except (pymysql.err.Error, OSError) as error:
                # A KILL may meet any statement of a session.
                is_ended = bool(error.args) and error.args[0] == ER.QUERY_INTERRUPTED
                if not is_ended and not is_connection_lost(error):
                    with self._guard:
                        self.errors.append(f"{part.__name__}: {error}")
                    return
                time.sleep(0.1)

    def _count(self, what: str) -> None:
        with self._guard:
            self.counts[what] += 1

    def _execute(self, cursor: pymysql.cursors.Cursor, statement: str, met: frozenset[int]) -> bool:
        """Whether it succeeded. Raises what may not be."""
        try:
            cursor.execute(statement)
        except pymysql.err.Error as error:
            if not error.args or error.args[0] not in met:
                if not is_connection_lost(error):
                    raise type(error)(*error.args, statement) from error
                raise
            self._count(f"error {error.args[0]}")
            return False
        self._count(statement.split(None, 1)[0])
        return True

    def _change_rows(self, chance: random.Random, name: str) -> None:
        with (self._server.connect(database=DATABASE) as connection,
              connection.cursor() as cursor):
            cursor.execute("SET rocksdb_lock_wait_timeout = 2, lock_wait_timeout = 3, "
                           "sql_mode = 'STRICT_ALL_TABLES'")
            while not self._stop.is_set():
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL "
                               f"{chance.choice(_LEVELS)}")
                cursor.execute(f"SET {spilling.setting(chance)}")
                number = chance.randrange(1 << 40)
                is_xa = self._has_xa and chance.random() < 0.15
                xid = f"'{self._rounds}.{name}.{number}'" if is_xa else ""
                self._transaction(cursor, chance, xid)

    def _transaction(self, cursor: pymysql.cursors.Cursor, chance: random.Random,
                     xid: str) -> None:
        changes = chance.choices(_CHANGES, k=chance.choice((1, 1, 2, 3)))
        statements = [statement for change in changes for statement in change(chance)]
        cursor.execute(f"XA START {xid}" if xid else "BEGIN")
        # Before the first, as later ones use LAST_INSERT_ID().
        is_whole = bool(xid) or chance.random() > 0.2 or self._undone(cursor, chance)
        for statement in statements if is_whole else ():
            if not self._execute(cursor, statement, _MET):
                is_whole = False
                break
        # A part of a family is not to be seen.
        is_kept = is_whole and chance.random() < 0.85
        if not xid:
            self._execute(cursor, "COMMIT" if is_kept else "ROLLBACK", _MET)
            return
        ends = [f"XA END {xid}"]
        if not is_kept:
            ends.append(f"XA ROLLBACK {xid}")
        elif chance.random() < 0.6:
            ends.append(f"XA PREPARE {xid}")
            # Else it stays to be decided after the restart.
            if chance.random() < 0.7:
                ends.append(f"XA {chance.choice(('COMMIT', 'COMMIT', 'ROLLBACK'))} {xid}")
        else:
            ends.append(f"XA COMMIT {xid} ONE PHASE")
        if not all([self._execute(cursor, statement, _MET) for statement in ends]) or (
                len(ends) == 2 and "PREPARE" in ends[1]):
            raise pymysql.err.InterfaceError("the session's transaction is left to others")

    def _undone(self, cursor: pymysql.cursors.Cursor, chance: random.Random) -> bool:
        """Changes and takes them back; False if the transaction is lost."""
        cursor.execute("SAVEPOINT s")
        for statement in chance.choice(_CHANGES)(chance):
            if not self._execute(cursor, statement, _MET):
                break
        return self._execute(cursor, "ROLLBACK TO SAVEPOINT s",
                             frozenset({*_MET, ER.SP_DOES_NOT_EXIST}))

    def _define(self, chance: random.Random, name: str) -> None:
        del name
        with (self._server.connect(database=DATABASE) as connection,
              connection.cursor() as cursor):
            cursor.execute("SET rocksdb_lock_wait_timeout = 1, lock_wait_timeout = 2")
            while not self._stop.is_set():
                for statement in chance.choice(_DEFINITIONS):
                    self._execute(cursor, statement, _MET_BY_DEFINITIONS)
                if chance.random() < 0.3:
                    restore_names(cursor)
                time.sleep(chance.uniform(0, 0.1))

    def _end_statements(self, chance: random.Random, name: str) -> None:
        """KILL QUERY, of anybody's statement."""
        del name
        with self._server.connect() as connection, connection.cursor() as cursor:
            while not self._stop.is_set():
                time.sleep(chance.uniform(0, 0.4))
                cursor.execute("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = %s AND "
                               "COMMAND = 'Query'", (DATABASE,))
                threads = [thread for (thread,) in cursor.fetchall()]
                if threads:
                    self._execute(cursor, f"KILL QUERY {chance.choice(threads)}",
                                  frozenset({ER.NO_SUCH_THREAD}))


def restore_names(cursor: pymysql.cursors.Cursor) -> None:
    """Gives tables that were renamed their names back, as far as that can be done now."""
    for statement in _NAMES:
        try:
            cursor.execute(statement)
        except pymysql.err.Error as error:
            if is_connection_lost(error):
                raise


# ---- what must hold at rest


def problems(server: Server) -> list[str]:
    """Rows without the row that they reference, halves of cascades, tables that are not sound."""
    found = checks.check_tables(server)
    found += _lost(server) + _orphans(server) + _definitions(server)
    for title, query in _WHOLE.items():
        found += [f"{title}: {row}" for row in server.query(query)[:5]]
    return found


def _lost(server: Server) -> list[str]:
    """Tables that are not there, or twice. Only `lone` may be missing, when a DROP has taken it."""
    tables = {name for (name,) in server.query(f"SHOW TABLES IN {DATABASE}")}
    found: list[str] = []
    for name in re.findall(r"CREATE TABLE (\w+)", _TABLES):
        there = {name, _OTHER_NAMES.get(name, name)} & tables
        if name != "lone" and len(there) != 1:
            found.append(f"table {name}: there are {sorted(there)} of {sorted(tables)}")
    return found


# A family has all of its members, and each of them its limbs; nothing of it is left alone.
_WHOLE = {
    "a family lacks members, or has too many":
        f"SELECT family.id, members, COUNT(member.id) AS found FROM {DATABASE}.family LEFT JOIN "
        f"{DATABASE}.member ON f = family.id GROUP BY family.id, members HAVING found <> members",
    "a member lacks limbs":
        f"SELECT member.id, COUNT(limb.id) AS found FROM {DATABASE}.member LEFT JOIN "
        f"{DATABASE}.limb ON m = member.id GROUP BY member.id HAVING found <> {_LIMBS}",
}


def _constraints(server: Server) -> dict[tuple[str, str], list[tuple[str, ...]]]:
    """By table and name: columns, the referenced table, its columns."""
    constraints: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for table, name, column, other, referenced in server.query(
            "SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, "
            "REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = "
            "%s AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY 1, 2, ORDINAL_POSITION",
            [DATABASE]):
        constraints.setdefault((table, name), []).append((column, other, referenced))
    return constraints


def _orphans(server: Server) -> list[str]:
    found: list[str] = []
    tables = {name for (name,) in server.query(f"SHOW TABLES IN {DATABASE}")}
    for (table, name), columns in _constraints(server).items():
        other = columns[0][1]
        if other not in tables:
            found.append(f"{table}, {name}: there is no table {other}")
            continue
        equal = " AND ".join(f"x.{own} = y.{referenced}" for own, _, referenced in columns)
        given = " AND ".join(f"x.{own} IS NOT NULL" for own, *_ in columns)
        rows = server.query(f"SELECT x.* FROM {DATABASE}.{table} x WHERE {given} AND NOT EXISTS "
                            f"(SELECT 1 FROM {DATABASE}.{other} y WHERE {equal})")
        found += [f"{table}, {name}: no row of {other} for {row}" for row in rows[:5]]
    return found


def _definitions(server: Server) -> list[str]:
    """Whether SHOW CREATE TABLE and the information schema have the same constraints."""
    constraints = _constraints(server)
    found: list[str] = []
    for (table,) in server.query(f"SHOW TABLES IN {DATABASE}"):
        text = str(server.query(f"SHOW CREATE TABLE {DATABASE}.{table}")[0][1])
        named = {(table, line.split("`")[1]) for line in text.splitlines()
                 if line.strip().startswith("CONSTRAINT")}
        listed = {key for key in constraints if key[0] == table}
        rules = {(table, name) for (name,) in server.query(
            "SELECT CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE "
            "CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s", [DATABASE, table])}
        if not named == listed == rules:
            found.append(f"{table}: SHOW CREATE TABLE has {sorted(named)}, KEY_COLUMN_USAGE "
                         f"{sorted(listed)}, REFERENTIAL_CONSTRAINTS {sorted(rules)}")
    return found


def decide(server: Server, chance: random.Random) -> int:
    """Commits some prepared transactions, rolls the others back; how many there were."""
    names = [row[3] for row in server.query("XA RECOVER")]
    for name in names:
        text = name.decode() if isinstance(name, bytes) else name
        server.query(f"XA {chance.choice(('COMMIT', 'ROLLBACK'))} '{text}'")
    return len(names)
