"""What storage costs, and how many operations per second a throughput needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from lab.results import Results

# Provisioned volumes (io1), US East, 2018: dollars per month for a GB, and for an operation per
# second; as in the study's table, where 1 TB with 5000 is 5400 a year.
_PER_GB = 0.125
_PER_OPERATION = 0.065
_SECONDS_PER_MONTH = 365 * 86400 / 12
# The machine has a twentieth of the study's cores; the study's volume held the data twice.
_ROOM = 2.0


@dataclasses.dataclass(frozen=True)
class Need:
    """InnoDB needs `factor` times the operations; at the least that when it never got there."""

    factor: float
    is_lower_bound: bool


def per_year(iops: float, gigabytes: float) -> float:
    """Dollars per year of a provisioned volume."""
    return 12 * (_PER_GB * gigabytes + _PER_OPERATION * iops)


def per_million(iops: float, gigabytes: float, per_second: float) -> float:
    """Dollars of storage for a million transactions at a steady throughput."""
    month = per_year(iops, gigabytes * _ROOM) / 12
    return month / (per_second * _SECONDS_PER_MONTH) * 1e6


def iops_ratio(results: Results, cells: Sequence[str], axis: str, setup: str) -> Need | None:
    """How many times the operations InnoDB needs for what `setup` does in the first cell.

    InnoDB's throughput between the measured points is taken as straight in the operations.
    """
    wanted = results.median("per_second", cells[0], setup) if cells else None
    points = [(float(results.axes(name)[axis]), rate) for name in cells
              if (rate := results.median("per_second", name, "innodb")) is not None]
    if wanted is None or len(points) < 2:
        return None
    iops, rates = zip(*points, strict=True)
    start = float(results.axes(cells[0])[axis])
    if wanted > max(rates):
        return Need(max(iops) / start, is_lower_bound=True)
    order = np.argsort(rates)
    needed = float(np.interp(wanted, np.array(rates)[order], np.array(iops)[order]))
    return Need(needed / start, is_lower_bound=False)


def as_text(need: Need) -> str:
    """The factor, and whether it is only a bound."""
    return f"{'more than ' if need.is_lower_bound else ''}x {need.factor:.2g}"
