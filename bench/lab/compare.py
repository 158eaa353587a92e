"""Two runs of the same studies, before and after a change: the ratios of their medians.

Runs may be compared only if nothing but Basalt's own version differs: another host, server or
sysbench is another experiment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from basaltcli.errors import BasaltError
from rich.table import Table

from lab.results import Results
from lab.store import Run

# What a change of ours changes, and what is measured anew for each run.
_MAY_DIFFER = {"versions.basalt", "fsync"}
_METRICS = {"per_second": "throughput", "p99_ms": "p99",
            "total_write_kb_per_unit": "written per unit",
            "server_cpu_us_per_unit": "server CPU per unit"}


def compare(before: Run, after: Run) -> Table:
    """`after` in terms of `before`: a line for each cell and setup that both have measured.

    Raises BasaltError when the runs are of different things, and names the first of them.
    """
    difference = first_difference(before, after)
    if difference:
        raise BasaltError(f"the runs {before.name} and {after.name} cannot be compared: "
                          f"{difference}", "measure both on the same machine with the same server")
    studies = [name for name in before.studies if name in after.studies]
    if not studies:
        raise BasaltError(f"the runs {before.name} and {after.name} have no study in common",
                          "run the same studies in both")
    table = Table(box=None, pad_edge=False, title=f"{after.name} over {before.name}")
    for name in ("study", "cell", "setup"):
        table.add_column(name)
    for title in _METRICS.values():
        table.add_column(title, justify="right")
    for study in studies:
        for line in _lines(before.results(study), after.results(study)):
            table.add_row(study, *line)
    return table


def first_difference(before: Run, after: Run) -> str:
    """The first thing that must be equal and is not, with both values; "" if there is none."""
    if before.size != after.size:
        return f"size: {before.size} and {after.size}"
    left, right = dict(_flat(before.identity)), dict(_flat(after.identity))
    for name in sorted(left.keys() | right.keys()):
        may_differ = any(name == allowed or name.startswith(f"{allowed}.")
                         for allowed in _MAY_DIFFER)
        if not may_differ and left.get(name) != right.get(name):
            return f"{name}: {left.get(name)} and {right.get(name)}"
    return ""


def _lines(before: Results, after: Results) -> Iterator[list[str]]:
    for cell in after.cells():
        for setup in after.setups():
            medians = [(before.median(metric, cell, setup), after.median(metric, cell, setup))
                       for metric in _METRICS]
            if any(old is not None and new is not None for old, new in medians):
                yield [cell, setup, *(f"x {new / old:.2f}" if old and new is not None else "-"
                                      for old, new in medians)]


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from _flat(part, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", part
