"""Fills the engine's device under load: a real file system, on a small loop device.

Usage: ./basalt python tests/faults/full_device.py [--long]

The engine's directory is on an ext4 of 200 MB, which needs root and a loop device; without them
the test is skipped and says so. With clients that write and a binary log (elsewhere):

  - a table is rebuilt in place, and by a copy, that has no room to be there twice: the statement
    fails, the table is as it was, and the space comes back
  - a table grows until the reserve is reached: rows are refused with a text that says so, the rest
    goes on; when space comes back, so do writes, by themselves
  - the device is filled to the last byte: the engine turns read-only, with the file's name; after
    space is made and rocksdb_resume it goes on
  - kill -9 on the full device: a start says what is missing; with space it starts, and every
    acknowledged commit is there, the binary log agrees, CHECK TABLE is clean
  - on a file system that is mounted read-only the start says so

--long: five times.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pymysql
from pymysql.constants import ER

from basaltcli.errors import BasaltError
from tests.faults._bench import OPTIONS, Bench
from tests.support import checks, workspace
from tests.support.load import is_connection_lost
from tests.support.workspace import Tally, Workspace

_DEVICE_MIB = 200
_BALLAST_MIB = 60
_REBUILT_MIB = 60
_NO_SPACE = "No space left on device"


class Skipped(Exception):
    """The test cannot run here."""


class LoopDevice:
    """An ext4 in a file, mounted."""

    def __init__(self, directory: Path) -> None:
        self._image = directory / "device.img"
        self.mount = directory / "device"
        self.mount.mkdir()
        if os.geteuid() != 0:
            raise Skipped("not root")
        with self._image.open("wb") as image:
            image.truncate(_DEVICE_MIB << 20)
        self._run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        self._run("mount", "-o", "loop", str(self._image), str(self.mount))

    def remount(self, option: str) -> None:
        self._run("mount", "-o", f"remount,{option}", str(self.mount))

    def close(self) -> None:
        subprocess.run(["umount", str(self.mount)], check=False, capture_output=True)

    def take(self, name: str, size: int | None = None) -> int:
        """Makes a file of `size` bytes; without, one that takes what is left. Its size."""
        chunk = os.urandom(1 << 16)
        written = 0
        try:
            with (self.mount / name).open("wb", buffering=0) as file:
                while size is None or written < size:
                    written += file.write(chunk)
                os.fsync(file.fileno())
        except OSError:
            if size is not None:
                raise
        return written

    def free(self) -> int:
        """Bytes that are free."""
        space = os.statvfs(self.mount)
        return space.f_bavail * space.f_frsize

    def give(self, *names: str) -> None:
        """Removes files."""
        for name in names:
            (self.mount / name).unlink(missing_ok=True)

    @staticmethod
    def _run(*command: str) -> None:
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True)
        except OSError as error:
            raise Skipped(f"{command[0]}: {error}") from error
        if done.returncode != 0:
            raise Skipped(f"{' '.join(command)}: {done.stderr.strip()}")


class FullDevice:
    """The server, its load and its device."""

    def __init__(self, work: Workspace, device: LoopDevice) -> None:
        self._device = device
        self._server = work.server(
            "data", options=(*OPTIONS, f"--rocksdb-datadir={device.mount}/#rocksdb"))
        self._bench = Bench(work, self._server, clients=8)
        self._taken: list[str] = []
        self.problems: list[str] = []

    def prepare(self) -> None:
        self._device.take("ballast", _BALLAST_MIB << 20)
        self._server.start()
        self._bench.prepare()
        self._bench.run_unlogged(
            "CREATE DATABASE filler",
            "CREATE TABLE filler.f (id INT AUTO_INCREMENT PRIMARY KEY, b MEDIUMBLOB, "
            "n INT NOT NULL DEFAULT 1) ENGINE=ROCKSDB")

    def expect(self, is_so: bool, text: str) -> None:
        if not is_so:
            self.problems.append(text)

    def rebuild_without_room(self) -> None:
        """Statements that need as much again as the table has, and less is free."""
        chance = random.Random(2)
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0")
            for _ in range(_REBUILT_MIB // 4):
                cursor.execute("INSERT INTO filler.f (b) VALUES (%s), (%s), (%s), (%s)",
                               [chance.randbytes(1 << 20) for _ in range(4)])
                # What the WAL has of it comes back.
                cursor.execute("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
        # Files that are replaced go when nobody reads them any more.
        time.sleep(3)
        self._device.take("rest", self._device.free() - ((_REBUILT_MIB - 14) << 20))
        checksum = "SELECT COUNT(*), SUM(CRC32(b)) FROM filler.f"
        expected = self._server.query(checksum)
        for change in ("FORCE, ALGORITHM=INPLACE", "DROP PRIMARY KEY, ADD PRIMARY KEY (id, n), "
                       "ALGORITHM=INPLACE", "FORCE, ALGORITHM=COPY"):
            free = self._device.free()
            try:
                self._server.query(f"ALTER TABLE filler.f {change}")
                self.expect(False, f"there is room for {change}")
            except pymysql.err.Error as error:
                self.expect(error.args[0] == ER.RECORD_FILE_FULL, f"{change}: {error}")
            self.expect(self._bench.wait_for_state(("writable",), 20),
                        f"{change}: {self._bench.state()} with {self._device.free()} bytes free")
            for _ in range(100):
                if self._device.free() > free - (8 << 20):
                    break
                time.sleep(0.2)
            self.expect(self._device.free() > free - (8 << 20),
                        f"{change}: {free} bytes were free, then {self._device.free()}")
            self.expect(self._server.query(checksum) == expected, f"{change}: other rows")
        self.problems += checks.check_tables(self._server)
        self._bench.run_unlogged("TRUNCATE TABLE filler.f")
        self._device.give("rest")

    def grow_to_reserve(self) -> None:
        """A table grows until it may not."""
        self._bench.start_load()
        filler = threading.Thread(target=self._fill, daemon=True)
        filler.start()
        states = ("low on space", "read-only")
        self.expect(self._bench.wait_for_state(states, 120), "the device does not get full")
        filler.join(120)
        self.expect(not filler.is_alive(), "an insert hangs")
        self.expect(self._bench.state() == "low on space",
                    f"state {self._bench.state()}: {self._bench.status('Rocksdb_state_cause')}")
        self.problems += self._bench.check_refused_rows("reserve")
        self._bench.run_unlogged("TRUNCATE TABLE filler.f")
        self._device.give("ballast")
        self.expect(self._bench.wait_for_state(("writable",), 120), "does not go on with space")
        self.expect(self._bench.wait_for_commits(50, 120), "the load does not go on")

    def _fill(self) -> None:
        chance = random.Random(1)
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0")
            try:
                while True:
                    cursor.execute("INSERT INTO filler.f (b) VALUES (%s), (%s), (%s)",
                                   [chance.randbytes(200_000) for _ in range(3)])
            except pymysql.err.Error as error:
                # The server may be killed before it has refused a row.
                if not is_connection_lost(error):
                    self._bench.load.refused[f"{error.args[0]} {error.args[1]}"] += 1

    def fill_to_the_last_byte(self) -> None:
        """Somebody else takes all the space."""
        self._server.query("SET GLOBAL rocksdb_reserved_disk_space = 1024")
        # What the engine itself removes comes back to it, and its WAL has space in advance.
        threading.Thread(target=self._fill, daemon=True).start()
        for _ in range(100):
            self._take_what_is_left()
            if self._bench.wait_for_state(("read-only",), 1):
                break
            # The WAL may have room, and rows are refused before they need more: a flush does.
            with contextlib.suppress(pymysql.err.Error):
                self._server.query("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
        self.expect(self._bench.state() == "read-only", "not read-only")
        self.problems += self._bench.check_read_only((_NO_SPACE, "#rocksdb/"))
        # Files that the engine had replaced go when nobody reads them any more. With their space it
        # could rightly be resumed.
        for _ in range(20):
            time.sleep(1.5)
            if self._take_what_is_left() == 0:
                return
        self.expect(False, "the read-only engine gives space back for ever")

    def _take_what_is_left(self) -> int:
        """Takes all space that is free, in bytes."""
        self._taken.append(f"last{len(self._taken)}")
        return self._device.take(self._taken[-1])

    def _give_what_was_taken(self) -> None:
        self._device.give(*self._taken)
        self._taken.clear()

    def resume(self) -> None:
        for _ in range(3):
            try:
                self._server.query("SET GLOBAL rocksdb_resume = ON")
            except pymysql.err.Error as error:
                self.expect(_NO_SPACE in str(error), f"rocksdb_resume: {error}")
                break
            # Something may have given space back at this moment: then it was right.
            self.fill_to_the_last_byte()
        else:
            self.expect(False, "resumed on a full device")
        self._give_what_was_taken()
        self.problems += self._bench.resume()
        self.expect(self._bench.wait_for_commits(50, 120), "the load does not go on after a resume")

    def crash_on_full_device(self) -> None:
        self.problems += self._bench.crash()
        options = self._server.options
        # Without the engine the server would decide what to do with its prepared transactions.
        self._server.options = (*options, "--rocksdb=FORCE")
        log_size = self._server.log.stat().st_size
        try:
            self._server.start()
            self.problems += self._bench.crash()
        except BasaltError:
            lines = self._bench.log_lines(log_size, "cannot open")
            self.expect(bool(lines) and _NO_SPACE in lines[0] and "#rocksdb" in lines[0],
                        f"start on a full device: {lines}")
        self._server.options = options
        self._give_what_was_taken()
        self.start_and_check()

    def start_read_only(self) -> None:
        """The device is mounted read-only, as Linux does after errors."""
        self.problems += self._bench.crash()
        self._device.remount("ro")
        log_size = self._server.log.stat().st_size
        options = self._server.options
        self._server.options = (*options, "--rocksdb=FORCE")
        try:
            self._server.start()
            self.expect(False, "started on a file system that is mounted read-only")
        except BasaltError:
            lines = self._bench.log_lines(log_size, "cannot open")
            self.expect(bool(lines) and "mounted read-only" in lines[0],
                        f"start on a file system that is mounted read-only: {lines}")
        self._server.options = options
        self._device.remount("rw")
        self.start_and_check()

    def start_and_check(self) -> None:
        self._server.start()
        self.problems += self._bench.check_data()
        self.problems += self._bench.check_texts()
        self._bench.load.refused.clear()

    def round(self) -> int:
        """All steps, up to the first that fails; how many passed."""
        passed = 0
        for title, step in (
                ("tables are rebuilt without room", self.rebuild_without_room),
                ("a table grows to the reserve", self.grow_to_reserve),
                ("the device is full", self.fill_to_the_last_byte),
                ("space and a resume", self.resume),
                ("the device is full again", self.fill_to_the_last_byte),
                ("killed and started on the full device", self.crash_on_full_device),
                ("started on a device that is mounted read-only", self._load_and_start_read_only)):
            step()
            print(f"{'FAILED' if self.problems else 'passed'}  {title}", flush=True)
            for problem in self.problems[:15]:
                print(f"        {problem}", flush=True)
            if self.problems:
                break
            passed += 1
        return passed

    def _load_and_start_read_only(self) -> None:
        self._bench.start_load()
        self.expect(self._bench.wait_for_commits(50, 120), "no load")
        self.start_read_only()
        self._device.take("ballast", _BALLAST_MIB << 20)


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """Rounds on one device."""
    device: LoopDevice | None = None
    server = None
    try:
        device = LoopDevice(work.directory)
        test = FullDevice(work, device)
        server = test._server
        test.prepare()
        passed = 0
        for _ in range(5 if arguments.long else 1):
            passed += test.round()
            if test.problems:
                return Tally(passed, 1)
        return Tally(passed, 0)
    except Skipped as reason:
        print(f"skipped: needs root and a loop device: {reason}")
        return Tally(0, 0)
    finally:
        if server is not None:
            server.kill()
        if device is not None:
            device.close()


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--long", action="store_true", help="five times")
    return workspace.main("device", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
