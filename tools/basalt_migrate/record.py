"""What a run has under way and has done, kept on the server that gets the tables.

The schema `basalt_migrate` holds it; it goes when everything is done.
"""

from __future__ import annotations

from basalt_migrate.connection import Address, run, without_binary_log
from basalt_migrate.tables import SCHEMA, Fingerprint

_TABLE = f"{SCHEMA}.under_way"
BEGUN = "begun"
DONE = "done"


class Record:
    """One row for each table, with the fingerprint that it must have. Not for several threads."""

    def __init__(self, address: Address) -> None:
        self._connection = address.connect()
        without_binary_log(self._connection)

    def open(self) -> None:
        """Makes the table unless it is there."""
        run(self._connection, f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
        run(self._connection, f"CREATE TABLE IF NOT EXISTS {_TABLE} ("
            "table_schema VARCHAR(64) NOT NULL, table_name VARCHAR(64) NOT NULL, "
            "state VARCHAR(16) NOT NULL, row_count BIGINT, row_sum DECIMAL(40), "
            "PRIMARY KEY (table_schema, table_name)) "
            "ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin")

    def put(self, schema: str, name: str, state: str, rows: Fingerprint | None = None) -> None:
        """Notes a table's state."""
        figures = (rows.count, rows.sum) if rows else (None, None)
        run(self._connection, f"REPLACE INTO {_TABLE} VALUES (%s, %s, %s, %s, %s)",
            [schema, name, state, *figures])

    def remove(self, schema: str, name: str) -> None:
        """Forgets a table."""
        run(self._connection, f"DELETE FROM {_TABLE} WHERE table_schema = %s AND table_name = %s",
            [schema, name])

    def entries(self) -> dict[tuple[str, str], tuple[str, Fingerprint | None]]:
        """State and fingerprint of each table that is noted; none if there is no record."""
        if not run(self._connection, "SELECT 1 FROM information_schema.TABLES WHERE "
                   "TABLE_SCHEMA = %s AND TABLE_NAME = 'under_way'", [SCHEMA]):
            return {}
        return {(schema, name): (state, None if count is None
                                 else Fingerprint(int(count), int(total)))
                for schema, name, state, count, total in run(
                    self._connection, f"SELECT * FROM {_TABLE}")}

    def drop(self) -> None:
        """Removes the record, and the schema if nothing else is in it."""
        run(self._connection, f"DROP TABLE IF EXISTS {_TABLE}")
        if not run(self._connection, "SELECT 1 FROM information_schema.TABLES "
                                     "WHERE TABLE_SCHEMA = %s", [SCHEMA]):
            run(self._connection, f"DROP DATABASE IF EXISTS {SCHEMA}")
