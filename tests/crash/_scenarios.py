"""Workloads that lead to the engine's failpoints, as steps that are atomic each.

A scenario's steps run in order on one connection. After a crash in step k + 1 the data must be as
after step k or as after step k + 1; what those states are, a run without a crash has told.
"""

from __future__ import annotations

from dataclasses import dataclass

DATABASE = "crash"
_DML = ("txn.", "server.")
_DDL = ("catalog.",)
_COPY = ("copy.", "txn.load.")
_IN_PLACE = (*_DDL, "table.build_index.", "table.catch_up.")


@dataclass(frozen=True)
class Scenario:
    """`setup` and the steps are statements in the database `crash`.

    `points` are beginnings of the names of failpoints that the steps may visit. `decided` says
    for beginnings of names whether the step that dies there must be found done or undone; for
    others either will do. `ddl_verb` is how a DDL statement of the steps begins in the binary
    log, if whether it is there must agree with the tables. The files of the table `exported[0]`
    are there for `exported[1]`, when the steps begin.
    """

    name: str
    points: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    setup: tuple[str, ...] = ()
    has_binlog: bool = True
    decided: tuple[tuple[str, bool], ...] = ()
    ddl_verb: str = ""
    replays_binlog: bool = False
    waits_for_death: bool = False
    exported: tuple[str, ...] = ()


_TABLES = (
    "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, u INT, k INT, s VARCHAR(50), "
    "UNIQUE KEY u (u) COMMENT 'cfname=entries', KEY k (k)) ENGINE=ROCKSDB",
    "CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(50) CHARACTER SET utf8mb4, d DATETIME(3), "
    "KEY v (v DESC) COMMENT 'cfname=entries', KEY d (d, v)) ENGINE=ROCKSDB",
    "INSERT INTO a (u, k, s) SELECT seq, seq DIV 3, REPEAT(CHAR(65 + seq MOD 26), seq) "
    "FROM seq_1_to_40",
    "INSERT INTO b SELECT seq, CONCAT('v', seq), '2024-02-29 12:00:00.125' + INTERVAL seq DAY "
    "FROM seq_1_to_40",
)
_INNODB = (
    "CREATE TABLE i (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
    "INSERT INTO i SELECT seq, seq FROM seq_1_to_10",
)
_HIDDEN_KEY = (
    "CREATE TABLE h (v INT, w VARCHAR(20), KEY w (w)) ENGINE=ROCKSDB",
    "INSERT INTO h SELECT seq, CONCAT('w', seq MOD 5) FROM seq_1_to_20",
)

# Tables that reference each other. Generated names of constraints follow their tables.
_LINKED = (
    "CREATE TABLE p (id INT PRIMARY KEY, code VARCHAR(20), UNIQUE KEY code (code)) ENGINE=ROCKSDB",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, code VARCHAR(20), CONSTRAINT to_p FOREIGN KEY (p) "
    "REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE, FOREIGN KEY (code) REFERENCES p (code) "
    "ON DELETE SET NULL ON UPDATE CASCADE) ENGINE=ROCKSDB",
    "CREATE TABLE g (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES c (id) "
    "ON DELETE CASCADE) ENGINE=ROCKSDB",
    "INSERT INTO p SELECT seq, CONCAT('code', seq) FROM seq_1_to_10",
    "INSERT INTO c SELECT seq, seq MOD 10 + 1, CONCAT('code', seq MOD 7 + 1) FROM seq_1_to_40",
    "INSERT INTO g SELECT seq, seq MOD 40 + 1 FROM seq_1_to_80",
)
_CASCADES = (
    "UPDATE p SET id = id + 100, code = CONCAT('x', code) WHERE id IN (4, 5)",
    "DELETE FROM p WHERE id IN (104, 7)",
    "INSERT IGNORE INTO c VALUES (500, 104, NULL), (501, 105, 'xcode5')",
    "REPLACE INTO p VALUES (6, 'other')",
)
# Whether the constraints are those that the definitions tell.
_HELD = (
    "INSERT IGNORE INTO g VALUES (900, 9999)", "DELETE FROM {parent} WHERE id = 3",
    "UPDATE {parent} SET id = 1000 WHERE id = 9",
)

# More than a transaction's batch has of a copy, and more than one portion.
_LARGE_ROWS = "SELECT seq AS id, REPEAT(CHAR(64 + seq), 1 << 20) AS s FROM seq_1_to_40"
_LARGE = ("CREATE TABLE large (id INT PRIMARY KEY, s LONGTEXT) ENGINE=ROCKSDB",
          f"INSERT INTO large {_LARGE_ROWS}")

_PARTED = ("CREATE TABLE parted (id INT PRIMARY KEY, k INT, s VARCHAR(20)) ENGINE=ROCKSDB "
           "PARTITION BY HASH (id) PARTITIONS 3",
           "INSERT INTO parted SELECT seq, seq MOD 7, CONCAT('s', seq) FROM seq_1_to_30")

# A database to rename tables to. No state tells of its tables: the steps bring them back.
_MOVED = ("CREATE OR REPLACE DATABASE moved",
          "CREATE TABLE moved.small (id INT PRIMARY KEY) ENGINE=ROCKSDB PARTITION BY KEY (id) "
          "PARTITIONS 2")

# Most of the rows come in files.
_LOADED = ("CREATE TABLE loaded (id INT PRIMARY KEY, k INT, s LONGTEXT, KEY k (k) "
           "COMMENT 'cfname=loaded') ENGINE=ROCKSDB",
           "INSERT INTO loaded VALUES (100, 100, 'before')")
_LOAD = ("SET SESSION rocksdb_bulk_load = 1",
         "INSERT INTO loaded SELECT seq * 7 MOD 41, seq, REPEAT(CHAR(64 + seq), 1 << 19) "
         "FROM seq_1_to_20",
         "SET SESSION rocksdb_bulk_load = 0")
_AFTER_LOAD = ("UPDATE loaded SET k = k + 1", "DELETE FROM loaded WHERE id < 10")

_CHANGES = (
    "INSERT INTO a (u, k, s) VALUES (1001, 7, 'new'), (NULL, 7, 'null'), (1002, 8, 'new')",
    "UPDATE a SET u = u + 500, k = k + 1 WHERE id BETWEEN 5 AND 15",
    "SAVEPOINT one",
    "DELETE FROM a",
    "ROLLBACK TO SAVEPOINT one",
    "DELETE FROM a WHERE id IN (20, 21)",
    "INSERT INTO a (id, u, k, s) VALUES (20, 20, 6, 'again')",
    "UPDATE b SET id = id + 1000, v = UPPER(v) WHERE id > 35",
    "REPLACE INTO b VALUES (3, 'replaced', NULL)",
    "INSERT INTO b VALUES (4, 'x', NULL) ON DUPLICATE KEY UPDATE v = 'updated'",
)
_TRANSACTION = ("BEGIN", *_CHANGES, "COMMIT")
_AUTOCOMMIT = (
    ("INSERT INTO a (u, k, s) VALUES (2001, 1, 'auto'), (2002, 2, 'auto')",),
    ("UPDATE a SET k = k + 1, u = u + 100",),
    ("DELETE FROM b WHERE id MOD 3 = 0",),
    ("REPLACE INTO b VALUES (1, 'r', NULL), (500, 's', NULL)",),
)
_TWO_PHASE = (("txn.prepare", False), ("server.commit_ordered", True), ("txn.commit", True))
_ONE_PHASE = (("txn.commit.before_write", False), ("txn.commit.after_write", True))
_NEW_INDEX = (("catalog.reserve_indexes", False), ("table.build_index", False),
              ("table.catch_up", False),
              ("catalog.publish_altered.before_write", False),
              ("catalog.publish_altered.after_write", True))
_CASCADE_UNDONE = ("table.cascade.", False)
_XA = ("XA START 'x'", *(change for change in _CHANGES if "SAVEPOINT" not in change
                         and change != "DELETE FROM a"), "XA END 'x'", "XA PREPARE 'x'")

# After each row.
_SPILLS = "SET SESSION rocksdb_write_batch_spill_bytes = 1"
_SPILLED = (("txn.spill.", False), ("txn.load.", True))

SCENARIOS = (
    Scenario("transaction with binary log", _DML, (_TRANSACTION,), _TABLES,
             decided=_TWO_PHASE, replays_binlog=True),
    Scenario("transaction without binary log", ("txn.commit",), (_TRANSACTION,), _TABLES,
             has_binlog=False, decided=_ONE_PHASE),
    Scenario("autocommit with binary log", _DML, _AUTOCOMMIT, _TABLES,
             decided=_TWO_PHASE, replays_binlog=True),
    Scenario("autocommit without binary log", ("txn.commit",), _AUTOCOMMIT, _TABLES,
             has_binlog=False, decided=_ONE_PHASE),
    Scenario("bulk load with binary log", _DML, (_LOAD, _AFTER_LOAD[:1], _AFTER_LOAD[1:]), _LOADED,
             decided=(*_TWO_PHASE, ("txn.load.", True)), replays_binlog=True),
    Scenario("bulk load without binary log", ("txn.commit", "txn.load."),
             (_LOAD, _AFTER_LOAD[:1], _AFTER_LOAD[1:]), _LOADED, has_binlog=False,
             decided=(*_ONE_PHASE, ("txn.load.", True))),
    Scenario("changes in files with binary log", _DML, ((_SPILLS, *_TRANSACTION),), _TABLES,
             decided=(*_SPILLED, *_TWO_PHASE), replays_binlog=True),
    Scenario("changes in files without binary log", ("txn.commit", "txn.load.", "txn.spill."),
             ((_SPILLS, *_TRANSACTION),), _TABLES, has_binlog=False,
             decided=(*_SPILLED, *_ONE_PHASE)),
    Scenario("XA with changes in files", _DML, ((_SPILLS, *_XA), ("XA COMMIT 'x'",)), _TABLES,
             decided=(("txn.spill.", False), ("txn.prepare.before_write", False),
                      ("txn.prepare.after_write", True), ("txn.load.", True),
                      ("txn.commit.after_write", True))),
    Scenario("two engines with binary log", _DML,
             (("BEGIN", "UPDATE i SET v = v + 1", *_CHANGES, "COMMIT"),), (*_TABLES, *_INNODB),
             decided=_TWO_PHASE, replays_binlog=True),
    # Up to the decision only. Later, recovery without binary log rolls back whatever is still
    # prepared, without a look at its tc.log (sql/handler.cc, xarecover_handlerton): the engine
    # that has committed by then stands alone.
    Scenario("two engines without binary log", ("txn.prepare", "server."),
             (("BEGIN", "UPDATE i SET v = v + 1", *_CHANGES, "COMMIT"),), (*_TABLES, *_INNODB),
             has_binlog=False),
    Scenario("table without primary key", _DML,
             (("INSERT INTO h VALUES (100, 'n'), (101, 'n')",), ("DELETE FROM h WHERE v < 5",),
              ("UPDATE h SET w = 'u' WHERE v < 10",)), _HIDDEN_KEY, decided=_TWO_PHASE),
    Scenario("XA with binary log", _DML, (_XA, ("XA COMMIT 'x'",)), _TABLES,
             decided=(("txn.prepare.before_write", False), ("txn.prepare.after_write", True))),
    Scenario("XA without binary log", _DML, (_XA, ("XA COMMIT 'x'",)), _TABLES, has_binlog=False,
             decided=(("txn.prepare.before_write", False), ("txn.prepare.after_write", True),
                      ("txn.commit.after_write", True))),
    Scenario("XA rolled back", _DML, (_XA, ("XA ROLLBACK 'x'",)), _TABLES, has_binlog=False),
    Scenario("FLUSH BINARY LOGS", ("checkpoint.",),
             (("INSERT INTO a (u) VALUES (-1)",), ("FLUSH BINARY LOGS",),
              ("INSERT INTO a (u) VALUES (-2)",)), _TABLES, replays_binlog=True,
             waits_for_death=True),
    Scenario("RESET MASTER", ("checkpoint.",),
             (("INSERT INTO a (u) VALUES (-1)",), ("RESET MASTER",),
              ("INSERT INTO a (u) VALUES (-2)",)), _TABLES),
    Scenario("CREATE TABLE", _DDL,
             (("CREATE TABLE n (id INT PRIMARY KEY, v INT, KEY (v)) ENGINE=ROCKSDB",),
              ("INSERT INTO n VALUES (1, 1)",)), ddl_verb="CREATE TABLE"),
    # No comparison with the binary log: the server's DDL log undoes the statement even when the
    # binary log has it already, for InnoDB as for us.
    Scenario("column families", ("kv.",),
             (("CREATE TABLE n (id INT, v INT, w INT, PRIMARY KEY (id) COMMENT 'cfname=one', "
               "KEY v (v) COMMENT 'cfname=two') ENGINE=ROCKSDB",),
              ("INSERT INTO n VALUES (1, 1, 1)",),
              ("ALTER TABLE n ADD KEY w (w) COMMENT 'cfname=three', ALGORITHM=INPLACE",),
              ("DROP TABLE n",),
              ("SET GLOBAL rocksdb_delete_cf = 'two'",))),
    Scenario("CREATE TABLE SELECT", (*_DDL, *_DML),
             (("CREATE TABLE n (id INT PRIMARY KEY, KEY (v)) ENGINE=ROCKSDB "
               "SELECT seq AS id, seq * 2 AS v FROM seq_1_to_50",),)),
    Scenario("CREATE TABLE SELECT in files", _COPY,
             ((f"CREATE TABLE n (PRIMARY KEY (id), KEY (s(9))) ENGINE=ROCKSDB {_LARGE_ROWS}",),),
             decided=(("txn.load.", False),)),
    Scenario("CREATE TABLE SELECT in files, without binary log", _COPY,
             ((f"CREATE TABLE n (PRIMARY KEY (id)) ENGINE=ROCKSDB {_LARGE_ROWS}",),),
             has_binlog=False, decided=(("txn.load.", False),)),
    Scenario("DROP TABLE", _DDL, (("DROP TABLE a",), (_TABLES[0],)), _TABLES),
    Scenario("RENAME TABLE", _DDL, (("RENAME TABLE a TO c",), ("INSERT INTO c (u) VALUES (-1)",)),
             _TABLES, ddl_verb="RENAME TABLE"),
    Scenario("RENAME TABLE, a swap", _DDL, (("RENAME TABLE a TO c, b TO a, c TO b",),), _TABLES,
             ddl_verb="RENAME TABLE"),
    Scenario("TRUNCATE TABLE", _DDL,
             (("TRUNCATE TABLE a",), ("INSERT INTO a (id, u) VALUES (1, 1)",)), _TABLES,
             decided=(("catalog.truncate.before_write", False),
                      ("catalog.truncate.after_write", True))),
    Scenario("export and import of a table", (*_DDL, "table.export.", "table.import."),
             (("ALTER TABLE c IMPORT TABLESPACE",), ("INSERT INTO c (u) VALUES (-1)",),
              ("FLUSH TABLES c FOR EXPORT", "UNLOCK TABLES"), ("ALTER TABLE c DISCARD TABLESPACE",),
              ("DROP TABLE c",)),
             (*_TABLES, "ALTER TABLE a ADD COLUMN z INT DEFAULT 7, ALGORITHM=INSTANT",
              "CREATE TABLE c LIKE a", "ALTER TABLE c DISCARD TABLESPACE"),
             decided=(("catalog.reserve_indexes", False), ("table.import.", False),
                      ("catalog.publish_altered.before_write", False),
                      ("catalog.publish_altered.after_write", True),
                      ("catalog.truncate.before_write", False),
                      ("catalog.truncate.after_write", True)), exported=("a", "c")),
    Scenario("ALTER TABLE by copy", (*_DDL, *_DML),
             (("ALTER TABLE a ADD COLUMN z INT DEFAULT 7, ADD KEY z (z, k), ALGORITHM=COPY",),
              ("UPDATE a SET z = k",)), _TABLES, ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE by copy in files", _COPY,
             (("ALTER TABLE large ADD COLUMN z INT DEFAULT 7, ADD KEY z (z), ALGORITHM=COPY",),),
             _LARGE, ddl_verb="ALTER TABLE", decided=(("txn.load.", False),)),
    Scenario("ALTER TABLE by copy in portions", _COPY,
             (("ALTER IGNORE TABLE large ADD COLUMN z INT DEFAULT 7, ALGORITHM=COPY",),), _LARGE,
             ddl_verb="ALTER IGNORE TABLE", decided=(("copy.", False),)),
    Scenario("ALTER TABLE in place", _IN_PLACE,
             (("ALTER TABLE a ADD KEY s (s(5), k DESC), ADD KEY ks (k, s), ALGORITHM=INPLACE",),
              ("UPDATE a SET s = k",)), _TABLES, ddl_verb="ALTER TABLE", decided=_NEW_INDEX),
    Scenario("ALTER TABLE ... FORCE in place", _IN_PLACE,
             (("ALTER TABLE a FORCE, ALTER k SET DEFAULT 7, ALGORITHM=INPLACE",),
              ("UPDATE a SET s = k",)), _TABLES,
             ddl_verb="ALTER TABLE", decided=_NEW_INDEX),
    Scenario("ALTER TABLE in place with another primary key", _IN_PLACE,
             (("ALTER TABLE a DROP PRIMARY KEY, ADD PRIMARY KEY (id DESC), ADD z INT DEFAULT 7, "
               "ALGORITHM=INPLACE",),
              ("UPDATE a SET s = k",)), _TABLES,
             ddl_verb="ALTER TABLE", decided=_NEW_INDEX),
    Scenario("CREATE INDEX in place, without binary log", _IN_PLACE,
             (("CREATE INDEX v ON h (v) ALGORITHM=INPLACE",),
              ("INSERT INTO h VALUES (100, 'n')",)), _HIDDEN_KEY, has_binlog=False,
             decided=_NEW_INDEX),
    Scenario("ALTER TABLE in place of a table with partitions", _IN_PLACE,
             (("ALTER TABLE parted ADD COLUMN z INT DEFAULT 7 FIRST, CHANGE k number INT, "
               "ADD KEY s (s), ALGORITHM=INPLACE",),
              ("UPDATE parted SET s = number",)), _PARTED, ddl_verb="ALTER TABLE",
             decided=_NEW_INDEX),
    Scenario("ALTER TABLE of the definition of partitions alone",
             ("catalog.publish_altered", "catalog.rename"),
             (("ALTER TABLE parted DROP COLUMN k, ALGORITHM=INSTANT",),
              ("ALTER TABLE parted ADD COLUMN k VARCHAR(9) AFTER id, RENAME TO other, "
               "ALGORITHM=INSTANT",), ("UPDATE other SET k = s",)),
             _PARTED, ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE by copy of a table with partitions", _DDL,
             (("ALTER TABLE parted DROP COLUMN k, ALGORITHM=COPY",),
              ("ALTER TABLE parted ADD COLUMN k VARCHAR(9) AFTER id, RENAME TO other, "
               "ALGORITHM=COPY",), ("UPDATE other SET k = s",)),
             _PARTED, ddl_verb="ALTER TABLE"),
    Scenario("CREATE TABLE with partitions", _DDL,
             ((_PARTED[0].replace("parted", "n"),), ("INSERT INTO n VALUES (1, 1, 'n')",)),
             ddl_verb="CREATE TABLE"),
    Scenario("RENAME TABLE with partitions", _DDL,
             (("RENAME TABLE parted TO other",), ("UPDATE other SET k = k + 1",),
              ("RENAME TABLE other TO moved.parted, moved.small TO parted",),
              ("RENAME TABLE moved.parted TO other",), ("DELETE FROM other WHERE id < 9",)),
             (*_PARTED, *_MOVED), ddl_verb="RENAME TABLE"),
    Scenario("ALTER TABLE RENAME of a table with partitions", _DDL,
             (("ALTER TABLE parted RENAME TO moved.parted",),
              ("ALTER TABLE moved.parted RENAME TO other",), ("UPDATE other SET k = k + 1",)),
             (*_PARTED, *_MOVED), ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE that makes partitions", (*_DDL, *_DML),
             (("ALTER TABLE b PARTITION BY HASH (id) PARTITIONS 3",), ("UPDATE b SET v = 'x'",),
              ("ALTER TABLE b RENAME TO c PARTITION BY KEY (id) PARTITIONS 2",),
              ("ALTER TABLE c REMOVE PARTITIONING",), ("DELETE FROM c WHERE id < 9",)), _TABLES,
             ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE to this engine", (*_DDL, *_DML),
             (("ALTER TABLE i ENGINE=ROCKSDB",),), _INNODB, ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE to another engine", (*_DDL, *_DML),
             (("ALTER TABLE a ENGINE=InnoDB",),), _TABLES, ddl_verb="ALTER TABLE"),
    Scenario("cascades with binary log", (*_DML, "table.cascade."),
             (("DELETE FROM p WHERE id = 2",), ("BEGIN", *_CASCADES, "COMMIT")), _LINKED,
             decided=(*_TWO_PHASE, _CASCADE_UNDONE)),
    Scenario("cascades without binary log", ("txn.commit", "table.cascade."),
             (("BEGIN", *_CASCADES, "COMMIT"), ("DELETE FROM p WHERE id = 2",)), _LINKED,
             has_binlog=False, decided=(*_ONE_PHASE, _CASCADE_UNDONE)),
    Scenario("XA with cascades", (*_DML, "table.cascade."),
             (("XA START 'x'", *_CASCADES, "XA END 'x'", "XA PREPARE 'x'"), ("XA COMMIT 'x'",)),
             _LINKED, decided=(_CASCADE_UNDONE,)),
    Scenario("CREATE TABLE with foreign keys", _DDL,
             (("CREATE TABLE n (id INT PRIMARY KEY, c INT, own INT, FOREIGN KEY (c) REFERENCES "
               "c (id) ON DELETE CASCADE, CONSTRAINT to_n FOREIGN KEY (own) REFERENCES n (id)) "
               "ENGINE=ROCKSDB",),
              ("INSERT IGNORE INTO n VALUES (1, 1, 1), (2, 3, 1), (3, 999, 1), (4, 1, 9)",
               "DELETE FROM p WHERE id = 4")), _LINKED, ddl_verb="CREATE TABLE"),
    Scenario("ADD FOREIGN KEY", _DDL,
             (("ALTER TABLE g ADD COLUMN p INT, ADD CONSTRAINT added FOREIGN KEY (p) REFERENCES "
               "p (id) ON DELETE SET NULL, ALGORITHM=COPY",),
              ("UPDATE g SET p = id MOD 10 + 1", "INSERT IGNORE INTO g VALUES (900, 1, 99)",
               "DELETE FROM p WHERE id = 3")), _LINKED, ddl_verb="ALTER TABLE"),
    Scenario("DROP FOREIGN KEY", _DDL,
             (("ALTER TABLE c DROP FOREIGN KEY to_p, ALGORITHM=COPY",),
              ("UPDATE c SET p = 77 WHERE id = 1", "DELETE FROM p WHERE id = 3",
               "DELETE FROM c WHERE id = 5")), _LINKED, ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE by copy of a parent", _DDL,
             (("ALTER TABLE p ADD COLUMN z INT, ALGORITHM=COPY",),
              tuple(text.format(parent="p") for text in _HELD)), _LINKED,
             ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE by copy that renames a parent", _DDL,
             (("ALTER TABLE p ADD COLUMN z INT, RENAME TO q, ALGORITHM=COPY",),
              ("CREATE TABLE p (id INT PRIMARY KEY, q INT, FOREIGN KEY (q) REFERENCES q (id)) "
               "ENGINE=ROCKSDB",), tuple(text.format(parent="q") for text in _HELD)), _LINKED,
             ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE by copy that renames a child that is a parent", _DDL,
             (("ALTER TABLE c ADD COLUMN z INT, RENAME TO d, ALGORITHM=COPY",),
              ("ALTER TABLE d DROP FOREIGN KEY to_p",),
              ("ALTER TABLE d ADD CONSTRAINT to_p FOREIGN KEY (p) REFERENCES p (id) "
               "ON DELETE CASCADE ON UPDATE CASCADE, ALGORITHM=COPY",),
              tuple(text.format(parent="p") for text in _HELD)), _LINKED,
             ddl_verb="ALTER TABLE"),
    Scenario("ALTER TABLE by copy that moves a parent", _DDL,
             (("ALTER TABLE p ADD COLUMN z INT, RENAME TO moved.q, ALGORITHM=COPY",),
              ("ALTER TABLE moved.q RENAME TO q",),
              tuple(text.format(parent="q") for text in _HELD)),
             (*_LINKED, *_MOVED), ddl_verb="ALTER TABLE"),
    Scenario("RENAME TABLE of a parent", _DDL,
             (("RENAME TABLE p TO q",), tuple(text.format(parent="q") for text in _HELD)), _LINKED,
             ddl_verb="RENAME TABLE"),
    Scenario("RENAME TABLE of a child that is a parent", _DDL,
             (("RENAME TABLE c TO d",), tuple(text.format(parent="p") for text in _HELD)), _LINKED,
             ddl_verb="RENAME TABLE"),
    Scenario("reclaiming after DROP TABLE", ("maintenance.",), (("DROP TABLE a",),), _TABLES,
             decided=(("maintenance.", True),), waits_for_death=True),
    Scenario("reclaiming after TRUNCATE TABLE", ("maintenance.",), (("TRUNCATE TABLE a",),),
             _TABLES, decided=(("maintenance.", True),), waits_for_death=True),
)

# The server makes these atomic by table only: each table is there wholly or not at all.
PIECEWISE = (
    Scenario("DROP TABLE, several", _DDL, (("DROP TABLE a, parted, h",),),
             (*_TABLES, *_HIDDEN_KEY, *_PARTED)),
    Scenario("DROP DATABASE", _DDL, (("DROP DATABASE crash",),), (*_TABLES, *_PARTED)),
    Scenario("DROP TABLE, children and parents", _DDL, (("DROP TABLE g, c, p",),), _LINKED),
    Scenario("DROP DATABASE with foreign keys", _DDL, (("DROP DATABASE crash",),), _LINKED),
    Scenario("CREATE OR REPLACE TABLE", _DDL,
             (("CREATE OR REPLACE TABLE a (id INT PRIMARY KEY) ENGINE=ROCKSDB",),), _TABLES),
)
