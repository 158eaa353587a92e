"""The noise floor: how much setups that are identical differ, from the A/A run.

The study named "noise" measures the same engine with the same settings under two names, or in two
cells of the same axes. A ratio inside the spread of those is no difference.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from lab.report.looks import engine_of
from lab.results import Ratio, Results, TrialRecord

STUDY = "noise"
METRIC = "per_second"


@dataclasses.dataclass(frozen=True)
class NoiseFloor:
    """The ratios of identical trials by metric, each as how far it is from 1 (1.05 for 1/1.05)."""

    factors: Mapping[str, Sequence[float]]

    @property
    def is_known(self) -> bool:
        return bool(self.factors.get(METRIC))

    @property
    def pairs(self) -> int:
        return len(self.factors.get(METRIC, ()))

    @property
    def median(self) -> float:
        """The median distance of the pairs' throughput."""
        return statistics.median(self.factors[METRIC])

    def limit(self, metric: str = METRIC) -> float | None:
        """The largest factor between identical trials; that of throughput for other metrics."""
        factors = self.factors.get(metric) or self.factors.get(METRIC)
        return max(factors) if factors else None

    def covers(self, metric: str, ratio: Ratio) -> bool:
        """Whether a ratio says nothing: it is within the limit, or its blocks contradict."""
        limit = self.limit(metric)
        is_small = limit is not None and 1 / limit <= ratio.median <= limit
        return is_small or ratio.low < 1 < ratio.high


def noise_floor(results: Results) -> NoiseFloor:
    """The floor that an A/A run shows; an unknown one if it holds no two identical trials."""
    alike: dict[object, list[TrialRecord]] = defaultdict(list)
    for trial in results.trials:
        axes = tuple(sorted(trial.axes.items()))
        alike[engine_of(trial.setup) or trial.setup, trial.block, axes].append(trial)
    factors: dict[str, list[float]] = defaultdict(list)
    for trials in alike.values():
        for first, second in itertools.combinations(trials, 2):
            for metric in first.values.keys() & second.values.keys():
                one, other = first.values[metric], second.values[metric]
                if one > 0 and other > 0:
                    factors[metric].append(max(one / other, other / one))
    return NoiseFloor(factors)
