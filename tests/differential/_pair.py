"""Two connections to one server, which differ in database and engine only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from socket import SHUT_RDWR
from typing import Any

import pymysql

from basaltcli.server import Server
from tests.support.watchdog import Watchdog

Row = tuple[bytes | None, ...]

# Names of equal length, which nothing else in messages looks like.
_DATABASES = {"InnoDB": "db_innodb", "ROCKSDB": "db_rocksd"}
_DATABASE = re.compile(r"db_(?:innodb|rocksd)")
_DATABASE_BYTES = re.compile(rb"db_(?:innodb|rocksd)")
_ENGINE_BYTES = re.compile(rb"ENGINE=(?:InnoDB|ROCKSDB)")
# Stands in statements for the side's own database, where a name has to be one side's only.
OWN = "db_side"
_TEMPORARY_NAME = re.compile(r"#sql[-\w]*")
_GONE = (2006, 2013, 2014, 2055)
_ANSWER_TIMEOUT = 120


class ServerGone(Exception):
    """The server ended, or did not answer in time."""


class Overrun(Exception):
    """A statement did not end, or took all memory."""


@dataclass
class Answer:
    """All that came back for a statement. Names of databases and engines are made equal."""

    error: int = 0
    message: str = ""
    columns: list[tuple[str, int]] | None = None
    rows: list[Row] = field(default_factory=list)
    affected: int = 0
    insert_id: int = 0
    info: str = ""
    warnings: list[tuple[str, int, str]] = field(default_factory=list)


class Side:
    """A connection to one engine's database."""

    def __init__(self, server: Server, engine: str, watchdog: Watchdog,
                 database: str = "") -> None:
        self.engine = engine
        self._watchdog = watchdog
        self._server = server
        self.database = database or _DATABASES[engine]
        self._connection: pymysql.connections.Connection | None = None

    def reset(self) -> None:
        """An empty database, and a session as new."""
        self._connect()
        for verb in ("DROP DATABASE IF EXISTS", "CREATE DATABASE"):
            self._send(f"{verb} {self.database}")
        self._begin_session()

    def reconnect(self) -> None:
        """A session as new, in the database as it is."""
        self._connect()
        self._begin_session()

    def drop(self) -> None:
        """No database, and no session."""
        self.reset()
        self._send(f"DROP DATABASE {self.database}")
        self.close()

    def close(self) -> None:
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None

    def thread_id(self) -> int:
        """The session's number in the server."""
        assert self._connection is not None
        return self._connection.thread_id()

    def hang_up(self) -> None:
        """The client goes away. A thread that waits for an answer gets ServerGone."""
        # The driver has no public name for this; it is gone with a connection that has ended.
        socket: Any = self._connection._sock  # type: ignore[union-attr]
        if socket is not None:
            socket.shutdown(SHUT_RDWR)

    def run(self, sql: str) -> Answer:
        """A statement's answer; errors are answers too. Raises ServerGone and Overrun."""
        assert self._connection is not None
        sql = sql.replace(OWN, self.database)
        try:
            with self._watchdog.over(self._connection.thread_id()):
                answer = self._send(sql)
        except ServerGone:
            self._check_overrun()
            raise
        self._check_overrun()
        if answer.error or answer.warnings:
            shown = self._send("SHOW WARNINGS").rows
            answer.warnings = [(_text(level), int(code or 0), _neutral(_text(message)))
                               for level, code, message in shown]
        return answer

    def _check_overrun(self) -> None:
        findings, self._watchdog.findings = self._watchdog.findings, []
        if findings:
            raise Overrun(f"{self.engine}: {'; '.join(findings)}")

    def rows(self, sql: str) -> list[Row]:
        """The rows of a statement that must succeed."""
        answer = self._send(sql)
        if answer.error:
            raise AssertionError(f"{sql}: {answer.message}")
        return answer.rows

    def accepts(self, sql: str, clean_up: Sequence[str]) -> bool:
        """Whether a statement succeeds; what it made is removed."""
        answer = self._send(sql)
        for each in clean_up:
            self._send(each)
        return answer.error == 0

    def _connect(self) -> None:
        self.close()
        # Values come as they are stored: without a character set for results, undecoded.
        try:
            self._connection = self._server.connect(
                use_unicode=False, conv={}, autocommit=None, read_timeout=_ANSWER_TIMEOUT)
        except pymysql.err.OperationalError as error:
            raise ServerGone(str(error)) from error

    def _begin_session(self) -> None:
        for sql in (f"USE {self.database}", f"SET default_storage_engine = {self.engine}",
                    f"SET default_tmp_storage_engine = {self.engine}",
                    "SET character_set_results = NULL"):
            self._send(sql)

    def _send(self, sql: str) -> Answer:
        assert self._connection is not None
        try:
            self._connection.query(sql)
        except pymysql.err.InterfaceError as error:
            raise ServerGone(str(error)) from error
        except pymysql.err.Error as error:
            if error.args[0] in _GONE:
                raise ServerGone(str(error)) from error
            return Answer(error.args[0], _neutral(_text(error.args[-1])))
        # The driver has no public name for these.
        result: Any = self._connection._result
        answer = Answer(rows=[tuple(_neutral_cell(cell) for cell in row)
                              for row in result.rows or ()],
                        affected=result.affected_rows, insert_id=result.insert_id or 0,
                        info=_text(result.message or b""))
        if result.description:
            answer.columns = [(_text(each[0]), each[1]) for each in result.description]
        if result.warning_count:
            answer.warnings = [("", 0, "")]
        return answer


class Pair:
    """Both sides."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.watchdog = Watchdog(server)
        self.theirs = Side(server, "InnoDB", self.watchdog)
        self.ours = Side(server, "ROCKSDB", self.watchdog)

    def prober(self) -> Side:
        """Another connection to our engine: what it does is in no transaction of a case."""
        side = Side(self.server, "ROCKSDB", self.watchdog, "db_probes")
        side.reset()
        return side

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.theirs, self.ours

    def reset(self) -> None:
        """Empty databases and new sessions."""
        for side in self.sides:
            side.reset()

    def drop(self) -> None:
        """No databases, and no sessions."""
        for side in self.sides:
            side.drop()

    def run(self, sql: str) -> tuple[Answer, Answer]:
        """InnoDB's answer and ours."""
        return self.theirs.run(sql), self.ours.run(sql)

    def close(self) -> None:
        for side in self.sides:
            side.close()
        self.watchdog.stop()


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _neutral(message: str) -> str:
    return _TEMPORARY_NAME.sub("#sql", _DATABASE.sub("db", message))


def _neutral_cell(cell: bytes | None) -> bytes | None:
    if cell is None:
        return None
    return _DATABASE_BYTES.sub(b"db", _ENGINE_BYTES.sub(b"ENGINE=#", cell))
