"""Random transactions of many clients, with kills of the server: no anomaly that a level forbids.

Usage: ./basalt python tests/isolation/history.py [--seconds N] [--clients N] [--level L ...]
                                                  [--no-binlog]
       ./basalt python tests/isolation/history.py --check FILE

At each level clients run transactions that read and extend lists and sets (_workload.py), while
the server is ended with SIGKILL and started again. The history of what they saw, and the tables in
the end, go to the checker (_checker.py), which knows what must not happen at the level. Anomalies
that the level allows are counted, so that one sees that the load can show them. Tables are checked
after each end of the server. A level that fails leaves its history in a file.

--engine InnoDB tests that instead: what is found there is the checker's or InnoDB's.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

from basaltcli.server import Server
from tests.isolation._checker import Anomaly, check, forbidden
from tests.isolation._history import Fate, History, load, save
from tests.isolation._workload import LEVEL_NAMES, Workload
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

SECONDS = 2.5
CLIENTS = 16
KILL_EVERY_SECONDS = 8.0
_SHOWN = 2
_BINLOG = ("--log-bin=binlog", "--sync-binlog=1", "--binlog-format=ROW", "--server-id=1")
_OPTIONS = ("--innodb-flush-log-at-trx-commit=1", "--loose-rocksdb-flush-log-at-trx-commit=1",
            "--loose-rocksdb-write-buffer-size=256K", "--max-connections=200")


class LevelTest:
    """One level: the load, the kills, the verdict."""

    def __init__(self, work: Workspace, server: Server, level: str,
                 arguments: argparse.Namespace) -> None:
        self._work = work
        self._server = server
        self._level = level
        self._seconds: float = arguments.seconds
        self._kills: int = arguments.kills
        self._chance = random.Random(f"{arguments.seed} {level}")
        self._workload = Workload(server, arguments.engine, level, arguments.clients,
                                  arguments.seed)
        self.problems: list[str] = []

    def run(self) -> bool:
        """Whether all is well."""
        log_size = self._server.log.stat().st_size
        self._workload.start()
        kills = self._kills if self._kills >= 0 else max(
            1, int(self._seconds / KILL_EVERY_SECONDS))
        for _ in range(kills):
            before = self._chance.uniform(0.4, 0.9)
            time.sleep(self._seconds / kills * before)
            self._crash()
            time.sleep(self._seconds / kills * (1 - before))
        if not kills:
            time.sleep(self._seconds)
        self._workload.stop()
        self.problems += self._workload.problems
        self.problems += self._workload.table_problems()
        self.problems += checks.engine_errors(self._server, log_size)
        history = self._workload.history()
        found = check(history)
        bad = forbidden(self._level, found)
        self._show(history, found, bad, kills)
        if bad:
            print(*self._workload.tables, sep="\n")
            path = self._work.directory / f"history-{self._level}"
            save(history, path)
            print(f"the history is in {path}; judge it with --check")
        for problem in self.problems[:10]:
            print(f"  {problem}", flush=True)
        return not bad and not self.problems

    def _crash(self) -> None:
        self._server.kill()
        self._server.start()
        if self._server.query("XA RECOVER"):
            self.problems.append("transactions stay prepared after the restart")

    def _show(self, history: History, found: list[Anomaly], bad: list[Anomaly],
              kills: int) -> None:
        show(history, found, bad)
        print(f"  kills: {kills}", flush=True)


def show(history: History, found: list[Anomaly], bad: list[Anomaly]) -> None:
    """What a history came to."""
    fates = Counter(each.fate for each in history.transactions)
    reads = sum(len(each.reads) for each in history.transactions)
    kinds = Counter(each.kind for each in found if each not in bad)
    allowed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
    print(f"{history.level}: {fates[Fate.COMMITTED]} committed, {fates[Fate.ABORTED]} aborted, "
          f"{fates[Fate.UNKNOWN]} in doubt; {reads} reads of {len(history.final)} objects; "
          f"allowed anomalies: {allowed}; forbidden: {len(bad)}")
    for kind, count in sorted(Counter(each.kind for each in bad).items()):
        print(f"  {count} of {kind}, the first:")
        for each in [each for each in bad if each.kind == kind][:_SHOWN]:
            print("    " + each.report().replace("\n", "\n    "))


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """The chosen levels, one after the other."""
    server = work.server("data", options=(*_OPTIONS, *(_BINLOG if arguments.binlog else ())))
    server.start()
    results = [LevelTest(work, server, level, arguments).run()
               for level in arguments.level or LEVEL_NAMES]
    server.stop()
    return Tally(results.count(True), results.count(False))


def check_file(path: Path) -> int:
    """Judges a history that was kept."""
    history = load(path)
    found = check(history)
    bad = forbidden(history.level, found)
    show(history, found, bad)
    return 1 if bad else 0


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS,
                        help="load at each level (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="(default: %(default)s)")
    parser.add_argument("--kills", type=int, default=-1,
                        help="kills under load at each level; default: one every "
                             f"{KILL_EVERY_SECONDS:.0f} s, at least one")
    parser.add_argument("--level", nargs="*", choices=LEVEL_NAMES, help="default: all")
    parser.add_argument("--engine", choices=("ROCKSDB", "InnoDB"), default="ROCKSDB")
    parser.add_argument("--binlog", action=argparse.BooleanOptionalAction, default=True,
                        help="with a synced binary log (default: %(default)s)")
    workspace.add_seed(parser)
    parser.add_argument("--check", type=Path, metavar="FILE", help="judge a history that was kept")
    arguments = parser.parse_args()
    if arguments.check:
        return check_file(arguments.check)
    return workspace.main("history", arguments, run)


if __name__ == "__main__":
    sys.exit(main())
