"""From bursts to what is said of the engines: ratios to the base's by round, and how sure they are.

An engine's rate in a round is compared with the base's rate in the same round only. The median of
these ratios is given with the interval in which it lies by 95 %: so many of the medians of rounds
that are drawn again, with replacement, fall into it (bootstrap).
"""

from __future__ import annotations

import dataclasses
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence

from lab.bursts import Burst
from lab.metrics import NOTHING, number
from lab.results import Ratio

_DRAWS = 4000
_OUTSIDE = 0.05


@dataclasses.dataclass(frozen=True)
class Line:
    """What a cell says of a setup: medians, and ratios to the base, which has none itself.

    `rounds` is how many there were; a ratio says how many of them count.
    """

    cell: str
    setup: str
    per_second: float | None
    cpu_us_per_unit: float | None
    rate: Ratio | None
    cpu: Ratio | None
    rounds: int


def with_interval(ratios: Sequence[float], seed: str) -> Ratio | None:
    """The median and its interval; the same for the same seed."""
    if not ratios:
        return None
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios)))
                     for _ in range(_DRAWS))
    cut = round(_DRAWS * _OUTSIDE / 2)
    return Ratio(statistics.median(ratios), medians[cut], medians[-1 - cut], len(ratios))


def lines(cell: str, bursts: Iterable[Burst], setups: Sequence[str]) -> list[Line]:
    """A line for each setup; the first one is the base."""
    bursts = list(bursts)
    counting = {(burst.setup, burst.round): burst for burst in bursts if burst.counts}
    rounds = {burst.round for burst in bursts}

    def ratio(setup: str, value: Callable[[Burst], float]) -> Ratio | None:
        pairs = [(counting.get((setup, each)), counting.get((setups[0], each)))
                 for each in sorted(rounds)]
        return with_interval([value(own) / value(base) for own, base in pairs
                              if own and base and value(base)], f"{cell} {setup}")

    def median(setup: str, value: Callable[[Burst], float]) -> float | None:
        found = [value(burst) for (name, _), burst in counting.items() if name == setup]
        return statistics.median(found) if found else None

    def line(setup: str) -> Line:
        is_base = setup == setups[0]
        return Line(cell, setup, median(setup, _rate), median(setup, _cpu),
                    None if is_base else ratio(setup, _rate),
                    None if is_base else ratio(setup, _cpu), len(rounds))

    return [line(setup) for setup in setups]


def table(all_lines: Iterable[Line], titles: dict[str, str], base: str) -> Iterator[str]:
    """The lines in Markdown."""
    name = titles[base]
    yield (f"| cell | engine | a second | CPU each, us | rate by {name}'s | CPU by {name}'s "
           "| rounds |")
    yield "|---|---|--:|--:|--:|--:|--:|"
    for line in all_lines:
        counted = f"{line.rate.blocks if line.rate else 0} of {line.rounds}"
        ratios = ["", "", ""] if line.setup == base else [
            str(line.rate or NOTHING), str(line.cpu or NOTHING), counted]
        yield " | ".join([f"| {line.cell}", titles[line.setup], number(line.per_second, 0),
                          number(line.cpu_us_per_unit, 2), *ratios]) + " |"


def _rate(burst: Burst) -> float:
    return burst.per_second


def _cpu(burst: Burst) -> float:
    return burst.cpu_us_per_unit
