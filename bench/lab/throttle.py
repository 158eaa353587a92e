"""Limits of operations and bytes per second on one block device, the same for every engine.

    throttle = open_throttle()
    throttle.set("7:0", IoLimits(read_iops=400, write_iops=400))
    ...
    throttle.clear("7:0")

Version 1 of control groups charges write-back to the root group and gives each group below it a
bucket of its own. Limits on the ROOT group for just this device are therefore the only ones that
direct I/O, fsync and write-back share (docs/results/throttle-proof.md). Reads and writes have
separate buckets: there is no limit of their sum.

Version 2 charges write-back to the group that dirtied the pages, so the limits stand on the
server's group; the file system's journal is not caught. It has been tried on imitated trees only.
"""

from __future__ import annotations

import abc
import dataclasses
from pathlib import Path

from basaltcli.errors import BasaltError

from lab.control_groups import CGROUP_ROOT, Group, hierarchy_version

_V1_FILES = {"read_iops": "read_iops_device", "write_iops": "write_iops_device",
             "read_bytes": "read_bps_device", "write_bytes": "write_bps_device"}
_V2_NAMES = {"read_iops": "riops", "write_iops": "wiops",
             "read_bytes": "rbps", "write_bytes": "wbps"}


@dataclasses.dataclass(frozen=True)
class IoLimits:
    """Operations and bytes per second; None is no limit."""

    read_iops: int | None = None
    write_iops: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None


class Throttle(abc.ABC):
    """Sets and clears limits of one device, named MAJOR:MINOR."""

    @abc.abstractmethod
    def set(self, device: str, limits: IoLimits) -> None:
        """From now on; replaces earlier limits of the device. Other devices keep theirs."""

    @abc.abstractmethod
    def current(self, device: str) -> IoLimits:
        """The limits that the kernel has."""

    def clear(self, device: str) -> None:
        """No limits; right also when there were none."""
        self.set(device, IoLimits())


class RootThrottle(Throttle):
    """Version 1: on the root group of blkio."""

    def __init__(self, root: Path = CGROUP_ROOT) -> None:
        self.folder = root / "blkio"

    def set(self, device: str, limits: IoLimits) -> None:
        for field, value in dataclasses.asdict(limits).items():
            _write(self._file(field), f"{device} {value or 0}")  # 0 removes the limit

    def current(self, device: str) -> IoLimits:
        found: dict[str, int] = {}
        for field in _V1_FILES:
            for line in self._file(field).read_text().splitlines():
                name, value = line.split()
                if name == device and int(value):
                    found[field] = int(value)
        return IoLimits(**found)

    def _file(self, field: str) -> Path:
        return self.folder / f"blkio.throttle.{_V1_FILES[field]}"


class GroupThrottle(Throttle):
    """Version 2: io.max of the server's group, which must exist; it is gone with the group."""

    def __init__(self, group: Group) -> None:
        self.file = group.memory_folder / "io.max"

    def set(self, device: str, limits: IoLimits) -> None:
        values = (f"{_V2_NAMES[field]}={value or 'max'}"
                  for field, value in dataclasses.asdict(limits).items())
        if self.file.parent.exists() or limits != IoLimits():
            _write(self.file, " ".join([device, *values]))

    def current(self, device: str) -> IoLimits:
        if not self.file.exists():
            return IoLimits()
        for line in self.file.read_text().splitlines():
            name, *settings = line.split()
            if name == device:
                values = dict(setting.split("=") for setting in settings)
                return IoLimits(**{field: int(values[key]) for field, key in _V2_NAMES.items()
                                   if values.get(key, "max") != "max"})
        return IoLimits()


def open_throttle(group: Group | None = None, root: Path = CGROUP_ROOT) -> Throttle:
    """What this machine has; version 2 needs the server's group."""
    if (root / "blkio" / "blkio.throttle.read_iops_device").exists():
        return RootThrottle(root)
    if hierarchy_version(root) == 2 and group is not None:
        return GroupThrottle(group)
    raise BasaltError(
        "this machine cannot limit the operations per second of a disk",
        "use a machine whose kernel has CONFIG_BLK_DEV_THROTTLING, and run as root outside of a "
        "container")


def _write(path: Path, text: str) -> None:
    try:
        with path.open("w") as file:
            file.write(text)
    except OSError as error:
        raise BasaltError(f"the limit {text!r} cannot be set in {path}: {error}",
                          "run as root outside of a container") from error
