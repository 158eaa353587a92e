"""Clients that define tables anew, and one that changes rows of those tables meanwhile.

Each defining client has tables of its own, so that it knows what there is; beside that it adds and
drops indexes of the tables that others change. What was being defined when the source died is made
anew: the server does not complete all kinds of statements (those of partitions, for one).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.endurance._client import COMMON, DEFINED_ANEW, LEVELS, TIMED, Client, Common
from tests.support import load

DATABASE = "definitions"
_TABLES = 3
_ROWS = 500
_ER_NO_SUCH_PARTITION = 1735
_ER_PARTITION_WRONG_VALUES = 1748
_ER_NOT_IN_PLACE = (1845, 1846)
_COLUMNS = "id INT PRIMARY KEY, v INT NOT NULL, u INT, s VARCHAR(100), KEY v (v)"
_USUAL_TEXTS = re.compile("interrupted|timeout|Deadlock|definition has changed|doesn't exist|"
                          "killed")
_BESIDE = (("bank.accounts", "note"), ("xa.accounts", "balance"), (f"{load.DATABASE}.t1", "number"),
           (f"{load.DATABASE}.t2", "c"), ("big.rows_of_it", "payload"), ("brief.results", "total"),
           ("archive.entries", "body"))


class DefiningClient(Client):
    """Creates, alters, renames, empties, partitions and drops its tables, one after the other."""

    kind = "definition"
    expected = COMMON | DEFINED_ANEW
    database = DATABASE
    pause = 0.5
    settings = "SET rocksdb_lock_wait_timeout = 3, lock_wait_timeout = 3"

    def __init__(self, common: Common, number: int) -> None:
        super().__init__(common, number)
        self.tables = [f"d{number}_{each}" for each in range(_TABLES)]
        self.partitioned = f"p{number}"
        self.exchanged = f"e{number}"
        # What a statement defined that did not come to a good end, or runs.
        self.doubtful: set[str] = set()
        self._kinds: tuple[Callable[[], None], ...] = (
            *(self._alter,) * 6, self._rename, self._truncate, self._recreate, self._create_select,
            self._create_like, self._optimize, self._view, self._trigger, self._other_engine,
            *(self._partition,) * 6, *(self._beside,) * 3)

    def turn(self) -> None:
        self.session()
        self._ensure()
        self.chance.choice(self._kinds)()

    def _ensure(self) -> None:
        """A statement that was killed may have left no table."""
        for name in sorted(self.doubtful):
            self.execute(self._making(name)[0].replace("TABLE", "TABLE IF NOT EXISTS", 1))
            self.doubtful.discard(name)

    def rebuild(self, *, everything: bool = False) -> None:
        """Makes anew what is doubtful, or all; in the calling thread, at rest."""
        names = {*self.tables, self.partitioned, self.exchanged}
        wanted = names if everything else set(self.doubtful)
        self.doubtful.clear()
        self.server.query(f"DROP TABLE IF EXISTS {DATABASE}.swap{self.number}")
        for name in sorted(wanted):
            self.server.query(f"DROP TABLE IF EXISTS {DATABASE}.{name}")
            for sql in self._making(name):
                with self.server.connect(database=DATABASE) as connection:
                    connection.cursor().execute(sql)
        self.disconnect("silence")

    def _making(self, name: str) -> list[str]:
        if name == self.partitioned:
            make = (f"CREATE TABLE {name} (id INT, v INT NOT NULL, s VARCHAR(100), PRIMARY KEY "
                    "(id), KEY v (v)) ENGINE=ROCKSDB PARTITION BY RANGE (id) (PARTITION p0 VALUES "
                    "LESS THAN (1000), PARTITION rest VALUES LESS THAN MAXVALUE)")
        elif name == self.exchanged:
            make = (f"CREATE TABLE {name} (id INT, v INT NOT NULL, s VARCHAR(100), PRIMARY KEY "
                    "(id), KEY v (v)) ENGINE=ROCKSDB")
        else:
            return [f"CREATE TABLE {name} ({_COLUMNS}) ENGINE=ROCKSDB",
                    f"INSERT INTO {name} SELECT seq, seq % 7, seq, REPEAT('d', 50) "
                    f"FROM seq_1_to_{_ROWS}"]
        return [make, f"INSERT INTO {name} SELECT seq, seq % 7, REPEAT('d', 50) "
                f"FROM seq_1_to_{_ROWS}"]

    def _define(self, title: str, sql: str, *tables: str, usual: tuple[int, ...] = ()) -> bool:
        """Whether the statement is done; `usual` errors are none."""
        self.doubtful.update(tables)
        try:
            rows = self.execute(sql)
        except pymysql.err.Error as error:
            if not error.args or error.args[0] not in usual:
                raise
            self.doubtful.difference_update(tables)
            self.common.count(f"errors {self.kind}: {error.args[0]}")
            return False
        self.doubtful.difference_update(tables)
        self.common.count(f"definition {title}")
        self._look_at(sql, rows)
        return True

    def _look_at(self, sql: str, rows: list[tuple[object, ...]]) -> None:
        """OPTIMIZE and ANALYZE say in rows what went wrong."""
        if not any(len(row) == 4 and str(row[2]).lower() == "error" for row in rows):
            return
        # For a partitioned table the first row has the cause, the second names the partition.
        if not _USUAL_TEXTS.search(str(rows)):
            self.common.fail(f"{self.name}: {sql}: {rows}")
        self.common.count(f"errors {self.kind}: in the rows of OPTIMIZE or ANALYZE")

    def _any(self) -> str:
        return self.chance.choice(self.tables)

    def _alter(self) -> None:
        table, chance = self._any(), self.chance
        title, change = chance.choice((
            ("ADD KEY in place", "ADD KEY IF NOT EXISTS added (s, v), ALGORITHM=INPLACE"),
            ("ADD KEY by copy", "ADD KEY IF NOT EXISTS copied (s), ALGORITHM=COPY"),
            ("ADD UNIQUE", "ADD UNIQUE KEY IF NOT EXISTS u (u)"),
            ("DROP KEY", "DROP KEY IF EXISTS added"), ("DROP KEY", "DROP KEY IF EXISTS copied"),
            ("DROP KEY", "DROP KEY IF EXISTS u"),
            ("ADD COLUMN", "ADD COLUMN IF NOT EXISTS more INT DEFAULT 5"),
            ("DROP COLUMN", "DROP COLUMN IF EXISTS more"), ("FORCE", "FORCE"),
            ("FORCE by copy", "FORCE, ALGORITHM=COPY"),
            ("MODIFY", f"MODIFY s VARCHAR({chance.randint(100, 200)})"),
            ("ADD and DROP KEY", "DROP KEY IF EXISTS added, ADD KEY added (v, s)"),
            ("COMMENT", f"COMMENT 'altered {chance.random()}'")))
        self._define(f"ALTER, {title}", f"ALTER TABLE {table} {change}", table,
                     usual=(ER.DUP_ENTRY, *_ER_NOT_IN_PLACE))

    def _rename(self) -> None:
        first, second = self.chance.sample(self.tables, 2)
        self._define("RENAME", f"RENAME TABLE {first} TO swap{self.number}, {second} TO {first}, "
                     f"swap{self.number} TO {second}", first, second)

    def _truncate(self) -> None:
        table = self._any()
        self._define("TRUNCATE", f"TRUNCATE TABLE {table}", table)
        self._fill(table)

    def _fill(self, table: str) -> None:
        first = self.chance.randint(1, 50) * 1000
        self.execute(f"INSERT IGNORE INTO {table} (id, v, u, s) SELECT seq + {first}, seq % 9, NULL"
                     f", REPEAT('f', seq % 90) FROM seq_1_to_{self.chance.randint(1, _ROWS)}")
        self.execute(f"DELETE FROM {table} WHERE id > 1000 AND id % 1000 > 300 LIMIT 200")

    def _recreate(self) -> None:
        table = self._any()
        if self.chance.random() < 0.5:
            self._define("CREATE OR REPLACE",
                         f"CREATE OR REPLACE TABLE {table} ({_COLUMNS}) ENGINE=ROCKSDB", table)
        else:
            self._define("DROP", f"DROP TABLE {table}", table)
            self.doubtful.add(table)
            self._define("CREATE", self._making(table)[0], table)
        self._fill(table)

    def _create_select(self) -> None:
        table, origin = self.chance.sample(self.tables, 2)
        self._define("CREATE SELECT", f"CREATE OR REPLACE TABLE {table} ({_COLUMNS}, KEY s (s)) "
                     f"ENGINE=ROCKSDB SELECT id, v, NULL AS u, s FROM {origin}", table)

    def _create_like(self) -> None:
        table, origin = self.chance.sample(self.tables, 2)
        self._define("CREATE LIKE", f"CREATE OR REPLACE TABLE {table} LIKE {origin}", table)
        self.execute(f"INSERT IGNORE INTO {table} SELECT * FROM {origin}")

    def _optimize(self) -> None:
        verb = self.chance.choice(("OPTIMIZE", "ANALYZE", "OPTIMIZE NO_WRITE_TO_BINLOG"))
        table = self.chance.choice((self._any(), self.partitioned))
        self._define(verb.split()[0], f"{verb} TABLE {table}", table)

    def _view(self) -> None:
        self._define("VIEW", f"CREATE OR REPLACE VIEW seen.w{self.number} AS SELECT id, v FROM "
                     f"{DATABASE}.{self._any()} WHERE v > 2")
        self.execute(f"SELECT COUNT(*) FROM seen.w{self.number}")
        self._define("VIEW", f"DROP VIEW IF EXISTS seen.w{self.number}")

    def _trigger(self) -> None:
        table = self._any()
        self._define("TRIGGER", f"DROP TRIGGER IF EXISTS r{self.number}")
        self._define("TRIGGER", f"CREATE OR REPLACE TRIGGER r{self.number} BEFORE INSERT ON "
                     f"{table} FOR EACH ROW SET NEW.s = CONCAT('t', LEFT(NEW.s, 50))", table)
        self._fill(table)
        self._define("TRIGGER", f"DROP TRIGGER IF EXISTS r{self.number}", table)

    def _other_engine(self) -> None:
        """To InnoDB, and back."""
        table = self._any()
        for engine in ("InnoDB", "ROCKSDB"):
            self._define(f"ENGINE={engine}", f"ALTER TABLE {table} ENGINE={engine}", table)

    def _partition(self) -> None:
        table, chance = self.partitioned, self.chance
        names = [str(row[0]) for row in self.execute(
            "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = %s AND "
            "TABLE_NAME = %s AND PARTITION_NAME IS NOT NULL ORDER BY PARTITION_ORDINAL_POSITION",
            (DATABASE, table))]
        bounded = [name for name in names if name != "rest"]
        last = max((int(name[1:]) for name in bounded), default=0)
        kinds = ["split", "split", "TRUNCATE", "EXCHANGE", "REBUILD", "ANALYZE"]
        if len(bounded) > 2:
            kinds += ["merge", "DROP"]
        if len(bounded) > 6:
            kinds = ["DROP", "merge"]
        kind = chance.choice(kinds)
        name = chance.choice(bounded or ["rest"])
        tables: tuple[str, ...] = (table,)
        if kind == "split":
            change = (f"REORGANIZE PARTITION rest INTO (PARTITION p{last + 1} VALUES LESS THAN "
                      f"({(last + 2) * 1000}), PARTITION rest VALUES LESS THAN MAXVALUE)")
        elif kind == "merge":
            first, second = bounded[0], bounded[1]
            change = (f"REORGANIZE PARTITION {first}, {second} INTO (PARTITION {second} VALUES "
                      f"LESS THAN ({(int(second[1:]) + 1) * 1000}))")
        elif kind == "EXCHANGE":
            change = f"EXCHANGE PARTITION {name} WITH TABLE {self.exchanged}"
            tables = (table, self.exchanged)
        else:
            change = f"{kind} PARTITION {name}"
        self._define(f"PARTITION, {kind}", f"ALTER TABLE {table} {change}", *tables,
                     usual=(1737, _ER_PARTITION_WRONG_VALUES, _ER_NO_SUCH_PARTITION))
        self._fill_partitions(last)

    def _fill_partitions(self, last: int) -> None:
        first = self.chance.randint(0, last + 1) * 1000
        count = self.chance.randint(1, 300)
        self.execute(f"INSERT IGNORE INTO {self.partitioned} SELECT seq + {first}, seq % 5, "
                     f"REPEAT('p', seq % 90) FROM seq_1_to_{count}")
        self.execute(f"DELETE FROM {self.partitioned} WHERE id % 1000 > 250 LIMIT 100")

    def _beside(self) -> None:
        """An index more or less for tables under load; or their rows anew."""
        table, column = self.chance.choice(_BESIDE)
        key = f"{column}(20)" if column in ("note", "c", "payload", "body") else column
        name = f"beside_{column}"
        title, sql = self.chance.choice((
            ("ADD KEY in place", f"ALTER TABLE {table} ADD KEY IF NOT EXISTS {name} ({key}), "
             "ALGORITHM=INPLACE"),
            ("DROP KEY", f"ALTER TABLE {table} DROP KEY IF EXISTS {name}"),
            ("FORCE", f"ALTER TABLE {table} FORCE"),
            ("FORCE by copy", f"ALTER TABLE {table} FORCE, ALGORITHM=COPY"),
            ("OPTIMIZE", f"OPTIMIZE TABLE {table}"),
            ("ANALYZE", f"ANALYZE TABLE {table}")))
        self._define(f"beside load, {title}", sql)


class ChangingClient(Client):
    """Changes rows of tables that are being defined anew."""

    kind = "changing"
    database = DATABASE
    pause = 0.15
    expected = COMMON | DEFINED_ANEW | TIMED | {
        ER.NO_SUCH_TABLE, ER.DUP_ENTRY, ER.BAD_FIELD_ERROR, ER.WRONG_VALUE_COUNT_ON_ROW}

    def __init__(self, common: Common, number: int, tables: list[str]) -> None:
        super().__init__(common, number)
        self._tables = tables

    def turn(self) -> None:
        chance = self.chance
        self.session()
        self.begin(chance.choice(LEVELS))
        for _ in range(chance.randint(1, 4)):
            table, first = chance.choice(self._tables), chance.randint(1, 3000)
            self.execute(chance.choice((
                f"UPDATE {table} SET v = v + 1 WHERE id BETWEEN {first} AND {first + 20}",
                f"UPDATE {table} SET s = REPEAT('c', {first % 90}) WHERE v = {first % 9} LIMIT 20",
                f"DELETE FROM {table} WHERE id BETWEEN {first} AND {first + 10}",
                f"INSERT INTO {table} (id, v, s) VALUES ({first}, 1, 'i'), ({first + 1}, 2, 'i')",
                f"REPLACE INTO {table} (id, v, s) VALUES ({first}, 3, 'r')",
                f"SELECT COUNT(*), SUM(v) FROM {table} WHERE v < 5",
                f"SELECT * FROM {table} WHERE id < {first} ORDER BY id DESC LIMIT 20 FOR UPDATE")))
        self.execute(chance.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))
        self.succeeded()


def make(server: Server) -> None:
    """The databases; tables are made by each client's rebuild()."""
    for name in (DATABASE, "seen"):
        server.query(f"CREATE DATABASE {name}")
