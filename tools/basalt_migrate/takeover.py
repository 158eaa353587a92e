"""Takes a stock MyRocks server over: its tables are copied to a server with this engine.

Both run side by side. All tables are read in one snapshot of the source, each in the order of its
primary key, several at a time; then both servers' fingerprints of the table are compared. The
position of the source's binary log at the snapshot is where replication goes on.

A run that was interrupted is gone on with by the same command: it takes a new snapshot, keeps those
tables whose rows are still the source's, and copies the others again.
"""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field

import pymysql
from pymysql.optionfile import Parser

from basalt_migrate import report, snapshot, space, stream, tables
from basalt_migrate.connection import (Address, Connection, require_engine, run, value,
                                       without_binary_log)
from basalt_migrate.definitions import Definitions
from basalt_migrate.errors import MigrateError
from basalt_migrate.record import BEGUN, DONE, Record
from basalt_migrate.snapshot import Position, Snapshot
from basalt_migrate.tables import Table

# Engines whose rows a snapshot has.
_TRANSACTIONAL = ("rocksdb", "innodb")


@dataclass
class Options:
    """What the user asked for. `replication` is the option file of the replication account."""

    only: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    dry_run: bool = False
    workers: int = 2
    accounts: bool = False
    replication: str = ""
    lock_wait: int = 60
    free_space: int | None = None


class Takeover:
    """One run from one server to another."""

    def __init__(self, source: Address, target: Address, options: Options) -> None:
        self.source = source
        self.target = target
        self.options = options
        self.definitions = Definitions()
        self.record = Record(target)
        self._guard = threading.Lock()  # of record, and of the two below
        self._errors: list[str] = []
        self._finished = 0

    def run(self) -> int:
        """Does it, or tells what would be done; the program's exit code."""
        with self.source.connect() as source, self.target.connect() as target:
            self._check(source, target)
            found = tables.list_tables(source)
            copied, left_out = self._choose(found)
            self._tell(copied, left_out)
            self._check_target(target, [*copied, *self._sequences(found)])
            self._check_space(target, copied)
            if self.options.dry_run:
                report.say("dry run: nothing was changed")
                return 0
            self.record.open()
            taken = snapshot.take(self.source, self.options.workers, self.options.lock_wait,
                                  lambda: self._read_definitions(source))
            copied, _ = self._choose(list(self.definitions.tables))
            self.definitions.create_schemas(target)
            self._copy_all(copied, taken)
            for connection in taken.readers:
                connection.close()
            if self._errors:
                report.say(f"{len(self._errors)} tables were not copied; "
                           "run the same command again")
                return 1
            for table in self._sequences(list(self.definitions.tables)):
                self.record.put(table.schema, table.name, BEGUN)
                self.definitions.create_sequence(target, table)
            self.definitions.create_others(self.target, target)
            self.record.drop()
            report.say(f"{len(copied)} tables copied and verified, {len(left_out)} left out")
            self._replicate(target, taken.position)
        return 1 if left_out else 0

    def _check(self, source: Connection, target: Connection) -> None:
        identity = "SELECT @@hostname, @@port, @@datadir, @@pid_file"
        if run(source, identity) == run(target, identity):
            raise MigrateError("source and target are the same server",
                               "start a second server with this engine, and name it by --target-*")
        if self.options.replication and (self.options.only or self.options.exclude):
            raise MigrateError("replication needs all tables, and not all are to be copied",
                               "leave out --replication-defaults; start it by hand, with "
                               "replicate_wild_do_table or its like in the target")
        require_engine(target, "target")
        without_binary_log(target)
        if run(target, "SHOW ALL SLAVES STATUS") or value(target, "SELECT @@gtid_slave_pos"):
            raise MigrateError("the target replicates already, so it has a state of its own",
                               "use a fresh server, or there: STOP ALL SLAVES; RESET SLAVE ALL; "
                               "SET GLOBAL gtid_slave_pos = ''")
        if value(target, "SELECT @@gtid_binlog_pos"):
            raise MigrateError("the target's binary log has transactions of its own",
                               "use a fresh server, or there, if nobody needs that log: "
                               "RESET MASTER")
        if value(source, "SELECT @@version") != value(target, "SELECT @@version"):
            report.say("note: the servers are of different releases")
        if self.options.replication and value(source, "SELECT @@server_id") == value(
                target, "SELECT @@server_id"):
            raise MigrateError("both servers have the same server_id", "set another in the target")

    def _choose(self, found: list[Table]) -> tuple[list[Table], list[Table]]:
        """Tables to copy, large ones first, and those whose engine has no snapshots."""
        found = tables.chosen(found, self.options.only, self.options.exclude)
        found = [table for table in found if not table.is_sequence]
        copied = [table for table in found if table.engine.lower() in _TRANSACTIONAL]
        return (sorted(copied, key=lambda table: -table.size),
                [table for table in found if table not in copied])

    def _sequences(self, found: list[Table]) -> list[Table]:
        return [table for table in tables.chosen(found, self.options.only, self.options.exclude)
                if table.is_sequence]

    def _tell(self, copied: list[Table], left_out: list[Table]) -> None:
        report.say(f"{len(copied)} tables to copy, "
                   f"{report.size(sum(table.size for table in copied))}")
        for table in copied:
            report.say(f"  {table.title}  {report.size(table.size)}")
        for table in left_out:
            report.say(f"left out: {table.title}: {table.engine} has no snapshots; first ALTER "
                       "TABLE it to InnoDB or ROCKSDB, or copy it while nobody writes")

    def _check_target(self, target: Connection, copied: list[Table]) -> None:
        """The target may have nothing of these names but what a run of this program has made."""
        ours = self.record.entries()
        strange = [table.title for table in copied
                   if (table.schema, table.name) not in ours and tables.has_table(target, table)]
        if strange:
            raise MigrateError(f"the target has tables of these names: {', '.join(strange)}",
                               "drop them there, or leave them out: --exclude")

    def _check_space(self, target: Connection, copied: list[Table]) -> None:
        there = {(table.schema, table.name): table.size for table in tables.list_tables(target)}
        needed = sum(max(0, table.size - there.get((table.schema, table.name), 0))
                     for table in copied)
        space.require(space.free_bytes(target, self.options.free_space),
                      int(needed * space.GROWTH) + space.RESERVE, "the copies")

    def _read_definitions(self, source: Connection) -> None:
        schemas = sorted({word.split(".")[0] for word in self.options.only})
        copied, _ = self._choose(tables.list_tables(source))
        titles = {table.title for table in copied}
        self.definitions.read(self.source, source, schemas, lambda table: table.title in titles,
                              self.options.accounts)

    def _copy_all(self, copied: list[Table], taken: Snapshot) -> None:
        waiting: queue.SimpleQueue[Table] = queue.SimpleQueue()
        for table in copied:
            waiting.put(table)
        threads = [threading.Thread(target=self._work, args=(reader, waiting, len(copied)),
                                    daemon=True) for reader in taken.readers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, reader: Connection, waiting: queue.SimpleQueue[Table], total: int) -> None:
        while True:
            try:
                table = waiting.get_nowait()
            except queue.Empty:
                return
            started = time.monotonic()
            try:
                with self.target.connect() as target:
                    without_binary_log(target)
                    text = self._copy(reader, target, table)
            except (MigrateError, pymysql.err.Error) as error:
                text = f"not copied: {getattr(error, 'message', error)}"
                if isinstance(error, MigrateError) and error.remedy:
                    text += f" ({error.remedy})"
                with self._guard:
                    self._errors.append(table.title)
            with self._guard:
                self._finished += 1
                report.say(f"[{self._finished}/{total}] {table.title}: {text}, "
                           f"{time.monotonic() - started:.1f} s")

    def _copy(self, reader: Connection, target: Connection, table: Table) -> str:
        """Copies a table unless it is there with the right rows; fails when the copy differs."""
        key = (table.schema, table.name)
        with self._guard:
            state, _ = self.record.entries().get(key, ("", None))
        if state == DONE and tables.has_table(target, table):
            there = tables.fingerprint(target, table)
            if there == tables.fingerprint(reader, table):
                return f"{there.count} rows, there already, verified"
            report.say(f"{table.title}: was copied by an earlier run and has changed since")
        with self._guard:
            self.record.put(*key, BEGUN)
        self.definitions.create_table(target, table)
        ticker = report.Ticker()
        stream.copy_rows(reader, target, table, lambda rows: ticker.say(
            f"{table.title}: {rows} rows so far"))
        here, there = (tables.fingerprint(side, table) for side in (reader, target))
        if here != there:
            raise MigrateError(f"the copy differs: {here} in the source, {there} in the copy")
        with self._guard:
            self.record.put(*key, DONE)
        return f"{there.count} rows, verified"

    def _replicate(self, target: Connection, position: Position) -> None:
        """Says how replication goes on from the snapshot, or lets it go on."""
        if not position.is_there:
            report.say("the source has no binary log: what it wrote since the snapshot is not "
                       "here, and there is nothing to replicate from")
            return
        settings = _account(self.options.replication, self.source)
        shown = {**settings, "password": "..."}
        command = ("CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port}, MASTER_USER = "
                   "'{user}', MASTER_PASSWORD = '{password}', MASTER_USE_GTID = slave_pos")
        begin = f"SET GLOBAL gtid_slave_pos = '{position.gtid}'"
        if not self.options.replication:
            if self.options.only or self.options.exclude:
                report.say("note: not all tables were copied; replication needs filters for that")
            report.say("to let replication go on from the snapshot, on the target:")
            report.say(f"{begin};\n{command.format(**shown)};\nSTART SLAVE;")
            return
        for statement in (begin, command.format(**{
                key: str(text).replace("\\", "\\\\").replace("'", "''")
                for key, text in settings.items()}), "START SLAVE"):
            run(target, statement)
        report.say(f"replication goes on from {position.gtid}")


def _account(file: str, source: Address) -> dict[str, str]:
    """Host, port, user and password for replication: from an option file's section [client]."""
    settings = {"host": source.host or "...", "port": str(source.port or 3306), "user": "...",
                "password": "..."}
    if file:
        parser = Parser(strict=False)
        if not parser.read(file):
            raise MigrateError(f"the option file {file} cannot be read")
        for key in settings:
            if parser.has_option("client", key):
                settings[key] = parser.get("client", key)
        missing = [key for key, text in settings.items() if text == "..."]
        if missing:
            raise MigrateError(f"the option file {file} has no {', '.join(missing)}",
                               "it needs a section [client] with host, port, user and password")
    return settings
