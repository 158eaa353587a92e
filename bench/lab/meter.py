"""Measures the machine and the server while a load runs: once a second, and between two moments.

    meter = Meter(device=disk.name, group=group, directories=[datadir])
    with meter.sampling() as samples:          # a list that grows by one Reading per second
        begin = meter.read()
        ...                                    # the measured window
        window = between(begin, meter.read())
    json.dumps([reading.to_json() for reading in samples])
    print(window.device.write_bytes / transactions, window.server_cpu.total / transactions)

A sample costs well under a millisecond of CPU; large directories are looked at less often.
Without a device, a group or directories the respective parts are None.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from basaltcli.errors import BasaltError

from lab.control_groups import CpuUse, Group, MemoryUse
from lab.counters import DeviceCounters, HostCpu, read_device, read_host_cpu
from lab.directory_size import DirectorySize, DirectorySizes


# Part of the machine's time; what is measured while the host takes more does not count.
STEAL_MAX = 0.03


@dataclasses.dataclass(frozen=True)
class Reading:
    """Everything at one moment. `time` is of the clock on the wall, `monotonic` for differences."""

    time: float
    monotonic: float
    host_cpu: HostCpu
    device: DeviceCounters | None
    server_cpu: CpuUse | None
    memory: MemoryUse | None
    sizes: DirectorySize | None

    def to_json(self) -> dict[str, Any]:
        """Nested dictionaries of numbers."""
        return dataclasses.asdict(self)

    def flat(self) -> dict[str, float]:
        """One level: device.reads, sizes.data.allocated, ...; what is None is left out."""
        return dict(_flattened("", dataclasses.asdict(self)))


@dataclasses.dataclass(frozen=True)
class Window:
    """What happened between two readings; memory is that of the end, `peak` since the start of the
    group."""

    seconds: float
    host_cpu: HostCpu
    device: DeviceCounters | None
    server_cpu: CpuUse | None
    memory: MemoryUse | None
    memory_failures: int
    sizes_before: DirectorySize | None
    sizes_after: DirectorySize | None

    @property
    def steal_share(self) -> float:
        """Part of the machine's time that the host took away; not to be above STEAL_MAX."""
        return self.host_cpu.steal / self.host_cpu.total if self.host_cpu.total else 0.0

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "steal_share": self.steal_share}


class Meter:
    """Reads the counters of one device, one server's group and its directories."""

    def __init__(self, *, device: str | None = None, group: Group | None = None,
                 directories: Sequence[Path] = (), sys: Path = Path("/sys"),
                 proc: Path = Path("/proc")) -> None:
        self.device = device
        self.group = group
        self._sizes = DirectorySizes(directories) if directories else None
        self._sys = sys
        self._proc = proc

    def read(self, *, exact_sizes: bool = True) -> Reading:
        """Now. Without `exact_sizes` the directories' sizes may be some seconds old."""
        return Reading(
            time=time.time(), monotonic=time.monotonic(),
            host_cpu=read_host_cpu(self._proc),
            device=read_device(self.device, self._sys) if self.device else None,
            server_cpu=self.group.cpu() if self.group else None,
            memory=self.group.memory() if self.group else None,
            sizes=self._sizes.read(now=exact_sizes) if self._sizes else None)

    @contextlib.contextmanager
    def sampling(self, interval: float = 1.0) -> Iterator[list[Reading]]:
        """Readings at each `interval` until the block ends, the first one at once.

        The moments do not drift: a late reading does not delay the next. If reading fails (the
        group or the device is gone) the block's end raises that error; its samples are kept.
        """
        samples: list[Reading] = []
        failures: list[Exception] = []
        stop = threading.Event()

        def work() -> None:
            due = time.monotonic()
            while not stop.wait(max(0.0, due - time.monotonic())):
                try:
                    samples.append(self.read(exact_sizes=False))
                except Exception as error:  # any: it is raised again in the caller's thread
                    failures.append(error)
                    return
                due = next_due(due, time.monotonic(), interval)

        thread = threading.Thread(target=work, name="meter", daemon=True)
        thread.start()
        try:
            yield samples
        finally:
            stop.set()
            thread.join()
        if failures:
            raise BasaltError(f"the meter failed after {len(samples)} samples: {failures[0]}",
                              "keep the server's group and disk until sampling has ended"
                              ) from failures[0]


def next_due(due: float, now: float, interval: float) -> float:
    """The first moment after `now` that is whole intervals after `due`; all in seconds."""
    return due + interval * (1 + (now - due) // interval)


def between(begin: Reading, end: Reading) -> Window:
    """What happened from one reading of a meter to a later one of the same."""
    cpu = None
    if begin.server_cpu is not None and end.server_cpu is not None:
        cpu = CpuUse(total=end.server_cpu.total - begin.server_cpu.total,
                     user=end.server_cpu.user - begin.server_cpu.user,
                     system=end.server_cpu.system - begin.server_cpu.system)
    device = None
    if begin.device is not None and end.device is not None:
        device = end.device.since(begin.device)
    failures = 0
    if begin.memory is not None and end.memory is not None:
        failures = end.memory.failures - begin.memory.failures
    return Window(seconds=end.monotonic - begin.monotonic,
                  host_cpu=end.host_cpu.since(begin.host_cpu), device=device, server_cpu=cpu,
                  memory=end.memory, memory_failures=failures,
                  sizes_before=begin.sizes, sizes_after=end.sizes)


def _flattened(prefix: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _flattened(f"{prefix}.{name}" if prefix else name, part)
    elif value is not None:
        yield prefix, value
