"""Deferred work: letting an engine finish what it has put off, so that it can be counted.

A short window flatters the engine with the larger debt: dirty pages, unpurged rows, memtables,
levels that wait for compaction. After the window the load stops, and the engine is told to pay.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lab.server import MeasuredServer
from lab.setup import Engine

QUIET_SECONDS = 2.0
# A resting server still wakes up now and then.
_QUIET_BYTES = 1 << 20
_FAST_IO = "innodb_io_capacity_max = 40000", "innodb_io_capacity = 20000"


def drain(server: MeasuredServer, written_bytes: Callable[[], int], patience: float = 120,
          quiet_seconds: float = QUIET_SECONDS) -> float | None:
    """Makes the engine do its deferred work; returns the seconds it took.

    `written_bytes` tells what has been written to the device so far, or how large the files are,
    which may shrink; a system that has buffered writes must have been synced by it. The work is
    done when nothing has been written for `quiet_seconds`. None when the patience ended first:
    there is still debt.
    """
    started = time.monotonic()
    deadline = started + patience
    if server.setup.engine is Engine.INNODB:
        _start_draining_innodb(server)
        while _innodb_debt(server) and time.monotonic() < deadline:
            time.sleep(0.2)
    elif server.variable("rocksdb_force_flush_memtable_now") is not None:
        server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
    is_quiet = _wait_until_quiet(written_bytes, deadline, quiet_seconds)
    # The last seconds only showed that nothing was left to do.
    return time.monotonic() - started - quiet_seconds if is_quiet else None


def _start_draining_innodb(server: MeasuredServer) -> None:
    for assignment in (*_FAST_IO, "innodb_max_dirty_pages_pct_lwm = 0",
                       "innodb_max_dirty_pages_pct = 0"):
        server.query(f"SET GLOBAL {assignment}")


def _innodb_debt(server: MeasuredServer) -> bool:
    status = dict(server.query(
        "SHOW GLOBAL STATUS WHERE Variable_name IN "
        "('Innodb_buffer_pool_pages_dirty', 'Innodb_history_list_length')"))
    # The server's own pages become dirty again all the time.
    return (int(status["Innodb_buffer_pool_pages_dirty"]) > 20
            or int(status["Innodb_history_list_length"]) > 20)


def _wait_until_quiet(written_bytes: Callable[[], int], deadline: float,
                      quiet_seconds: float) -> bool:
    before, since = written_bytes(), time.monotonic()
    while time.monotonic() < deadline:
        time.sleep(0.25)
        now = written_bytes()
        if abs(now - before) > _QUIET_BYTES:
            before, since = now, time.monotonic()
        elif time.monotonic() - since >= quiet_seconds:
            return True
    return False
