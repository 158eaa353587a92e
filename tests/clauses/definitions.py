"""Every clause of CREATE and ALTER TABLE: it works, is refused, or is warned about.

Usage: ./basalt python tests/clauses/definitions.py [--only TEXT] [--verbose]

_clauses_*.py say for each alternative of the rules of MariaDB's grammar that define tables,
columns, keys, partitions and sequences what the engine makes of it. Here that is compared with

  - the grammar itself, sql/sql_yacc.yy in the source of the server: an alternative of these rules
    that the lists do not name fails the test, and so does one that the grammar does not have
  - what the statement does: its error, its warnings, and, where it works, the answers to queries
    that show its effect, which must be InnoDB's; an error leaves all tables as they were
  - the user guide: what is accepted in silence, without effect, InnoDB accepts so too, and the
    guide names it

The last line is "N passed, N failed".
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any

import pymysql

from basaltcli import layout
from tests.clauses._clause import Clause, Outcome
from tests.clauses._clauses_alter import ALTER, PARTITIONS
from tests.clauses._clauses_columns import COLUMNS, KEYS, TYPES
from tests.clauses._clauses_tables import CREATE
from tests.clauses._grammar import alternatives
from tests.support import workspace
from tests.support.workspace import Tally, Workspace

RULES = {**CREATE, **TYPES, **COLUMNS, **KEYS, **PARTITIONS, **ALTER}
# Rules of which only the alternatives about tables, indexes and sequences count.
_IN_PART = {"create": ("TABLE_SYM", "INDEX_SYM", "SEQUENCE_SYM"),
            "alter": ("TABLE_SYM", "SEQUENCE_SYM")}
_GUIDE = layout.ROOT / "docs" / "user-guide.md"
_DATABASE = "clauses"
_SCENE = (
    f"DROP DATABASE IF EXISTS {_DATABASE}", f"CREATE DATABASE {_DATABASE}", f"USE {_DATABASE}",
    "CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(20), KEY b (b))",
    "INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z')",
    "CREATE TABLE p (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) "
    "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
    "INSERT INTO p VALUES (1, 1), (11, 11)")

Condition = tuple[str, int]


class Session:
    """A connection whose tables are made in one engine."""

    def __init__(self, connection: pymysql.connections.Connection, engine: str) -> None:
        self._cursor = connection.cursor()
        self._engine = engine

    def prepare(self) -> None:
        self._cursor.execute(f"SET default_storage_engine={self._engine}")
        for statement in _SCENE:
            self._cursor.execute(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        self._cursor.execute(statement.replace("{engine}", self._engine))
        return list(self._cursor.fetchall())

    def judge(self, statement: str) -> tuple[int, list[Condition]]:
        """Its error, or 0, and its warnings and notes."""
        try:
            self.rows(statement)
            error = 0
        except pymysql.err.Error as raised:
            error = raised.args[0]
        return error, [(level, code) for level, code, _ in self.rows("SHOW WARNINGS")]

    def answers(self, queries: str) -> list[Any]:
        """What each query gives: rows without the engine's name, or the error."""
        given: list[Any] = []
        for query in statements(queries):
            try:
                given.append([tuple(str(value).replace(self._engine, "ENGINE") for value in row)
                              for row in self.rows(query)])
            except pymysql.err.Error as raised:
                given.append(f"error {raised.args[0]}: {raised.args[1]}")
        return given

    def everything(self) -> list[Any]:
        """Definitions and rows of all tables, a temporary one by the name n among them."""
        names = [name for (name,) in self.rows("SHOW TABLES")]
        queries = [f"SHOW CREATE TABLE `{name}`; SELECT * FROM `{name}`" for name in names]
        return self.answers("; ".join([*queries, "SHOW CREATE TABLE n"]))


def statements(text: str) -> list[str]:
    """The statements of a text. Semicolons within quotes are followed by no space."""
    return [part for part in re.split(r"; ", text) if part.strip()]


def judge(clause: Clause, ours: Session, innodb: Session) -> Iterator[str]:
    """What is not as the clause says."""
    *before, last = statements(clause.sql)
    for session in (ours, innodb):
        session.prepare()
        try:
            for statement in before:
                session.rows(statement)
        except pymysql.err.Error as error:
            yield f"cannot be tried: {error}"
            return
    state = ours.everything()
    number, conditions = ours.judge(last)
    if number != clause.code * (clause.outcome is Outcome.REFUSED):
        yield f"gives error {number}"
    elif clause.outcome is Outcome.REFUSED:
        if ours.everything() != state:
            yield "has changed something in spite of its error"
    elif clause.outcome is Outcome.WARNED:
        if clause.code not in [code for _, code in conditions]:
            yield f"gives the warnings {conditions}"
    else:
        yield from compare(clause, ours, innodb, last, conditions)


def compare(clause: Clause, ours: Session, innodb: Session, last: str,
            conditions: list[Condition]) -> Iterator[str]:
    """Differences from InnoDB after the judged statement."""
    expected = innodb.judge(last)
    if (0, conditions) != expected:
        yield f"gives the warnings {conditions}, InnoDB error and warnings {expected}"
        return
    here, there = ours.answers(clause.proof), innodb.answers(clause.proof)
    if here != there:
        yield f"shows {here}, InnoDB {there}"
    failed = [answer for answer in here if isinstance(answer, str)]
    if failed:
        yield f"cannot be proved: {failed}"
    if clause.outcome is Outcome.IDLE and not in_guide(clause.word):
        yield f"has no effect, and {_GUIDE.name} has no word {clause.word} in its table"


def in_guide(word: str) -> bool:
    """Whether the guide lists the word as a clause without effect that is accepted."""
    return any(line.endswith("accepted in silence, as InnoDB does |")
               and re.search(rf"\b{word}\b", line)
               for line in _GUIDE.read_text().splitlines())


def check_grammar(grammar: str) -> Iterator[str]:
    """Alternatives that only the grammar has, or only the lists."""
    rules = alternatives(grammar)
    for rule, clauses in RULES.items():
        named = {clause.alternative for clause in clauses}
        words = _IN_PART.get(rule)
        there = {alternative for alternative in rules.get(rule, [])
                 if words is None or set(words) & set(alternative.split())}
        yield from (f"no list names {rule}: {alternative}" for alternative in there - named)
        yield from (f"the grammar has no {rule}: {alternative}" for alternative in named - there)


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    problems = list(check_grammar(
        (work.release.source / "sql" / "sql_yacc.yy").read_text(encoding="utf-8")))
    for problem in problems:
        print(f"FAILED  {problem}", flush=True)
    passed, failed = int(not problems), len(problems)
    # Two servers: names of databases are in answers.
    servers = [work.server(name, options=["--innodb-flush-log-at-trx-commit=0"])
               for name in ("rocksdb", "innodb")]
    for server in servers:
        server.start()
    for rule, clauses in RULES.items():
        for clause in clauses:
            title = f"{rule}: {clause.sql}"
            if arguments.only not in title:
                continue
            # Connections of their own: a clause may change settings and leave temporary tables.
            with servers[0].connect() as ours, servers[1].connect() as innodb:
                found = list(judge(clause, Session(ours, "ROCKSDB"), Session(innodb, "InnoDB")))
            passed, failed = passed + (not found), failed + bool(found)
            if found or arguments.verbose:
                print(f"{'FAILED' if found else 'passed'}  {title}", flush=True)
            for problem in found:
                print(f"        {problem}", flush=True)
    for server in servers:
        server.stop()
    return Tally(passed, failed)


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--only", default="", help="only clauses whose rule or SQL has this text")
    parser.add_argument("--verbose", action="store_true", help="name what passes, too")
    return workspace.main("clauses", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
