"""What a transaction has read with locks does not change while it lasts, whatever way it is read.

Usage: ./basalt python tests/isolation/phantoms.py [--seconds N] [--seed S] [--engine InnoDB]

A reader asks a random table a random question: at SERIALIZABLE, or at REPEATABLE READ with a
locking read, an UPDATE of the same rows, or INSERT ... SELECT. Another session then tries random
changes, each of which succeeds or is refused at once. Whatever succeeds must leave the answer as it
was, for a third session and in the end for the reader. A change that was refused though it would
not have changed the answer has been refused needlessly; these are counted.

Case k of seed S is what `--seed S+k --cases 1` runs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.isolation._queries import Scene
from tests.support import checks, workspace
from tests.support.workspace import Tally, Workspace

SECONDS = 12.0
_QUESTIONS = 6
_CHANGES = 6
_LOCKED = (ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK)
_REFUSED = (ER.DUP_ENTRY, 1034, 1176)
_OPTIONS = ("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync",
            "--debug-no-sync", "--loose-rocksdb-flush-log-at-trx-commit=0",
            "--loose-rocksdb-write-buffer-size=64K")
Row = tuple[object, ...]


class Phantom(Exception):
    """The reader's answer has changed."""


class Session:
    """A connection that can be told to give up at once."""

    def __init__(self, server: Server, database: str, level: str) -> None:
        self._connection = server.connect(database=database)
        self.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        self.run("SET innodb_lock_wait_timeout = 0, rocksdb_lock_wait_timeout = 0")

    def run(self, sql: str) -> list[Row]:
        """Rows in a determined order."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        return sorted(rows, key=repr)

    def tries(self, sql: str) -> int:
        """0, or the number of an error that may happen."""
        try:
            self.run(sql)
        except pymysql.err.Error as error:
            if error.args[0] in (*_LOCKED, *_REFUSED):
                return int(error.args[0])
            raise
        return 0

    def close(self) -> None:
        self._connection.close()


class PhantomTest:
    """Cases until the time is over."""

    def __init__(self, server: Server, engine: str) -> None:
        self._server = server
        self._engine = engine
        self.counts: Counter[str] = Counter()
        self.steps: list[str] = []

    def case(self, seed: int) -> None:
        """A table and some questions. Raises Phantom."""
        self.steps = []
        scene = Scene(seed, self._engine)
        chance = random.Random(f"{seed} how")
        self._server.query("CREATE DATABASE IF NOT EXISTS phantoms")
        writer = Session(self._server, "phantoms", chance.choice(("READ COMMITTED",
                                                                  "REPEATABLE READ")))
        readers = [Session(self._server, "phantoms", level)
                   for level in ("REPEATABLE READ", "SERIALIZABLE")]
        self._observer = Session(self._server, "phantoms", "READ COMMITTED")
        try:
            for sql in scene.setup():
                self._note("writer", sql)
                writer.run(sql)
            for sql in scene.settings():
                self._note("reader", sql)
                for reader in readers:
                    reader.run(sql)
            for _ in range(_QUESTIONS):
                self._question(scene, chance, readers, writer)
        finally:
            for session in (*readers, writer, self._observer):
                session.close()
        self.counts["cases"] += 1

    def _question(self, scene: Scene, chance: random.Random, readers: list[Session],
                  writer: Session) -> None:
        is_serializable = chance.random() < 0.4
        reader = readers[is_serializable]
        question = scene.query()
        asked = question
        if not is_serializable:
            asked = chance.choice(scene.locking(question))
        self._note("reader, SERIALIZABLE" if is_serializable else "reader", "BEGIN")
        reader.run("BEGIN")
        self._note("reader", asked)
        try:
            answer = self._observer.run(question)
            if reader.run(asked) != answer and asked.startswith("SELECT"):
                raise Phantom(f"the reader's answer is not {answer}")
        except pymysql.err.Error as error:
            reader.run("ROLLBACK")
            if error.args[0] in _REFUSED:
                return  # the hint does not go with the question
            raise
        self.counts["questions"] += 1
        refused = []
        for _ in range(_CHANGES):
            change = scene.change()
            self._note("writer", change)
            error_code = writer.tries(change)
            if error_code in _LOCKED:
                refused.append(change)
                self.steps[-1] += "  -- waits"
            elif error_code == 0:
                self.counts["changes beside"] += 1
                self._ask_again(self._observer, question, answer)
        if asked.startswith("SELECT"):
            self._ask_again(reader, asked, answer)
        reader.run("ROLLBACK")
        self._note("reader", "ROLLBACK")
        for change in refused:
            self._count_refused(writer, question, answer, change)

    def _ask_again(self, who: Session, question: str, answer: list[Row]) -> None:
        again = who.run(question)
        if again != answer:
            self._note("reader" if who is not self._observer else "observer", question)
            raise Phantom(f"the answer was {answer}\nand then {again}")

    def _count_refused(self, writer: Session, question: str, answer: list[Row],
                       change: str) -> None:
        """Whether the change would have changed the answer; it is undone."""
        writer.run("BEGIN")
        if writer.tries(change) == 0:
            is_needless = writer.run(question) == answer
            self.counts["needlessly refused" if is_needless else "rightly refused"] += 1
        writer.run("ROLLBACK")

    def _note(self, who: str, sql: str) -> None:
        self.steps.append(f"{who}: {sql}")


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """Cases until the time is over, or until three have failed."""
    server = work.server("data", options=_OPTIONS)
    server.start()
    test = PhantomTest(server, arguments.engine)
    deadline = time.monotonic() + arguments.seconds
    failed, number = 0, 0
    while number < arguments.cases if arguments.cases else time.monotonic() < deadline:
        seed = arguments.seed + number
        number += 1
        try:
            test.case(seed)
        except (Phantom, pymysql.err.Error) as error:
            failed += 1
            print(f"seed {seed}: {error}\n  " + "\n  ".join(test.steps), flush=True)
            if failed == arguments.failures:
                break
    problems = checks.engine_errors(server)
    print(*problems, sep="\n")
    print(", ".join(f"{count} {name}" for name, count in sorted(test.counts.items())))
    server.stop()
    return Tally(number - failed, failed + len(problems))


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="(default: %(default)s)")
    parser.add_argument("--cases", type=int, default=0, help="instead of a time")
    parser.add_argument("--failures", type=int, default=3, help="stop after so many")
    workspace.add_seed(parser)
    parser.add_argument("--engine", choices=("ROCKSDB", "InnoDB"), default="ROCKSDB")
    return workspace.main("phantoms", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
