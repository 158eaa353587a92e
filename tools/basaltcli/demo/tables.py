"""The schema and the multi-row inserts, the same for both engines."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Any

from pymysql.converters import escape_string

from basaltcli import ui
from basaltcli.demo.engines import ENGINES, Engine, Session
from basaltcli.demo.packages import KINDS, Dependency, Package, PackageIndex
from basaltcli.server import Server

# Names and versions are compared byte by byte, as dpkg does; the rest as people read it.
_EXACT = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
_SCHEMA = (
    f"""CREATE TABLE package (
      id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
      name VARCHAR(128) {_EXACT} NOT NULL,
      version VARCHAR(128) {_EXACT} NOT NULL,
      architecture VARCHAR(32) {_EXACT} NOT NULL,
      suite VARCHAR(64) NOT NULL,
      source VARCHAR(128) {_EXACT},
      section VARCHAR(64) NOT NULL,
      priority VARCHAR(32) NOT NULL,
      maintainer VARCHAR(255) NOT NULL,
      homepage VARCHAR(1000),
      installed_size BIGINT UNSIGNED COMMENT 'kilobytes',
      download_size BIGINT UNSIGNED NOT NULL COMMENT 'bytes',
      filename VARCHAR(1000) NOT NULL,
      sha256 BINARY(32),
      description TEXT NOT NULL,
      UNIQUE KEY name_version (name, version, architecture),
      UNIQUE KEY sha256 (sha256),
      KEY source (source),
      KEY section_size (section, installed_size),
      KEY maintainer (maintainer)
    ) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci""",
    f"""CREATE TABLE dependency (
      package_id INT UNSIGNED NOT NULL,
      kind ENUM({", ".join(f"'{kind}'" for kind in KINDS)}) NOT NULL,
      position SMALLINT UNSIGNED NOT NULL,
      alternative SMALLINT UNSIGNED NOT NULL,
      target VARCHAR(128) {_EXACT} NOT NULL,
      qualifier VARCHAR(32) {_EXACT},
      operator VARCHAR(2),
      version VARCHAR(128) {_EXACT},
      PRIMARY KEY (package_id, kind, position, alternative),
      KEY target_kind (target, kind)
    ) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci""",
)
TABLES = ("package", "dependency")
PRIMARY_KEYS = {"package": "id", "dependency": "package_id, kind, position, alternative"}
_BATCH_ROWS = 500


def create(server: Server) -> None:
    """Makes both databases, empty."""
    for engine in ENGINES:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {engine.database}")
            cursor.execute(f"USE {engine.database}")
            for definition in _SCHEMA:
                cursor.execute(f"{definition} ENGINE={engine.name}")


def load(server: Server, index: PackageIndex) -> dict[Engine, float]:
    """Inserts everything into both; returns the seconds each engine spent.

    The engines take turns, batch by batch, so that whatever else happens on the machine meets both.
    A batch is one statement and one transaction; making its text is not counted.
    """
    seconds = dict.fromkeys(ENGINES, 0.0)
    sessions = [Session(server, engine) for engine in ENGINES]
    total = len(index.packages) + len(index.dependencies)
    done = 0
    with ui.progress(f"Loading {total:,} rows into each engine") as bar:
        for rows, statement in _batches(index):
            for session in sessions:
                started = time.perf_counter()
                session.connection.query(statement)
                seconds[session.engine] += time.perf_counter() - started
            sessions.reverse()
            done += rows
            bar.update(done, total)
        for session in sessions:
            for table in TABLES:
                session.run(f"ANALYZE TABLE {table}")
            session.close()
    return seconds


def _batches(index: PackageIndex) -> Iterator[tuple[int, bytes]]:
    """The INSERT statements, with how many rows each has."""
    yield from _inserts("package", Package, index.packages)
    yield from _inserts("dependency", Dependency, index.dependencies)


def _inserts(table: str, record: type[Any], rows: Sequence[Any]) -> Iterator[tuple[int, bytes]]:
    names = [field.name for field in dataclasses.fields(record)]
    head = f"INSERT INTO {table} ({', '.join(names)}) VALUES\n"
    for start in range(0, len(rows), _BATCH_ROWS):
        batch = rows[start:start + _BATCH_ROWS]
        values = ",\n".join("(" + ",".join(_literal(name, getattr(row, name)) for name in names)
                            + ")" for row in batch)
        yield len(batch), (head + values).encode()


def _literal(name: str, value: str | int | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    return f"x'{value}'" if name == "sha256" else f"'{escape_string(value)}'"
