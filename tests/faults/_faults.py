"""A file system that fails on command, for one server: tests/faults/_shim.c and its switch."""

from __future__ import annotations

import argparse
import errno
import mmap
import struct
from collections.abc import Callable
from enum import IntFlag
from pathlib import Path

from tests.support import preload, workspace
from tests.support.workspace import Tally, Workspace

_PLAN = struct.Struct("=iiiiii232s")
_SHIM = Path(__file__).parent / "_shim.c"
FOREVER = 1 << 30


class Call(IntFlag):
    """Kinds of calls of the system."""

    WRITE = 1
    SYNC = 2
    CREATE = 4
    RENAME = 8
    TRUNCATE = 16
    READ = 32


class Faults:
    """Builds the shim into `directory`; `environment` is for the server."""

    def __init__(self, directory: Path) -> None:
        library = preload.built(_SHIM, directory)
        plan = directory / "faults.plan"
        plan.write_bytes(bytes(_PLAN.size))
        with plan.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _PLAN.size)
        self.environment = {"LD_PRELOAD": str(library), "BASALT_FAULTS": str(plan)}

    def set(self, calls: Call, part: str, cause: int = errno.EIO, *, skipped: int = 0,
            count: int = FOREVER, is_torn: bool = False) -> None:
        """From now on these calls on files whose path has `part`, a shell's pattern, fail."""
        self.heal()
        self._memory[:] = _PLAN.pack(0, cause, skipped, count, is_torn, 0, f"*{part}*".encode())
        self._memory[0:4] = struct.pack("=i", int(calls))

    def heal(self) -> None:
        """All calls succeed again."""
        self._memory[0:4] = bytes(4)

    def failures(self) -> int:
        """How many calls have failed since set()."""
        return int(struct.unpack_from("=i", self._memory, 20)[0])


def tally_of(outcomes: list[tuple[str, list[str]]]) -> Tally:
    """Prints each case with its problems, and counts them."""
    for name, problems in outcomes:
        print(f"{'FAILED' if problems else 'passed'}  {name}")
        for problem in problems:
            print(f"        {problem}")
    failed = sum(1 for _, problems in outcomes if problems)
    return Tally(len(outcomes) - failed, failed)


def main_without_sanitizers(name: str, arguments: argparse.Namespace,
                            run: Callable[[Workspace, argparse.Namespace], Tally]) -> int:
    """As workspace.main(), for tests with a shim."""
    if arguments.flavour in ("asan", "tsan"):
        return workspace.skip("a sanitizer's library and the one that lets calls fail exclude "
                              "each other")
    return workspace.main(name, arguments, run)
