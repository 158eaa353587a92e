"""Takes InnoDB tables over on a running server: ALTER TABLE, one table after the other.

Each table is locked for writing, its fingerprint taken, altered, its fingerprint taken again, and
unlocked. An interruption at any moment leaves the table as it was or as it should be; the same
command goes on with those that are still InnoDB's.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import pymysql
from pymysql.constants import CR, ER

from basalt_migrate import report, space, tables
from basalt_migrate.connection import (Address, Connection, require_engine, run, value,
                                       without_binary_log)
from basalt_migrate.errors import MigrateError
from basalt_migrate.record import BEGUN, Record
from basalt_migrate.tables import Fingerprint, Table, quoted

_TRIAL = "basalt_migrate_trial"
_ENGINE = ") ENGINE=ROCKSDB"
# Whoever may not make temporary tables will see at the real one what the engine refuses.
_CONNECTION_LOST = (CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST)
_NOT_ALLOWED = (ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR)


@dataclass
class Options:
    """What the user asked for. `only` and `exclude` hold schemas and schema.table."""

    only: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    dry_run: bool = False
    verify: bool = True
    keep_originals: bool = False
    with_binary_log: bool = False
    lock_wait: int = 60
    free_space: int | None = None


@dataclass
class Plan:
    """Tables to take over, small ones first, and those left out, each with reason and remedy."""

    taken: list[Table] = field(default_factory=list)
    left_out: list[tuple[Table, str]] = field(default_factory=list)


class InPlace:
    """One run on one server."""

    def __init__(self, address: Address, options: Options) -> None:
        self.address = address
        self.options = options
        self.connection = address.connect()
        self.record = Record(address)
        self._failed = 0

    def run(self) -> int:
        """Does it, or tells what would be done; the program's exit code."""
        require_engine(self.connection, self.address.name)
        if not self.options.with_binary_log:
            without_binary_log(self.connection)
        run(self.connection, "SET SESSION lock_wait_timeout = %s", [self.options.lock_wait])
        if not self.options.dry_run:
            self._settle()
        plan = self.plan()
        self._tell(plan)
        if plan.taken:
            self._require_space(plan.taken)
        if self.options.dry_run:
            report.say("dry run: nothing was changed")
            return 0
        self.record.open()
        for number, table in enumerate(plan.taken, 1):
            self._require_space([table])
            self._take(table, f"[{number}/{len(plan.taken)}] {table.title}")
        self.record.drop()
        done = len(plan.taken) - self._failed
        report.say(f"{done} tables taken over, {self._failed} not, {len(plan.left_out)} left out")
        return 1 if self._failed or plan.left_out else 0

    def _settle(self) -> None:
        """An earlier run may have ended between a table's ALTER and its comparison: now, then."""
        known = {(table.schema, table.name): table
                 for table in tables.list_tables(self.connection)}
        for key, (_, before) in self.record.entries().items():
            table = known.get(key)
            if table is not None and before is not None:
                run(self.connection, f"LOCK TABLES {table.quoted} READ")  # an ALTER may go on
                try:
                    self._compare_late(table, before)
                finally:
                    run(self.connection, "UNLOCK TABLES")
            self.record.remove(*key)

    def _compare_late(self, table: Table, before: Fingerprint) -> None:
        engine = value(self.connection, "SELECT ENGINE FROM information_schema.TABLES WHERE "
                       "TABLE_SCHEMA = %s AND TABLE_NAME = %s", [table.schema, table.name])
        if engine != "ROCKSDB":
            return  # its turn comes again
        after = tables.fingerprint(self.connection, table)
        if after == before:
            report.say(f"{table.title}: was taken over by the run before; "
                       f"{after.count} rows, verified")
        else:
            report.say(f"{table.title}: was taken over by the run before, which ended before it "
                       f"compared: {before} then, {after} now; writers may have changed it since")

    def plan(self) -> Plan:
        """Which InnoDB tables can be taken over."""
        found = tables.chosen(tables.list_tables(self.connection), self.options.only,
                              self.options.exclude)
        keys = _foreign_keys(self.connection)
        plan = Plan()
        with self.address.connect() as aside:
            without_binary_log(aside)
            self._judge(found, keys, aside, plan)
        return plan

    def _judge(self, found: list[Table], keys: dict[tuple[str, str], str], aside: Connection,
               plan: Plan) -> None:
        for table in sorted(found, key=lambda each: each.size):
            if table.engine.lower() != "innodb":
                continue
            reason = keys.get((table.schema, table.name)) or _refusal(aside, table)
            if reason:
                plan.left_out.append((table, reason))
            else:
                plan.taken.append(table)

    def _tell(self, plan: Plan) -> None:
        total = sum(table.size for table in plan.taken)
        report.say(f"{len(plan.taken)} InnoDB tables to take over, {report.size(total)}")
        for table in plan.taken:
            report.say(f"  {table.title}  {report.size(table.size)}")
        for table, reason in plan.left_out:
            report.say(f"left out: {table.title}: {reason}")

    def _require_space(self, taken: list[Table]) -> None:
        """Each table's InnoDB file goes when its copy is there, but for what is in shared files."""
        shared = {str(name) for (name,) in run(
            self.connection, "SELECT NAME FROM information_schema.INNODB_SYS_TABLES WHERE SPACE = 0"
        )}
        lasting = peak = 0.0
        for table in taken:
            copies = space.GROWTH + (1 if self.options.keep_originals else 0)
            peak = max(peak, lasting + table.size * copies)
            if self.options.keep_originals or f"{table.schema}/{table.name}" in shared:
                lasting += table.size * copies
        if len(taken) == 1 and not self.options.dry_run:
            free = space.free_bytes(self.connection, self.options.free_space)
            if free is None or free >= peak + space.RESERVE:
                return
        space.require(space.free_bytes(self.connection, self.options.free_space),
                      int(peak) + space.RESERVE, "taking them over")

    def _take(self, table: Table, title: str) -> None:
        started = time.monotonic()
        try:
            if self.options.verify:
                rows = self._take_locked(table, title)
            else:
                self._alter(table, title)
                rows = "not verified"
        except pymysql.err.Error as error:
            if error.args[0] in _CONNECTION_LOST or not error.args[0]:
                raise MigrateError(
                    f"{title}: the connection to the server is lost: {error}",
                    "when the server runs again, the same command goes on") from error
            self.record.remove(table.schema, table.name)
            self._failed += 1
            report.say(f"{title}: not taken over, as it was: {error.args[-1]}")
            return
        report.say(f"{title}: {rows}, {time.monotonic() - started:.1f} s")

    def _take_locked(self, table: Table, title: str) -> str:
        """Under one lock: what is seen before and after are the same rows, or it is an error."""
        kept = self._new_original(table) if self.options.keep_originals else None
        locks = f"{table.quoted} WRITE" + (f", {kept.quoted} WRITE" if kept else "")
        run(self.connection, f"LOCK TABLES {locks}")
        try:
            before, after = self._alter_and_compare(table, kept, title)
        except KeyboardInterrupt:
            self._abandon()
            raise
        except MigrateError:
            run(self.connection, "UNLOCK TABLES")
            raise
        except pymysql.err.Error as error:
            if error.args[0] not in _CONNECTION_LOST:
                run(self.connection, "UNLOCK TABLES")
            raise
        run(self.connection, "UNLOCK TABLES")
        self.record.remove(table.schema, table.name)
        if before != after:
            raise MigrateError(
                f"{table.title} differs from what it was: {before} before, {after} after",
                f"its rows before are in {kept.title}" if kept else
                "restore the table from a backup; --keep-originals keeps each table's rows aside")
        count = getattr(after, "count", None)
        return "the same state" if count is None else f"{count} rows, verified"

    def _alter_and_compare(self, table: Table, kept: Table | None,
                           title: str) -> tuple[object, object]:
        """What the table held before, and after."""
        before = self._state(table)
        if kept:
            self._keep(table, kept, before)
        if isinstance(before, Fingerprint):
            self.record.put(table.schema, table.name, BEGUN, before)
        self._alter(table, title)
        return before, self._state(table)

    def _abandon(self) -> None:
        """Ends the statement that is under way; the table's lock goes with its connection."""
        with self.address.connect() as other:
            run(other, "KILL %s", [self.connection.thread_id()])

    def _state(self, table: Table) -> object:
        if table.is_sequence:
            return tables.sequence_state(self.connection, table)
        return tables.fingerprint(self.connection, table)

    def _alter(self, table: Table, title: str) -> None:
        with _Watch(self.address, self.connection, title):
            run(self.connection, f"ALTER TABLE {table.quoted} ENGINE=ROCKSDB")
        for _, number, text in run(self.connection, "SHOW WARNINGS"):
            report.say(f"{title}: note {number}: {text}")

    def _new_original(self, table: Table) -> Table | None:
        """An empty InnoDB table for the rows as they were; None for a sequence."""
        if table.is_sequence:
            return None
        run(self.connection, f"CREATE DATABASE IF NOT EXISTS {tables.SCHEMA}")
        name = f"{table.schema}.{table.name}"
        if len(name) > 64:
            raise MigrateError(f"{table.title}: its name is too long to keep the original",
                               "take it over alone, without --keep-originals")
        kept = Table(tables.SCHEMA, name, table.kind, table.engine, table.options, table.size)
        run(self.connection, f"CREATE OR REPLACE TABLE {kept.quoted} LIKE {table.quoted}")
        return kept

    def _keep(self, table: Table, kept: Table, before: object) -> None:
        columns = ", ".join(column.quoted for column in tables.columns_of(self.connection, table)
                            if not column.is_generated)
        run(self.connection, f"INSERT INTO {kept.quoted} ({columns}) SELECT {columns} "
                             f"FROM {table.rows}")
        if self._state(kept) != before:
            raise MigrateError(f"the copy of {table.title} in {kept.title} differs; the table is "
                               "as it was")


class _Watch:
    """Says now and then how far a connection's statement is, until the block ends."""

    def __init__(self, address: Address, watched: Connection, title: str) -> None:
        self._address = address
        self._id = watched.thread_id()
        self._title = title
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        if self._ended.wait(10):
            return
        try:
            with self._address.connect() as connection:
                while True:
                    percent = value(connection, "SELECT PROGRESS FROM information_schema."
                                                "PROCESSLIST WHERE ID = %s", [self._id])
                    report.say(f"{self._title}: {percent or 0} % of this stage")
                    if self._ended.wait(10):
                        return
        except (MigrateError, pymysql.err.Error):
            pass  # only the figures are lost; what they were about goes on


def _refusal(connection: Connection, table: Table) -> str:
    """Why it cannot be taken over; the engine is asked by an empty temporary table."""
    if "ENCRYPTED" in table.options.upper() and "`ENCRYPTED`=NO" not in table.options.upper():
        return "it is encrypted, and the engine does not encrypt; let it stay in InnoDB"
    if table.kind == "SYSTEM VERSIONED":
        return ("the server does not alter a system versioned InnoDB table to another engine; "
                "make a table of the engine with the same definition, SET "
                "system_versioning_insert_history = 1, INSERT ... SELECT ..., row_start, "
                "row_end FROM it FOR SYSTEM_TIME ALL, and rename both")
    if table.is_sequence or "partitioned" in table.options:
        return ""  # there are no temporary ones
    head, _, rest = tables.definition(connection, table).partition(" (")
    trial = f"{quoted(table.schema)}.{_TRIAL}"
    text = f"CREATE TEMPORARY TABLE {trial} ({rest.replace(') ENGINE=InnoDB', _ENGINE)}"
    assert head.startswith("CREATE TABLE ")
    try:
        run(connection, text)
    except pymysql.err.Error as error:
        if error.args[0] in _NOT_ALLOWED:
            return ""
        return f"the engine refuses it: {error.args[-1]}; change that first, or let it stay"
    run(connection, f"DROP TEMPORARY TABLE {trial}")
    return ""


def _foreign_keys(connection: Connection) -> dict[tuple[str, str], str]:
    """Tables with foreign keys and tables that some refer to, each with reason and remedy."""
    found: dict[tuple[str, str], list[str]] = {}
    drops: dict[tuple[str, str], list[str]] = {}
    for schema, name, table, other_schema, other in run(
            connection, "SELECT CONSTRAINT_SCHEMA, CONSTRAINT_NAME, TABLE_NAME, "
            "UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME "
            "FROM information_schema.REFERENTIAL_CONSTRAINTS ORDER BY 1, 3, 2"):
        drop = f"ALTER TABLE {quoted(schema)}.{quoted(table)} DROP FOREIGN KEY {quoted(name)}"
        for key, text in (((schema, table), f"its foreign key {name} refers to "
                                            f"{other_schema}.{other}"),
                          ((other_schema, other), f"{schema}.{table} refers to it by {name}")):
            if text not in found.setdefault(key, []):
                found[key].append(text)
            if drop not in drops.setdefault(key, []):
                drops[key].append(drop)
    return {key: f"{', '.join(texts)}; the server takes no such table to another engine: let them "
                 f"stay in InnoDB, or drop the keys ({'; '.join(drops[key])}) and add them "
                 "afterwards"
            for key, texts in found.items()}
