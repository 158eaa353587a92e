"""Columns, their types and attributes, constraints, keys and periods."""

from __future__ import annotations

from tests.clauses._clause import Clause, idle, refused, warned, works

_OF_N = "SHOW CREATE TABLE n; SELECT * FROM n"
_KEY = "key_or_index opt_if_not_exists opt_ident opt_USING_key_algorithm '(' key_list ')' " \
       "normal_key_options"
_KEY_TYPE = "key_or_index opt_if_not_exists ident TYPE_SYM btree_or_rtree '(' key_list ')' " \
            "normal_key_options"
_CONSTRAINT = "opt_constraint constraint_key_type opt_if_not_exists opt_ident " \
              "opt_USING_key_algorithm '(' key_list opt_without_overlaps ')' normal_key_options"
_CONSTRAINT_TYPE = "opt_constraint constraint_key_type opt_if_not_exists ident TYPE_SYM " \
                   "btree_or_rtree '(' key_list opt_without_overlaps ')' normal_key_options"
_FULLTEXT = "fulltext opt_key_or_index opt_if_not_exists opt_ident '(' key_list ')' " \
            "fulltext_key_options"
_SPATIAL = "spatial opt_key_or_index opt_if_not_exists opt_ident '(' key_list ')' " \
           "spatial_key_options"
# Rows of a child n of t, and what becomes of them.
_HELD = ("INSERT IGNORE INTO n VALUES (1), (2), (3), (9), (NULL); SHOW WARNINGS; "
         "UPDATE IGNORE t SET a = 7 WHERE a = 1; SHOW WARNINGS; DELETE IGNORE FROM t WHERE a = 2; "
         "SHOW WARNINGS; SELECT * FROM t ORDER BY a; SELECT * FROM n ORDER BY 1")
_FOREIGN = "opt_constraint FOREIGN KEY_SYM opt_if_not_exists opt_ident '(' key_list ')' references"


def _typed(alternative: str, column_type: str, value: str, prefix: str = "") -> Clause:
    """A column of the type, also in a key if the type may be, gives the value back."""
    return works(alternative, f"{prefix}CREATE TABLE n (a INT PRIMARY KEY, x {column_type}); "
                 f"INSERT INTO n VALUES (1, {value}), (2, NULL)",
                 f"SHOW CREATE TABLE n; SELECT * FROM n; SELECT a FROM n WHERE x = {value}")


def _column(alternative: str, definition: str, values: str = "(1)",
            proof: str = _OF_N) -> Clause:
    """A table with one column."""
    return works(alternative, f"CREATE TABLE n (x {definition}); INSERT INTO n VALUES {values}",
                 proof)


def _foreign(alternative: str, references: str, column: str = "x") -> Clause:
    """A foreign key, and what it does to rows on both sides."""
    return works(alternative, f"CREATE TABLE n ({column} INT, FOREIGN KEY ({column}) {references})",
                 f"SHOW CREATE TABLE n; {_HELD}")


TYPES: dict[str, list[Clause]] = {
    "field_type_all": [
        _typed("field_type_numeric", "INT", "5"),
        _typed("field_type_temporal", "DATE", "'2020-01-02'"),
        _typed("field_type_string", "CHAR(5)", "'abc'"),
        _typed("field_type_lob", "TEXT", "'abc'"),
        _typed("field_type_misc", "ENUM('u', 'v')", "'v'"),
        _typed("udt_name float_options srid_option", "INET6", "'::5'"),
        _typed("udt_name float_options srid_option", "UUID",
               "'123e4567-e89b-12d3-a456-426655440000'"),
        _typed("udt_name float_options srid_option", "POINT", "POINT(1, 2)"),
    ],
    "field_type_numeric": [
        _typed("int_type opt_field_length last_field_options", "INT(3)", "5"),
        _typed("real_type opt_precision last_field_options", "DOUBLE(7,2)", "5.25"),
        _typed("FLOAT_SYM float_options last_field_options", "FLOAT", "5.25"),
        _typed("BIT_SYM opt_field_length", "BIT(9)", "b'100000001'"),
        _typed("BOOL_SYM", "BOOL", "TRUE"),
        _typed("BOOLEAN_SYM", "BOOLEAN", "FALSE"),
        _typed("DECIMAL_SYM float_options last_field_options", "DECIMAL(9,3)", "-5.125"),
        _typed("NUMBER_ORACLE_SYM float_options last_field_options", "NUMBER(9,3)", "5.125",
               "SET sql_mode=ORACLE; "),
        _typed("NUMERIC_SYM float_options last_field_options", "NUMERIC(9,3)", "5.125"),
        _typed("FIXED_SYM float_options last_field_options", "FIXED(9,3)", "5.125"),
    ],
    "int_type": [
        _typed("INT_SYM", "INT", "-2147483648"), _typed("TINYINT", "TINYINT", "-128"),
        _typed("SMALLINT", "SMALLINT", "-32768"), _typed("MEDIUMINT", "MEDIUMINT", "-8388608"),
        _typed("BIGINT", "BIGINT", "-9223372036854775808"),
    ],
    "real_type": [
        _typed("REAL", "REAL", "1.5"), _typed("DOUBLE_SYM", "DOUBLE", "-1.5"),
        _typed("DOUBLE_SYM PRECISION", "DOUBLE PRECISION", "2.5"),
    ],
    "field_options": [
        _typed("", "BIGINT", "5"), _typed("SIGNED_SYM", "INT SIGNED", "-5"),
        _typed("UNSIGNED", "BIGINT UNSIGNED", "18446744073709551615"),
        _typed("ZEROFILL", "INT(5) ZEROFILL", "5"),
        _typed("UNSIGNED ZEROFILL", "INT(5) UNSIGNED ZEROFILL", "5"),
        _typed("ZEROFILL UNSIGNED", "INT(5) ZEROFILL UNSIGNED", "5"),
    ],
    "field_type_temporal": [
        _typed("YEAR_SYM opt_field_length last_field_options", "YEAR", "1999"),
        _typed("DATE_SYM", "DATE", "'1999-12-31'"),
        _typed("TIME_SYM opt_field_length", "TIME(3)", "'-12:34:56.789'"),
        _typed("TIMESTAMP opt_field_length", "TIMESTAMP(6) NULL", "'2020-01-02 03:04:05.678901'"),
        _typed("DATETIME opt_field_length", "DATETIME(2)", "'2020-01-02 03:04:05.67'"),
    ],
    "field_type_string": [
        _typed("char opt_field_length opt_binary", "CHAR(9)", "'ab'"),
        _typed("nchar opt_field_length opt_bin_mod", "NCHAR(9)", "'äb'"),
        _typed("BINARY opt_field_length", "BINARY(4)", "'ab\\0\\0'"),
        _typed("varchar opt_field_length opt_binary_and_compression", "VARCHAR(300)", "'ab '"),
        _typed("VARCHAR2_ORACLE_SYM opt_field_length opt_binary_and_compression", "VARCHAR2(30)",
               "'ab '", "SET sql_mode=ORACLE; "),
        _typed("nvarchar opt_field_length opt_compressed opt_bin_mod", "NVARCHAR(30)", "'äb'"),
        _typed("VARBINARY opt_field_length opt_compressed", "VARBINARY(30)", "'a\\0'"),
        _typed("RAW_ORACLE_SYM opt_field_length opt_compressed", "RAW(30)", "'a\\0'",
               "SET sql_mode=ORACLE; "),
    ],
    "field_type_lob": [
        _typed("TINYBLOB opt_compressed", "TINYBLOB", "'a\\0'"),
        _typed("BLOB_MARIADB_SYM opt_field_length opt_compressed", "BLOB(30)", "'a\\0'"),
        _typed("BLOB_ORACLE_SYM field_length opt_compressed", "BLOB(30)", "'a\\0'",
               "SET sql_mode=ORACLE; "),
        _typed("BLOB_ORACLE_SYM opt_compressed", "BLOB", "'a\\0'", "SET sql_mode=ORACLE; "),
        _typed("MEDIUMBLOB opt_compressed", "MEDIUMBLOB", "REPEAT('b', 70000)"),
        _typed("LONGBLOB opt_compressed", "LONGBLOB", "REPEAT('b', 70000)"),
        _typed("LONG_SYM VARBINARY opt_compressed", "LONG VARBINARY", "'a\\0'"),
        _typed("LONG_SYM varchar opt_binary_and_compression", "LONG VARCHAR", "'ab'"),
        _typed("TINYTEXT opt_binary_and_compression", "TINYTEXT", "'ab'"),
        _typed("TEXT_SYM opt_field_length opt_binary_and_compression", "TEXT(500)", "'ab'"),
        _typed("MEDIUMTEXT opt_binary_and_compression", "MEDIUMTEXT", "REPEAT('b', 70000)"),
        _typed("LONGTEXT opt_binary_and_compression", "LONGTEXT", "REPEAT('b', 70000)"),
        _typed("CLOB_ORACLE_SYM opt_binary_and_compression", "CLOB", "'ab'",
               "SET sql_mode=ORACLE; "),
        _typed("LONG_SYM opt_binary_and_compression", "LONG", "'ab'"),
        _typed("JSON_SYM opt_compressed", "JSON", "'[1, 2]'"),
    ],
    "field_type_misc": [
        _typed("ENUM '(' string_list ')' opt_binary", "ENUM('u', 'v')", "'v'"),
        _typed("SET '(' string_list ')' opt_binary", "SET('u', 'v')", "'u,v'"),
    ],
    "compressed": [
        works("COMPRESSED_SYM opt_compression_method", "FLUSH STATUS; CREATE TABLE n (x TEXT "
              "COMPRESSED); INSERT INTO n VALUES (REPEAT('b', 5000))",
              "SELECT LENGTH(x), MD5(x) FROM n; SHOW SESSION STATUS LIKE 'Column_%compressions'"),
    ],
    "compressed_deprecated_data_type_attribute": [
        works("COMPRESSED_SYM opt_compression_method", "FLUSH STATUS; CREATE TABLE n (x TEXT "
              "CHARACTER SET latin1 COMPRESSED); INSERT INTO n VALUES (REPEAT('b', 5000))",
              "SELECT LENGTH(x), MD5(x) FROM n; SHOW SESSION STATUS LIKE 'Column_%compressions'"),
    ],
    "compressed_deprecated_column_attribute": [
        works("COMPRESSED_SYM opt_compression_method", "FLUSH STATUS; CREATE TABLE n (x TEXT "
              "NOT NULL COMPRESSED=zlib); INSERT INTO n VALUES (REPEAT('b', 5000))",
              "SELECT LENGTH(x), MD5(x) FROM n; SHOW SESSION STATUS LIKE 'Column_%compressions'"),
    ],
    "opt_compression_method": [
        works("", "CREATE TABLE n (x VARCHAR(3000) COMPRESSED); INSERT INTO n VALUES "
              "(REPEAT('b', 2000))", "SHOW CREATE TABLE n; SELECT LENGTH(x) FROM n"),
        works("equal ident", "CREATE TABLE n (x VARCHAR(3000) COMPRESSED=zlib); INSERT INTO n "
              "VALUES (REPEAT('b', 2000))", "SHOW CREATE TABLE n; SELECT LENGTH(x) FROM n"),
    ],
}

COLUMNS: dict[str, list[Clause]] = {
    "field_list_item": [
        _column("column_def", "INT"),
        _column("key_def", "INT, KEY (x)"),
        _column("constraint_def", "INT, CHECK (x > 0)"),
        works("period_for_system_time", "CREATE TABLE n (x INT, s TIMESTAMP(6) AS ROW START, "
              "e TIMESTAMP(6) AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING"),
        works("PERIOD_SYM period_for_application_time", "CREATE TABLE n (s DATE, e DATE, "
              "PERIOD FOR p (s, e)); INSERT INTO n VALUES ('2020-01-01', '2020-01-09')", _OF_N),
    ],
    "column_def": [
        _column("field_spec", "INT"),
        works("field_spec opt_constraint references", "CREATE TABLE n (x INT REFERENCES t (a))",
              f"SHOW CREATE TABLE n; {_HELD}"),
        works("field_spec opt_constraint references", "SET foreign_key_checks=0; "
              "CREATE TABLE n (x INT CONSTRAINT y REFERENCES nowhere (a))",
              f"SHOW CREATE TABLE n; {_HELD}"),
        refused(1005, "field_spec opt_constraint references",
                "CREATE TABLE n (x INT CONSTRAINT y REFERENCES nowhere (a))"),
    ],
    "key_def": [
        _column(_KEY, "INT, KEY k (x)", "(3), (1)", "SELECT x FROM n FORCE INDEX (k) WHERE x > 0"),
        idle("HASH", _KEY_TYPE, "CREATE TABLE n (x INT, KEY k TYPE HASH (x))"),
        refused(1214, _FULLTEXT, "CREATE TABLE n (x TEXT, FULLTEXT k (x))"),
        refused(1464, _SPATIAL, "CREATE TABLE n (x POINT NOT NULL, SPATIAL k (x))"),
        _column(_CONSTRAINT, "INT, CONSTRAINT u UNIQUE (x)", "(3), (1)",
                "INSERT IGNORE INTO n VALUES (3); SELECT COUNT(*) FROM n"),
        idle("BTREE", _CONSTRAINT_TYPE, "CREATE TABLE n (x INT, UNIQUE k TYPE BTREE (x))"),
        _foreign(_FOREIGN, "REFERENCES t (a)"),
        refused(1506, _FOREIGN, "CREATE TABLE n (x INT, FOREIGN KEY (x) REFERENCES t (a)) "
                "PARTITION BY HASH (x)"),
        refused(1005, _FOREIGN, "SET foreign_key_checks=0; CREATE TEMPORARY TABLE n (x INT, "
                "FOREIGN KEY (x) REFERENCES t (a))"),
    ],
    "references": [
        _foreign("REFERENCES table_ident opt_ref_list opt_match_clause opt_on_update_delete",
                 "REFERENCES t (a)"),
    ],
    "opt_ref_list": [
        _foreign("", "REFERENCES t", "a"), refused(1005, "", "CREATE TABLE n (x INT, FOREIGN KEY "
                                                   "(x) REFERENCES t)"),
        _foreign("'(' ref_list ')'", "REFERENCES t (a)")],
    "opt_match_clause": [
        _foreign("", "REFERENCES t (a)"), _foreign("MATCH FULL", "REFERENCES t (a) MATCH FULL"),
        _foreign("MATCH PARTIAL", "REFERENCES t (a) MATCH PARTIAL"),
        _foreign("MATCH SIMPLE_SYM", "REFERENCES t (a) MATCH SIMPLE"),
    ],
    "opt_on_update_delete": [
        _foreign("", "REFERENCES t (a)"),
        _foreign("ON UPDATE_SYM delete_option", "REFERENCES t (a) ON UPDATE CASCADE"),
        _foreign("ON DELETE_SYM delete_option", "REFERENCES t (a) ON DELETE CASCADE"),
        _foreign("ON UPDATE_SYM delete_option ON DELETE_SYM delete_option",
                 "REFERENCES t (a) ON UPDATE CASCADE ON DELETE CASCADE"),
        _foreign("ON DELETE_SYM delete_option ON UPDATE_SYM delete_option",
                 "REFERENCES t (a) ON DELETE CASCADE ON UPDATE CASCADE"),
    ],
    "delete_option": [
        _foreign("RESTRICT", "REFERENCES t (a) ON DELETE RESTRICT"),
        _foreign("CASCADE", "REFERENCES t (a) ON DELETE CASCADE"),
        _foreign("SET NULL_SYM", "REFERENCES t (a) ON DELETE SET NULL"),
        _foreign("NO_SYM ACTION", "REFERENCES t (a) ON DELETE NO ACTION"),
        _foreign("SET DEFAULT", "REFERENCES t (a) ON DELETE SET DEFAULT"),
    ],
    "constraint_def": [
        works("opt_constraint check_constraint", "CREATE TABLE n (x INT, CONSTRAINT y CHECK (x > "
              "0)); INSERT IGNORE INTO n VALUES (-1), (1)", _OF_N),
    ],
    "period_for_system_time": [
        works("PERIOD_SYM FOR_SYSTEM_TIME_SYM '(' ident ',' ident ')'",
              "CREATE TABLE n (x INT, s TIMESTAMP(6) AS ROW START INVISIBLE, e TIMESTAMP(6) AS ROW "
              "END INVISIBLE, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING; "
              "INSERT INTO n VALUES (1); DELETE FROM n",
              "SELECT x, s < e FROM n FOR SYSTEM_TIME ALL"),
        refused(4110, "PERIOD_SYM FOR_SYSTEM_TIME_SYM '(' ident ',' ident ')'",
                "CREATE TABLE n (x INT, s BIGINT UNSIGNED AS ROW START, e BIGINT UNSIGNED AS ROW "
                "END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING"),
    ],
    "period_for_application_time": [
        works("FOR_SYM ident '(' ident ',' ident ')'", "CREATE TABLE n (x INT, s DATE, e DATE, "
              "PERIOD FOR p (s, e)); INSERT INTO n VALUES (1, '2020-01-01', '2020-01-09'); DELETE "
              "FROM n FOR PORTION OF p FROM '2020-01-03' TO '2020-01-05'",
              "SELECT * FROM n ORDER BY s"),
    ],
    "field_spec": [
        _column("field_ident field_type_or_serial opt_check_constraint", "INT CHECK (x > 0)",
                "(1)", "SHOW CREATE TABLE n; INSERT IGNORE INTO n VALUES (1); SELECT * FROM n"),
        refused(4025, "field_ident field_type_or_serial opt_check_constraint",
                "CREATE TABLE n (x INT CHECK (x > 0)); INSERT INTO n VALUES (-1)"),
    ],
    "field_type_or_serial": [
        _column("qualified_field_type field_def", "mariadb_schema.DATE", "('2020-01-01')"),
        works("SERIAL_SYM opt_serial_attribute", "CREATE TABLE n (x SERIAL, y INT); "
              "INSERT INTO n (y) VALUES (7), (8)", _OF_N),
    ],
    "field_def": [
        _column("", "INT"), _column("attribute_list", "INT NOT NULL DEFAULT 3", "(DEFAULT)"),
        _column("attribute_list compressed_deprecated_column_attribute",
                "TEXT NOT NULL COMPRESSED", "('a')"),
        _column("attribute_list compressed_deprecated_column_attribute attribute_list",
                "TEXT NOT NULL COMPRESSED DEFAULT 'b'", "(DEFAULT)"),
        _column("opt_generated_always AS virtual_column_func vcol_opt_specifier "
                "vcol_opt_attribute", "INT, y INT AS (x + 1)", "(1, DEFAULT)"),
        works("opt_generated_always AS ROW_SYM START_SYM opt_asrow_attribute",
              "CREATE TABLE n (x INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) "
              "AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING"),
        works("opt_generated_always AS ROW_SYM END opt_asrow_attribute",
              "CREATE TABLE n (x INT, s TIMESTAMP(6) AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS "
              "AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING"),
    ],
    "vcol_opt_specifier": [
        _column("", "INT, y INT AS (x + 1)", "(1, DEFAULT)"),
        _column("VIRTUAL_SYM", "INT, y INT AS (x + 1) VIRTUAL, KEY (y)", "(1, DEFAULT)",
                "SELECT y FROM n FORCE INDEX (y) WHERE y = 2"),
        _column("PERSISTENT_SYM", "INT, y INT AS (x + 1) PERSISTENT", "(1, DEFAULT)"),
        _column("STORED_SYM", "INT, y INT AS (x + 1) STORED, UNIQUE (y)", "(1, DEFAULT)"),
    ],
    "vcol_attribute": [
        _column("UNIQUE_SYM", "INT, y INT AS (x + 1) UNIQUE", "(1, DEFAULT)",
                "INSERT IGNORE INTO n (x) VALUES (1); SELECT * FROM n"),
        _column("UNIQUE_SYM KEY_SYM", "INT, y INT AS (x + 1) STORED UNIQUE KEY", "(1, DEFAULT)",
                "INSERT IGNORE INTO n (x) VALUES (1); SELECT * FROM n"),
        _column("COMMENT_SYM TEXT_STRING_sys", "INT, y INT AS (x + 1) COMMENT 'c'", "(1, DEFAULT)"),
        works("INVISIBLE_SYM", "CREATE TABLE n (x INT, y INT AS (x + 1) INVISIBLE); "
              "INSERT INTO n VALUES (1)", "SELECT * FROM n; SELECT x, y FROM n"),
    ],
    "attribute": [
        _column("NULL_SYM", "INT NULL", "(NULL)"),
        _column("DEFAULT column_default_expr", "INT DEFAULT (3 + 4)", "(DEFAULT)"),
        works("ON UPDATE_SYM NOW_SYM opt_default_time_precision", "SET timestamp=86400; CREATE "
              "TABLE n (x INT, y DATETIME ON UPDATE NOW()); INSERT INTO n (x) VALUES (1); "
              "UPDATE n SET x = 2", _OF_N),
        _column("AUTO_INC", "INT AUTO_INCREMENT PRIMARY KEY", "(NULL), (NULL)"),
        _column("SERIAL_SYM DEFAULT VALUE_SYM", "INT SERIAL DEFAULT VALUE", "(NULL), (NULL)"),
        _column("COLLATE_SYM collation_name", "VARCHAR(9) COLLATE utf8mb4_bin KEY",
                "('b'), ('A'), ('a')"),
        _column("serial_attribute", "INT UNIQUE", "(1)"),
    ],
    "serial_attribute": [
        _column("asrow_attribute", "INT NOT NULL"),
        refused(1911, "engine_defined_option", "CREATE TABLE n (x INT nosuch=1)"),
        works("with_or_without_system VERSIONING_SYM", "CREATE TABLE n (x INT, y INT WITHOUT "
              "SYSTEM VERSIONING) WITH SYSTEM VERSIONING; INSERT INTO n VALUES (1, 1); "
              "UPDATE n SET y = 2; UPDATE n SET x = 2",
              "SELECT x, y FROM n FOR SYSTEM_TIME ALL ORDER BY x"),
    ],
    "asrow_attribute": [
        refused(1048, "not NULL_SYM opt_enable", "CREATE TABLE n (x INT NOT NULL); "
                "INSERT INTO n VALUES (NULL)"),
        _column("opt_primary KEY_SYM", "INT PRIMARY KEY", "(3), (1)"),
        _column("vcol_attribute", "INT UNIQUE COMMENT 'c'"),
    ],
}

KEYS: dict[str, list[Clause]] = {
    "constraint_key_type": [
        _column("PRIMARY_SYM KEY_SYM", "INT, PRIMARY KEY (x)", "(3), (1)"),
        _column("UNIQUE_SYM opt_key_or_index", "INT, UNIQUE INDEX (x)", "(3), (1)",
                "INSERT IGNORE INTO n VALUES (3); SELECT COUNT(*) FROM n"),
    ],
    "opt_without_overlaps": [
        _column("", "INT, UNIQUE (x)"),
        works("',' ident WITHOUT OVERLAPS_SYM", "CREATE TABLE n (x INT, s DATE, e DATE, PERIOD FOR "
              "p (s, e), UNIQUE (x, p WITHOUT OVERLAPS)); INSERT INTO n VALUES (1, '2020-01-01', "
              "'2020-01-09'); INSERT IGNORE INTO n VALUES (1, '2020-01-05', '2020-01-19')", _OF_N),
    ],
    "key_part": [
        _column("ident", "INT, KEY k (x)", "(3), (1)", "SELECT x FROM n FORCE INDEX (k) WHERE x>0"),
        _column("ident '(' NUM ')'", "VARCHAR(99), UNIQUE k (x(2))", "('abc')",
                "INSERT IGNORE INTO n VALUES ('abd'); SELECT * FROM n WHERE x = 'abc'"),
    ],
    "order_dir": [
        _column("", "INT, KEY k (x)"), _column("ASC", "INT, KEY k (x ASC)"),
        _column("DESC", "INT, y INT, KEY k (x, y DESC)", "(1, 1), (1, 2)",
                "EXPLAIN SELECT x, y FROM n FORCE INDEX (k) ORDER BY x, y DESC; "
                "SELECT x, y FROM n FORCE INDEX (k) ORDER BY x, y DESC"),
    ],
    "all_key_opt": [
        warned(1478, "KEY_BLOCK_SIZE opt_equal ulong_num",
               "CREATE TABLE n (x INT, KEY (x) KEY_BLOCK_SIZE=8)"),
        warned(1478, "KEY_BLOCK_SIZE opt_equal ulong_num",
               "ALTER TABLE t ADD KEY (c) KEY_BLOCK_SIZE=8, ALGORITHM=INPLACE"),
        _column("COMMENT_SYM TEXT_STRING_sys", "INT, KEY (x) COMMENT 'c'", "(1)",
                "SELECT INDEX_COMMENT FROM information_schema.STATISTICS WHERE TABLE_NAME = 'n'"),
        *[_column("COMMENT_SYM TEXT_STRING_sys", f"INT, KEY k (x) COMMENT '{option}'", "(3), (1)",
                  "SHOW CREATE TABLE n; SELECT x FROM n FORCE INDEX (k) WHERE x > 0 ORDER BY x")
          for option in ("cfname=x", "x", "cfname=x;ttl", "cfname=", "rev:x", "cfname=rev:x")],
        works("COMMENT_SYM TEXT_STRING_sys",
              "ALTER TABLE t ADD KEY k (c) COMMENT 'cfname=x', ALGORITHM=INPLACE",
              "SHOW CREATE TABLE t; SELECT c FROM t FORCE INDEX (k) WHERE c > '' ORDER BY c"),
        *[warned(1478, "COMMENT_SYM TEXT_STRING_sys",
                 f"CREATE TABLE n (x INT, KEY (x) COMMENT '{option}')")
          for option in ("p0_cfname=x;p1_cfname=y", "ttl_col=x")],
        *[refused(1210, "COMMENT_SYM TEXT_STRING_sys",
                  f"CREATE TABLE n (x INT, KEY (x) COMMENT '{option}')")
          for option in ("cfname=a b", "__system__", "cfname=rev:__system__")],
        refused(4071, "COMMENT_SYM TEXT_STRING_sys",
                "CREATE TABLE n (x INT, KEY (x) COMMENT '$per_index_cf')"),
        _column("VISIBLE_SYM", "INT, KEY (x) VISIBLE"),
        _column("ignorability", "INT, KEY k (x) IGNORED", "(1)",
                "SHOW CREATE TABLE n; SELECT IGNORED FROM information_schema.STATISTICS WHERE "
                "TABLE_NAME = 'n'"),
        refused(1911, "engine_defined_option", "CREATE TABLE n (x INT, KEY (x) nosuch=1)"),
    ],
    "normal_key_opt": [
        _column("all_key_opt", "INT, KEY (x) COMMENT 'c'"),
        idle("BTREE", "key_using_alg", "CREATE TABLE n (x INT, KEY (x) USING BTREE)"),
    ],
    "key_using_alg": [
        idle("BTREE", "USING btree_or_rtree", "CREATE TABLE n (x INT, KEY USING BTREE (x))"),
        idle("BTREE", "TYPE_SYM btree_or_rtree", "CREATE TABLE n (x INT, KEY (x) TYPE BTREE)"),
    ],
    "btree_or_rtree": [
        idle("BTREE", "BTREE_SYM", "CREATE TABLE n (x INT, KEY (x) USING BTREE)"),
        refused(1210, "RTREE_SYM", "CREATE TABLE n (x INT, KEY (x) USING RTREE)"),
        idle("HASH", "HASH_SYM", "CREATE TABLE n (x INT, KEY (x) USING HASH)"),
        _column("HASH_SYM", "TEXT, UNIQUE (x) USING HASH", "('a')",
                "INSERT IGNORE INTO n VALUES ('a'); SELECT * FROM n"),
    ],
    "fulltext_key_opt": [
        refused(1214, "all_key_opt", "CREATE TABLE n (x TEXT, FULLTEXT (x) COMMENT 'c')"),
        refused(1128, "WITH PARSER_SYM IDENT_sys",
                "CREATE TABLE n (x TEXT, FULLTEXT (x) WITH PARSER nosuch)"),
    ],
    "spatial_key_opt": [
        refused(1464, "all_key_opt", "CREATE TABLE n (x POINT NOT NULL, SPATIAL (x) COMMENT 'c')"),
    ],
}
