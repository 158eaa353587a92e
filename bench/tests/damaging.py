"""What tests of all workloads do: damage their data, and fill them twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lab.workload import Workload


def assert_each_damage_is_found(target: Any, workload: Workload) -> None:
    """Data are right after preparing, and each planned damage is named by the check."""
    for damage in workload.damages():
        target.empty()
        workload.prepare(target)
        assert workload.check(target) == []
        for statement in damage.sql:
            target.query(statement)
        found = workload.check(target)
        assert any(damage.found_as in finding for finding in found), (damage, found)


def checksums_by_seed(target: Any, workload: Callable[[int], Workload],
                      tables: str) -> list[list[tuple[Any, ...]]]:
    """The tables' checksums after preparing with one seed twice, and with another.

    The first two must be equal; that the third differs in every table is asserted here.
    """
    found = []
    for seed in (5, 5, 6):
        target.empty()
        workload(seed).prepare(target)
        found.append(target.query(f"CHECKSUM TABLE {tables}"))
    assert all(one != other for one, other in zip(found[0], found[2], strict=True))
    return found[:2]
