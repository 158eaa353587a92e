"""How the servers are reached."""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pymysql

from basalt_migrate.errors import MigrateError

Row = tuple[Any, ...]
Connection = pymysql.connections.Connection
_DEBIAN_SOCKET = "/run/mysqld/mysqld.sock"
# No strictness: rows are copied as they are, zero dates among them; what differs afterwards is
# found by comparing. An engine that is missing must stay an error, and so must unknown options.
_SESSION = ("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', "
            "time_zone = '+00:00', foreign_key_checks = 0, "
            "check_constraint_checks = 0, system_versioning_alter_history = KEEP")


@dataclass(frozen=True)
class Address:
    """A server: an option file with a section [client], and what goes before it.

    Without socket and host: Debian's socket, if the option file names no server.
    """

    name: str
    defaults_file: str = ""
    socket: str = ""
    host: str = ""
    port: int = 0
    user: str = ""

    def connect(self, **arguments: Any) -> Connection:
        """A connection in autocommit mode; fails with a remedy."""
        settings: dict[str, Any] = {"charset": "utf8mb4", "autocommit": True, "connect_timeout": 10}
        if self.defaults_file:
            if not os.access(self.defaults_file, os.R_OK):
                raise MigrateError(f"the option file {self.defaults_file} cannot be read")
            settings["read_default_file"] = self.defaults_file
        else:
            settings["user"] = self.user or getpass.getuser()
            if not self.socket and not self.host:
                settings["unix_socket"] = _DEBIAN_SOCKET
        settings.update({key: value for key, value in (
            ("user", self.user), ("unix_socket", self.socket), ("host", self.host),
            ("port", self.port)) if value})
        try:
            connection = pymysql.connect(**{**settings, **arguments})
            run(connection, _SESSION)
        except (pymysql.err.Error, OSError, RuntimeError) as error:
            raise MigrateError(f"the {self.name} server cannot be reached: {error}",
                               "give its socket, or host, port and user; a password belongs into "
                               "an option file") from error
        return connection

    def client_options(self) -> list[str]:
        """The same for MariaDB's own programs."""
        words = [f"--defaults-file={self.defaults_file}" if self.defaults_file else "--no-defaults"]
        if self.host:
            words += ["--protocol=tcp", f"--host={self.host}"]
        for key, value in (("user", self.user), ("socket", self.socket), ("port", self.port)):
            if value:
                words.append(f"--{key}={value}")
        return words


def run(connection: Connection, sql: str, arguments: Sequence[Any] | None = None) -> list[Row]:
    """Rows of one statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return list(cursor.fetchall())


def value(connection: Connection, sql: str, arguments: Sequence[Any] | None = None) -> Any:
    """The first column of the first row; None if there is no row."""
    rows = run(connection, sql, arguments)
    return rows[0][0] if rows else None


def without_binary_log(connection: Connection) -> None:
    """What the session does stays on its server."""
    try:
        run(connection, "SET SESSION sql_log_bin = 0")
    except pymysql.err.Error as error:
        raise MigrateError(f"the binary log cannot be switched off for the session: {error}",
                           "use an account with the privilege BINLOG ADMIN") from error


def require_engine(connection: Connection, name: str) -> None:
    """Fails when the server has no engine ROCKSDB."""
    if value(connection, "SELECT SUPPORT FROM information_schema.ENGINES "
                         "WHERE ENGINE = 'ROCKSDB'") not in ("YES", "DEFAULT"):
        raise MigrateError(f"the {name} server has no engine ROCKSDB",
                           "install the package, or: INSTALL SONAME 'ha_rocksdb'")
