"""The meter: counters, sizes, samples; all on imitated folders."""

from __future__ import annotations

import json
import os
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path

import imitated_kernel
import pytest
from basaltcli.errors import BasaltError
from lab import directory_size
from lab.control_groups import open_group
from lab.counters import read_device, read_host_cpu
from lab.directory_size import DirectorySizes, Kind, kind_of
from lab.meter import Meter, between, next_due

_STAT = " ".join(map(str, [10, 1, 80, 5, 20, 2, 400, 30, 0, 7, 36, 0, 0, 0, 0, 4, 3]))
_TICK = 1 / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def meter(tmp_path: Path) -> Meter:
    """A meter of an imitated machine, whose folders are below tmp_path."""
    imitated_kernel.device(tmp_path / "sys", "loop0", number="7:0", stat=_STAT)
    imitated_kernel.fill(tmp_path / "proc", {"stat": "cpu  100 10 50 1000 20 3 7 30 0 0\ncpu0"})
    root = imitated_kernel.version_1(tmp_path / "groups")
    imitated_kernel.fill(root / "memory/bench", imitated_kernel.V1_MEMORY)
    imitated_kernel.fill(root / "cpuacct/bench", imitated_kernel.V1_CPU)
    imitated_kernel.fill(tmp_path / "data", {"ibdata1": "x" * 5000})
    return Meter(device="loop0", group=open_group("bench", root), directories=[tmp_path / "data"],
                 sys=tmp_path / "sys", proc=tmp_path / "proc")


def wait_for(condition: Callable[[], bool]) -> None:
    """Returns when it is true; a test in which it never gets true fails."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_device_counters_are_requests_and_bytes(tmp_path: Path) -> None:
    imitated_kernel.device(tmp_path, "loop0", number="7:0", stat=_STAT)
    counters = read_device("loop0", tmp_path)
    assert (counters.reads, counters.read_bytes) == (10, 80 * 512)
    assert (counters.writes, counters.write_bytes) == (20, 400 * 512)
    assert (counters.reads_merged, counters.writes_merged) == (1, 2)
    assert (counters.flushes, counters.flush_ms, counters.queue_ms) == (4, 3, 36)
    old_kernel = " ".join(_STAT.split()[:11])
    imitated_kernel.device(tmp_path, "loop0", number="7:0", stat=old_kernel)
    assert read_device("loop0", tmp_path).flushes == 0


def test_host_time_is_split_so_that_the_parts_are_the_whole(tmp_path: Path) -> None:
    imitated_kernel.fill(tmp_path, {"stat": "cpu  100 10 50 1000 20 3 7 30 5 1\ncpu0 1"})
    cpu = read_host_cpu(tmp_path)
    parts = [cpu.user, cpu.system, cpu.iowait, cpu.idle, cpu.steal]
    assert parts == pytest.approx([part * _TICK for part in (110, 60, 20, 1000, 30)])
    assert cpu.total == pytest.approx(1220 * _TICK)


@pytest.mark.parametrize(("path", "has_rocksdb", "kind"), [
    ("ibdata1", False, Kind.DATA), ("bench/sbtest1.ibd", False, Kind.DATA),
    ("undo001", False, Kind.DATA), ("ib_logfile0", False, Kind.LOGS),
    ("mysql/innodb_index_stats.ibd", False, Kind.OTHER), ("aria_log.00000001", False, Kind.OTHER),
    ("#rocksdb/000123.sst", True, Kind.DATA), ("#rocksdb/MANIFEST-000004", True, Kind.DATA),
    ("#rocksdb/000124.log", True, Kind.LOGS), ("#rocksdb/archive/000120.log", True, Kind.LOGS),
    ("#rocksdb/LOG", True, Kind.OTHER), ("#rocksdb/LOG.old.1795", True, Kind.OTHER),
    ("ibdata1", True, Kind.OTHER), ("ib_logfile0", True, Kind.OTHER),
    ("bench/sbtest1.frm", True, Kind.OTHER), ("000124.log", False, Kind.OTHER),
    ("basalt-bin.000001", False, Kind.BINLOG), ("binlog.000012", True, Kind.BINLOG),
    ("basalt-bin.index", False, Kind.BINLOG), ("mysql-bin.1000000", False, Kind.BINLOG),
    ("bench/cabin.000001", False, Kind.DATA), ("basalt.pid", False, Kind.OTHER)])
def test_a_file_s_path_tells_what_it_holds(path: str, has_rocksdb: bool, kind: Kind) -> None:
    assert kind_of(path, has_rocksdb) is kind


def test_sizes_are_split_and_count_blocks_and_hard_links_once(tmp_path: Path) -> None:
    imitated_kernel.fill(tmp_path / "#rocksdb/archive", {"000003.log": "l" * 100})
    imitated_kernel.fill(tmp_path / "#rocksdb", {"000004.sst": "s" * 10000})
    imitated_kernel.fill(tmp_path, {"basalt-bin.000001": "b" * 300})
    os.link(tmp_path / "#rocksdb/000004.sst", tmp_path / "#rocksdb/000009.sst")
    with (tmp_path / "#rocksdb/000005.sst").open("wb") as file:
        file.truncate(1 << 20)
    sizes = directory_size.measure([tmp_path])
    assert (sizes.data.files, sizes.data.length) == (2, 10000 + (1 << 20))
    assert 10000 <= sizes.data.allocated < 1 << 16
    assert (sizes.logs.length, sizes.binlog.length, sizes.other.files) == (100, 300, 0)
    assert sizes.allocated == (sizes.data.allocated + sizes.logs.allocated
                               + sizes.binlog.allocated)


def test_sizes_of_a_slow_directory_are_read_seldom(tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    measure = directory_size.measure
    calls = []

    def slow(directories):
        calls.append(clock[0])
        clock[0] += 0.02
        return measure(directories)

    monkeypatch.setattr(directory_size, "measure", slow)
    monkeypatch.setattr(directory_size, "time",
                        types.SimpleNamespace(monotonic=lambda: clock[0]))
    sizes = DirectorySizes([tmp_path])
    sizes.read()
    imitated_kernel.fill(tmp_path, {"ibdata1": "x" * 5000})
    clock[0] = 100.39
    assert (sizes.read().data.files, sizes.read().age) == (0, 0.39)
    assert sizes.read(now=True).data.length == 5000
    assert calls == [100.0, 100.39]
    clock[0] = 100.78
    sizes.read()
    assert len(calls) == 2
    clock[0] = 100.8
    sizes.read()
    assert len(calls) == 3, "20 ms are a twentieth of 400 ms"


def test_a_window_is_the_difference_of_its_two_ends(meter: Meter, tmp_path: Path) -> None:
    begin = meter.read()
    fields = [int(field) for field in _STAT.split()]
    fields[0] += 3
    fields[6] += 16
    (tmp_path / "sys/block/loop0/stat").write_text(" ".join(map(str, fields)))
    (tmp_path / "proc/stat").write_text("cpu  150 10 50 1040 20 3 7 40 0 0\n")
    (tmp_path / "groups/cpuacct/bench/cpuacct.usage").write_text("4000000000")
    (tmp_path / "groups/memory/bench/memory.failcnt").write_text("13")
    imitated_kernel.fill(tmp_path / "data", {"undo001": "x" * 7000})
    window = between(begin, meter.read())
    assert (window.device.reads, window.device.read_bytes) == (3, 0)
    assert (window.device.writes, window.device.write_bytes) == (0, 16 * 512)
    assert window.server_cpu.total == pytest.approx(0.5)
    assert window.steal_share == pytest.approx(10 / 100)
    assert window.memory_failures == 10
    assert window.sizes_after.data.length - window.sizes_before.data.length == 7000
    assert json.loads(json.dumps(window.to_json()))["steal_share"] == pytest.approx(0.1)


def test_samples_come_at_the_interval_and_are_json(meter: Meter) -> None:
    started = time.monotonic()
    with meter.sampling(interval=0.05) as samples:
        wait_for(lambda: len(samples) >= 8)
    assert len(samples) <= 1 + (time.monotonic() - started) / 0.05
    text = json.dumps([sample.to_json() for sample in samples])
    assert json.loads(text)[0]["device"]["writes"] == 20
    flat = samples[0].flat()
    assert flat["memory.cache"] == 100
    assert flat["sizes.data.length"] == 5000
    assert "memory.limit" not in flat


@pytest.mark.parametrize("late", [0, 0.01, 0.13, 7.02])
def test_a_reading_that_takes_long_does_not_shift_the_next(late: float) -> None:
    due = next_due(10, 10 + late, 0.05)
    assert 0 < due - (10 + late) <= 0.05 + 1e-9
    assert (due - 10) / 0.05 == pytest.approx(round((due - 10) / 0.05))


def test_a_meter_whose_device_vanishes_says_so_and_keeps_its_samples(meter: Meter,
                                                                    tmp_path: Path) -> None:
    with pytest.raises(BasaltError, match="the meter failed after"), \
            meter.sampling(interval=0.02) as samples:
        wait_for(lambda: bool(samples))
        (tmp_path / "sys/block/loop0/stat").unlink()
        wait_for(lambda: all(thread.name != "meter" for thread in threading.enumerate()))
    assert samples


def test_a_meter_of_the_host_alone_has_nothing_else(tmp_path: Path) -> None:
    imitated_kernel.fill(tmp_path, {"stat": "cpu  1 2 3 4 5 6 7 8 0 0\n"})
    reading = Meter(proc=tmp_path).read()
    assert (reading.device, reading.server_cpu, reading.memory, reading.sizes) == (None,) * 4
    assert not [name for name in reading.flat() if name.startswith(("device", "memory"))]
