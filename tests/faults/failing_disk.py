"""Lets the disk fail under load, in every way and for every file of the engine.

Usage: ./basalt python tests/faults/failing_disk.py [--long] [--only TEXT]

Calls of the system fail by a library in LD_PRELOAD (_shim.c): writes, torn or not, syncs, creation
and renaming of files, for the WAL, data files, the manifest and CURRENT, with EIO and ENOSPC. Each
case, with clients that write and a binary log:

  - the engine turns read-only; later writes fail at once, with a text that names file and cause and
    the remedy, also in the error log, there once
  - reads go on, and transactions of InnoDB; nothing hangs, and the server does not die
  - while the cause is there, rocksdb_resume fails; when it is gone, it succeeds and load goes on
  - after kill -9 and a restart every acknowledged commit is there, none that failed, and the binary
    log agrees (tests/support/journal.py); CHECK TABLE is clean
  - the same when the server is killed, or stopped, before a resume (--long: for every case)
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import sys
import time
from dataclasses import dataclass

import pymysql

from tests.faults._bench import OPTIONS, Bench
from tests.faults._faults import Call, Faults, main_without_sanitizers
from tests.support import workspace
from tests.support.workspace import Tally, Workspace

_CAUSES = {errno.EIO: "Input/output error", errno.ENOSPC: "No space left on device",
           errno.EDQUOT: "Disk quota exceeded"}


@dataclass(frozen=True)
class Case:
    """What fails. `needs_flush`: only when memtables are written to files; the test does that."""

    name: str
    calls: Call
    part: str
    cause: int = errno.EIO
    is_torn: bool = False
    skipped: int = 0
    needs_flush: bool = False
    has_all_ends: bool = False


# How the outage ends; then the server is killed, and started on a sound disk.
ENDS = ("resumed", "killed", "stopped")


CASES = (
    Case("write of the log", Call.WRITE, ".log"),
    Case("write of the log, device full, torn", Call.WRITE, ".log", errno.ENOSPC, is_torn=True,
         skipped=7),
    Case("write of the log, quota", Call.WRITE, ".log", errno.EDQUOT, skipped=3),
    Case("sync of the log", Call.SYNC, ".log", has_all_ends=True),
    Case("sync of the log, device full", Call.SYNC, ".log", errno.ENOSPC, skipped=5),
    Case("sync and truncation of the log", Call.SYNC | Call.TRUNCATE, ".log"),
    Case("write of a data file", Call.WRITE, ".sst", needs_flush=True),
    Case("write of a data file, device full", Call.WRITE, ".sst", errno.ENOSPC, is_torn=True,
         needs_flush=True),
    Case("sync of a data file", Call.SYNC, ".sst", needs_flush=True),
    Case("creation of a data file", Call.CREATE, ".sst", errno.ENOSPC, needs_flush=True),
    Case("write of the manifest", Call.WRITE, "MANIFEST", errno.ENOSPC, is_torn=True,
         needs_flush=True, has_all_ends=True),
    Case("sync of the manifest", Call.SYNC, "MANIFEST", needs_flush=True, has_all_ends=True),
    Case("all writes", Call.WRITE, "#rocksdb", errno.ENOSPC),
    Case("all calls", Call.WRITE | Call.SYNC | Call.CREATE | Call.RENAME | Call.TRUNCATE,
         "#rocksdb"),
)


class FailingDisk:
    """The server, its load, its faults."""

    def __init__(self, work: Workspace) -> None:
        self._faults = Faults(work.directory)
        self._server = work.server("data", options=OPTIONS, environment=self._faults.environment)
        self._bench = Bench(work, self._server, clients=8, spills=True)

    def prepare(self) -> None:
        self._server.start()
        self._bench.prepare()

    def run(self, case: Case, end: str) -> list[str]:
        """One case from a running server to a running server."""
        bench = self._bench
        log_size = self._server.log.stat().st_size
        bench.start_load()
        problems = [] if bench.wait_for_commits(20, 120) else ["no load"]
        self._faults.set(case.calls, case.part, case.cause, is_torn=case.is_torn,
                         skipped=case.skipped)
        if case.needs_flush:
            problems += self._fail_flush()
        if not bench.wait_for_state(("read-only",), 120):
            problems.append(f"not read-only, after {self._faults.failures()} failed calls")
        else:
            problems += bench.check_read_only((_CAUSES[case.cause], "#rocksdb/"))
        lines = bench.log_lines(log_size, "read-only now")
        if len(lines) != 1 or _CAUSES[case.cause] not in lines[0]:
            problems.append(f"the error log has {lines}")
        if end == "resumed":
            problems += self._resume(case)
        problems += bench.stop() if end == "stopped" else bench.crash()
        self._faults.heal()
        self._server.start()
        problems += bench.check_data()
        problems += bench.check_texts()
        bench.load.refused.clear()
        if bench.state() != "writable":
            problems.append(f"after a restart the state is {bench.state()}")
        return problems

    def _fail_flush(self) -> list[str]:
        """OPTIMIZE writes what is in memory to files; it must fail, and say so."""
        # Clients may have had all that they wrote flushed, as they committed files.
        with contextlib.suppress(pymysql.err.Error):
            self._server.query("REPLACE INTO other.flushed VALUES (1)")
        rows = self._server.query("OPTIMIZE TABLE journal.t1")
        if any("#rocksdb" in str(row[3]) for row in rows):
            return []
        return [f"OPTIMIZE: {rows}"]

    def _resume(self, case: Case) -> list[str]:
        problems: list[str] = []
        try:
            self._server.query("SET GLOBAL rocksdb_resume = ON")
            problems.append("resumed although the disk still fails")
        except pymysql.err.Error as error:
            if _CAUSES[case.cause] not in str(error) and "#rocksdb" not in str(error):
                problems.append(f"rocksdb_resume failed with: {error}")
        self._faults.heal()
        problems += self._bench.resume()
        if not self._bench.wait_for_commits(50, 120):
            problems.append("the load does not go on")
        return problems


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All cases, on one server; up to the first that fails."""
    test = FailingDisk(work)
    test.prepare()
    passed = 0
    for case in CASES:
        if arguments.only not in case.name:
            continue
        for end in ENDS:
            if end != "resumed" and not arguments.long and not case.has_all_ends:
                continue
            started = time.monotonic()
            problems = test.run(case, end)
            print(f"{'FAILED' if problems else 'passed'}  {case.name}, {end} "
                  f"({time.monotonic() - started:.1f} s)", flush=True)
            for problem in problems[:15]:
                print(f"        {problem}", flush=True)
            if problems:
                return Tally(passed, 1)
            passed += 1
    return Tally(passed, 0)


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--long", action="store_true",
                        help="all ends for every case")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="only cases whose names contain this")
    return main_without_sanitizers("faults", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
