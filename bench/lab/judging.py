"""Common forms of claims: a ratio of two setups in a band, a metric that stays flat.

A claim is about the rivals of its time, InnoDB and MyRocks; what Basalt does in the same cell is
shown beside it. The bands are those at which the published direction holds on a machine that is
smaller than the authors' by a factor of twenty.
"""

from __future__ import annotations

from collections.abc import Callable

from lab.results import Ratio, Results
from lab.study import Claim, Finding, Verdict

Choose = Callable[[Results], str | None]


def cell(name: str) -> Choose:
    """The cell of this name."""
    return lambda results: name if name in results.cells() else None


def lowest(axis: str, **where: float | str) -> Choose:
    """The measured cell with the lowest value on an axis."""
    return lambda results: _extreme(results, axis, where, lowest=True)


def highest(axis: str, **where: float | str) -> Choose:
    """The measured cell with the highest value on an axis."""
    return lambda results: _extreme(results, axis, where, lowest=False)


def ratio_claim(name: str, statement: str, published: str, choose: Choose, *,
                metric: str = "per_second", setup: str = "myrocks", base: str = "innodb",
                base_cell: Choose | None = None, at_least: float | None = None,
                at_most: float | None = None, ours: str = "basalt",
                ours_base: str | None = None) -> Claim:
    """A claim that `setup` has so many times the value of `base`.

    With `base_cell` the base's value is that of another cell. `ours` is the setup of Basalt that is
    put in `setup`'s place to be shown beside, `ours_base` what is put in `base`'s place: if not
    given, `ours` too when the claim is about one setup, and `base` itself otherwise.
    """
    def judge(results: Results) -> Finding:
        chosen = choose(results)
        below = base_cell(results) if base_cell else chosen
        if chosen is None or below is None:
            return Finding(Verdict.NOT_COMPARABLE, "", reason="the cell was not measured")
        if (setup, chosen) == (base, below):
            return Finding(Verdict.NOT_COMPARABLE, "", reason=f"only one cell, {chosen}, was "
                           "measured of the two")
        ratio = results.ratio(metric, chosen, setup, base, below)
        own_base = ours_base or (ours if setup == base else base)
        own = results.ratio(metric, chosen, ours, own_base, below)
        return in_band(ratio, at_least, at_most, f"in the cell {chosen}",
                       str(own) if own else "")
    return Claim(name, statement, published, judge)


def in_band(ratio: Ratio | None, at_least: float | None, at_most: float | None, where: str,
            ours: str = "") -> Finding:
    """The finding on a ratio that is to be within a band."""
    if ratio is None:
        return Finding(Verdict.NOT_COMPARABLE, "", ours, f"not both were measured {where}")
    is_in = ((at_least is None or ratio.median >= at_least)
             and (at_most is None or ratio.median <= at_most))
    bounds = " and ".join(text for text, bound in ((f"at least {at_least}", at_least),
                                                   (f"at most {at_most}", at_most))
                          if bound is not None)
    return Finding(Verdict.REPRODUCED if is_in else Verdict.NOT_REPRODUCED, str(ratio), ours,
                   f"{where}; expected {bounds}")


def flat_claim(name: str, statement: str, published: str, axis: str, *, metric: str,
               setup: str = "myrocks", within: float, ours: str = "basalt") -> Claim:
    """A claim that a metric's medians over an axis differ by at most a factor."""
    def judge(results: Results) -> Finding:
        factor = _factor(results, axis, metric, setup)
        own = _factor(results, axis, metric, ours)
        return in_band(Ratio(factor, factor, factor, 1) if factor else None, None, within,
                       f"highest over lowest along {axis}", f"x {own:.2f}" if own else "")
    return Claim(name, statement, published, judge)


def not_here(name: str, statement: str, published: str, reason: str) -> Claim:
    """A published claim that cannot be tried on this machine or with these engines."""
    return Claim(name, statement, published,
                 lambda _: Finding(Verdict.NOT_COMPARABLE, "", reason=reason))


def _factor(results: Results, axis: str, metric: str, setup: str) -> float | None:
    medians = [median for name in results.cells() if axis in results.axes(name)
               and (median := results.median(metric, name, setup))]
    return max(medians) / min(medians) if len(medians) > 1 else None


def _extreme(results: Results, axis: str, where: dict[str, float | str], *,
             lowest: bool) -> str | None:
    names = [name for name in results.cells(where) if axis in results.axes(name)]
    choose = min if lowest else max
    return choose(names, key=lambda name: float(results.axes(name)[axis]), default=None)
