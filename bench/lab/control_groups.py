"""A process in a control group of its own: a memory limit that covers its page cache, its CPU time.

    group = open_group("basalt-bench-innodb")
    group.create(memory_limit=512 << 20)
    server = subprocess.Popen([*group.command_prefix(), "mariadbd", ...])   # same process id
    ...
    print(group.memory(), group.cpu())
    server.wait()
    group.remove()

Pages are charged to the group that first touches them, so the process enters the group before it
becomes the server (the prefix ends in exec), and a data directory that was just copied belongs to
the copier until drop_page_cache(). A group of ours never holds anything but what was started with
its prefix; therefore kill() may end all of it.

Version 1 has a folder per controller; version 2, written from the kernel's documentation, has been
tried on imitated trees only, not yet on a machine that runs it.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import os
import shlex
import signal
import time
from pathlib import Path

from basaltcli.errors import BasaltError

CGROUP_ROOT = Path("/sys/fs/cgroup")
# Version 1 shows "no limit" as the largest number of pages.
_V1_UNLIMITED = 1 << 62
_V1_SWAP = 1 << 20
_ROOT_REMEDY = "run as root on a machine (or in a container) that may change its control groups"


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """Bytes. `failures` counts how often the limit was hit and pages had to be taken back."""

    usage: int
    peak: int
    limit: int | None
    failures: int
    oom_kills: int
    cache: int
    rss: int
    dirty: int
    write_back: int


@dataclasses.dataclass(frozen=True)
class CpuUse:
    """Seconds since the group was made."""

    total: float
    user: float
    system: float


class Group(abc.ABC):
    """One control group below the root of the hierarchy; made by open_group()."""

    version: int

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.name = name

    @property
    @abc.abstractmethod
    def memory_folder(self) -> Path:
        """The folder with the memory controller's files."""

    @abc.abstractmethod
    def _folders(self) -> list[Path]:
        """All folders of this group."""

    @abc.abstractmethod
    def _entered(self) -> list[Path]:
        """The folders whose group a process of ours must be in."""

    @abc.abstractmethod
    def _enable(self) -> None:
        """Makes the controllers available to the folders."""

    @abc.abstractmethod
    def _limit_memory(self, limit: int) -> None:
        """Sets the limit, and that there is no swapping out of it."""

    @abc.abstractmethod
    def _own_limit(self) -> int | None:
        """The memory limit that this very process lives under."""

    @abc.abstractmethod
    def memory(self) -> MemoryUse:
        """What the group uses now, and the most it used since it was made."""

    @abc.abstractmethod
    def cpu(self) -> CpuUse:
        """What all processes of the group have used, ended ones included."""

    def create(self, memory_limit: int | None = None) -> None:
        """Makes the group anew; one that a killed run left is removed if it is empty.

        A group limited to more than this process itself may use would be a way out of that limit;
        that fails, and without `memory_limit` the same limit is kept.
        """
        if self.exists():
            self.remove()
        own = self._own_limit()
        if own is not None and memory_limit is not None and memory_limit > own:
            raise BasaltError(
                f"a memory limit of {memory_limit >> 20} MiB was asked for, but this program "
                f"itself may use {own >> 20} MiB", "raise the limit of the container or service")
        try:
            self._enable()
            for folder in self._folders():
                folder.mkdir()
            limit = own if memory_limit is None else memory_limit
            if limit is not None:
                self._limit_memory(limit)
        except OSError as error:
            with contextlib.suppress(BasaltError):
                self.remove()
            raise BasaltError(f"the control group {self.name} cannot be made: {error}",
                              _ROOT_REMEDY) from error

    def exists(self) -> bool:
        return any(folder.exists() for folder in self._folders())

    def command_prefix(self) -> list[str]:
        """Words before a command that put it into the group; it keeps its process id."""
        entries = [f"echo $$ > {shlex.quote(str(folder / 'cgroup.procs'))}"
                   for folder in self._entered()]
        return ["/bin/sh", "-c", " && ".join([*entries, 'exec "$@"']), "enter-group"]

    def pids(self) -> list[int]:
        """The processes in the group."""
        found: set[int] = set()
        for folder in self._folders():
            with contextlib.suppress(OSError):
                found.update(int(pid) for pid in (folder / "cgroup.procs").read_text().split())
        return sorted(found)

    def kill(self, timeout: float = 30) -> None:
        """Ends everything in the group, as a crash would; returns when it is gone."""
        deadline = time.monotonic() + timeout
        while pids := self.pids():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise BasaltError(f"processes {pids} of control group {self.name} do not end")
            time.sleep(0.02)

    def remove(self) -> None:
        """Removes the group; nothing happens when there is none. Fails while it has processes."""
        if pids := self.pids():
            raise BasaltError(
                f"the control group {self.name} still holds processes {pids}",
                "they are a server of another run: wait for that run, or stop them")
        for folder in self._folders():
            _remove_folder(folder)


class GroupV1(Group):
    """One folder per controller; the block controller's root group, where the throttle is."""

    version = 1

    @property
    def memory_folder(self) -> Path:
        return self.root / "memory" / self.name

    @property
    def _cpu_folder(self) -> Path:
        return self.root / "cpuacct" / self.name

    def _folders(self) -> list[Path]:
        return [self.memory_folder, self._cpu_folder]

    def _entered(self) -> list[Path]:
        # Groups below the root of blkio have buckets of their own and write-back is charged to the
        # root, so a throttle that catches everything must find the process in the root.
        blkio = self.root / "blkio"
        return [*self._folders(), *([blkio] if blkio.is_dir() else [])]

    def _enable(self) -> None:
        """Version 1 gives every folder its controller's files."""

    def _limit_memory(self, limit: int) -> None:
        folder = self.memory_folder
        _write(folder / "memory.limit_in_bytes", limit)
        with contextlib.suppress(OSError):
            _write(folder / "memory.swappiness", 0)
        with contextlib.suppress(OSError):  # only kernels that account for swap have it
            # Reached before the limit of memory, this one would hide the count of failures.
            _write(folder / "memory.memsw.limit_in_bytes", limit + _V1_SWAP)

    def _own_limit(self) -> int | None:
        for line in _own_groups():
            _, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                stat = self.root / "memory" / path.lstrip("/") / "memory.stat"
                limit = _counters(stat).get("hierarchical_memory_limit", _V1_UNLIMITED)
                return None if limit >= _V1_UNLIMITED else limit
        return None

    def memory(self) -> MemoryUse:
        folder = self.memory_folder
        stat = _counters(folder / "memory.stat")
        limit = _number(folder / "memory.limit_in_bytes")
        return MemoryUse(
            usage=_number(folder / "memory.usage_in_bytes"),
            peak=_number(folder / "memory.max_usage_in_bytes"),
            limit=None if limit >= _V1_UNLIMITED else limit,
            failures=_number(folder / "memory.failcnt"),
            oom_kills=_counters(folder / "memory.oom_control").get("oom_kill", 0),
            cache=stat.get("cache", 0), rss=stat.get("rss", 0),
            dirty=stat.get("dirty", 0), write_back=stat.get("writeback", 0))

    def cpu(self) -> CpuUse:
        folder = self._cpu_folder
        total = _number(folder / "cpuacct.usage") / 1e9
        # The total is exact, its parts are of samples at each tick: only their relation counts.
        user = _number(folder / "cpuacct.usage_user")
        system = _number(folder / "cpuacct.usage_sys")
        fitted = total * user / max(user + system, 1)
        return CpuUse(total=total, user=fitted, system=total - fitted)

    def remove(self) -> None:
        # Pages of files would otherwise go on being counted for a group that is no more.
        if not self.pids():
            with contextlib.suppress(OSError):
                _write(self.memory_folder / "memory.force_empty", 0)
        super().remove()


class GroupV2(Group):
    """One folder with all controllers; io.max in it limits the group's own writes and reads."""

    version = 2

    @property
    def memory_folder(self) -> Path:
        return self.root / self.name

    def _folders(self) -> list[Path]:
        return [self.memory_folder]

    def _entered(self) -> list[Path]:
        return self._folders()

    def _enable(self) -> None:
        control = self.root / "cgroup.subtree_control"
        missing = {"cpu", "io", "memory"} - set(control.read_text().split())
        if missing:
            _write(control, " ".join(f"+{name}" for name in sorted(missing)))

    def _limit_memory(self, limit: int) -> None:
        _write(self.memory_folder / "memory.max", limit)
        with contextlib.suppress(OSError):
            _write(self.memory_folder / "memory.swap.max", 0)

    def _own_limit(self) -> int | None:
        limits = []
        for line in _own_groups():
            number, _, path = line.split(":", 2)
            if number != "0":
                continue
            folder = self.root / path.lstrip("/")
            for place in [folder, *folder.parents]:
                if place == self.root.parent:
                    break
                limits.append(_v2_limit(place / "memory.max"))
        return min((limit for limit in limits if limit is not None), default=None)

    def memory(self) -> MemoryUse:
        folder = self.memory_folder
        stat = _counters(folder / "memory.stat")
        events = _counters(folder / "memory.events")
        usage = _number(folder / "memory.current")
        try:
            peak = _number(folder / "memory.peak")
        except OSError:  # kernels before 5.19
            peak = usage
        return MemoryUse(
            usage=usage, peak=peak, limit=_v2_limit(folder / "memory.max"),
            failures=events.get("max", 0), oom_kills=events.get("oom_kill", 0),
            cache=stat.get("file", 0), rss=stat.get("anon", 0),
            dirty=stat.get("file_dirty", 0), write_back=stat.get("file_writeback", 0))

    def cpu(self) -> CpuUse:
        stat = _counters(self.memory_folder / "cpu.stat")
        return CpuUse(total=stat["usage_usec"] / 1e6, user=stat["user_usec"] / 1e6,
                      system=stat["system_usec"] / 1e6)


def hierarchy_version(root: Path = CGROUP_ROOT) -> int | None:
    """1 or 2: where the memory controller is; None when there is none."""
    controllers = root / "cgroup.controllers"
    if controllers.exists():
        return 2 if "memory" in controllers.read_text().split() else None
    return 1 if (root / "memory" / "cgroup.procs").exists() else None


def open_group(name: str, root: Path = CGROUP_ROOT) -> Group:
    """A group of this name, not yet created. Fails where there is no memory controller."""
    if "/" in name or name.startswith(".") or not name:
        raise BasaltError(f"{name!r} is no name of a control group")
    version = hierarchy_version(root)
    if version is None:
        raise BasaltError(f"there is no control group with memory limits below {root}",
                          "mount the memory controller: mount -t cgroup2 none /sys/fs/cgroup")
    return GroupV1(root, name) if version == 1 else GroupV2(root, name)


def end_left_over(name: str, root: Path = CGROUP_ROOT) -> None:
    """Ends what a killed run left in its group, and removes the group; right also without one.

    Only for a name that no run which may still be alive uses too.
    """
    if hierarchy_version(root) is not None:
        group = open_group(name, root)
        group.kill()
        group.remove()


def drop_page_cache(proc: Path = Path("/proc")) -> None:
    """Writes everything to the disk and forgets it, so that whoever reads next is charged."""
    os.sync()
    try:
        _write(proc / "sys/vm/drop_caches", 3)
    except OSError as error:
        raise BasaltError(f"the page cache cannot be dropped: {error}", "run as root") from error


def _own_groups() -> list[str]:
    try:
        return Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []


def _v2_limit(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:  # the root has no limit
        return None
    return None if text == "max" else int(text)


def _remove_folder(folder: Path, timeout: float = 10) -> None:
    """Removes one folder; an ended process may keep it busy for an instant."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise BasaltError(f"the control group {folder} cannot be removed: {error}",
                                  f"remove it: rmdir {folder}") from error
            time.sleep(0.05)


def _write(path: Path, value: int | str) -> None:
    # One write without truncation is what the kernel's files take.
    with path.open("w") as file:
        file.write(str(value))


def _number(path: Path) -> int:
    return int(path.read_text())


def _counters(path: Path) -> dict[str, int]:
    """Lines of a name and a number; empty when the file is missing."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines)
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
