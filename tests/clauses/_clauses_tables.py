"""CREATE TABLE, CREATE INDEX and CREATE SEQUENCE: all but columns, keys and partitions."""

from __future__ import annotations

from tests.clauses._clause import Clause, idle, refused, warned, works

_OF_N = "SHOW CREATE TABLE n; SELECT * FROM n"
_DIRECTORY = "DATA_SYM DIRECTORY_SYM opt_equal TEXT_STRING_sys"
_INDEX_DIRECTORY = "INDEX_SYM DIRECTORY_SYM opt_equal TEXT_STRING_sys"
_TABLE_TAIL = "opt_create_table_options opt_create_partitioning opt_create_select"
_INDEX = ("create_or_replace INDEX_SYM opt_if_not_exists ident opt_key_algorithm_clause ON "
          "table_ident '(' key_list ')' opt_lock_wait_timeout normal_key_options "
          "opt_index_lock_algorithm")
_UNIQUE_INDEX = ("create_or_replace UNIQUE_SYM INDEX_SYM opt_if_not_exists ident "
                 "opt_key_algorithm_clause ON table_ident '(' key_list opt_without_overlaps ')' "
                 "opt_lock_wait_timeout normal_key_options opt_index_lock_algorithm")
_FULLTEXT_INDEX = ("create_or_replace fulltext INDEX_SYM opt_if_not_exists ident ON table_ident "
                   "'(' key_list ')' opt_lock_wait_timeout fulltext_key_options "
                   "opt_index_lock_algorithm")
_SPATIAL_INDEX = ("create_or_replace spatial INDEX_SYM opt_if_not_exists ident ON table_ident "
                  "'(' key_list ')' opt_lock_wait_timeout spatial_key_options "
                  "opt_index_lock_algorithm")


def _row_format(name: str) -> str:
    return f"CREATE TABLE n (a INT) ROW_FORMAT={name}"


CREATE: dict[str, list[Clause]] = {
    "create": [
        works("create_or_replace opt_temporary TABLE_SYM opt_if_not_exists table_ident "
              "create_body", "CREATE TABLE n (a INT PRIMARY KEY); INSERT INTO n VALUES (1)",
              _OF_N),
        works("create_or_replace opt_temporary SEQUENCE_SYM opt_if_not_exists table_ident "
              "opt_sequence opt_create_table_options",
              "CREATE SEQUENCE s START 5 INCREMENT 3 CACHE 2 COMMENT='c'",
              "SELECT NEXTVAL(s), NEXTVAL(s), NEXTVAL(s); SHOW CREATE TABLE s"),
        works(_INDEX, "CREATE INDEX k ON t (c DESC)",
              "SHOW CREATE TABLE t; SELECT a FROM t FORCE INDEX (k) WHERE c = 'y'"),
        works(_UNIQUE_INDEX, "CREATE UNIQUE INDEX k ON t (c)",
              "SHOW CREATE TABLE t; INSERT IGNORE INTO t VALUES (9, 9, 'x'); "
              "SELECT COUNT(*) FROM t"),
        refused(1062, _UNIQUE_INDEX, "INSERT INTO t VALUES (9, 9, 'x'); "
                "CREATE UNIQUE INDEX k ON t (c)"),
        refused(1214, _FULLTEXT_INDEX, "CREATE FULLTEXT INDEX k ON t (c)"),
        refused(1464, _SPATIAL_INDEX, "CREATE TABLE g (p POINT NOT NULL); "
                "CREATE SPATIAL INDEX k ON g (p)"),
    ],
    "create_or_replace": [
        works("CREATE", "CREATE TABLE n (a INT)"),
        works("CREATE OR_SYM REPLACE", "CREATE OR REPLACE TABLE t (x INT)",
              "SHOW CREATE TABLE t; SELECT COUNT(*) FROM t"),
        works("CREATE OR_SYM REPLACE", "CREATE OR REPLACE INDEX b ON t (c)",
              "SHOW CREATE TABLE t; SELECT a FROM t FORCE INDEX (b) WHERE c = 'y'"),
    ],
    "opt_temporary": [
        works("", "CREATE TABLE n (a INT)"),
        works("TEMPORARY", "CREATE TEMPORARY TABLE n (a INT PRIMARY KEY); "
              "INSERT INTO n VALUES (2), (1)", _OF_N),
    ],
    "opt_if_not_exists": [
        refused(1050, "", "CREATE TABLE t (x INT)"),
        works("IF_SYM not EXISTS", "CREATE TABLE IF NOT EXISTS t (x INT)",
              "SHOW WARNINGS; SHOW CREATE TABLE t"),
    ],
    "create_body": [
        works("create_field_list_parens " + _TABLE_TAIL,
              "CREATE TABLE n (x INT) COMMENT='c' PARTITION BY HASH (x) SELECT a AS x FROM t",
              "SHOW CREATE TABLE n; SELECT * FROM n ORDER BY x"),
        works(_TABLE_TAIL, "CREATE TABLE n COMMENT='c' SELECT a, b FROM t", _OF_N),
        works("create_like", "CREATE TABLE n LIKE t"),
    ],
    "create_like": [
        works("LIKE table_ident", "CREATE TABLE n LIKE p", _OF_N),
        works("LEFT_PAREN_LIKE LIKE table_ident ')'", "CREATE TEMPORARY TABLE n (LIKE t)"),
    ],
    "opt_create_select": [
        works("", "CREATE TABLE n (a INT)"),
        works("opt_duplicate opt_as create_select_query_expression opt_versioning_option",
              "CREATE TABLE n AS SELECT a FROM t WHERE b > 10", _OF_N),
        works("opt_duplicate opt_as create_select_query_expression opt_versioning_option",
              "CREATE TABLE n AS SELECT a FROM t WITH SYSTEM VERSIONING; DELETE FROM n",
              "SHOW CREATE TABLE n; SELECT a FROM n FOR SYSTEM_TIME ALL ORDER BY a"),
    ],
    "opt_duplicate": [
        refused(1062, "", "CREATE TABLE n (k INT UNIQUE) SELECT 1 AS k UNION ALL SELECT 1"),
        works("REPLACE", "CREATE TABLE n (k INT UNIQUE, v INT) REPLACE SELECT 1 AS k, a AS v "
              "FROM t ORDER BY a", _OF_N),
        works("IGNORE_SYM", "CREATE TABLE n (k INT UNIQUE, v INT) IGNORE SELECT 1 AS k, a AS v "
              "FROM t ORDER BY a", _OF_N),
    ],
    "opt_lock_wait_timeout": [
        works("", "CREATE INDEX k ON t (c)", "SHOW CREATE TABLE t"),
        works("WAIT_SYM ulong_num", "CREATE INDEX k ON t (c) WAIT 5", "SHOW CREATE TABLE t"),
        works("NOWAIT_SYM", "CREATE INDEX k ON t (c) NOWAIT", "SHOW CREATE TABLE t"),
    ],
    "opt_index_lock_algorithm": [
        works("", "CREATE INDEX k ON t (c)", "SHOW CREATE TABLE t"),
        works("alter_lock_option", "CREATE INDEX k ON t (c) LOCK=SHARED", "SHOW CREATE TABLE t"),
        works("alter_algorithm_option", "CREATE INDEX k ON t (c) ALGORITHM=COPY",
              "SHOW CREATE TABLE t"),
        works("alter_lock_option alter_algorithm_option",
              "CREATE INDEX k ON t (c) LOCK=EXCLUSIVE ALGORITHM=INPLACE", "SHOW CREATE TABLE t"),
        works("alter_algorithm_option alter_lock_option",
              "CREATE INDEX k ON t (c) ALGORITHM=NOCOPY LOCK=DEFAULT", "SHOW CREATE TABLE t"),
    ],
    "create_table_option": [
        works("ENGINE_SYM opt_equal ident_or_text", "CREATE TABLE n (a INT) ENGINE={engine}",
              "SHOW CREATE TABLE n; SELECT ENGINE FROM information_schema.TABLES "
              "WHERE TABLE_NAME = 'n' AND TABLE_SCHEMA = DATABASE()"),
        idle("MAX_ROWS", "MAX_ROWS opt_equal ulonglong_num", "CREATE TABLE n (a INT) MAX_ROWS=9"),
        idle("MIN_ROWS", "MIN_ROWS opt_equal ulonglong_num", "CREATE TABLE n (a INT) MIN_ROWS=9"),
        idle("AVG_ROW_LENGTH", "AVG_ROW_LENGTH opt_equal ulong_num",
             "CREATE TABLE n (a INT) AVG_ROW_LENGTH=9"),
        idle("PASSWORD", "PASSWORD_SYM opt_equal TEXT_STRING_sys",
             "CREATE TABLE n (a INT) PASSWORD='x'"),
        works("COMMENT_SYM opt_equal TEXT_STRING_sys", "CREATE TABLE n (a INT) COMMENT='rows'",
              "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_NAME = 'n'"),
        *[warned(1478, "COMMENT_SYM opt_equal TEXT_STRING_sys",
                 f"CREATE TABLE n (a INT) COMMENT='{option}'")
          for option in ("p0_ttl_duration=60", "cfname=x", "rev:x")],
        works("COMMENT_SYM opt_equal TEXT_STRING_sys",
              "CREATE TABLE n (a INT PRIMARY KEY, b BIGINT UNSIGNED NOT NULL) "
              "COMMENT='ttl_duration=60;ttl_col=b'", "SHOW CREATE TABLE n"),
        refused(4069, "COMMENT_SYM opt_equal TEXT_STRING_sys",
                "CREATE TABLE n (a INT) COMMENT='ttl_duration=60;'"),
        refused(4066, "COMMENT_SYM opt_equal TEXT_STRING_sys",
                "CREATE TABLE n (a INT PRIMARY KEY) COMMENT='ttl_duration=0'"),
        refused(4070, "COMMENT_SYM opt_equal TEXT_STRING_sys",
                "CREATE TABLE n (a INT PRIMARY KEY) COMMENT='ttl_col=a'"),
        works("AUTO_INC opt_equal ulonglong_num", "CREATE TABLE n (a INT AUTO_INCREMENT KEY) "
              "AUTO_INCREMENT=7; INSERT INTO n VALUES (NULL)", _OF_N),
        idle("PACK_KEYS", "PACK_KEYS_SYM opt_equal ulong_num",
             "CREATE TABLE n (a INT) PACK_KEYS=1"),
        works("PACK_KEYS_SYM opt_equal DEFAULT", "CREATE TABLE n (a INT) PACK_KEYS=DEFAULT"),
        warned(1478, "STATS_AUTO_RECALC_SYM opt_equal ulong_num",
               "CREATE TABLE n (a INT) STATS_AUTO_RECALC=0"),
        warned(1478, "STATS_AUTO_RECALC_SYM opt_equal ulong_num",
               "CREATE TABLE n (a INT) STATS_AUTO_RECALC=1"),
        works("STATS_AUTO_RECALC_SYM opt_equal DEFAULT",
              "CREATE TABLE n (a INT) STATS_AUTO_RECALC=DEFAULT"),
        warned(1478, "STATS_PERSISTENT_SYM opt_equal ulong_num",
               "CREATE TABLE n (a INT) STATS_PERSISTENT=1"),
        warned(1478, "STATS_PERSISTENT_SYM opt_equal ulong_num",
               "CREATE TABLE n (a INT) STATS_PERSISTENT=0"),
        works("STATS_PERSISTENT_SYM opt_equal DEFAULT",
              "CREATE TABLE n (a INT) STATS_PERSISTENT=DEFAULT"),
        warned(1478, "STATS_SAMPLE_PAGES_SYM opt_equal ulong_num",
               "CREATE TABLE n (a INT) STATS_SAMPLE_PAGES=9"),
        works("STATS_SAMPLE_PAGES_SYM opt_equal DEFAULT",
              "CREATE TABLE n (a INT) STATS_SAMPLE_PAGES=DEFAULT"),
        idle("CHECKSUM", "CHECKSUM_SYM opt_equal ulong_num", "CREATE TABLE n (a INT) CHECKSUM=1"),
        idle("CHECKSUM", "TABLE_CHECKSUM_SYM opt_equal ulong_num",
             "CREATE TABLE n (a INT) TABLE_CHECKSUM=1"),
        idle("PAGE_CHECKSUM", "PAGE_CHECKSUM_SYM opt_equal choice",
             "CREATE TABLE n (a INT) PAGE_CHECKSUM=1"),
        idle("DELAY_KEY_WRITE", "DELAY_KEY_WRITE_SYM opt_equal ulong_num",
             "CREATE TABLE n (a INT) DELAY_KEY_WRITE=1"),
        works("ROW_FORMAT_SYM opt_equal row_types", "CREATE TABLE n (a INT) ROW_FORMAT=DEFAULT"),
        idle("UNION", "UNION_SYM opt_equal '(' opt_table_list ')'",
             "CREATE TABLE n (a INT) UNION=(t)"),
        works("default_charset", "CREATE TABLE n (a VARCHAR(9)) DEFAULT CHARSET=latin1; "
              "INSERT INTO n VALUES ('ä')", "SHOW CREATE TABLE n; SELECT HEX(a) FROM n"),
        works("default_collation", "CREATE TABLE n (a VARCHAR(9) KEY) COLLATE=utf8mb4_bin; "
              "INSERT INTO n VALUES ('b'), ('A'), ('a')", "SELECT a FROM n ORDER BY a"),
        idle("INSERT_METHOD", "INSERT_METHOD opt_equal merge_insert_types",
             "CREATE TABLE n (a INT) INSERT_METHOD=LAST"),
        refused(1478, _DIRECTORY, "CREATE TABLE n (a INT) DATA DIRECTORY='/tmp'"),
        refused(1478, _DIRECTORY, "CREATE TEMPORARY TABLE n (a INT) DATA DIRECTORY='/tmp'"),
        refused(1478, _DIRECTORY, "CREATE TABLE n (a INT) DATA DIRECTORY='/tmp' "
                "PARTITION BY HASH (a) PARTITIONS 2"),
        refused(1478, _INDEX_DIRECTORY, "CREATE TABLE n (a INT) INDEX DIRECTORY='/tmp'"),
        refused(1478, _INDEX_DIRECTORY, "CREATE TEMPORARY TABLE n (a INT) INDEX DIRECTORY='/tmp'"),
        idle("TABLESPACE", "TABLESPACE ident", "CREATE TABLE n (a INT) TABLESPACE x"),
        idle("STORAGE", "STORAGE_SYM DISK_SYM", "CREATE TABLE n (a INT) STORAGE DISK"),
        idle("STORAGE", "STORAGE_SYM MEMORY_SYM", "CREATE TABLE n (a INT) STORAGE MEMORY"),
        idle("CONNECTION", "CONNECTION_SYM opt_equal TEXT_STRING_sys",
             "CREATE TABLE n (a INT) CONNECTION='x'"),
        warned(1478, "KEY_BLOCK_SIZE opt_equal ulong_num",
               "CREATE TABLE n (a INT) KEY_BLOCK_SIZE=8"),
        idle("TRANSACTIONAL", "TRANSACTIONAL_SYM opt_equal choice",
             "CREATE TABLE n (a INT) TRANSACTIONAL=1"),
        refused(1911, "engine_defined_option", "CREATE TABLE n (a INT) ENCRYPTED=YES"),
        works("SEQUENCE_SYM opt_equal choice", "CREATE TABLE n (next_not_cached_value BIGINT NOT "
              "NULL, minimum_value BIGINT NOT NULL, maximum_value BIGINT NOT NULL, start_value "
              "BIGINT NOT NULL, increment BIGINT NOT NULL, cache_size BIGINT UNSIGNED NOT NULL, "
              "cycle_option TINYINT UNSIGNED NOT NULL, cycle_count BIGINT NOT NULL) SEQUENCE=1; "
              "INSERT INTO n VALUES (4, 1, 99, 1, 1, 5, 0, 0)", "SELECT NEXTVAL(n), NEXTVAL(n)"),
        works("versioning_option", "CREATE TABLE n (a INT) WITH SYSTEM VERSIONING; "
              "INSERT INTO n VALUES (1); DELETE FROM n", "SELECT a FROM n FOR SYSTEM_TIME ALL"),
    ],
    "versioning_option": [
        works("WITH_SYSTEM_SYM VERSIONING_SYM", "CREATE TABLE n (a INT) WITH SYSTEM VERSIONING; "
              "INSERT INTO n VALUES (1); UPDATE n SET a = 2",
              "SELECT a FROM n FOR SYSTEM_TIME ALL ORDER BY a"),
        refused(4137, "WITH_SYSTEM_SYM VERSIONING_SYM",
                "CREATE TEMPORARY TABLE n (a INT) WITH SYSTEM VERSIONING"),
    ],
    "engine_defined_option": [
        refused(1911, "IDENT_sys equal TEXT_STRING_sys", "CREATE TABLE n (a INT) ENCRYPTED='YES'"),
        refused(1911, "IDENT_sys equal ident", "CREATE TABLE n (a INT) ENCRYPTED=YES"),
        refused(1911, "IDENT_sys equal real_ulonglong_num",
                "CREATE TABLE n (a INT) ENCRYPTION_KEY_ID=5"),
        refused(1911, "IDENT_sys equal DEFAULT", "CREATE TABLE n (a INT) ENCRYPTED=DEFAULT"),
        warned(1911, "IDENT_sys equal ident", "SET sql_mode=IGNORE_BAD_TABLE_OPTIONS; "
               "CREATE TABLE n (a INT) ENCRYPTED=YES"),
        refused(1478, "IDENT_sys equal ident", "SET sql_mode=IGNORE_BAD_TABLE_OPTIONS; "
                "CREATE TABLE e (a INT) ENGINE=Aria ENCRYPTED=YES; SET sql_mode=DEFAULT; "
                "ALTER TABLE e ENGINE={engine}"),
        warned(1911, "IDENT_sys equal real_ulonglong_num",
               "CREATE TABLE e (a INT) ENGINE=InnoDB PAGE_COMPRESSED=1; "
               "ALTER TABLE e ENGINE={engine}"),
    ],
    "row_types": [
        works("DEFAULT", _row_format("DEFAULT")),
        refused(1478, "FIXED_SYM", _row_format("FIXED")),
        works("DYNAMIC_SYM", _row_format("DYNAMIC"), "SHOW CREATE TABLE n; SELECT ROW_FORMAT FROM "
              "information_schema.TABLES WHERE TABLE_NAME = 'n'"),
        warned(1478, "COMPRESSED_SYM", _row_format("COMPRESSED")),
        warned(1478, "REDUNDANT_SYM", _row_format("REDUNDANT")),
        warned(1478, "COMPACT_SYM", _row_format("COMPACT")),
        refused(1478, "PAGE_SYM", _row_format("PAGE")),
    ],
    "merge_insert_types": [
        idle("INSERT_METHOD", "NO_SYM", "CREATE TABLE n (a INT) INSERT_METHOD=NO"),
        idle("INSERT_METHOD", "FIRST_SYM", "CREATE TABLE n (a INT) INSERT_METHOD=FIRST"),
        idle("INSERT_METHOD", "LAST_SYM", "CREATE TABLE n (a INT) INSERT_METHOD=LAST"),
    ],
}
