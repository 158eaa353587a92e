#!/usr/bin/python3
"""Compares every C++ file with what clang-format makes of it by .clang-format.

Usage: tools/cxx_format.py [--fix] [ROOT]

Prints one line per file that differs and ends with exit code 1 if there is any; with --fix it
rewrites those files instead. The release of clang-format is Debian 12's, since releases differ in
what they make of the same file.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tidy import files, run_check

PACKAGE = "clang-format-14"  # its program has the same name
_SUFFIXES = {".cc", ".h"}


def findings(root: Path) -> Iterator[str]:
    """Names the files under `root` whose layout differs, with the first line that does."""
    for path in _sources(root):
        wanted = _program("--style=file", str(path)).stdout.splitlines()
        present = path.read_text(errors="replace").splitlines()
        for number, (have, want) in enumerate(zip([*present, None], [*wanted, None]), 1):
            if have != want:
                yield f"{path.relative_to(root)}:{number}: clang-format lays this out otherwise"
                break


def fix(root: Path) -> None:
    """Gives every file under `root` its layout."""
    for path in _sources(root):
        _program("--style=file", "-i", str(path))


def _sources(root: Path) -> list[Path]:
    return [path for path in files(root) if path.suffix in _SUFFIXES]


def _program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PACKAGE, *arguments], check=True, capture_output=True, text=True,
                          errors="replace")


def fix_and_find(root: Path) -> Iterator[str]:
    fix(root)
    yield from findings(root)


def main(arguments: list[str]) -> int:
    is_fix = "--fix" in arguments
    roots = [argument for argument in arguments if argument != "--fix"]
    status = run_check(roots, fix_and_find if is_fix else findings)
    if status:
        print("tools/cxx_format.py --fix lays them out")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
