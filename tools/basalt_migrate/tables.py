"""Tables, their columns, and a fingerprint of their rows that no engine and no server changes.

CHECKSUM TABLE would not do: it reads virtual columns without computing them, so that two calls
differ, with InnoDB too. Here the server computes an MD5 of each row from all its columns, generated
ones included, and adds up 64 bits of each; and it counts the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from basalt_migrate.connection import Connection, run, value
from basalt_migrate.errors import MigrateError

SYSTEM_SCHEMAS = ("information_schema", "mysql", "performance_schema", "sys")
SCHEMA = "basalt_migrate"  # ours, on the server that gets tables
_NUMBERS = {"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year", "double"}
_NUMBERED = {"enum", "set"}
_TIMES = {"date", "datetime", "timestamp", "time"}
_PRINTED = {"inet4", "inet6", "uuid"}
_BYTES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point",
          "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
          "geometrycollection"}
# Not limited by the size that a row may have.
_UNLIMITED = _BYTES - {"binary", "varbinary"} | {"tinytext", "text", "mediumtext", "longtext"}
# Generated, as information_schema has it, but history can be given its times.
_PERIOD = ("ROW START", "ROW END")


@dataclass(frozen=True)
class Column:
    """A column: what its values look like as text depends on its type."""

    name: str
    type: str
    charset: str
    is_generated: bool = False

    @property
    def quoted(self) -> str:
        return quoted(self.name)

    def literal(self) -> str:
        """An SQL expression whose value is the column's value as an SQL literal, byte by byte."""
        if self.charset:
            return _or_null(f"CONCAT('_{self.charset} X''', HEX({self.quoted}), '''')", self)
        if self.type in _BYTES:
            return _or_null(f"CONCAT('X''', HEX({self.quoted}), '''')", self)
        if self.type in _TIMES or self.type in _PRINTED:
            return _or_null(f"CONCAT('''', {self.quoted}, '''')", self)
        return f"IFNULL({self._number()}, 'NULL')"

    def digest(self) -> str:
        """SQL expressions whose values, one after the other, tell the column's values apart.

        Together those of a row are shorter than any max_allowed_packet: beyond it they would be
        NULL.
        """
        if self.type in _UNLIMITED:
            return f"IFNULL(MD5({self.quoted}), 'N')"
        if self.charset or self.type in _BYTES:
            return (f"IFNULL(LENGTH({self.quoted}), 'N'), "
                    f"IFNULL(CAST({self.quoted} AS BINARY), '')")
        if self.type in _TIMES or self.type in _PRINTED:
            return f"IFNULL({self.quoted}, 'N')"
        return f"IFNULL({self._number()}, 'N')"

    def _number(self) -> str:
        # As text a FLOAT has six digits, and 0 of an ENUM has none that is its own.
        if self.type == "float":
            return f"CAST({self.quoted} AS DOUBLE)"
        if self.type == "bit" or self.type in _NUMBERED:
            return f"{self.quoted} + 0"
        if self.type in _NUMBERS:
            return self.quoted
        raise MigrateError(f"column {self.name} has the type {self.type}, which is not known here")


@dataclass(frozen=True)
class Table:
    """A table as information_schema tells of it. `size`: bytes of rows and indexes."""

    schema: str
    name: str
    kind: str
    engine: str
    options: str
    size: int

    @property
    def quoted(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def is_sequence(self) -> bool:
        return self.kind == "SEQUENCE"

    @property
    def rows(self) -> str:
        """What a SELECT names to see all rows, history included."""
        history = " FOR SYSTEM_TIME ALL" if self.kind == "SYSTEM VERSIONED" else ""
        return self.quoted + history


@dataclass(frozen=True)
class Fingerprint:
    """Number of rows, and the sum of 64 bits of the MD5 of each."""

    count: int
    sum: int


def quoted(name: str) -> str:
    """An identifier as SQL wants it."""
    return "`" + name.replace("`", "``") + "`"


def list_tables(connection: Connection) -> list[Table]:
    """All tables of users, sequences among them, views not; by schema and name."""
    marks = ", ".join(["%s"] * (len(SYSTEM_SCHEMAS) + 1))
    return [Table(schema, name, kind, engine or "", options or "", int(size or 0))
            for schema, name, kind, engine, options, size in run(
                connection, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, CREATE_OPTIONS, "
                "DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_TYPE IN "
                f"('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE') AND TABLE_SCHEMA NOT IN ({marks}) "
                "ORDER BY TABLE_SCHEMA, TABLE_NAME", [*SYSTEM_SCHEMAS, SCHEMA])]


def columns_of(connection: Connection, table: Table) -> list[Column]:
    """The table's columns, among them the times of row versions that are not listed anywhere."""
    rows = run(connection, "SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_SET_NAME, IS_GENERATED, "
               "GENERATION_EXPRESSION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s "
               "AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION", [table.schema, table.name])
    found = [Column(name, kind, "" if kind in _NUMBERED else charset or "",
                    generated == "ALWAYS" and expression not in _PERIOD)
             for name, kind, charset, generated, expression in rows]
    if table.kind == "SYSTEM VERSIONED" and not any(row[4] in _PERIOD for row in rows):
        found += [Column("row_start", "timestamp", ""), Column("row_end", "timestamp", "")]
    return found


def fingerprint(connection: Connection, table: Table) -> Fingerprint:
    """Reads all rows. In a transaction with a snapshot: the rows of that snapshot."""
    digests = ", ".join(column.digest() for column in columns_of(connection, table))
    row = f"CONV(LEFT(MD5(CONCAT_WS(',', {digests})), 16), 16, 10)"
    count, total = run(connection, f"SELECT COUNT(*), SUM(CAST({row} AS DECIMAL(30))) "
                                   f"FROM {table.rows}")[0]
    return Fingerprint(int(count), int(total or 0))


def definition(connection: Connection, table: Table) -> str:
    """SHOW CREATE TABLE, or SHOW CREATE SEQUENCE."""
    kind = "SEQUENCE" if table.is_sequence else "TABLE"
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW CREATE {kind} {table.quoted}")
        return str(cursor.fetchone()[1])


def sequence_state(connection: Connection, table: Table) -> tuple[int, ...]:
    """What a sequence will give next, and how many times it has been around."""
    row = run(connection, f"SELECT next_not_cached_value, cycle_count FROM {table.quoted}")[0]
    return tuple(int(part) for part in row)


def has_table(connection: Connection, table: Table) -> bool:
    """Whether the server has something of that name."""
    return value(connection, "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND "
                             "TABLE_NAME = %s", [table.schema, table.name]) is not None


def chosen(tables: list[Table], only: list[str], without: list[str]) -> list[Table]:
    """Those that are meant. A word is a schema, or schema.table; without any, all."""
    known = {table.title for table in tables} | {table.schema for table in tables}
    for word in (*only, *without):
        if word not in known:
            raise MigrateError(f"there is no schema and no table {word}", "see the list: --dry-run")

    def is_in(table: Table, words: list[str]) -> bool:
        return table.title in words or table.schema in words

    return [table for table in tables
            if (not only or is_in(table, only)) and not is_in(table, without)]


def _or_null(text: str, column: Column) -> str:
    return f"IF({column.quoted} IS NULL, 'NULL', {text})"
