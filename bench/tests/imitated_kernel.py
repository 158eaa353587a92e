"""Folders that look like the kernel's control groups, devices and settings, for tests.

A folder of the kernel removes itself with its files and appears with them; these do not, so
`GroupFolders` makes the files and the tests replace the removal.
"""

from __future__ import annotations

import shutil
from pathlib import Path

V1_MEMORY = {
    "cgroup.procs": "", "memory.limit_in_bytes": "9223372036854771712",
    "memory.usage_in_bytes": "5000", "memory.max_usage_in_bytes": "7000", "memory.failcnt": "3",
    "memory.memsw.limit_in_bytes": "9223372036854771712",
    "memory.swappiness": "60", "memory.force_empty": "",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "memory.stat": "cache 100\nrss 200\ndirty 30\nwriteback 40\n"}
V1_CPU = {"cgroup.procs": "", "cpuacct.usage": "3500000000", "cpuacct.usage_user": "3000000000",
          "cpuacct.usage_sys": "500000000"}
V1_THROTTLE = ("read_iops_device", "write_iops_device", "read_bps_device", "write_bps_device")
V2_GROUP = {
    "cgroup.procs": "", "memory.max": "max", "memory.swap.max": "max", "memory.current": "5000",
    "memory.peak": "7000", "memory.events": "low 0\nhigh 0\nmax 7\noom 0\noom_kill 1\n",
    "memory.stat": "anon 200\nfile 100\nfile_dirty 30\nfile_writeback 40\n",
    "cpu.stat": "usage_usec 3500000\nuser_usec 3000000\nsystem_usec 500000\n", "io.max": ""}


def fill(folder: Path, files: dict[str, str]) -> None:
    """The files that the kernel puts into a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def version_1(root: Path) -> Path:
    """A hierarchy with the controllers memory, cpuacct and blkio."""
    fill(root / "memory", V1_MEMORY)
    fill(root / "cpuacct", V1_CPU)
    fill(root / "blkio", {"cgroup.procs": "",
                          **{f"blkio.throttle.{name}": "" for name in V1_THROTTLE}})
    return root


def version_2(root: Path) -> Path:
    """A unified hierarchy in which no controller has been enabled yet for groups below."""
    fill(root, {"cgroup.controllers": "cpuset cpu io memory pids\n", "cgroup.procs": "",
                "cgroup.subtree_control": "memory\n"})
    return root


def remove_folder(folder: Path) -> None:
    """What rmdir does to a group's folder."""
    shutil.rmtree(folder, ignore_errors=True)


def device(sys: Path, name: str, *, number: str, backing: Path | None = None,
           stat: str = "") -> None:
    """A block device below /sys."""
    fill(sys / "block" / name, {"dev": number + "\n", "stat": stat})
    if backing is not None:
        fill(sys / "block" / name / "loop", {"backing_file": f"{backing}\n", "dio": "1\n"})
    fill(sys / "block" / name / "queue",
         {"scheduler": "[none] mq-deadline\n", "read_ahead_kb": "8192\n"})
