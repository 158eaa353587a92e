"""How long trials and loading are expected to take."""

from __future__ import annotations

import dataclasses

from lab import estimate
from lab.cell import Cell
from lab.setup import BASALT, INNODB, SETUPS, Limits
from lab.throttle import IoLimits
from workloads.sysbench_oltp import SysbenchOltp

_DATA = SysbenchOltp(tables=4, rows=100_000)
_CELL = Cell("cell", _DATA, SETUPS, {}, seconds=30, warm_seconds=10)


def longer(**changes: object) -> float:
    return estimate.of_trial(dataclasses.replace(_CELL, **changes)) - estimate.of_trial(_CELL)


def test_a_trial_takes_its_windows_and_what_is_around_them():
    assert estimate.of_trial(_CELL) > 40
    assert longer(seconds=40) == longer(warm_seconds=20) == longer(seconds_after=10) == 10


def test_a_trial_with_more_data_takes_longer():
    assert longer(workload=SysbenchOltp(tables=8, rows=100_000)) > 0


def test_a_slow_disk_delays_the_start():
    slow, slower = (longer(limits=Limits(disk=IoLimits(iops, iops))) for iops in (420, 42))
    assert 0 < slow < slower


def test_data_that_trials_share_are_loaded_once_for_each_engine():
    once = estimate.of_loading([(BASALT, _DATA)])
    again = dataclasses.replace(_DATA, script="oltp_read_only")
    renamed = BASALT.variant("again", "again", options=("--rocksdb-x=1",))
    assert once > 0
    assert estimate.of_loading([(BASALT, _DATA), (BASALT, again), (renamed, _DATA)]) == once
    assert estimate.of_loading([(BASALT, _DATA), (INNODB, _DATA)]) == 2 * once
    assert estimate.of_loading([]) == 0
