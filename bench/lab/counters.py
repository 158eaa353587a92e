"""The kernel's counters at one moment, and what happened between two moments.

Device sectors are 512 bytes whatever the device says. Counters only grow; rates and costs per
transaction are differences between a window's two ends.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

_SECTOR = 512
# Names of the first fields of a block device's `stat` file.
_DEVICE_FIELDS = ("reads", "reads_merged", "read_sectors", "read_ms",
                  "writes", "writes_merged", "write_sectors", "write_ms",
                  "in_flight", "busy_ms", "queue_ms",
                  "discards", "discards_merged", "discard_sectors", "discard_ms",
                  "flushes", "flush_ms")


@dataclasses.dataclass(frozen=True)
class DeviceCounters:
    """Completed requests of a block device; a flush without data counts as a write of 0 bytes.

    `*_merged` are requests that became a part of a neighbour's; they had passed the limits of
    throttle.py before. `queue_ms` is time summed over waiting requests.
    """

    reads: int
    reads_merged: int
    read_bytes: int
    read_ms: int
    writes: int
    writes_merged: int
    write_bytes: int
    write_ms: int
    flushes: int
    flush_ms: int
    queue_ms: int

    def since(self, earlier: DeviceCounters) -> DeviceCounters:
        """What was done after `earlier`."""
        return DeviceCounters(**{
            name: value - getattr(earlier, name)
            for name, value in dataclasses.asdict(self).items()})


@dataclasses.dataclass(frozen=True)
class HostCpu:
    """Seconds of all cores together. `system` includes interrupts, `user` niced processes."""

    user: float
    system: float
    iowait: float
    idle: float
    steal: float

    @property
    def total(self) -> float:
        return self.user + self.system + self.iowait + self.idle + self.steal

    def since(self, earlier: HostCpu) -> HostCpu:
        return HostCpu(**{name: value - getattr(earlier, name)
                          for name, value in dataclasses.asdict(self).items()})


def read_device(device: str, sys: Path = Path("/sys")) -> DeviceCounters:
    """Counters of /dev/DEVICE; kernels before 5.5 do not count flushes and give 0."""
    text = (sys / "block" / device / "stat").read_text()
    fields = dict(zip(_DEVICE_FIELDS, map(int, text.split()), strict=False))
    return DeviceCounters(
        reads=fields["reads"], reads_merged=fields["reads_merged"],
        read_bytes=fields["read_sectors"] * _SECTOR,
        read_ms=fields["read_ms"],
        writes=fields["writes"], writes_merged=fields["writes_merged"],
        write_bytes=fields["write_sectors"] * _SECTOR, write_ms=fields["write_ms"],
        flushes=fields.get("flushes", 0), flush_ms=fields.get("flush_ms", 0),
        queue_ms=fields["queue_ms"])


def read_host_cpu(proc: Path = Path("/proc")) -> HostCpu:
    """Time of the machine's cores since it started."""
    first = (proc / "stat").read_text().split("\n", 1)[0]
    ticks = [int(field) for field in first.split()[1:9]]
    user, nice, system, idle, iowait, irq, softirq, steal = (
        tick / os.sysconf("SC_CLK_TCK") for tick in ticks)
    return HostCpu(user=user + nice, system=system + irq + softirq, iowait=iowait, idle=idle,
                   steal=steal)
