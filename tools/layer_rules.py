"""What the layers of C++ folders and of Python packages have in common: tools/check_layers.py."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Iterator, Mapping


def rule_errors(allow: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Mistakes in a table of who may see whom: unknown folders and cycles."""
    for folder, seen in allow.items():
        for unknown in set(seen) - set(allow):
            yield f"layers.toml: {folder} may see {unknown}, which is not declared"
    names = circle(allow)
    if names:
        yield f"layers.toml: the folders {', '.join(sorted(set(names)))} form a cycle"


def circle(sees: Mapping[str, Iterable[str]]) -> list[str]:
    """Names of which each sees the next, the last being the first again; none without a circle."""
    try:
        graphlib.TopologicalSorter(sees).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return []
