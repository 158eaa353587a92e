#!/usr/bin/python3
"""Checks that every mutex of src/ is a basalt::Mutex with a rank, and that docs/locking.md has it.

The table of ranks, src/base/mutex_ranks.def, is the one source: what the sources declare and the
page tells is compared with it.

Usage: tools/check_locks.py [ROOT]

Prints one line per violation and ends with exit code 1 if there is any. That mutexes are taken in
the order of the table is asserted when they are taken (src/base/mutex.h); that what they guard is
guarded, clang proves (./basalt test --only thread-safety).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidy import run_check

RANKS = "src/base/mutex_ranks.def"
PAGE = "docs/locking.md"
_WRAPPER = "src/base/mutex.h"

_COMMENT = re.compile(r"//[^\n]*")
_RANK = re.compile(r'^BASALT_MUTEX\((\w+),\s*"([^"]+)",\s*"([^"]+)"\)$', re.MULTILINE)
_TABLE = re.compile(r"^\| mutex \| guards \|[^\n]*\n\|[-| ]+\n((?:\|[^\n]*\n)*)", re.MULTILINE)
_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+?) \|", re.MULTILINE)
_DECLARATION = re.compile(r"\bMutex (\w+)\s*[{(]\s*MutexRank::(\w+)\s*[)}]")
_FOREIGN = re.compile(r"\bstd::(?:\w+_)?mutex\b|\bstd::condition_variable\b|\bpthread_mutex_t\b")
_GUARDED = re.compile(r"guarded by `?\w*(?:mutex|latch)\w*", re.IGNORECASE)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Rank:
    """A line of the table."""

    rank: str
    name: str
    guards: str

    @property
    def owner(self) -> str:
        """The class or function that the mutex belongs to."""
        return re.match(r"\w+", self.name)[0]

    @property
    def member(self) -> str:
        return re.search(r"\w+$", self.name)[0]


def sources(root: Path) -> dict[str, str]:
    """The text of all sources but those of tests, and headers that only tests include."""
    texts = {str(path.relative_to(root)): path.read_text()
             for path in sorted((root / "src").rglob("*")) if path.suffix in {".h", ".cc"}}
    tests = {file for file in texts if _is_test(file)}
    includers: dict[str, set[str]] = {}
    for file, text in texts.items():
        for header in _INCLUDE.findall(text):
            includers.setdefault(f"src/{header}", set()).add(file)
    for file in texts:
        if file.endswith(".h") and includers.get(file, set()) and includers[file] <= tests:
            tests.add(file)
    return {file: text for file, text in texts.items() if file not in tests}


def _is_test(file: str) -> bool:
    name = Path(file).name
    return name.startswith("test_") or name.endswith(("_test.cc", "_bench.cc"))


def violations(root: Path) -> Iterator[str]:
    """One sentence per violation."""
    ranks = [Rank(*match) for match in _RANK.findall((root / RANKS).read_text())]
    if not ranks:
        yield f"{RANKS}: no line is understood"
    texts = sources(root)
    yield from _declarations(ranks, texts)
    for file, text in texts.items():
        yield from _forms(file, text)
    yield from _page(ranks, (root / PAGE).read_text())


def _declarations(ranks: list[Rank], texts: dict[str, str]) -> Iterator[str]:
    by_rank = {rank.rank: rank for rank in ranks}
    found: dict[str, str] = {}
    for file, text in texts.items():
        for variable, name in _DECLARATION.findall(_COMMENT.sub("", text)):
            rank = by_rank.get(name)
            if rank is None:
                yield f"{file}: {variable} has the rank {name}, which {RANKS} does not have"
                continue
            if name in found:
                yield f"{file}: {variable} has the rank {name}, as a mutex of {found[name]} has"
            found[name] = file
            if variable != rank.member or not re.search(rf"\b{rank.owner}\b", text):
                yield f"{file}: {variable} has the rank {name}, which is that of {rank.name}"
    for rank in ranks:
        if rank.rank not in found:
            yield f"{RANKS}: no mutex has the rank {rank.rank} of {rank.name}"


def _forms(file: str, text: str) -> Iterator[str]:
    """Mutexes of other types, and what is said by comments that clang cannot read."""
    if file == _WRAPPER:
        return
    for number, line in enumerate(text.splitlines(), 1):
        code = _COMMENT.sub("", line)
        if foreign := _FOREIGN.search(code):
            yield f"{file}:{number}: {foreign[0]} has no rank; basalt::Mutex has"
        if _GUARDED.search(line) and "BASALT_GUARDED_BY" not in line:
            yield f"{file}:{number}: what guards it is said by BASALT_GUARDED_BY"


def _page(ranks: list[Rank], page: str) -> Iterator[str]:
    table = _TABLE.search(page)
    if table is None:
        yield f"{PAGE}: there is no table of mutexes"
        return
    rows = dict(_ROW.findall(table[1]))
    names = {rank.name for rank in ranks}
    for name in rows:
        if name not in names:
            yield f"{PAGE}: there is no mutex {name}"
    for rank in ranks:
        if rank.name not in rows:
            yield f"{PAGE}: {rank.name} is missing"
        elif rows[rank.name] != rank.guards:
            yield f"{PAGE}: {rank.name} guards '{rows[rank.name]}', in {RANKS} '{rank.guards}'"
    told = [name for name in rows if name in names]
    order = [rank.name for rank in ranks if rank.name in rows]
    for is_told, should_be in zip(told, order):
        if is_told != should_be:
            yield f"{PAGE}: {is_told} is where {should_be} belongs by its rank"
            return


if __name__ == "__main__":
    sys.exit(run_check(sys.argv[1:], violations))
