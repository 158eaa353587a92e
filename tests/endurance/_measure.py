"""What is measured of a server from outside, and of its files."""

from __future__ import annotations

import os
import time
from pathlib import Path

from basaltcli.server import Server
from tests.endurance._judges import Directory, IndexSpace

_TICKS = os.sysconf("SC_CLK_TCK")
_RECLAIM_SECONDS = 90.0


def resident(pid: int | None) -> int:
    """Bytes of resident memory; 0 for a process that is not there."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:")), 0)


def open_files(pid: int | None) -> int:
    return _entries(Path(f"/proc/{pid}/fd"))


def threads(pid: int | None) -> int:
    return _entries(Path(f"/proc/{pid}/task"))


def processor_seconds(pid: int | None) -> float:
    """Processor time that a process has taken so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def index_space(server: Server) -> list[IndexSpace]:
    """What indexes have entries, once dropped ones have had the time to be reclaimed."""
    deadline = time.monotonic() + _RECLAIM_SECONDS
    while True:
        rows = [IndexSpace(int(row[0]), row[1], row[2], row[3], row[4], int(row[5]), bool(row[6]))
                for row in server.query(
                    "SELECT INDEX_ID, COLUMN_FAMILY, STATE, TABLE_NAME, INDEX_NAME, BYTES, "
                    "HAS_UNDECIDED_CHANGES FROM information_schema.ROCKSDB_INDEX_SPACE")]
        # Temporary tables of sessions that have just ended are about to go, too.
        if time.monotonic() > deadline or not any(
                (row.state != "in use" or "#sql" in row.table) and not row.is_undecided
                for row in rows):
            return rows
        time.sleep(0.5)


def table_files(server: Server) -> set[str]:
    """Names of all tables and partitions of the engine, as INDEX_SPACE has them."""
    names: set[str] = set()
    for frm in server.datadir.glob("*/*.frm"):
        name = f"{frm.parent.name}/{frm.stem}"
        names.add(name)
    for database, table, partition in server.query(
            "SELECT TABLE_SCHEMA, TABLE_NAME, PARTITION_NAME FROM information_schema.PARTITIONS "
            "WHERE PARTITION_NAME IS NOT NULL"):
        names.add(f"{database}/{table}#P#{partition}")
    return names


def directory(server: Server, live: int) -> Directory:
    """The sizes of the engine's files."""
    sizes = {"tables": 0, "logs": 0, "other": 0}
    for path in (server.datadir / "#rocksdb").rglob("*"):
        try:
            size = path.stat().st_blocks * 512 if path.is_file() else 0
        except OSError:
            continue  # it has just gone
        kind = {".sst": "tables", ".log": "logs"}.get(path.suffix, "other")
        sizes[kind] += size
    return Directory(**sizes, live=live)


def _entries(directory: Path) -> int:
    try:
        return len(os.listdir(directory))
    except OSError:
        return 0
