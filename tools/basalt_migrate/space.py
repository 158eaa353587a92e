"""Whether the disk will hold what comes: asked before anything is copied."""

from __future__ import annotations

import os
from pathlib import Path

import pymysql

from basalt_migrate import report
from basalt_migrate.connection import Connection, run, value
from basalt_migrate.errors import MigrateError

# What must stay free beside the copies: the WAL, memtables on their way to files, binary logs.
RESERVE = 256 * 1024 * 1024
# A copy in the engine is smaller than the InnoDB table, as blocks are full and compressed; while it
# grows, files that compaction replaces exist beside their successors.
GROWTH = 1.3


def free_bytes(connection: Connection, given: int | None,
               machine: str = os.uname().nodename) -> int | None:
    """Free bytes where the server's engine writes; None if that cannot be found out.

    `given` by the user goes before. Else the directory is looked at if it is on this `machine`,
    else the server's plugin DISKS is asked.
    """
    if given is not None:
        return given
    directory = engine_directory(connection)
    same_host = value(connection, "SELECT @@hostname") == machine
    if same_host and directory.exists():
        status = os.statvfs(directory)
        return status.f_bavail * status.f_frsize
    try:
        disks = run(connection, "SELECT Path, Available FROM information_schema.DISKS")
    except pymysql.err.Error:
        return None
    holding = [(len(path), int(kib) * 1024) for path, kib in disks
               if directory.is_relative_to(path)]
    return max(holding)[1] if holding else None


def engine_directory(connection: Connection) -> Path:
    """Where the engine's files are; the data directory if the engine does not say."""
    data = Path(str(value(connection, "SELECT @@datadir")))
    rows = run(connection, "SHOW GLOBAL VARIABLES LIKE 'rocksdb_datadir'")
    return data / str(rows[0][1]) if rows else data


def require(free: int | None, needed: int, what: str) -> None:
    """Says what is needed and what there is; fails if it is not enough or not known."""
    if free is None:
        raise MigrateError(
            f"it is not known how much space is free on the server's disk; {what} may need "
            f"{report.size(needed)}",
            "run this on the server's machine, install the server's plugin (INSTALL SONAME "
            "'disks'), or say it: --free-space BYTES")
    report.say(f"disk: {report.size(free)} free, {what} may need {report.size(needed)}")
    if free < needed:
        raise MigrateError(
            f"the disk would not hold it: {what} may need {report.size(needed)}, "
            f"{report.size(free)} are free",
            "make room, or choose fewer tables: --only, --exclude")
