"""What one trial measures, apart from whose study it belongs to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from lab.setup import D1, Durability, Limits, Setup
from lab.workload import Load, Workload


@dataclasses.dataclass(frozen=True)
class Cell:
    """One point of a study: a workload under limits, measured for each setup.

    `name` is unique in the study. `axes` are the coordinates that charts and claims use.
    With `warm_seconds` 0 the caches are cold when the window begins. What the study does after the
    window, besides the standard protocol, takes about `seconds_after`.
    """

    name: str
    workload: Workload
    setups: Sequence[Setup]
    axes: Mapping[str, float | str]
    limits: Limits = Limits()
    durability: Durability = D1
    threads: int = 4
    seconds: float = 30
    warm_seconds: float = 15
    seconds_after: float = 0

    def load(self, seconds: float, seed: int) -> Load:
        """The load of a window of this cell."""
        return self.workload.load(self.threads, seconds, seed)
