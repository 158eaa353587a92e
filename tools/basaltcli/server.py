"""A private mariadbd: create its data directory, start, stop, kill, talk to it.

    server = Server(release, Path("build/server/data"), plugin_dir("dev"), flavour="dev")
    server.start()
    server.query("SELECT ENGINE FROM information_schema.ENGINES")
    server.kill()                      # as a crash would
    server.start()
    server.stop()

Used by `./basalt server`, the demo, the crash tests and the model tests.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql

from basaltcli import layout, machine, process, server_process
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease

# Longest path that a Unix socket may have is 107 bytes.
_SOCKET_PATH_MAX = 100
_VERSION_FILE = "basalt-server-version"
_UNFINISHED_FILE = "basalt-initialising"
DEFAULT_OPTIONS = (
    "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M", "--plugin-maturity=unknown",
    "--skip-name-resolve", "--character-set-server=utf8mb4")


class Server:
    """One data directory and the mariadbd that serves it.

    The object holds no state but its process handle: a second Server with the same data directory
    controls the same mariadbd. `options` come last and so win over the defaults. With
    `engine=False` our plugin is not loaded.
    """

    def __init__(self, release: ServerRelease, datadir: Path, plugin_dir: Path, *,
                 flavour: str = "release", socket: Path | None = None, port: int | None = None,
                 options: Sequence[str] = (), engine: bool = True,
                 environment: dict[str, str] | None = None) -> None:
        self.release = release
        self.datadir = datadir.absolute()
        self.plugin_dir = plugin_dir.absolute()
        self.flavour = flavour
        self.socket = socket or default_socket(self.datadir)
        self.port = port
        self.options = tuple(options)
        self.engine = engine
        self.environment = environment or {}
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The server's error log."""
        return self.datadir.parent / f"{self.datadir.name}.log"

    @property
    def pid_file(self) -> Path:
        return self.datadir / "basalt.pid"

    @property
    def tmpdir(self) -> Path:
        return self.datadir.parent / f"{self.datadir.name}.tmp"

    def pid(self) -> int | None:
        """Process id of the running mariadbd of this data directory, or None."""
        return server_process.owned_pid(self.pid_file, self.datadir)

    def initialise(self) -> None:
        """Creates the data directory, unless it is there and of this release."""
        self.check_datadir()
        unfinished = self.datadir / _UNFINISHED_FILE
        if (self.datadir / _VERSION_FILE).exists() and not unfinished.exists():
            return
        machine.check_disk(self.datadir, machine.SERVER_DISK, "a server")
        self.datadir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.tmpdir.mkdir(exist_ok=True)
        _clear(self.datadir)
        unfinished.touch()
        log = self.datadir.parent / f"{self.datadir.name}.install.log"
        log.write_text("")
        # mariadb-install-db reads my_print_defaults and the SQL scripts below --basedir.
        process.run(
            [self.release.program("mariadb-install-db"), "--no-defaults",
             f"--basedir={self.release.usr}", f"--datadir={self.datadir}",
             f"--lc-messages-dir={self.release.usr}/share/mysql",
             f"--character-sets-dir={self.release.usr}/share/mysql/charsets",
             f"--tmpdir={self.tmpdir}", f"--plugin-dir={self.plugin_dir}",
             "--auth-root-authentication-method=normal", "--skip-test-db",
             "--innodb-log-file-size=32M", "--force", *_user_option()],
            log=log, failure=f"the data directory {self.datadir} cannot be created")
        (self.datadir / _VERSION_FILE).write_text(self.release.version + "\n")
        unfinished.unlink()

    def check_datadir(self) -> None:
        """Fails when the data directory belongs to another release, or to no server of ours."""
        if not self.datadir.exists() or not any(self.datadir.iterdir()):
            return
        if (self.datadir / _UNFINISHED_FILE).exists():
            return  # the rest of an interrupted initialise(), which starts over
        recorded = self.datadir / _VERSION_FILE
        if not recorded.exists():
            raise BasaltError(
                f"{self.datadir} is not empty and was not made by this tool",
                "choose another directory with --datadir")
        version = recorded.read_text().strip()
        if version != self.release.version:
            raise BasaltError(
                f"{self.datadir} was made by MariaDB {version}; this is {self.release.version}",
                "choose another --datadir, or remove the directory if its data is not needed")

    def command(self) -> list[str]:
        """The command line of mariadbd."""
        share = self.release.usr / "share" / "mysql"
        network = ["--skip-networking"]
        if self.port is not None:
            network = [f"--port={self.port}", "--bind-address=127.0.0.1"]
        plugin = [f"--plugin-load-add={layout.PLUGIN_NAME}"] if self.engine else []
        return [
            *server_process.command_prefix(self.flavour),
            # --log-basename resets the names of logs, so it precedes them.
            str(self.release.program("mariadbd")), "--no-defaults", "--log-basename=basalt",
            f"--basedir={self.release.usr}", f"--datadir={self.datadir}",
            f"--socket={self.socket}", f"--pid-file={self.pid_file}", f"--log-error={self.log}",
            f"--tmpdir={self.tmpdir}", f"--lc-messages-dir={share}",
            f"--character-sets-dir={share / 'charsets'}", f"--plugin-dir={self.plugin_dir}",
            *network, *_user_option(), *DEFAULT_OPTIONS,
            *server_process.server_options(self.flavour), *plugin, *self.options]

    def start(self, timeout: float = 120) -> None:
        """Initialises if needed, starts, and returns when the server answers."""
        self._check_startable()
        self.initialise()
        self.tmpdir.mkdir(exist_ok=True)
        with self.log.open("ab") as log:
            log_start = log.tell()
            self._child = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.datadir, start_new_session=True,
                env={**os.environ,
                     **server_process.joined(server_process.environment(self.flavour),
                                             self.environment)})
        try:
            self.wait_ready(timeout)
            self._check_engine()
        except BasaltError as error:
            text = self.log.read_bytes()[log_start:].decode(errors="replace")
            self._end_child()
            raise BasaltError(f"{error.message}; from {self.log}:\n"
                              + server_process.startup_errors(text), error.remedy) from error

    def wait_ready(self, timeout: float = 120) -> None:
        """Returns when the server answers a query; fails when it ends or takes too long."""
        deadline = time.monotonic() + timeout
        while True:
            if self._child is not None and self._child.poll() is not None:
                raise BasaltError(f"mariadbd ended with exit code {self._child.returncode} "
                                  "while starting", f"all of its log: {self.log}")
            try:
                self.connect(connect_timeout=5).close()
                return
            except pymysql.err.OperationalError:
                pass
            if time.monotonic() > deadline:
                raise BasaltError(f"mariadbd did not answer within {timeout:.0f} s",
                                  f"all of its log: {self.log}")
            time.sleep(0.05)

    def stop(self, timeout: float = 120) -> bool:
        """Shuts the server down in order; False when it was not running."""
        pid = self.pid()
        if pid is None:
            return False
        os.kill(pid, signal.SIGTERM)
        if not server_process.wait_gone(pid, timeout, self._child):
            raise BasaltError(f"mariadbd (process {pid}) did not stop within {timeout:.0f} s",
                              f"look into {self.log}")
        self._child = None
        return True

    def kill(self) -> bool:
        """Ends the server with SIGKILL, as a crash would; False when it was not running."""
        pid = self._child.pid if self._child is not None else self.pid()
        if pid is None:
            return False
        os.kill(pid, signal.SIGKILL)
        server_process.wait_gone(pid, 30, self._child)
        self._child = None
        return True

    def connect(self, **arguments: Any) -> pymysql.connections.Connection:
        """A connection of the pure Python driver, over the socket, as root, autocommit on."""
        settings = {"unix_socket": str(self.socket), "user": "root", "charset": "utf8mb4",
                    "autocommit": True, **arguments}
        return pymysql.connect(**settings)

    def query(self, sql: str, arguments: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of one statement, on a connection of its own."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql, arguments)
            return list(cursor.fetchall())

    def client_command(self, *arguments: str) -> list[str]:
        """The command line of the mariadb client, connected to this server."""
        return [str(self.release.program("mariadb")), "--no-defaults",
                f"--character-sets-dir={self.release.usr}/share/mysql/charsets",
                f"--socket={self.socket}", "--user=root", *arguments]

    def client(self, sql: str, database: str = "") -> str:
        """Runs a script in the mariadb client; returns its tab-separated output."""
        command = self.client_command("--batch", *([database] if database else []))
        done = subprocess.run(command, input=sql, text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise BasaltError(f"the SQL client failed: {done.stderr.strip()}")
        return done.stdout

    def _check_startable(self) -> None:
        machine.check_memory()
        pid = self.pid()
        if pid is not None:
            raise BasaltError(f"a server of {self.datadir} is already running (process {pid})",
                              "stop it with ./basalt server stop")
        server_process.check_socket(self.socket)
        if self.port is not None:
            server_process.check_port(self.port)
        machine.check_disk(self.datadir, machine.SERVER_DISK, "a server")
        if self.engine and not (self.plugin_dir / layout.PLUGIN_NAME).exists():
            raise BasaltError(f"there is no {layout.PLUGIN_NAME} in {self.plugin_dir}",
                              f"build it: ./basalt build --flavour {self.flavour}")

    def _check_engine(self) -> None:
        """Fails when the server has started without our engine: it only logs why.

        A server that answered once may still end before it answers this, as one does that
        fails in a thread of its own: that is a start that failed, too.
        """
        if not self.engine:
            return
        try:
            loaded = self.query("SELECT 1 FROM information_schema.ENGINES WHERE ENGINE = 'ROCKSDB'")
        except pymysql.err.OperationalError as error:
            raise BasaltError(f"mariadbd ended just after its start ({error})",
                              f"all of its log: {self.log}") from error
        if not loaded:
            raise BasaltError(f"mariadbd did not load {self.plugin_dir / layout.PLUGIN_NAME}",
                              "rebuild it, or start the server with --no-engine")

    def _end_child(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        self._child = None


def default_socket(datadir: Path) -> Path:
    """A socket path for a data directory: inside it, or in the temporary directory if too long."""
    inside = datadir / "basalt.sock"
    if len(os.fsencode(inside)) <= _SOCKET_PATH_MAX:
        return inside
    folder = Path(tempfile.gettempdir()) / f"basalt-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise BasaltError(f"{folder} belongs to somebody else",
                          "set TMPDIR to a directory of yours")
    return folder / f"{hashlib.sha256(os.fsencode(datadir)).hexdigest()[:16]}.sock"


def _clear(directory: Path) -> None:
    """Empties a directory; itself it stays, for it may be a mount point."""
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _user_option() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []
