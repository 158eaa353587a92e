"""Debian's sysbench as a load: oltp_write_only on tables of the engine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from basaltcli import debian
from basaltcli.errors import BasaltError
from basaltcli.server import Server

DATABASE = "sbtest"
TABLES = 4


class Sysbench:
    """Tables of one server, and the sysbench process that changes them."""

    def __init__(self, server: Server, log: Path, rows: int, threads: int) -> None:
        self.server = server
        self.log = log
        self.rows = rows
        self.threads = threads
        self._process: subprocess.Popen[bytes] | None = None
        if shutil.which("sysbench") is None:
            debian.ensure(["sysbench"])

    def create_tables(self) -> None:
        """Makes and fills the tables."""
        self.server.query(f"CREATE DATABASE {DATABASE}")
        with self.log.open("ab") as log:
            done = subprocess.run(self._command("prepare"), stdout=log, stderr=log, check=False)
        if done.returncode != 0:
            raise BasaltError("sysbench cannot fill its tables", f"its output: {self.log}")

    def start(self) -> None:
        """Lets sysbench run until the server dies."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command("run", "--time=3600", "--report-interval=1",
                              "--mysql-ignore-errors=1205,1213"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self) -> None:
        """Ends the process; the server lives on."""
        assert self._process is not None
        self._process.terminate()

    def join(self) -> list[str]:
        """Waits for the process to notice the crash; problems if it ended before, or does not."""
        assert self._process is not None
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return ["sysbench still waits for an answer, 60 s after the crash"]
        return []

    def ended_early(self) -> bool:
        """Whether it stopped while the server was still there."""
        return self._process is not None and self._process.poll() is not None

    def _command(self, action: str, *more: str) -> list[str]:
        return ["sysbench", "oltp_write_only", f"--mysql-socket={self.server.socket}",
                "--mysql-user=root", f"--mysql-db={DATABASE}", f"--tables={TABLES}",
                f"--table-size={self.rows}", f"--threads={self.threads}",
                "--mysql-storage-engine=rocksdb", *more, action]
