"""Whether what was dropped gives its space back: with no tables left, no entries are left.

An engine that tells whose entries it has (information_schema.ROCKSDB_INDEX_SPACE) is asked for
that. Entries that are deleted already stay in its files until a compaction comes by, so the size
of files says less; it is what there is with an engine that does not tell.
"""

from __future__ import annotations

import re
import time

from basaltcli.server import Server

# What a table of many rows leaves for good is more than this.
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
        left = _left(server)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(_POLL_SECONDS)


def _left(server: Server) -> str:
    """What is left at this moment; empty: nothing."""
    if server.query("SELECT 1 FROM information_schema.PLUGINS WHERE "
                    "PLUGIN_NAME = 'ROCKSDB_INDEX_SPACE'"):
        rows = server.query("SELECT * FROM information_schema.ROCKSDB_INDEX_SPACE")
        return "".join(f"\n  entries are left, and there is no table: {row}" for row in rows)
    size = _size_kib(server)
    if size <= _NOTHING_KIB:
        return ""
    return f"{size:.0f} KiB of rows are left in files, and there is no table"


def _size_kib(server: Server) -> float:
    """The size of all files of the family that holds rows."""
    text = next(str(row[2]) for row in server.query("SHOW ENGINE ROCKSDB STATUS")
                if row[:2] == ("CF_COMPACTION", "default"))
    found = _SUM.search(text)
    if found is None:
        raise AssertionError(f"no size in the engine's status: {text}")
    return float(found[1]) * _KIB[found[2]]
