"""Space on disk, after both engines have come to rest."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from basaltcli import ui
from basaltcli.demo.engines import INNODB, ROCKSDB, Engine
from basaltcli.server import Server

_ENGINE_DIRECTORY = "#rocksdb"
_SORTED_FILES = {".sst", ".blob"}
_QUIET_SECONDS = 2.0
_PATIENCE = 60.0


@dataclass(frozen=True)
class Space:
    """Allocated bytes: of the tables' files, and of logs and other files of the engine."""

    tables: dict[Engine, int]
    others: dict[Engine, int]


def settle(server: Server, when: str) -> Space:
    """Lets both engines finish their background work, then measures.

    InnoDB first purges old row versions. A clean stop then writes InnoDB's pages, and at the next
    start the engine writes what was only in its log. After that, both are left alone until no file
    changes and the server uses no processor time. Nothing is optimised or compacted by hand.
    """
    with ui.progress(f"Letting both engines settle, {when}"):
        _wait_for_purge(server)
        server.stop()
        server.start()
        _wait_until_quiet(server)
    return measure(server)


def measure(server: Server) -> Space:
    """What the files take now."""
    own = _files(server.datadir / _ENGINE_DIRECTORY)
    sorted_files = [path for path in own if path.suffix in _SORTED_FILES]
    redo = [path for path in server.datadir.iterdir()
            if path.name.startswith(("ib_logfile", "ibdata", "undo"))]
    return Space(
        {INNODB: _allocated(_files(server.datadir / INNODB.database)),
         ROCKSDB: _allocated(sorted_files)},
        {INNODB: _allocated(redo), ROCKSDB: _allocated(set(own) - set(sorted_files))})


def _wait_for_purge(server: Server) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        (_, length), = server.query("SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'")
        if int(length) == 0:
            return
        time.sleep(0.2)


def _wait_until_quiet(server: Server) -> None:
    """Returns when files and processor time have not moved for a while, or patience ends."""
    deadline = time.monotonic() + _PATIENCE
    before, since = _activity(server), time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - since < _QUIET_SECONDS:
        time.sleep(0.25)
        now = _activity(server)
        # A resting server still wakes up now and then: some ticks of 10 ms in two seconds.
        if now[0] != before[0] or now[1] > before[1] + 10:
            before, since = now, time.monotonic()


def _activity(server: Server) -> tuple[frozenset[tuple[str, int]], int]:
    """Names and sizes of both engines' files, and the server's processor time in ticks."""
    files = [*_files(server.datadir / _ENGINE_DIRECTORY), *_files(server.datadir / INNODB.database)]
    sizes = frozenset((path.name, _allocated([path])) for path in files)
    fields = Path(f"/proc/{server.pid()}/stat").read_text().rpartition(")")[2].split()
    return sizes, int(fields[11]) + int(fields[12])


def _files(directory: Path) -> list[Path]:
    return [Path(folder, name) for folder, _, names in os.walk(directory) for name in names]


def _allocated(paths: Iterable[Path]) -> int:
    """Bytes on disk; files that background work has just removed count as nothing."""
    total = 0
    for path in paths:
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total
