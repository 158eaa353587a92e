"""How many links a graph is loaded with; graph.lua, which makes it, tells the rules."""

from __future__ import annotations

import numpy as np

_DEGREES = np.array([0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000,
                     10000, 50000, 961963], float)
_ABOVE = np.array([.5467, .2254, .1304, .0801, .0555, .0417, .0328, .0224, .0167, .0097, .0067,
                   .00443, .00278, .00169, .00115, .00073, .00049, .00031, .00013, .00005,
                   .000002, .00000001])


def degrees(ids: int) -> np.ndarray:
    """The degrees of all nodes, the largest first, before they are split by type."""
    share = (np.arange(ids) + 0.5) / ids
    # The first point that no more than this share exceeds.
    point = np.minimum(len(_ABOVE) - np.searchsorted(_ABOVE[::-1], share, side="right"),
                       len(_ABOVE) - 1)
    before = np.maximum(point - 1, 1)
    at = np.maximum(point, 2)
    power = np.log(_DEGREES[at] / _DEGREES[before]) / np.log(_ABOVE[before] / _ABOVE[at])
    between = _DEGREES[before] * (_ABOVE[before] / share) ** power
    degree = np.where(point < 2, _DEGREES[point], np.minimum(between, _DEGREES[at]))
    return np.ceil(degree - 1e-6).astype(np.int64)


def loaded_links(ids: int) -> int:
    """The links of both types."""
    degree = degrees(ids)
    half = degree // 2
    remainder = degree - half
    return int(np.sum(2 * half + (remainder > 0) + (remainder > 1)))
