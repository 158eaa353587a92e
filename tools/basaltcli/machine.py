"""Checks of the machine, made before anything slow starts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from basaltcli.errors import BasaltError

GIB = 1 << 30
MEMORY_MINIMUM = 2 * GIB
COLD_BUILD_DISK = 5 * GIB
WARM_BUILD_DISK = 1 * GIB
SERVER_DISK = 1 * GIB
_CPU_FLAGS = {"sse4_2", "popcnt", "ssse3", "pclmulqdq"}


def total_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or its control group's limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            limit = Path("/sys/fs/cgroup", name).read_text().strip()
        except OSError:
            continue
        if limit.isdigit():
            total = min(total, int(limit))
    return total


def available_memory() -> int:
    """Bytes that can be used without swapping."""
    available = total_memory()
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            available = min(available, int(line.split()[1]) * 1024)
    return available


def jobs() -> int:
    """How many compilers to run at once: one per core, each with a gigabyte of memory."""
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, available_memory() // GIB))


def check_memory() -> None:
    """Fails when there is too little memory to build or to run a server."""
    total = total_memory()
    # A machine sold as 2 GB reports a little less.
    if total < MEMORY_MINIMUM * 9 // 10:
        raise BasaltError(f"this machine has {total / GIB:.1f} GB of memory; 2 GB are needed",
                          "give the machine or the container more memory")


def check_disk(path: Path, needed: int, what: str) -> None:
    """Fails when the file system that will hold `path` has too little room."""
    existing = path
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise BasaltError(
            f"{what} needs {needed / GIB:.0f} GB of free disk space; "
            f"the file system of {path} has {free / GIB:.1f} GB",
            "free some space, or put the cache on another file system with BASALT_CACHE=DIRECTORY")


def check_cpu() -> None:
    """Fails on a processor for which we do not build."""
    if os.uname().machine != "x86_64":
        raise BasaltError(f"this machine is {os.uname().machine}; Basalt is built for x86-64 only",
                          "use an x86-64 machine")
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            missing = _CPU_FLAGS - set(line.split())
            if missing:
                raise BasaltError(f"this processor lacks {', '.join(sorted(missing))}",
                                  "use a machine with an x86-64-v2 processor (any since 2010)")
            return
