"""Checks hold after a crash in the middle of loads, and after loads that follow it."""

from __future__ import annotations

import threading
import time

import pytest

from basaltcli.errors import BasaltError
from lab.setup import Engine
from workloads.insert_benchmark import InsertBenchmark
from workloads.large_transaction import LargeTransaction
from workloads.sysbench_oltp import SysbenchOltp

WORKLOADS = (
    InsertBenchmark(tables=2, rows=300),
    SysbenchOltp(tables=2, rows=1000),
    # Larger than what is done before the kill, so that the kill comes in the middle.
    LargeTransaction(rows=20_000),
)

# By default stock MyRocks does not start when its log ends in half a record, which a kill leaves.
_RECOVERY = "--rocksdb-wal-recovery-mode=2"


def test_data_are_right_after_a_kill_under_load_and_after_more_load(target):
    if target.engine is Engine.MYROCKS:
        target.server.options = (*target.server.options, _RECOVERY)
    for workload in WORKLOADS:
        workload.prepare(target)
    ends = []

    def run(workload) -> None:
        load = workload.load(2, 60, 1)
        with pytest.raises(BasaltError) as error:
            target.sysbench(load.clients[0], seconds=load.seconds)
        ends.append(str(error.value))

    threads = [threading.Thread(target=run, args=(workload,)) for workload in WORKLOADS]
    for thread in threads:
        thread.start()
    time.sleep(3)
    # On a slow machine later: there must be rows of before the kill.
    while target.query("SELECT COUNT(*) FROM purchases1")[0][0] <= 600 and not ends:
        time.sleep(0.05)
    target.server.kill()
    for thread in threads:
        thread.join()
    target.server.start()
    assert len(ends) == len(WORKLOADS)
    assert target.query("SELECT COUNT(*) > 600 FROM purchases1") == [(1,)]
    assert [workload.check(target) for workload in WORKLOADS] == [[], [], []]
    for workload in WORKLOADS:
        target.sysbench(workload.load(2, 60, 2).clients[0], events=4)
    assert [workload.check(target) for workload in WORKLOADS] == [[], [], []]
