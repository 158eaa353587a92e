"""Partitions and ALTER TABLE."""

from __future__ import annotations

from tests.clauses._clause import Clause, idle, refused, warned, works

_OF_T = "SHOW CREATE TABLE t; SELECT * FROM t ORDER BY a"
_OF_P = "SHOW CREATE TABLE p; SELECT * FROM p ORDER BY a; SELECT a FROM p WHERE a = 1; " \
        "SELECT a FROM p WHERE a = 11; CHECK TABLE p"
_RANGE = "CREATE TABLE n (a INT) PARTITION BY RANGE (a) "
_SUBPARTITIONS = _RANGE + "SUBPARTITION BY HASH (a) (PARTITION p0 VALUES LESS THAN (10) " \
    "(SUBPARTITION s0 {option}, SUBPARTITION s1))"
_DATA_DIRECTORY = "DATA_SYM DIRECTORY_SYM opt_equal TEXT_STRING_sys"
_INDEX_DIRECTORY = "INDEX_SYM DIRECTORY_SYM opt_equal TEXT_STRING_sys"
_COMMENT = "COMMENT_SYM opt_equal TEXT_STRING_sys"
_CONVERT_IN = "CONVERT_SYM TABLE_SYM table_ident TO_SYM PARTITION_SYM part_definition"
_TO_CHARSET = "CONVERT_SYM TO_SYM charset charset_name_or_default"


def _parts(alternative: str, by: str, values: str = "(1), (7), (13)") -> Clause:
    """A partitioned table that finds its rows, and has them in these partitions."""
    return works(alternative, f"CREATE TABLE n (a INT) PARTITION BY {by}; "
                 f"INSERT INTO n VALUES {values}; ANALYZE TABLE n",
                 "SHOW CREATE TABLE n; SELECT * FROM n WHERE a = 7; SELECT PARTITION_NAME, "
                 "SUBPARTITION_NAME, TABLE_ROWS FROM information_schema.PARTITIONS WHERE "
                 "TABLE_NAME = 'n' ORDER BY 1, 2")


def _option(option: str) -> str:
    return _RANGE + f"(PARTITION p0 VALUES LESS THAN (10) {option})"


def _history(alternative: str, rotation: str, parts: str = "") -> Clause:
    return works(alternative, "CREATE TABLE n (a INT) WITH SYSTEM VERSIONING PARTITION BY "
                 f"SYSTEM_TIME {rotation} {parts}; INSERT INTO n VALUES (1), (2); DELETE FROM n",
                 "SHOW CREATE TABLE n; SELECT a FROM n FOR SYSTEM_TIME ALL ORDER BY a")


def _held(column: str) -> str:
    """What a foreign key of that column to the table's own key does to rows."""
    return (f"SHOW CREATE TABLE t; UPDATE IGNORE t SET {column} = 9 WHERE a = 1; SHOW WARNINGS; "
            f"UPDATE t SET {column} = 2 WHERE a = 3; DELETE IGNORE FROM t WHERE a = 2; SHOW "
            "WARNINGS; SELECT * FROM t ORDER BY a")


PARTITIONS: dict[str, list[Clause]] = {
    "part_type_def": [
        _parts("opt_linear KEY_SYM opt_key_algo '(' part_field_list ')'", "KEY (a) PARTITIONS 3"),
        _parts("opt_linear HASH_SYM part_func", "HASH (a) PARTITIONS 3"),
        _parts("RANGE_SYM part_func", "RANGE (a) (PARTITION u VALUES LESS THAN (10), PARTITION v "
               "VALUES LESS THAN MAXVALUE)"),
        _parts("RANGE_SYM part_column_list", "RANGE COLUMNS (a) (PARTITION u VALUES LESS THAN "
               "(10), PARTITION v VALUES LESS THAN (MAXVALUE))"),
        _parts("LIST_SYM part_func", "LIST (a) (PARTITION u VALUES IN (1, 7), PARTITION v VALUES "
               "IN (13))"),
        _parts("LIST_SYM part_column_list", "LIST COLUMNS (a) (PARTITION u VALUES IN (1, 7), "
               "PARTITION v DEFAULT)"),
        _history("SYSTEM_TIME_SYM opt_versioning_rotation", "LIMIT 1000", "PARTITIONS 3"),
    ],
    "opt_linear": [
        _parts("", "HASH (a) PARTITIONS 3"), _parts("LINEAR_SYM", "LINEAR HASH (a) PARTITIONS 3")],
    "opt_key_algo": [
        _parts("", "KEY (a) PARTITIONS 3"),
        _parts("ALGORITHM_SYM '=' real_ulong_num", "KEY ALGORITHM=1 (a) PARTITIONS 3"),
    ],
    "opt_num_parts": [
        _parts("", "HASH (a)"), _parts("PARTITIONS_SYM real_ulong_num", "HASH (a) PARTITIONS 5")],
    "opt_sub_part": [
        _parts("", "HASH (a)"),
        _parts("SUBPARTITION_SYM BY opt_linear HASH_SYM sub_part_func opt_num_subparts",
               "RANGE (a) SUBPARTITION BY HASH (a) SUBPARTITIONS 2 (PARTITION u VALUES LESS THAN "
               "(10), PARTITION v VALUES LESS THAN (20))"),
        _parts("SUBPARTITION_SYM BY opt_linear KEY_SYM opt_key_algo '(' sub_part_field_list ')' "
               "opt_num_subparts", "LIST (a) SUBPARTITION BY KEY (a) SUBPARTITIONS 2 (PARTITION u "
               "VALUES IN (1, 7, 13))"),
    ],
    "opt_part_values": [
        _parts("", "HASH (a) (PARTITION u, PARTITION v)"),
        _parts("VALUES_LESS_SYM THAN_SYM part_func_max", "RANGE (a) (PARTITION u VALUES LESS THAN "
               "(20))"),
        _parts("VALUES_IN_SYM part_values_in", "LIST (a) (PARTITION u VALUES IN (1, 7, 13))"),
        _history("CURRENT_SYM", "", "(PARTITION u HISTORY, PARTITION v CURRENT)"),
        _history("HISTORY_SYM", "LIMIT 1000", "(PARTITION u HISTORY, PARTITION w HISTORY, "
                 "PARTITION v CURRENT)"),
        _parts("DEFAULT", "LIST (a) (PARTITION u VALUES IN (1), PARTITION v DEFAULT)"),
    ],
    "part_func_max": [
        _parts("MAXVALUE_SYM", "RANGE (a) (PARTITION u VALUES LESS THAN MAXVALUE)"),
        _parts("part_value_item", "RANGE (a) (PARTITION u VALUES LESS THAN (20))"),
    ],
    "part_values_in": [
        _parts("part_value_item", "LIST (a) (PARTITION u VALUES IN (1, 7, 13))"),
        works("'(' part_value_list ')'", "CREATE TABLE n (a INT, b INT) PARTITION BY LIST COLUMNS "
              "(a, b) (PARTITION u VALUES IN ((1, 2), (3, 4))); INSERT INTO n VALUES (3, 4)",
              "SHOW CREATE TABLE n; SELECT * FROM n WHERE a = 3 AND b = 4"),
    ],
    "opt_versioning_rotation": [
        _history("", "", "(PARTITION u HISTORY, PARTITION v CURRENT)"),
        _history("INTERVAL_SYM expr interval opt_versioning_interval_start opt_vers_auto_part",
                 "INTERVAL 1 DAY STARTS '2020-01-01 00:00:00'", "PARTITIONS 3"),
        _history("LIMIT ulonglong_num opt_vers_auto_part", "LIMIT 100 AUTO", "PARTITIONS 3"),
    ],
    "part_definition": [
        works("opt_partition part_name opt_part_values opt_part_options opt_sub_partition",
              _option("COMMENT='c'")),
    ],
    "part_option": [
        works("server_part_option", _option("COMMENT='c'")),
        *[refused(1911, "engine_defined_option", sql) for sql in (
            _option("ENCRYPTED=YES ENCRYPTION_KEY_ID=5"), _option("ENCRYPTED='YES'"),
            _option("nosuch=1"), _option("ENCRYPTED=DEFAULT"),
            _RANGE + "SUBPARTITION BY HASH (a) SUBPARTITIONS 2 "
            "(PARTITION p0 VALUES LESS THAN (10) ENCRYPTED=YES)",
            "ALTER TABLE p ADD PARTITION (PARTITION p2 VALUES LESS THAN (30) ENCRYPTED=YES)",
            "ALTER TABLE t PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10) nosuch=1)",
            "SET sql_mode='IGNORE_BAD_TABLE_OPTIONS,STRICT_ALL_TABLES'; " + _option("nosuch=1"),
        )],
        warned(1911, "engine_defined_option", "SET sql_mode=IGNORE_BAD_TABLE_OPTIONS; " +
               _option("ENCRYPTED=YES")),
        works("engine_defined_option", "SET sql_mode=IGNORE_BAD_TABLE_OPTIONS; " +
              _option("nosuch=1") + "; SET sql_mode=DEFAULT; ALTER TABLE n ADD PARTITION "
              "(PARTITION p1 VALUES LESS THAN (20)); ALTER TABLE n ADD COLUMN b INT"),
    ],
    "sub_part_definition": [
        works("SUBPARTITION_SYM sub_name opt_subpart_options",
              _SUBPARTITIONS.format(option="COMMENT='c'")),
    ],
    "server_part_option": [
        idle("TABLESPACE", "TABLESPACE opt_equal ident_or_text", _option("TABLESPACE=x")),
        works("opt_storage ENGINE_SYM opt_equal storage_engines", _option("ENGINE={engine}")),
        idle("CONNECTION", "CONNECTION_SYM opt_equal TEXT_STRING_sys", _option("CONNECTION='x'")),
        idle("NODEGROUP", "NODEGROUP_SYM opt_equal real_ulong_num", _option("NODEGROUP=1")),
        idle("MAX_ROWS", "MAX_ROWS opt_equal real_ulonglong_num", _option("MAX_ROWS=9")),
        idle("MIN_ROWS", "MIN_ROWS opt_equal real_ulonglong_num", _option("MIN_ROWS=9")),
        *[refused(1478, _DATA_DIRECTORY, sql) for sql in (
            _option("DATA DIRECTORY='/tmp'"),
            _SUBPARTITIONS.format(option="DATA DIRECTORY='/tmp'"),
            "ALTER TABLE p ADD PARTITION (PARTITION p2 VALUES LESS THAN (30) "
            "DATA DIRECTORY='/tmp')")],
        refused(1478, _INDEX_DIRECTORY, _option("INDEX DIRECTORY='/tmp'")),
        refused(1478, _INDEX_DIRECTORY, _SUBPARTITIONS.format(option="INDEX DIRECTORY='/tmp'")),
        works(_COMMENT, _option("COMMENT='c'"), "SELECT PARTITION_COMMENT FROM "
              "information_schema.PARTITIONS WHERE TABLE_NAME = 'n'"),
        warned(1478, _COMMENT, _option("COMMENT='ttl_duration=60'")),
        warned(1478, _COMMENT, _SUBPARTITIONS.format(option="COMMENT='cfname=x'")),
        warned(1478, _COMMENT, "ALTER TABLE p ADD PARTITION (PARTITION p2 VALUES LESS THAN (30) "
               "COMMENT='ttl_duration=60')"),
    ],
}

ALTER: dict[str, list[Clause]] = {
    "alter": [
        works("ALTER alter_options TABLE_SYM opt_if_exists table_ident opt_lock_wait_timeout "
              "alter_commands", "ALTER TABLE IF EXISTS t WAIT 5 ADD COLUMN d INT", _OF_T),
        works("ALTER SEQUENCE_SYM opt_if_exists table_ident sequence_defs stmt_end",
              "CREATE SEQUENCE s; ALTER SEQUENCE s RESTART 50 INCREMENT 5", "SELECT NEXTVAL(s)"),
    ],
    "alter_option": [
        works("IGNORE_SYM", "INSERT INTO t VALUES (9, 10, 'x'); ALTER IGNORE TABLE t ADD UNIQUE "
              "(c)", "SELECT a FROM t ORDER BY a"),
        works("ONLINE_SYM", "ALTER ONLINE TABLE t ADD INDEX (c)", _OF_T),
        refused(1845, "ONLINE_SYM", "ALTER ONLINE TABLE t MODIFY c DOUBLE"),
    ],
    "alter_commands": [
        works("", "ALTER TABLE t", _OF_T),
        works("DISCARD TABLESPACE", "ALTER TABLE t DISCARD TABLESPACE", "SHOW CREATE TABLE t"),
        refused(1813, "IMPORT TABLESPACE", "ALTER TABLE t IMPORT TABLESPACE"),
        works("alter_list opt_partitioning",
              "ALTER TABLE t ADD COLUMN d INT PARTITION BY HASH (a) PARTITIONS 2", _OF_T),
        works("alter_list remove_partitioning",
              "ALTER TABLE p ADD COLUMN d INT REMOVE PARTITIONING", "SHOW CREATE TABLE p; SELECT * "
              "FROM p ORDER BY a"),
        works("remove_partitioning", "ALTER TABLE p REMOVE PARTITIONING", "SHOW CREATE TABLE p; "
              "SELECT * FROM p ORDER BY a"),
        works("partitioning", "ALTER TABLE t PARTITION BY KEY (a) PARTITIONS 3", _OF_T),
        works("add_partition_rule", "ALTER TABLE p ADD PARTITION (PARTITION p2 VALUES LESS THAN "
              "(30))", _OF_P),
        works("DROP PARTITION_SYM opt_if_exists alt_part_name_list", "ALTER TABLE p DROP PARTITION "
              "p0", _OF_P),
        works("REBUILD_SYM PARTITION_SYM opt_no_write_to_binlog all_or_alt_part_name_list",
              "ALTER TABLE p REBUILD PARTITION p0, p1", _OF_P),
        works("OPTIMIZE PARTITION_SYM opt_no_write_to_binlog all_or_alt_part_name_list "
              "opt_no_write_to_binlog", "ALTER TABLE p OPTIMIZE PARTITION p1", _OF_P),
        works("ANALYZE_SYM PARTITION_SYM opt_no_write_to_binlog all_or_alt_part_name_list",
              "ALTER TABLE p ANALYZE PARTITION ALL", _OF_P),
        works("CHECK_SYM PARTITION_SYM all_or_alt_part_name_list opt_mi_check_type",
              "ALTER TABLE p CHECK PARTITION ALL", _OF_P),
        works("REPAIR PARTITION_SYM opt_no_write_to_binlog all_or_alt_part_name_list "
              "opt_mi_repair_type", "ALTER TABLE p REPAIR PARTITION p0", _OF_P),
        works("COALESCE PARTITION_SYM opt_no_write_to_binlog real_ulong_num",
              "ALTER TABLE t PARTITION BY HASH (a) PARTITIONS 4; ALTER TABLE t COALESCE PARTITION "
              "2", _OF_T),
        works("TRUNCATE_SYM PARTITION_SYM all_or_alt_part_name_list",
              "ALTER TABLE p TRUNCATE PARTITION p1", _OF_P),
        works("reorg_partition_rule", "ALTER TABLE p REORGANIZE PARTITION p0 INTO (PARTITION q0 "
              "VALUES LESS THAN (5), PARTITION q1 VALUES LESS THAN (10))", _OF_P),
        works("EXCHANGE_SYM PARTITION_SYM alt_part_name_item WITH TABLE_SYM table_ident "
              "have_partitioning", "CREATE TABLE n (a INT PRIMARY KEY, b INT); INSERT INTO n "
              "VALUES (3, 3); ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE n",
              "SELECT * FROM n; SELECT * FROM p ORDER BY a"),
        works("CONVERT_SYM PARTITION_SYM alt_part_name_item TO_SYM TABLE_SYM table_ident "
              "have_partitioning", "ALTER TABLE p CONVERT PARTITION p1 TO TABLE n",
              "SHOW CREATE TABLE n; SELECT * FROM n; SELECT * FROM p"),
        works(_CONVERT_IN, "CREATE TABLE n (a INT PRIMARY KEY, b INT); INSERT INTO n VALUES (25, "
              "3); ALTER TABLE p CONVERT TABLE n TO PARTITION p2 VALUES LESS THAN (30)", _OF_P),
        refused(1911, _CONVERT_IN, "ALTER TABLE p CONVERT PARTITION p1 TO TABLE q; ALTER TABLE p "
                "CONVERT TABLE q TO PARTITION p1 VALUES LESS THAN (20) ENCRYPTED=YES"),
        refused(1478, _CONVERT_IN, "ALTER TABLE p CONVERT PARTITION p1 TO TABLE q; ALTER TABLE p "
                "CONVERT TABLE q TO PARTITION p1 VALUES LESS THAN (20) DATA DIRECTORY='/tmp'"),
        warned(1478, _CONVERT_IN, "ALTER TABLE p CONVERT PARTITION p1 TO TABLE q; ALTER TABLE p "
               "CONVERT TABLE q TO PARTITION p1 VALUES LESS THAN (20) COMMENT='ttl_duration=6'"),
    ],
    "add_part_extra": [
        refused(1514, "", "ALTER TABLE t PARTITION BY HASH (a); ALTER TABLE t ADD PARTITION"),
        works("'(' part_def_list ')'", "ALTER TABLE p ADD PARTITION (PARTITION p2 VALUES LESS THAN "
              "(30), PARTITION p3 VALUES LESS THAN MAXVALUE)", _OF_P),
        works("PARTITIONS_SYM real_ulong_num", "ALTER TABLE t PARTITION BY HASH (a); ALTER TABLE t "
              "ADD PARTITION PARTITIONS 3", _OF_T),
    ],
    "reorg_parts_rule": [
        works("", "ALTER TABLE t PARTITION BY HASH (a) PARTITIONS 2; ALTER TABLE t REORGANIZE "
              "PARTITION", _OF_T),
        works("alt_part_name_list INTO '(' part_def_list ')'", "ALTER TABLE p REORGANIZE PARTITION "
              "p0, p1 INTO (PARTITION q VALUES LESS THAN (20))", _OF_P),
        *[refused(1478, "alt_part_name_list INTO '(' part_def_list ')'", "ALTER TABLE p REORGANIZE "
                  f"PARTITION p0 INTO (PARTITION {name} VALUES LESS THAN (10) {kind} "
                  "DIRECTORY='/tmp')") for name in ("p0", "q0") for kind in ("DATA", "INDEX")],
        refused(1911, "alt_part_name_list INTO '(' part_def_list ')'", "ALTER TABLE p REORGANIZE "
                "PARTITION p0 INTO (PARTITION q VALUES LESS THAN (10) ENCRYPTED=YES)"),
    ],
    "alter_list_item": [
        works("add_column column_def opt_place", "ALTER TABLE t ADD COLUMN d INT DEFAULT 5 AFTER a",
              _OF_T),
        works("add_column column_def opt_place",
              "ALTER TABLE t ADD COLUMN d INT REFERENCES t (a), ALGORITHM=COPY",
              _held("d")),
        works("ADD key_def", "ALTER TABLE t ADD KEY k (c)", "SHOW CREATE TABLE t; SELECT a FROM t "
              "FORCE INDEX (k) WHERE c = 'y'"),
        works("ADD key_def", "UPDATE t SET b = 1; ALTER TABLE t ADD CONSTRAINT k FOREIGN KEY (b) "
              "REFERENCES t (a), ALGORITHM=COPY", _held("b")),
        refused(1452, "ADD key_def", "ALTER TABLE t ADD CONSTRAINT k FOREIGN KEY (b) REFERENCES t "
                "(a), ALGORITHM=COPY"),
        refused(1846, "ADD key_def", "ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES t (a), "
                "ALGORITHM=INPLACE"),
        refused(1214, "ADD key_def", "ALTER TABLE t ADD FULLTEXT (c)"),
        works("ADD period_for_system_time", "CREATE TABLE n (x INT); ALTER TABLE n ADD COLUMN s "
              "TIMESTAMP(6) AS ROW START, ADD COLUMN e TIMESTAMP(6) AS ROW END, ADD PERIOD FOR "
              "SYSTEM_TIME (s, e), ADD SYSTEM VERSIONING"),
        works("ADD PERIOD_SYM opt_if_not_exists_table_element period_for_application_time",
              "CREATE TABLE n (s DATE, e DATE); ALTER TABLE n ADD PERIOD FOR p (s, e)"),
        works("add_column '(' create_field_list ')'", "ALTER TABLE t ADD COLUMN (d INT, e INT)",
              _OF_T),
        works("ADD constraint_def", "ALTER TABLE t ADD CONSTRAINT k CHECK (b < 99)",
              _OF_T),
        refused(4025, "ADD constraint_def", "ALTER TABLE t ADD CONSTRAINT k CHECK (b < 99); "
                "INSERT INTO t VALUES (9, 100, '')"),
        refused(4025, "ADD constraint_def", "ALTER TABLE t ADD CONSTRAINT k CHECK (b < 9)"),
        works("ADD CONSTRAINT IF_SYM not EXISTS field_ident check_constraint",
              "ALTER TABLE t ADD CONSTRAINT IF NOT EXISTS k CHECK (b < 99)", _OF_T),
        works("CHANGE opt_column opt_if_exists_table_element field_ident field_spec opt_place",
              "ALTER TABLE t CHANGE b d BIGINT FIRST", _OF_T),
        works("MODIFY_SYM opt_column opt_if_exists_table_element field_spec opt_place",
              "ALTER TABLE t MODIFY c VARCHAR(2) NOT NULL", _OF_T),
        refused(1265, "MODIFY_SYM opt_column opt_if_exists_table_element field_spec opt_place",
                "UPDATE t SET c = NULL; ALTER TABLE t MODIFY c VARCHAR(2) NOT NULL"),
        works("DROP opt_column opt_if_exists_table_element field_ident opt_restrict",
              "ALTER TABLE t DROP COLUMN b", _OF_T),
        works("DROP CONSTRAINT opt_if_exists_table_element field_ident", "ALTER TABLE t ADD "
              "CONSTRAINT k CHECK (b < 99); ALTER TABLE t DROP CONSTRAINT k", _OF_T),
        works("DROP FOREIGN KEY_SYM opt_if_exists_table_element field_ident", "CREATE TABLE n (x "
              "INT, CONSTRAINT k FOREIGN KEY (x) REFERENCES t (a)); ALTER TABLE n DROP FOREIGN KEY "
              "k", "SHOW CREATE TABLE n; INSERT INTO n VALUES (9)"),
        refused(1091, "DROP FOREIGN KEY_SYM opt_if_exists_table_element field_ident",
                "ALTER TABLE t DROP FOREIGN KEY k"),
        warned(1091, "DROP FOREIGN KEY_SYM opt_if_exists_table_element field_ident",
               "ALTER TABLE t DROP FOREIGN KEY IF EXISTS k"),
        works("DROP opt_constraint_no_id PRIMARY_SYM KEY_SYM", "ALTER TABLE t DROP PRIMARY KEY; "
              "INSERT INTO t VALUES (1, 1, '')", "SHOW CREATE TABLE t; SELECT a, b FROM t "
              "ORDER BY 1, 2"),
        works("DROP key_or_index opt_if_exists_table_element field_ident", "ALTER TABLE t DROP KEY "
              "b", _OF_T),
        warned(1031, "DISABLE_SYM KEYS", "ALTER TABLE t DISABLE KEYS"),
        warned(1031, "ENABLE_SYM KEYS", "ALTER TABLE t ENABLE KEYS"),
        works("ALTER opt_column opt_if_exists_table_element field_ident SET DEFAULT "
              "column_default_expr", "ALTER TABLE t ALTER b SET DEFAULT 7; INSERT INTO t (a) "
              "VALUES (9)", _OF_T),
        works("ALTER key_or_index opt_if_exists_table_element ident ignorability",
              "ALTER TABLE t ALTER KEY b IGNORED", _OF_T),
        works("ALTER opt_column opt_if_exists_table_element field_ident DROP DEFAULT",
              "ALTER TABLE t ALTER b DROP DEFAULT", _OF_T),
        works("RENAME opt_to table_ident", "ALTER TABLE t RENAME TO n", "SHOW CREATE TABLE n; "
              "SELECT * FROM n"),
        works("RENAME COLUMN_SYM opt_if_exists_table_element ident TO_SYM ident",
              "ALTER TABLE t RENAME COLUMN b TO d", _OF_T),
        works("RENAME key_or_index opt_if_exists_table_element field_ident TO_SYM field_ident",
              "ALTER TABLE t RENAME KEY b TO k", "SHOW CREATE TABLE t; SELECT a FROM t FORCE INDEX "
              "(k) WHERE b = 20"),
        works(_TO_CHARSET, "ALTER TABLE t CONVERT TO CHARACTER SET latin1", _OF_T),
        works(_TO_CHARSET + " COLLATE_SYM collation_name_or_default",
              "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", _OF_T),
        works("create_table_options_space_separated", "ALTER TABLE t COMMENT='c' AUTO_INCREMENT=9",
              _OF_T),
        warned(1478, "create_table_options_space_separated", "ALTER TABLE t ROW_FORMAT=COMPRESSED"),
        refused(1478, "create_table_options_space_separated", "ALTER TABLE t ROW_FORMAT=FIXED"),
        warned(1478, "create_table_options_space_separated", "ALTER TABLE t STATS_PERSISTENT=1"),
        refused(4070, "create_table_options_space_separated", "ALTER TABLE t COMMENT='ttl_col=a'"),
        warned(1618, "create_table_options_space_separated", "ALTER TABLE t DATA DIRECTORY='/tmp'"),
        refused(1911, "create_table_options_space_separated", "ALTER TABLE t ENCRYPTED=YES"),
        works("create_table_options_space_separated", "CREATE TABLE n (a INT, KEY (a) COMMENT "
              "'c') ROW_FORMAT=DYNAMIC; ALTER TABLE n ENGINE={engine}"),
        works("FORCE_SYM", "ALTER TABLE t FORCE", _OF_T),
        works("alter_order_clause", "CREATE TABLE n (x INT); INSERT INTO n VALUES (3), (1), (2); "
              "ALTER TABLE n ORDER BY x", "SELECT x FROM n"),
        works("alter_algorithm_option", "ALTER TABLE t ADD COLUMN d INT, ALGORITHM=COPY", _OF_T),
        works("alter_lock_option", "ALTER TABLE t ADD INDEX (c), LOCK=SHARED", _OF_T),
        works("ADD SYSTEM VERSIONING_SYM", "ALTER TABLE t ADD SYSTEM VERSIONING; DELETE FROM t",
              "SELECT a FROM t FOR SYSTEM_TIME ALL ORDER BY a"),
        works("DROP SYSTEM VERSIONING_SYM", "ALTER TABLE t ADD SYSTEM VERSIONING; DELETE FROM t "
              "WHERE a = 1; ALTER TABLE t DROP SYSTEM VERSIONING", _OF_T),
        refused(4124, "DROP PERIOD_SYM FOR_SYSTEM_TIME_SYM", "ALTER TABLE t DROP PERIOD FOR "
                "SYSTEM_TIME"),
        works("DROP PERIOD_SYM opt_if_exists_table_element FOR_SYM ident", "CREATE TABLE n (s "
              "DATE, e DATE, PERIOD FOR p (s, e)); ALTER TABLE n DROP PERIOD FOR p"),
    ],
    "opt_place": [
        works("", "ALTER TABLE t ADD COLUMN d INT", _OF_T),
        works("AFTER_SYM ident", "ALTER TABLE t MODIFY b INT AFTER c", _OF_T),
        works("FIRST_SYM", "ALTER TABLE t MODIFY b INT FIRST", _OF_T),
    ],
    "alter_algorithm_option": [
        works("ALGORITHM_SYM opt_equal DEFAULT", "ALTER TABLE t ADD COLUMN d INT, "
              "ALGORITHM=DEFAULT", _OF_T),
        works("ALGORITHM_SYM opt_equal ident", "ALTER TABLE t ADD KEY (c), ALGORITHM=INPLACE",
              _OF_T),
        works("ALGORITHM_SYM opt_equal ident", "ALTER TABLE t ADD KEY (c), ALGORITHM=NOCOPY",
              _OF_T),
        works("ALGORITHM_SYM opt_equal ident", "ALTER TABLE t DROP COLUMN c, ALGORITHM=COPY",
              _OF_T),
        works("ALGORITHM_SYM opt_equal ident", "ALTER TABLE t ADD COLUMN d INT, ALGORITHM=INSTANT",
              _OF_T),
        works("ALGORITHM_SYM opt_equal ident", "ALTER TABLE t ADD COLUMN d INT, ALGORITHM=INPLACE",
              _OF_T),
        refused(1845, "ALGORITHM_SYM opt_equal ident",
                "ALTER TABLE t MODIFY c DOUBLE, ALGORITHM=INSTANT"),
        works("ALGORITHM_SYM opt_equal ident", "ALTER TABLE t ADD UNIQUE (c), ALGORITHM=INPLACE",
              _OF_T),
        works("ALGORITHM_SYM opt_equal ident", "ALTER TABLE t RENAME COLUMN c TO d, "
              "ALGORITHM=INSTANT", _OF_T),
        refused(1845, "ALGORITHM_SYM opt_equal ident",
                "ALTER TABLE t ADD KEY (c), ALGORITHM=INSTANT"),
        refused(1800, "ALGORITHM_SYM opt_equal ident", "ALTER TABLE t FORCE, ALGORITHM=NOSUCH"),
    ],
    "alter_lock_option": [
        works("LOCK_SYM opt_equal DEFAULT", "ALTER TABLE t ADD KEY (c), LOCK=DEFAULT", _OF_T),
        works("LOCK_SYM opt_equal ident", "ALTER TABLE t ADD KEY (c), LOCK=SHARED", _OF_T),
        works("LOCK_SYM opt_equal ident", "ALTER TABLE t ADD COLUMN d INT, LOCK=EXCLUSIVE", _OF_T),
        works("LOCK_SYM opt_equal ident", "ALTER TABLE t ADD KEY (c), LOCK=NONE", _OF_T),
        refused(1846, "LOCK_SYM opt_equal ident", "ALTER TABLE t MODIFY b INT NOT NULL, LOCK=NONE"),
        works("LOCK_SYM opt_equal ident", "ALTER TABLE t ADD COLUMN d INT, LOCK=NONE", _OF_T),
        refused(1845, "LOCK_SYM opt_equal ident", "ALTER TABLE t MODIFY c DOUBLE, LOCK=NONE"),
    ],
}
