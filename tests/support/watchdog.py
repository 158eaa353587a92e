"""Ends statements that do not end, and says so: by KILL, and if that does not help with the server.

    watchdog = Watchdog(server)
    with watchdog.over(connection.thread_id()):
        ...  # a statement, in this thread
    watchdog.findings  # what had to be ended, and how

While a statement is watched, so is the server's memory. The limits are far above what any statement
of a test needs: they end what hangs, they measure nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql

from basaltcli.server import Server

STATEMENT_SECONDS = 20.0
# A statement that was told to end has so long.
KILL_SECONDS = 5.0
# More memory than a server of small tables ever takes.
MEMORY_MIB = 3072
_POLL_SECONDS = 0.2


class Watchdog:
    """Watches statements of any number of threads. Its own thread never keeps a program alive."""

    def __init__(self, server: Server, seconds: float = STATEMENT_SECONDS) -> None:
        self.seconds = seconds
        self.findings: list[str] = []
        self._server = server
        self._mutex = threading.Lock()
        self._running: dict[int, float] = {}  # start of the statement, by connection
        self._told: dict[int, float] = {}     # those that were told to end, and when
        self._stopping = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    @contextmanager
    def over(self, thread_id: int) -> Iterator[None]:
        """Watches the statement that a connection runs in this block."""
        with self._mutex:
            self._running[thread_id] = time.monotonic()
        try:
            yield
        finally:
            with self._mutex:
                self._running.pop(thread_id, None)
                self._told.pop(thread_id, None)

    def stop(self) -> None:
        """Ends the watch."""
        self._stopping.set()

    def _watch(self) -> None:
        while not self._stopping.wait(_POLL_SECONDS):
            with self._mutex:
                running = dict(self._running)
                told = dict(self._told)
            if running:
                self._look(running, told)

    def _look(self, running: dict[int, float], told: dict[int, float]) -> None:
        now = time.monotonic()
        memory = self._memory_mib()
        if memory > MEMORY_MIB:
            self._end(f"a statement took the server's memory to {memory} MiB")
            return
        for thread, started in running.items():
            if thread in told:
                if now - told[thread] > KILL_SECONDS:
                    self._end(f"a statement that was told to end by KILL ran on for "
                              f"{KILL_SECONDS:.0f} s")
                    return
            elif now - started > self.seconds:
                self.findings.append(f"a statement ran for more than {self.seconds:.0f} s")
                with self._mutex:
                    self._told[thread] = now
                self._kill(thread)

    def _kill(self, thread: int) -> None:
        try:
            self._server.query(f"KILL QUERY {thread}")
        except (pymysql.err.Error, OSError):
            pass  # it has just ended, or the server with it: both are seen by who waits for it

    def _end(self, finding: str) -> None:
        """Nothing but the end of the server gets its clients their threads back."""
        self.findings.append(finding)
        self._server.kill()
        with self._mutex:
            self._running.clear()
            self._told.clear()

    def _memory_mib(self) -> int:
        pid = self._server.pid()
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return 0
        resident = next((line for line in status.splitlines() if line.startswith("VmRSS:")), "")
        return int(resident.split()[1]) >> 10 if resident else 0
