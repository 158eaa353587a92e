"""How large a server's directory is: data, logs of the engine, binary log, the server's own files.

    sizes = DirectorySizes([datadir])
    print(sizes.read().data.allocated)
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path


class Kind(enum.Enum):
    """What a file holds; the values are the fields of DirectorySize."""

    DATA = "data"
    LOGS = "logs"
    BINLOG = "binlog"
    OTHER = "other"


@dataclasses.dataclass(frozen=True)
class Size:
    """`length` is what the files say, `allocated` the blocks that they have on the disk; bytes."""

    files: int = 0
    length: int = 0
    allocated: int = 0


@dataclasses.dataclass(frozen=True)
class DirectorySize:
    """`data` and `logs` (redo, write-ahead) are of the engine under test. `age` is in seconds."""

    data: Size
    logs: Size
    binlog: Size
    other: Size
    age: float = 0

    @property
    def allocated(self) -> int:
        return (self.data.allocated + self.logs.allocated + self.binlog.allocated
                + self.other.allocated)


_ROCKSDB = "#rocksdb"
_SYSTEM = {"mysql", "sys", "performance_schema"}
_BINLOG = re.compile(r".*(?:bin|binlog)\.(?:\d{6,}|index|state)")
_WRITE_AHEAD = re.compile(r"\d+\.log")
_REDO = re.compile(r"ib_logfile\d+")
_INNODB = re.compile(r"ibdata\d+|undo\d+")
_ROCKSDB_TEXT = re.compile(r"LOG(?:\.old.*)?")


def kind_of(path: str, has_rocksdb: bool) -> Kind:
    """What a file is for, by its path below the data directory.

    In a server with a RocksDB engine InnoDB's files hold nothing of a workload.
    """
    top, _, name = path.rpartition("/")
    top = top.split("/", 1)[0]
    if not top and _BINLOG.fullmatch(name):
        return Kind.BINLOG
    if has_rocksdb:
        if not top.startswith(_ROCKSDB) or _ROCKSDB_TEXT.fullmatch(name):
            return Kind.OTHER
        return Kind.LOGS if _WRITE_AHEAD.fullmatch(name) else Kind.DATA
    if top:
        return Kind.OTHER if top in _SYSTEM else Kind.DATA
    if _REDO.fullmatch(name):
        return Kind.LOGS
    return Kind.DATA if _INNODB.fullmatch(name) else Kind.OTHER


class DirectorySizes:
    """Reads sizes, but spends at most a twentieth of the time on it.

    A directory with very many files would otherwise take a core from the server; read() then gives
    the last result again, with its age.
    """

    def __init__(self, directories: Sequence[Path], share: float = 0.05) -> None:
        self.directories = tuple(directories)
        self._share = share
        self._last: DirectorySize | None = None
        self._last_time = 0.0
        self._next_time = 0.0

    def read(self, *, now: bool = False) -> DirectorySize:
        """Sizes that are fresh, or as old as the share of time demands; fresh with `now`."""
        started = time.monotonic()
        if self._last is None or now or started >= self._next_time:
            self._last = measure(self.directories)
            self._last_time = started
            self._next_time = started + (time.monotonic() - started) / self._share
        return dataclasses.replace(self._last, age=round(started - self._last_time, 3))


def measure(directories: Sequence[Path]) -> DirectorySize:
    """Sizes right now. Files that vanish meanwhile are left out; hard links count once."""
    sums = {kind: [0, 0, 0] for kind in Kind}
    seen: set[tuple[int, int]] = set()
    for directory in directories:
        has_rocksdb = any(directory.glob(_ROCKSDB + "*"))
        for entry, path in _files(str(directory)):
            with contextlib.suppress(OSError):
                stat = entry.stat(follow_symlinks=False)
                if (stat.st_dev, stat.st_ino) in seen:
                    continue
                seen.add((stat.st_dev, stat.st_ino))
                values = sums[kind_of(path, has_rocksdb)]
                for place, value in enumerate((1, stat.st_size, stat.st_blocks * 512)):
                    values[place] += value
    return DirectorySize(**{kind.value: Size(*values) for kind, values in sums.items()})


def _files(directory: str) -> Iterator[tuple[os.DirEntry[str], str]]:
    """All files below a directory, with their paths from there."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(os.path.join(directory, folder)) as entries:
            for entry in entries:
                path = os.path.join(folder, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry, path
