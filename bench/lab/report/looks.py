"""How a setup looks: a colour and a marker, the same in every picture and table of a page.

An engine has a family of hues that people with colour blindness tell apart, and shapes of its own;
its variants differ in shade, shape and line. Every first colour has a contrast of 3 or more on
white.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from lab.setup import Engine


@dataclasses.dataclass(frozen=True)
class Look:
    """`marker` and `line` are matplotlib's; a hollow marker is filled with white."""

    colour: str
    marker: str
    is_hollow: bool
    line: str


_COLOURS = {
    Engine.INNODB: ("#0067b0", "#5b9fd0", "#003f73", "#3f7f8f"),
    Engine.MYROCKS: ("#d55e00", "#b8860b", "#8c3b00", "#e08214"),
    Engine.BASALT: ("#00835f", "#4fa36b", "#004d38", "#7a8f00"),
    None: ("#555555", "#8a5a83", "#222222", "#8a8a8a"),
}
_MARKERS = {Engine.INNODB: "oh", Engine.MYROCKS: "sP", Engine.BASALT: "^D", None: "vX"}
_LINES = ("-", "--", "-.", ":")


def engine_of(setup: str) -> Engine | None:
    """The engine that a setup's name begins with."""
    return next((engine for engine in Engine if setup.startswith(engine.value)), None)


def ordered(setups: Iterable[str]) -> list[str]:
    """Setups by engine, the rivals first, Basalt last; an engine's plain setup before variants."""
    engines: list[Engine | None] = [*Engine, None]
    return sorted(set(setups), key=lambda name: (engines.index(engine_of(name)), len(name), name))


def looks(setups: Iterable[str]) -> dict[str, Look]:
    """A look for each of a run's setups."""
    found: dict[str, Look] = {}
    counts: dict[Engine | None, int] = {}
    for setup in ordered(setups):
        engine = engine_of(setup)
        variant = counts.get(engine, 0)
        if engine and setup != engine.value and variant == 0:
            variant = 1  # the first look belongs to the plain setup, measured or not
        counts[engine] = variant + 1
        found[setup] = _variant(engine, variant)
    return found


def _variant(engine: Engine | None, number: int) -> Look:
    colours, markers = _COLOURS[engine], _MARKERS[engine]
    return Look(colours[number % len(colours)], markers[number // 2 % len(markers)],
                number % 2 == 1, _LINES[number % len(_LINES)])


def base(setups: Sequence[str], engine: Engine) -> str | None:
    """The setup that stands for an engine: the plain one, or the first of its variants."""
    return next((name for name in ordered(setups) if engine_of(name) is engine), None)
