"""Several connections that see one state of the source, and where its binary log was then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pymysql

from basalt_migrate import report
from basalt_migrate.connection import Address, Connection, run, value
from basalt_migrate.errors import MigrateError


@dataclass(frozen=True)
class Position:
    """Where the binary log was: empty without one."""

    file: str
    offset: int
    gtid: str

    @property
    def is_there(self) -> bool:
        return bool(self.file)

    def __str__(self) -> str:
        return f"GTID {self.gtid or '(none)'}, {self.file}:{self.offset}"


@dataclass
class Snapshot:
    """`readers` are in a transaction each; all see what was committed at `position`."""

    readers: list[Connection]
    position: Position


def take(source: Address, readers: int, lock_wait: int,
         while_definitions_stand: Callable[[], None]) -> Snapshot:
    """Stops definitions while `while_definitions_stand` runs, then commits for a moment.

    Readers and writers go on but for that moment. Fails when what runs on the source does not let
    it come to that within `lock_wait` seconds.
    """
    connections = [source.connect() for _ in range(readers)]
    for connection in connections:
        run(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        # Nothing but the copy is asked of it for as long as a large table takes to be stored.
        run(connection, "SET SESSION net_write_timeout = 3600, wait_timeout = 86400, "
                        "idle_transaction_timeout = 0, max_statement_time = 0")
    with source.connect() as control:
        run(control, "SET SESSION lock_wait_timeout = %s", [lock_wait])
        try:
            run(control, "BACKUP STAGE START")
        except pymysql.err.Error as error:
            raise MigrateError(f"the source does not let definitions be stopped: {error.args[-1]}",
                               "give the account the privilege RELOAD; wait for another backup "
                               "to end") from error
        try:
            for stage in ("FLUSH", "BLOCK_DDL"):
                run(control, f"BACKUP STAGE {stage}")
            while_definitions_stand()
            run(control, "BACKUP STAGE BLOCK_COMMIT")
            for connection in connections:
                run(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
            position = _position(control)
        except pymysql.err.Error as error:
            raise MigrateError(f"no snapshot of the source: {error.args[-1]}",
                               "run it again when no long statement runs there") from error
        finally:
            run(control, "BACKUP STAGE END")
    report.say(f"snapshot of the source: {position}" if position.is_there else
               "snapshot of the source, which writes no binary log")
    return Snapshot(connections, position)


def _position(connection: Connection) -> Position:
    rows = run(connection, "SHOW MASTER STATUS")
    if not rows:
        return Position("", 0, "")
    gtid = str(value(connection, "SELECT @@gtid_binlog_pos"))
    return Position(str(rows[0][0]), int(rows[0][1]), gtid)
