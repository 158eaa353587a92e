"""What a disk holds of a directory when the machine stops, by the journal of _journal_shim.c.

    recording = Recording(work.directory, server)   # the server is not running
    server.start()
    ...
    server.kill()
    disk = recording.disk(seed)
    for position in disk.positions(...):
        disk.go_to(position)
        disk.write(directory)                       # one of the many states that may be found

What a sync of a file has covered is there. Of what came later any part may be, in any order: pages
of 4 KB, some only in part, and the file's size. Now and then pages arrive by themselves. Names:
below the engine's directory one that is new, gone or another file's is certain once its directory
was synced, whatever came before or after it; elsewhere names arrive in their order, and any sync
makes all of them certain, as file systems with a journal do: other engines rely on that.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from basaltcli.server import Server
from tests.support import preload

_SHIM = Path(__file__).parent / "_journal_shim.c"
_RECORD = struct.Struct("=IIIIQQQ")
_PAGE = 4096
_SECTOR = 512
_ENGINE = "#rocksdb/"
# Parts of a file's unsynced bytes that may be on the disk.
_SHARES = (0, 0, 0.2, 0.5, 0.9, 1, 1)
# No data, or mapped into memory, where the journal has only what was synced.
_NOT_COMPARED = ("LOG", "tc.log", "ib_buffer_pool", "basalt.pid", "basalt.sock")


class Kind(IntEnum):
    WRITE = 1
    TRUNCATE = 2
    SYNC = 3
    CREATE = 4
    RENAME = 5
    LINK = 6
    UNLINK = 7
    SYNC_DIRECTORY = 8


@dataclass
class Record:
    end: int  # where it ends in the journal
    kind: Kind
    inode: int
    offset: int
    path: str
    to: str
    data: bytes


@dataclass(eq=False)
class File:
    """`base`: where the content is as long as nothing has changed it."""

    base: Path | None = None
    now: bytearray = field(default_factory=bytearray)
    disk: bytearray = field(default_factory=bytearray)
    changed: set[int] = field(default_factory=set)

    def load(self) -> None:
        if self.base is not None:
            self.now = bytearray(self.base.read_bytes())
            self.disk = bytearray(self.now)
            self.base = None

    def write(self, offset: int, data: bytes) -> None:
        self.load()
        end = offset + len(data)
        if len(self.now) < end:
            self.now.extend(bytes(end - len(self.now)))
        self.now[offset:end] = data
        self.changed.update(range(offset // _PAGE, (end + _PAGE - 1) // _PAGE))

    def truncate(self, size: int) -> None:
        self.load()
        first, last = sorted((size, len(self.now)))
        if size < len(self.now):
            del self.now[size:]
        else:
            self.now.extend(bytes(size - len(self.now)))
        self.changed.update(range(first // _PAGE, (last + _PAGE - 1) // _PAGE))

    def sync(self) -> None:
        self.load()
        _resize(self.disk, len(self.now))
        for page in self.changed:
            _copy(self.now, self.disk, page * _PAGE, (page + 1) * _PAGE)
        self.changed.clear()

    def arrive(self, page: int) -> None:
        """The page comes to the disk by itself."""
        end = min((page + 1) * _PAGE, len(self.now))
        _resize(self.disk, max(len(self.disk), end))
        _copy(self.now, self.disk, page * _PAGE, end)
        self.changed.discard(page)

    def draw(self, chance: random.Random) -> bytes:
        """What may be found."""
        share = chance.choice(_SHARES)
        found = bytearray(self.disk)
        if len(found) != len(self.now) and chance.random() < share:
            least, most = sorted((len(found), len(self.now)))
            _resize(found, len(self.now) if chance.random() < 0.5 else chance.randint(least, most))
        for page in sorted(self.changed):
            if chance.random() >= share:
                continue
            is_torn = chance.random() < 1 / 16
            for begin in range(page * _PAGE, (page + 1) * _PAGE, _SECTOR):
                if not is_torn or chance.random() < 0.5:
                    _copy(self.now, found, begin, begin + _SECTOR)
        return bytes(found)


class Recording:
    """Lets a server that is not running write a journal from its next start on."""

    def __init__(self, directory: Path, server: Server) -> None:
        library = preload.built(_SHIM, directory)
        self.server = server
        self.journal = server.datadir.with_name(server.datadir.name + ".journal")
        self.journal.touch()
        self._base = server.datadir.with_name(server.datadir.name + ".base")
        shutil.copytree(server.datadir, self._base)
        self._inodes = {str(path.relative_to(server.datadir)): path.stat().st_ino
                        for path in server.datadir.rglob("*") if path.is_file()}
        server.environment |= {"LD_PRELOAD": str(library), "BASALT_JOURNAL": str(self.journal),
                               "BASALT_JOURNAL_ROOT": str(server.datadir)}

    def position(self) -> int:
        """How long the journal is now."""
        return self.journal.stat().st_size

    def disk(self, seed: int) -> Disk:
        return Disk(self._base, self._inodes, self.journal, seed)


class Disk:
    """See the module."""

    def __init__(self, base: Path, inodes: dict[str, int], journal: Path, seed: int) -> None:
        self._base = base
        self._journal = journal
        self._chance = random.Random(seed)
        self._files: dict[int, File] = {}
        self._names: dict[str, File] = {}
        for path, inode in inodes.items():
            self._names[path] = self._files.setdefault(inode, File(base / path))
        self._names_on_disk = dict(self._names)
        self._pending: list[Record] = []
        self._pending_files: list[File | None] = []
        self._records = self._read()
        self._end = 0

    def positions(self) -> list[int]:
        """Where the journal has syncs."""
        return [record.end for record in self._read()
                if record.kind in (Kind.SYNC, Kind.SYNC_DIRECTORY)]

    def go_to(self, position: int) -> None:
        """The machine does all that was done up to there."""
        while self._end < position:
            record = next(self._records, None)
            if record is None:
                return
            self._end = record.end
            self._apply(record)

    def write(self, directory: Path) -> None:
        """Makes what is found if the machine stops now."""
        names = dict(self._names_on_disk)
        share = self._chance.choice(_SHARES)
        others = sum(not change.path.startswith(_ENGINE) for change in self._pending)
        arriving = self._chance.randint(0, others)
        for change, file in zip(self._pending, self._pending_files, strict=True):
            if change.path.startswith(_ENGINE):
                arrives = self._chance.random() < share
            else:
                arrives = arriving > 0
                arriving -= 1
            if arrives:
                _rename(names, change, file)
        for path in self._base.rglob("*"):
            if path.is_dir():
                (directory / path.relative_to(self._base)).mkdir(parents=True, exist_ok=True)
        for name, file in names.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            if file.base is not None:
                shutil.copyfile(file.base, directory / name)
            else:
                (directory / name).write_bytes(file.draw(self._chance))

    def compare(self, directory: Path) -> list[str]:
        """How the files of a server that was killed differ from what the whole journal makes."""
        self.go_to(1 << 62)
        problems = []
        found = {str(path.relative_to(directory)): path for path in directory.rglob("*")
                 if path.is_file() and not path.name.startswith(_NOT_COMPARED)}
        for name, path in found.items():
            file = self._names.get(name)
            if file is None:
                problems.append(f"the journal does not know {name}")
            elif file.base is None and path.read_bytes() != file.now:
                problems.append(f"the journal has another {name}")
        problems += [f"the journal has {name}, which is gone" for name in self._names
                     if name not in found and not Path(name).name.startswith(_NOT_COMPARED)]
        return problems

    def _read(self) -> Iterator[Record]:
        with self._journal.open("rb") as file:
            while header := file.read(_RECORD.size):
                kind, path, to, _, inode, offset, size = _RECORD.unpack(header)
                paths = file.read(path).decode(), file.read(to).decode()
                data = file.read(size)
                yield Record(file.tell(), Kind(kind), inode, offset, *paths, data)

    def _apply(self, record: Record) -> None:
        if record.kind is Kind.WRITE:
            self._file(record.inode).write(record.offset, record.data)
        elif record.kind is Kind.TRUNCATE:
            self._file(record.inode).truncate(record.offset)
        elif record.kind is Kind.SYNC:
            self._file(record.inode).sync()
            self._sync_names("")
            self._let_something_arrive()
        elif record.kind is Kind.SYNC_DIRECTORY:
            self._sync_names(record.path)
        else:
            file = self._file_of_name(record)
            _rename(self._names, record, file)
            self._pending.append(record)
            self._pending_files.append(file)

    def _file(self, inode: int) -> File:
        return self._files.setdefault(inode, File())

    def _file_of_name(self, record: Record) -> File | None:
        if record.kind is Kind.CREATE:
            self._files[record.inode] = File()
            return self._files[record.inode]
        return None if record.kind is Kind.UNLINK else self._names.get(record.path)

    def _sync_names(self, directory: str) -> None:
        changes = list(zip(self._pending, self._pending_files, strict=True))
        self._pending, self._pending_files = [], []
        for change, file in changes:
            name = change.to or change.path
            if not name.startswith(_ENGINE) or os.path.dirname(name) == directory:
                _rename(self._names_on_disk, change, file)
            else:
                self._pending.append(change)
                self._pending_files.append(file)

    def _let_something_arrive(self) -> None:
        if self._chance.random() < 0.25:
            file = self._chance.choice(list(self._names.values()))
            if file.changed:
                file.arrive(self._chance.choice(sorted(file.changed)))


def _rename(names: dict[str, File], change: Record, file: File | None) -> None:
    if change.kind in (Kind.RENAME, Kind.UNLINK):
        names.pop(change.path, None)
    if file is not None:
        names[change.to or change.path] = file


def _resize(content: bytearray, size: int) -> None:
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


def _copy(source: bytearray, target: bytearray, begin: int, end: int) -> None:
    end = min(end, len(source), len(target))
    if begin < end:
        target[begin:end] = source[begin:end]
