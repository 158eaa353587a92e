"""The test step thread-safety: what mutexes guard is touched only while they are held.

clang proves it from the annotations of src/base/thread_annotations.h; GCC, which builds the engine,
does not read them.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from basaltcli import machine, ui

# Debian 12's only clang.
PACKAGES = ("clang-14",)
_COMPILER = "clang++-14"
_ONLY_THREAD_SAFETY = ("-Wno-everything", "-Wthread-safety", "-Werror=thread-safety")
# What a source file means depends on these; other options are GCC's own, or about code and
# warnings.
_KEPT = ("-D", "-I", "-std=", "-m")
_KEPT_WITH_VALUE = ("-I", "-D", "-isystem")


@dataclass(frozen=True)
class Unit:
    """A source file, and how it is compiled."""

    file: Path
    directory: str
    options: tuple[str, ...]
    prefix: str | None  # a header that CMake has compiled beforehand


def units(compile_commands: Path, src: Path) -> list[Unit]:
    """The files of `src` in a CMake build, but for tests."""
    return [unit_of(entry["file"], entry["directory"], shlex.split(entry["command"]))
            for entry in json.loads(compile_commands.read_text())
            if Path(entry["file"]).is_relative_to(src)
            and not entry["file"].endswith(("_test.cc", "_bench.cc"))]


def unit_of(file: str, directory: str, command: Sequence[str]) -> Unit:
    """What of a command line for GCC says how `file` is to be read."""
    options: list[str] = []
    prefix = None
    words = iter(command[1:])
    for word in words:
        if word == "-include":
            prefix = next(words)
        elif word in _KEPT_WITH_VALUE:
            options += [word, next(words)]
        elif word.startswith(_KEPT):
            options.append(word)
    return Unit(Path(file), directory, tuple(options), prefix)


def failures(chosen: Sequence[Unit], scratch: Path,
             bar: ui.Bar | None = None) -> Iterator[tuple[Path, str]]:
    """The files that do not hold, each with what clang says of it.

    Headers that many files begin with are compiled once, into `scratch`.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    prefixes: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for unit in chosen:
        if unit.prefix is not None and (unit.prefix, unit.options) not in prefixes:
            compiled = scratch / f"prefix{len(prefixes)}.pch"
            prefixes[unit.prefix, unit.options] = ["-include-pch", str(compiled)]
            _clang(unit, ["-x", "c++-header", unit.prefix, "-o", str(compiled)])

    def check(unit: Unit) -> tuple[Path, str]:
        prefix = prefixes[unit.prefix, unit.options] if unit.prefix is not None else []
        return unit.file, _clang(unit, [*prefix, "-fsyntax-only", str(unit.file)])

    with ThreadPoolExecutor(machine.jobs()) as pool:
        for number, (file, output) in enumerate(pool.map(check, chosen), 1):
            if bar is not None:
                bar.update(number, len(chosen))
            if output:
                yield file, output


def _clang(unit: Unit, arguments: Sequence[str]) -> str:
    """What clang says; empty where all is well."""
    ended = subprocess.run([_COMPILER, *unit.options, *_ONLY_THREAD_SAFETY, *arguments],
                           cwd=unit.directory, capture_output=True, text=True, check=False)
    return ended.stderr if ended.returncode != 0 else ""
