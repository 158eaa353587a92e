"""Latency histograms: counts by upper bound, and the percentiles that follow from them.

Only whole histograms can be put together; percentiles cannot. So clients report histograms, and
percentiles are computed once, here.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Self

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@dataclasses.dataclass(frozen=True)
class Histogram:
    """How many operations took at most so many milliseconds, by bucket; `maximum` is exact."""

    counts: Mapping[float, int]
    maximum: float

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def percentile(self, share: float) -> float:
        """The upper bound of the bucket in which the given share of all operations is reached."""
        bounds = sorted(self.counts)
        reached = list(itertools.accumulate(self.counts[bound] for bound in bounds))
        if not reached:
            return 0.0
        index = bisect.bisect_left(reached, share * reached[-1])
        return min(bounds[index], self.maximum)

    def summary(self) -> dict[str, float]:
        """The numbers that are reported: count, percentiles, maximum; milliseconds."""
        numbers = {name: self.percentile(share) for name, share in PERCENTILES.items()}
        return {"count": self.total, **numbers, "max": self.maximum}

    @classmethod
    def merged(cls, parts: Iterable[Histogram]) -> Self:
        """One histogram of several clients'."""
        counts: dict[float, int] = {}
        maximum = 0.0
        for part in parts:
            maximum = max(maximum, part.maximum)
            for bound, count in part.counts.items():
                counts[bound] = counts.get(bound, 0) + count
        return cls(counts, maximum)
