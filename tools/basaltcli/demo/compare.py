"""Running everything on both engines, timing it, and comparing what comes back."""

from __future__ import annotations

import itertools
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import pymysql

from basaltcli import ui
from basaltcli.demo.engines import ENGINES, INNODB, ROCKSDB, Answer, Engine, Session
from basaltcli.demo.queries import Query
from basaltcli.demo.tables import PRIMARY_KEYS
from basaltcli.errors import BasaltError
from basaltcli.server import Server

# A first run warms both engines' caches; of the others the median counts.
_REPEATS = 3
_LONG = 2.0


@dataclass(frozen=True)
class Measured:
    """One query or change on both engines: seconds per statement, and whether they agree."""

    title: str
    seconds: dict[Engine, float]
    is_same: bool
    difference: str = ""


def run_reads(server: Server, queries: Sequence[Query]) -> list[Measured]:
    """Each query on both engines, in turn, several times."""
    return _run(server, queries, _REPEATS, f"Running {len(queries)} queries on both engines")


def run_writes(server: Server, queries: Sequence[Query]) -> list[Measured]:
    """Each change on both engines, once."""
    return _run(server, queries, 0, f"Running {len(queries)} changes on both engines")


def _run(server: Server, queries: Sequence[Query], repeats: int, title: str) -> list[Measured]:
    measured: list[Measured] = []
    with ui.progress(title) as bar:
        sessions = [Session(server, engine) for engine in ENGINES]
        for query in queries:
            measured.append(_measure(server, sessions, query, repeats))
            bar.update(len(measured), len(queries))
        for session in sessions:
            session.close()
    return measured


def _measure(server: Server, sessions: list[Session], query: Query, repeats: int) -> Measured:
    first = {session.engine: _answer(server, session, query) for session in sessions}
    if max(answer.seconds for answer in first.values()) > _LONG:
        repeats = min(repeats, 1)
    times: dict[Engine, list[float]] = {engine: [] for engine in ENGINES}
    for _ in range(repeats):
        sessions.reverse()
        for session in sessions:
            again = _answer(server, session, query)
            times[session.engine].append(again.seconds)
            if again.text != first[session.engine].text:
                return Measured(query.title, {}, False, f"{session.engine.name} gave two different "
                                + "answers: " + _difference(first[session.engine].text, again.text))
    seconds = {engine: statistics.median(times[engine] or [first[engine].seconds])
               / len(query.statements) for engine in ENGINES}
    is_same = first[INNODB].text == first[ROCKSDB].text
    return Measured(query.title, seconds, is_same,
                    "" if is_same else _difference(first[INNODB].text, first[ROCKSDB].text))


def _answer(server: Server, session: Session, query: Query) -> Answer:
    """The answer; an error message is one too, unless the server has gone."""
    try:
        if len(query.statements) > 1:
            return session.script(query.statements)
        return session.run(query.statements[0])
    except pymysql.err.MySQLError as error:
        if server.pid() is None:
            raise BasaltError(f"the server died while {session.engine.name} ran '{query.title}'",
                              f"its log says more: {server.log}") from error
        return Answer(f"error: {error}".encode(), 0.0)


def compare_tables(server: Server, when: str) -> list[Measured]:
    """Every row and every byte of both copies, in the order of the primary key."""
    found: list[Measured] = []
    with ui.progress(f"Comparing both engines' tables byte for byte, {when}") as bar:
        for number, (table, key) in enumerate(PRIMARY_KEYS.items(), 1):
            difference = _compare_table(server, f"SELECT * FROM {table} ORDER BY {key}")
            found.append(Measured(f"all rows of {table} {when}", {}, not difference, difference))
            bar.update(number, len(PRIMARY_KEYS))
    return found


def _compare_table(server: Server, sql: str) -> str:
    """What differs first; empty when nothing does."""
    clients = [subprocess.Popen(
        server.client_command("--batch", "--quick", "--default-character-set=utf8mb4",
                              engine.database, f"--execute={sql}"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE) for engine in (INNODB, ROCKSDB)]
    difference = ""
    try:
        left, right = (client.stdout for client in clients)
        assert left is not None and right is not None
        for number, (mine, other) in enumerate(itertools.zip_longest(left, right)):
            if mine != other:
                difference = f"row {number}: " + _difference(mine or b"(no row)",
                                                             other or b"(no row)")
                break
    finally:
        if difference:
            for client in clients:
                client.kill()
        failures = [client.communicate()[1].decode(errors="replace").strip() for client in clients]
    problems = [failure for failure in failures if failure]
    return "; ".join([difference, *problems] if difference else problems)


def _difference(mine: bytes, other: bytes) -> str:
    """The first line that differs, of InnoDB and of ROCKSDB."""
    for number, (left, right) in enumerate(itertools.zip_longest(mine.split(b"\n"),
                                                                 other.split(b"\n"))):
        if left != right:
            shown = [b"(nothing)" if line is None else line[:300] for line in (left, right)]
            return f"line {number + 1}: {shown[0]!r} and {shown[1]!r}"
    return ""
