"""What a server has beside rows: definitions of tables, views, routines, triggers, events."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

import pymysql

from basalt_migrate import report, tables
from basalt_migrate.connection import Address, Connection, Row, run
from basalt_migrate.errors import MigrateError
from basalt_migrate.tables import SYSTEM_SCHEMAS, Table, quoted

_COUNTER = re.compile(r" AUTO_INCREMENT=\d+")
_NO_TABLES = ("--no-data", "--no-create-info")
_WITHOUT_LOG = "SET SESSION sql_log_bin = 0;\n"


@dataclass
class Definitions:
    """All of a server's users, at one time. `views`: SHOW CREATE VIEW by schema and name."""

    schemas: dict[str, str] = field(default_factory=dict)
    tables: dict[Table, str] = field(default_factory=dict)
    views: dict[tuple[str, str], Row] = field(default_factory=dict)
    programs: str = ""
    triggers: dict[str, str] = field(default_factory=dict)
    accounts: str = ""
    sequences: dict[Table, tuple[int, ...]] = field(default_factory=dict)

    def read(self, address: Address, connection: Connection, chosen: list[str],
             is_copied: Callable[[Table], bool], with_accounts: bool) -> None:
        """Reads what is in the schemas `chosen`; all without any. Triggers of copied tables."""
        for (schema,) in run(connection, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA"):
            if schema not in (*SYSTEM_SCHEMAS, tables.SCHEMA) and (not chosen or schema in chosen):
                self.schemas[schema] = str(run(connection, "SHOW CREATE DATABASE IF NOT EXISTS "
                                                           + quoted(schema))[0][1])
        for table in tables.list_tables(connection):
            if table.schema in self.schemas:
                self.tables[table] = tables.definition(connection, table)
                if table.is_sequence:
                    self.sequences[table] = tables.sequence_state(connection, table)
        for schema, name in run(connection, "SELECT TABLE_SCHEMA, TABLE_NAME "
                                            "FROM information_schema.VIEWS"):
            if schema in self.schemas:
                self.views[schema, name] = run(
                    connection, f"SHOW CREATE VIEW {quoted(schema)}.{quoted(name)}")[0]
        if self.schemas:
            self.programs = _dump(address, [*_NO_TABLES, "--routines", "--events",
                                            "--skip-triggers", "--databases", *self.schemas])
        self._read_triggers(address, connection, is_copied)
        if with_accounts:
            self.accounts = _dump(address, ["--system=users", "--insert-ignore"])

    def _read_triggers(self, address: Address, connection: Connection,
                       is_copied: Callable[[Table], bool]) -> None:
        have_some = set(run(connection, "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE "
                                        "FROM information_schema.TRIGGERS"))
        names: dict[str, list[str]] = {}
        for table in self.tables:
            if (table.schema, table.name) in have_some and is_copied(table):
                names.setdefault(table.schema, []).append(table.name)
        self.triggers = {schema: _dump(address, [*_NO_TABLES, "--triggers", schema, *found])
                         for schema, found in names.items()}

    def create_schemas(self, target: Connection) -> None:
        """Makes the schemas that are not there yet."""
        for text in self.schemas.values():
            run(target, text)

    def create_table(self, target: Connection, table: Table) -> None:
        """Makes an empty table, in the place of one that is there, and says what became of it."""
        run(target, f"DROP TABLE IF EXISTS {table.quoted}")
        run(target, f"USE {quoted(table.schema)}")
        run(target, self.tables[table])
        for _, number, text in run(target, "SHOW WARNINGS"):
            report.say(f"{table.title}: note {number}: {text}")
        there = tables.definition(target, table)
        if _COUNTER.sub("", there) != _COUNTER.sub("", self.tables[table]):
            report.say(f"{table.title}: note: the definition became\n{there}")

    def create_sequence(self, target: Connection, table: Table) -> None:
        """Makes a sequence where the source's is, in the place of one that is there."""
        next_value, cycles = self.sequences[table]
        run(target, f"DROP TABLE IF EXISTS {table.quoted}")
        run(target, f"USE {quoted(table.schema)}")
        run(target, self.tables[table])
        run(target, f"SELECT SETVAL({table.quoted}, {next_value}, 0, {cycles})")

    def create_others(self, address: Address, target: Connection) -> None:
        """Accounts, routines, events, views, triggers; in the order in which they need each other.

        Events stay off, as a replica's do: what they did comes with the source's log.
        """
        _feed(address, self.accounts)
        _feed(address, self.programs)
        for schema, name in run(target, "SELECT EVENT_SCHEMA, EVENT_NAME "
                                        "FROM information_schema.EVENTS WHERE STATUS = 'ENABLED'"):
            if schema in self.schemas:
                run(target, f"ALTER EVENT {quoted(schema)}.{quoted(name)} DISABLE ON SLAVE")
                report.say(f"event {schema}.{name}: off, as on a replica; "
                           "ALTER EVENT ... ENABLE when this server takes over")
        self._create_views(target)
        for schema, text in self.triggers.items():
            _feed(address, f"USE {quoted(schema)};\n{text}")

    def _create_views(self, target: Connection) -> None:
        """A view may be of other views: in as many rounds as it takes."""
        waiting = dict(self.views)
        errors: dict[tuple[str, str], str] = {}
        is_progress = True
        while waiting and is_progress:
            is_progress, errors = False, {}
            for (schema, name), row in list(waiting.items()):
                try:
                    run(target, f"USE {quoted(schema)}")
                    run(target, f"SET SESSION character_set_client = {row[2]}, "
                                f"collation_connection = {row[3]}")
                    run(target, str(row[1]).replace("CREATE ", "CREATE OR REPLACE ", 1))
                    del waiting[schema, name]
                    is_progress = True
                except pymysql.err.Error as error:
                    errors[schema, name] = str(error.args[-1])
        run(target, "SET NAMES utf8mb4")
        for schema, name in waiting:
            report.say(f"view {schema}.{name} was not made: {errors[schema, name]}")


def _dump(address: Address, options: list[str]) -> str:
    words = [_program("mariadb-dump"), *address.client_options(),
             "--default-character-set=utf8mb4", "--skip-lock-tables", "--skip-comments", *options]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode != 0:
        raise MigrateError("mariadb-dump: " + done.stderr.decode(errors="replace").strip())
    return done.stdout.decode()


def _feed(address: Address, script: str) -> None:
    """Runs a script of mariadb-dump."""
    if not script:
        return
    words = [_program("mariadb"), *address.client_options(), "--default-character-set=utf8mb4",
             "--binary-mode"]
    done = subprocess.run(words, input=(_WITHOUT_LOG + script).encode(), capture_output=True,
                          check=False)
    if done.returncode != 0:
        raise MigrateError("definitions were not taken: "
                           + done.stderr.decode(errors="replace").strip())


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise MigrateError(f"there is no program {name}", "apt-get install mariadb-client")
    return path
