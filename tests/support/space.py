"""Whether what was dropped gives its space back: with no tables left, no rows are left in files."""

from __future__ import annotations

import re
import time

from basaltcli.server import Server

# Entries that are deleted already may stay in files for a while; what a table of many rows leaves
# for good is more than this.
_NOTHING_KIB = 128.0
_POLL_SECONDS = 0.5
_SECONDS_MAX = 40.0
_SUM = re.compile(r"^ *Sum +\S+ +([\d.]+) (\w+)", re.MULTILINE)
_KIB = {"KB": 1.0, "MB": 1024.0, "GB": 1024.0 * 1024.0}


def left_over(server: Server) -> str:
    """What stays in the files of a server without any table of the engine; empty when nothing does.

    Dropped indexes are reclaimed in the background, so this waits until they are, or for a limit.
    """
    deadline = time.monotonic() + _SECONDS_MAX
    while True:
        server.query("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
        size = _size_kib(server)
        if size <= _NOTHING_KIB and not _owners(server):
            return ""
        if time.monotonic() > deadline:
            return (f"{size:.0f} KiB of rows are left in files, and there is no table"
                    + "".join(f"\n  {row}" for row in _owners(server)))
        time.sleep(_POLL_SECONDS)


def _owners(server: Server) -> list[tuple[object, ...]]:
    """Which indexes the engine finds entries of, where it can tell."""
    if not server.query("SELECT 1 FROM information_schema.PLUGINS WHERE "
                        "PLUGIN_NAME = 'ROCKSDB_INDEX_SPACE'"):
        return []
    return server.query("SELECT * FROM information_schema.ROCKSDB_INDEX_SPACE")


def _size_kib(server: Server) -> float:
    """The size of all files of the family that holds rows."""
    text = next(str(row[2]) for row in server.query("SHOW ENGINE ROCKSDB STATUS")
                if row[1] == "CF_COMPACTION default")
    found = _SUM.search(text)
    if found is None:
        raise AssertionError(f"no size in the engine's status: {text}")
    return float(found[1]) * _KIB[found[2]]
