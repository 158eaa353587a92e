"""What the machine is, and what it lets us measure.

    describe_host(directory)                  # for a run's identity: JSON, no names of places
    for name, ability in capabilities(directory).items():
        if not ability.is_there:
            print(name, ability.reason, ability.remedy)
    for latency in fsync_latencies(directory):
        print(latency.block_size, latency.p50_us, latency.p99_us, latency.is_plausible)
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from basaltcli import process
from basaltcli.errors import BasaltError

from lab import fio
from lab.control_groups import CGROUP_ROOT, hierarchy_version, open_group
from lab.throttle import open_throttle

# Below this no medium has written anything when fsync returns.
_FSYNC_PLAUSIBLE_US = 50.0
_FREE_DISK = 8 << 30
_DISK_TOOLS = {"losetup": "mount", "mount": "mount", "umount": "mount", "mkfs.ext4": "e2fsprogs",
               "e2fsck": "e2fsprogs", "resize2fs": "e2fsprogs"}
_ROOT_REMEDY = "run as root (sudo ./basalt bench ...)"


@dataclasses.dataclass(frozen=True)
class Capability:
    """Whether the machine gives something; if not, why, and what would be needed."""

    is_there: bool
    reason: str = ""
    remedy: str = ""


@dataclasses.dataclass(frozen=True)
class FsyncLatency:
    """What one write of `block_size` bytes takes until it is said to be on the disk."""

    block_size: int
    count: int
    p50_us: float
    p99_us: float

    @property
    def is_plausible(self) -> bool:
        """False when the disk answers faster than any can write: then nothing is durable here."""
        return self.p50_us >= _FSYNC_PLAUSIBLE_US


def describe_host(directory: Path, *, proc: Path = Path("/proc"), sys: Path = Path("/sys"),
                  cgroups: Path = CGROUP_ROOT) -> dict[str, Any]:
    """The identity of the host; runs on hosts that differ in it are not to be compared."""
    cpu = _cpu_fields(proc)
    meminfo = _pairs(proc / "meminfo")
    return {
        "cpu": cpu.get("model name", "unknown"),
        "cpu_mhz": round(float(cpu.get("cpu MHz", 0))),
        "cores": os.cpu_count(),
        "is_virtual": "hypervisor" in cpu.get("flags", "").split(),
        "memory_bytes": int(meminfo.get("MemTotal", "0").split()[0]) * 1024,
        "swap_bytes": int(meminfo.get("SwapTotal", "0 kB").split()[0]) * 1024,
        "kernel": os.uname().release,
        "system": _system_name(),
        "cgroup_version": hierarchy_version(cgroups),
        **_disk_fields(directory, sys),
        **_file_system_fields(directory, proc)}


def capabilities(directory: Path, *, free_disk: int = _FREE_DISK,
                 cgroups: Path = CGROUP_ROOT) -> dict[str, Capability]:
    """What the laboratory can do here, with its files in `directory`.

    memory_limit: a limit that covers the page cache, tried with a group that is removed again;
    iops_limit: limits of operations and bytes per second; disk: a loop device; page_cache: emptying
    it; free_disk: room for `free_disk` bytes; fio and sysbench: the programs.
    """
    disk = _disk(directory, free_disk)
    return {
        "root": _root(),
        "memory_limit": _memory_limit(cgroups),
        "disk": disk,
        "iops_limit": _iops_limit(cgroups) if disk.is_there else disk,
        "page_cache": _page_cache(),
        "free_disk": _free_disk(directory, free_disk),
        "fio": _program("fio", "fio"),
        "sysbench": _program("sysbench", "sysbench")}


def fsync_latencies(directory: Path, seconds: int = 2) -> list[FsyncLatency]:
    """Measured by fio: one thread appends 4 KiB, then 16 KiB, with an fsync after each write."""
    found = []
    with tempfile.TemporaryDirectory(prefix="fsync-", dir=directory) as place:
        for size in (4096, 16384):
            job = fio.run_fio(Path(place), f"fsync{size}", {
                "rw": "write", "bs": size, "fsync": 1, "ioengine": "psync", "size": "64m",
                "runtime": seconds, "time_based": 1})
            # The sync's own time; the write before it only goes into the page cache.
            latencies = job["sync"]["lat_ns"]
            found.append(FsyncLatency(size, latencies["N"], fio.percentile_us(latencies, 50),
                                      fio.percentile_us(latencies, 99)))
    return found


def _root() -> Capability:
    if os.geteuid() == 0:
        return Capability(True)
    return Capability(False, "this is not root", _ROOT_REMEDY)


def _memory_limit(cgroups: Path) -> Capability:
    if os.geteuid() != 0:
        return Capability(False, "a control group needs root", _ROOT_REMEDY)
    try:
        group = open_group(f"basalt-bench-probe-{os.getpid()}", cgroups)
        group.create(memory_limit=64 << 20)
        limit = group.memory().limit
        group.remove()
    except BasaltError as error:
        return Capability(False, error.message, error.remedy)
    if limit != 64 << 20:
        return Capability(False, f"the kernel took a limit of 64 MiB as {limit}",
                          "use a machine with the memory controller of control groups")
    return Capability(True)


def _disk(directory: Path, needed: int) -> Capability:
    if os.geteuid() != 0:
        return Capability(False, "a loop device needs root", _ROOT_REMEDY)
    if not Path("/dev/loop-control").exists():
        return Capability(False, "this kernel or container has no loop devices",
                          "load the module (modprobe loop), or give the container /dev/loop*")
    for name, package in _DISK_TOOLS.items():
        program = _program(name, package)
        if not program.is_there:
            return program
    return _free_disk(directory, needed)


def _iops_limit(cgroups: Path) -> Capability:
    version = hierarchy_version(cgroups)
    if version == 2 and not (cgroups / "blkio").exists():
        if "io" in (cgroups / "cgroup.controllers").read_text().split():
            return Capability(True)
        return Capability(False, "the io controller of control groups is not available",
                          "use a kernel with CONFIG_BLK_CGROUP and CONFIG_BLK_DEV_THROTTLING")
    try:
        open_throttle(root=cgroups)
    except BasaltError as error:
        return Capability(False, error.message, error.remedy)
    limit = cgroups / "blkio/blkio.throttle.write_iops_device"
    if not os.access(limit, os.W_OK):
        return Capability(False, "the limits of the root control group cannot be written",
                          "run as root outside of a container")
    return Capability(True)


def _page_cache() -> Capability:
    if os.access("/proc/sys/vm/drop_caches", os.W_OK):
        return Capability(True)
    return Capability(False, "the page cache cannot be emptied, so runs do not begin cold",
                      "run as root outside of a container")


def _free_disk(directory: Path, needed: int) -> Capability:
    existing = _existing(directory)
    # What the laboratory itself has there is at its disposal.
    image = directory / "disk.img"
    own = image.stat().st_blocks * 512 if image.exists() else 0
    free = shutil.disk_usage(existing).free + own
    if free >= needed:
        return Capability(True)
    return Capability(False, f"{needed / (1 << 30):.0f} GiB of disk are needed, "
                      f"{free / (1 << 30):.1f} GiB are free", "free some space")


def _program(name: str, package: str) -> Capability:
    path = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    if shutil.which(name, path=path):
        return Capability(True)
    return Capability(False, f"the program {name} is not installed",
                      f"install it: apt-get install {package}")


def _existing(directory: Path) -> Path:
    directory = directory.absolute()
    while not directory.exists():
        directory = directory.parent
    return directory


def _cpu_fields(proc: Path) -> dict[str, str]:
    """The first core's fields in cpuinfo."""
    first = (proc / "cpuinfo").read_text().split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _pairs(path: Path) -> dict[str, str]:
    pairs = (line.partition(":") for line in path.read_text().splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _system_name() -> str:
    for line in (process.capture(["cat", "/etc/os-release"]) or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return os.uname().sysname


def _disk_fields(directory: Path, sys: Path) -> dict[str, Any]:
    """The block device below a directory and its queue; little on network file systems."""
    number = _existing(directory).stat().st_dev
    block = sys / f"dev/block/{os.major(number)}:{os.minor(number)}"
    if not block.exists():
        return {"disk": "no block device"}
    block = block.resolve()
    if (block / "partition").exists():
        block = block.parent

    def read(name: str) -> str:
        try:
            return (block / name).read_text().strip()
        except OSError:
            return ""

    scheduler = read("queue/scheduler")
    return {"disk": f"{block.name} {read('device/model')}".strip(),
            "disk_bytes": int(read("size") or 0) * 512,
            "disk_is_rotational": read("queue/rotational") == "1",
            "disk_scheduler": scheduler.partition("[")[2].partition("]")[0] or scheduler,
            "disk_write_cache": read("queue/write_cache")}


def _file_system_fields(directory: Path, proc: Path) -> dict[str, Any]:
    """Type and options of the file system below a directory, of the longest mount that fits."""
    place = str(_existing(directory).resolve())
    best, found = -1, {}
    for line in (proc / "self/mounts").read_text().splitlines():
        _, mount_point, kind, options, *_ = line.split()
        is_above = place == mount_point or place.startswith(mount_point.rstrip("/") + "/")
        if is_above and len(mount_point) >= best:
            best = len(mount_point)
            found = {"file_system": kind, "mount_options": options}
    return found
