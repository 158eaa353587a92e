"""Where our answers are not InnoDB's, and why that is right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

_LOCKING = ("RR", "SI", "SER")


@dataclass(frozen=True)
class Known:
    """A documented difference: the cases that show it, each with the levels at which it does."""

    title: str
    reason: str
    cases: Sequence[tuple[str, Collection[str]]]

    def covers(self, case: str, level: str) -> bool:
        return any(name == case and level in levels for name, levels in self.cases)


KNOWN = (
    Known("Dirty reads",
          "READ UNCOMMITTED reads committed rows, as READ COMMITTED does: changes are not in the "
          "tree before they are committed.",
          (("G1a", ("RU",)), ("G1b", ("RU",)), ("G1c", ("RU",)))),
)


def known(case: str, level: str) -> Known | None:
    """The documented difference that a case shows at a level, if there is one."""
    return next((each for each in KNOWN if each.covers(case, level)), None)
