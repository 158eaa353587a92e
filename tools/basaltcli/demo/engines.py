"""The two engines under comparison, and sessions on them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pymysql

from basaltcli.server import Server


@dataclass(frozen=True)
class Engine:
    """An engine and the database that holds its copy of the data."""

    name: str
    database: str


INNODB = Engine("InnoDB", "demo_innodb")
ROCKSDB = Engine("ROCKSDB", "demo_rocksdb")
ENGINES = (INNODB, ROCKSDB)


@dataclass(frozen=True)
class Answer:
    """What the server said, as bytes, and how long it took."""

    text: bytes
    seconds: float


class Session:
    """One connection to one engine's database; everything that comes back stays bytes."""

    def __init__(self, server: Server, engine: Engine) -> None:
        self._server = server
        self.engine = engine
        self.connection = server.connect(database=engine.database, conv={}, use_unicode=False)

    def close(self) -> None:
        if self.connection.open:
            self.connection.close()

    def run(self, sql: str | bytes) -> Answer:
        """One statement: its rows, or what it says about rows found and changed."""
        started = time.perf_counter()
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            rows = cursor.fetchall()
            seconds = time.perf_counter() - started
            if cursor.description is None:
                said = self.connection._result.message or b""
                return Answer(b"%d rows %s" % (cursor.rowcount, said), seconds)
        return Answer(b"\n".join(b"\t".join(b"NULL" if value is None else value for value in row)
                                 for row in rows), seconds)

    def script(self, statements: Sequence[str]) -> Answer:
        """Many statements, one after the other, by MariaDB's own client: it costs less time per
        statement than Python's driver. Raises DatabaseError on an error."""
        text = ";\n".join(statements) + ";\n"
        command = self._server.client_command("--batch", "--skip-column-names",
                                              "--default-character-set=utf8mb4",
                                              self.engine.database)
        started = time.perf_counter()
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
        seconds = time.perf_counter() - started
        if done.returncode != 0:
            raise pymysql.err.DatabaseError(done.stderr.decode(errors="replace").strip())
        return Answer(done.stdout, seconds)
