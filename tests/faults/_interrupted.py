"""Statements that make files and do not come to their end: the disk fails, or a KILL comes."""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pymysql

from basaltcli.server import Server
from tests.faults._faults import Call, Faults

_QUERY_INTERRUPTED = 1317
_ERROR_TEXTS = {errno.EIO: "Input/output error", errno.ENOSPC: "No space left on device"}


class Failure(NamedTuple):
    """Which calls fail on files that a statement makes, why, and how many succeed before."""

    calls: Call
    cause: int
    skipped: int = 0


FAILURES = {
    "write": Failure(Call.WRITE, errno.EIO),
    "write, device full": Failure(Call.WRITE, errno.ENOSPC, 2),
    "sync": Failure(Call.SYNC, errno.EIO),
    "creation": Failure(Call.CREATE, errno.ENOSPC),
    "creation of the second file": Failure(Call.CREATE, errno.EIO, 1),
}


class Obstacle(NamedTuple):
    """What keeps files from becoming part of the database, though they are whole."""

    calls: Call
    part: str
    skipped: int = 0


# Before a commit is written files get names in the database, of numbers, which the manifest is
# told of, and are synced there; behind it the manifest is told of the files.
BEFORE_COMMIT = {"writes of the manifest fail": Obstacle(Call.WRITE, "MANIFEST"),
                 "syncs of the manifest fail": Obstacle(Call.SYNC, "MANIFEST"),
                 "syncs of the files fail": Obstacle(Call.SYNC, "#rocksdb/0*.sst")}
BEHIND_COMMIT = {"writes of the manifest fail": Obstacle(Call.WRITE, "MANIFEST", skipped=1),
                 "syncs of the manifest fail": Obstacle(Call.SYNC, "MANIFEST", skipped=1)}


def fail(faults: Faults, failure: Failure, folder: str,
         statement: Callable[[], object]) -> list[str]:
    """The statement while calls on files of `folder` fail: its error must name file and cause.

    All calls succeed again afterwards.
    """
    faults.set(failure.calls, f"/{folder}/", failure.cause, skipped=failure.skipped)
    problems = ["nothing failed"]
    try:
        statement()
    except pymysql.err.Error as error:
        text = str(error)
        expected = f"/{folder}/" in text and _ERROR_TEXTS[failure.cause] in text
        problems = [] if expected else [f"the text: {text}"]
    faults.heal()
    return problems


def kill(server: Server, statements: Sequence[str], seconds: float) -> list[str]:
    """The statements of one session, killed after some time, unless they have ended by then."""
    problems: list[str] = []

    def execute(connection: pymysql.Connection) -> None:
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        except pymysql.err.Error as error:
            if error.args[0] != _QUERY_INTERRUPTED:
                problems.append(f"killed: {error}")

    with server.connect() as connection:
        client = threading.Thread(target=execute, args=(connection,))
        client.start()
        time.sleep(seconds)
        server.query(f"KILL QUERY {connection.thread_id()}")
        client.join()
    return problems


def left_over(server: Server, folder: str) -> list[str]:
    """A problem if there are files in `folder`, where the engine makes them."""
    left = list((server.datadir / "#rocksdb" / folder).glob("*"))
    return [f"left over: {left}"] if left else []


@contextlib.contextmanager
def files_kept_out(server: Server, faults: Faults, obstacle: Obstacle,
                   problems: list[str]) -> Iterator[None]:
    """Meanwhile no file becomes part of the database; nobody but who wants that is to meet it."""
    server.query("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
    server.query("SET GLOBAL rocksdb_pause_background_work = ON")
    faults.set(obstacle.calls, obstacle.part, skipped=obstacle.skipped)
    yield
    if not faults.failures():
        problems.append("nothing failed")
    faults.heal()


def refused(execute: Callable[[], object]) -> list[str]:
    """What is to fail because of an obstacle before its commit is written."""
    try:
        execute()
    except pymysql.err.Error as error:
        return [] if _ERROR_TEXTS[errno.EIO] in str(error) else [f"the text: {error}"]
    return ["it is committed"]


def check_read_only(server: Server) -> list[str]:
    """To be asked where a transaction is committed that keeps its locks, and that nobody sees."""
    state, cause = (server.query(f"SHOW GLOBAL STATUS LIKE 'Rocksdb_state{name}'")[0][1]
                    for name in ("", "_cause"))
    if state != "read-only":
        return [f"a commit is not completed, and the engine is {state}"]
    return [] if _ERROR_TEXTS[errno.EIO] in cause else [f"the cause is '{cause}'"]


def go_on(server: Server, restarts: bool) -> None:
    """After files_kept_out(): by a crash and a start, or by a resume."""
    if restarts:
        server.kill()
        server.start()
    else:
        server.query("SET GLOBAL rocksdb_pause_background_work = OFF")
        server.query("SET GLOBAL rocksdb_resume = ON")
