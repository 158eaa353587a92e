"""Starts on damaged, missing and unreadable files.

Usage: ./basalt python tests/faults/startup.py

After kill -9 under load the files are changed, and the server started:

  - a WAL that ends in the middle of a record, in zeros or in garbage: it starts, nothing is lost
  - a WAL with a changed byte before its end: the engine does not start, with a text that names the
    file, the place and the remedy; rocksdb_accept_log_damage=ON starts it, without what follows
  - no CURRENT, a directory that is none, files that cannot be read or made: the text names the file
    and the cause. The server itself starts; with the files as they were, all is there
"""

from __future__ import annotations

import argparse
import errno
import shutil
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from basaltcli.errors import BasaltError
from tests.faults._bench import OPTIONS, Bench
from tests.faults._faults import Call, Faults, main_without_sanitizers
from tests.support import workspace
from tests.support.workspace import Tally, Workspace


class Startup:
    """A server that was killed, its files as the kill left them, and what is done to them."""

    def __init__(self, work: Workspace) -> None:
        self._faults = Faults(work.directory)
        self._server = work.server("data", options=OPTIONS, environment=self._faults.environment)
        self._bench = Bench(work, self._server, clients=8)
        self._files = self._server.datadir / "#rocksdb"
        self._saved = work.directory / "saved"
        self.passed = 0
        self.failed = 0

    def prepare(self) -> None:
        self._server.start()
        self._bench.prepare()
        self._crash()

    def _crash(self) -> None:
        self._bench.start_load()
        assert self._bench.wait_for_commits(300, 120), "no load"
        self.case("killed under load", self._bench.crash())
        shutil.rmtree(self._saved, ignore_errors=True)
        shutil.copytree(self._server.datadir, self._saved,
                        ignore=shutil.ignore_patterns("*.sock"))

    def _restore(self) -> None:
        shutil.rmtree(self._server.datadir)
        shutil.copytree(self._saved, self._server.datadir)
        self._bench.replay_from_start()

    def case(self, title: str, problems: Sequence[str]) -> None:
        print(f"{'FAILED' if problems else 'passed'}  {title}", flush=True)
        for problem in list(problems)[:10]:
            print(f"        {problem}", flush=True)
        self.passed += not problems
        self.failed += bool(problems)

    def _newest_log(self) -> Path:
        return max((path for path in self._files.glob("*.log") if path.stat().st_size > 0),
                   key=lambda path: int(path.stem))

    def starts(self, title: str, change: Callable[[], None]) -> None:
        """With the change the engine starts, and nothing is lost."""
        self._restore()
        change()
        try:
            self._server.start()
            problems = self._bench.check_data()
            self._server.kill()
        except BasaltError as error:
            problems = [str(error)]
        self.case(title, problems)

    def refuses(self, title: str, change: Callable[[], None], words: Sequence[str]) -> None:
        """With the change the engine does not start, its text has the words; the server does."""
        self._restore()
        change()
        log_size = self._server.log.stat().st_size
        problems: list[str] = []
        try:
            self._server.engine, options = False, self._server.options
            self._server.options = (*options, "--plugin-load-add=ha_rocksdb.so")
            self._server.start()
            if self._server.query("SELECT 1 FROM information_schema.ENGINES "
                                  "WHERE ENGINE = 'ROCKSDB'"):
                problems.append("the engine has started")
            lines = self._bench.log_lines(log_size, "cannot open")
            problems += [f"'{lines}' has no '{word}'" for word in words
                         if not lines or word not in lines[0]]
            self._server.kill()
        except BasaltError as error:
            problems.append(str(error))
        self._server.engine, self._server.options = True, options
        self._faults.heal()
        self.case(title, problems)

    def append_to_log(self, data: bytes) -> None:
        with self._newest_log().open("ab") as log:
            log.write(data)

    def change_log(self) -> None:
        path = self._newest_log()
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)

    def accept_damage(self) -> None:
        """The engine starts without what follows the damage; the tables are sound."""
        self._restore()
        self.change_log()
        options = self._server.options
        self._server.options = (*options, "--rocksdb-accept-log-damage=ON")
        try:
            self._server.start()
            problems = [line for line in self._bench.check_tables() if line]
            if not self._server.query("SELECT COUNT(*) FROM journal.history")[0][0]:
                problems.append("nothing is left")
            self._server.kill()
        except BasaltError as error:
            problems = [str(error)]
        self._server.options = options
        self.case("a changed byte, accepted", problems)

    def replace_directory(self) -> None:
        shutil.rmtree(self._files)
        self._files.write_text("")

    def run(self) -> None:
        # Header of a record of 1000 bytes, of which 50 were written.
        record = struct.pack("<IHB", 0x12345678, 1000, 1) + b"x" * 50
        self.starts("nothing changed", lambda: None)
        self.starts("a record without its end", lambda: self.append_to_log(record))
        self.starts("zeros", lambda: self.append_to_log(bytes(70_000)))
        self.starts("garbage", lambda: self.append_to_log(b"garbage" * 3000))
        self._restore()
        log = self._newest_log().name
        self.refuses("a changed byte", self.change_log,
                     (f"#rocksdb/{log}", "damaged at byte", "rocksdb_accept_log_damage"))
        self.accept_damage()
        self.refuses("no CURRENT", lambda: (self._files / "CURRENT").unlink(),
                     ("no file CURRENT", "MANIFEST", "backup"))
        self.refuses("an empty CURRENT", lambda: (self._files / "CURRENT").write_text("") and None,
                     ("CURRENT",))
        self.refuses("a file instead of the directory", self.replace_directory,
                     ("#rocksdb' is not a directory", "rocksdb_datadir"))
        self.refuses("files that cannot be made",
                     lambda: self._faults.set(Call.CREATE, "#rocksdb", errno.EACCES),
                     ("#rocksdb/", "Permission denied"))
        self.refuses("a WAL that cannot be read",
                     lambda: self._faults.set(Call.READ, ".log", errno.EIO),
                     (f"#rocksdb/{log}", "Input/output error"))
        self.refuses("a manifest that cannot be written",
                     lambda: self._faults.set(Call.WRITE, "MANIFEST", errno.ENOSPC),
                     ("#rocksdb/", "MANIFEST", "No space left on device", "free space"))
        self.starts("all as it was", lambda: None)


def run(work: Workspace, _: argparse.Namespace) -> Tally:
    test = Startup(work)
    test.prepare()
    test.run()
    return Tally(test.passed, test.failed)


def main() -> int:
    return main_without_sanitizers("startup", workspace.parser(__doc__).parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
