"""Scripts of steps for several sessions, and what a step comes to.

A script has one step per line, `SESSION: statement` or `SESSION label: statement`; the steps are
done one after the other, each by its session. A step that blocks stays behind, and with it those of
its session that follow; the script goes on, and they are done when another session lets them. Lines
beginning with # are comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Row = tuple[object, ...]

_STEP = re.compile(r"^(?P<session>[A-Z]\w*)(?: (?P<label>\w+))?: (?P<sql>.+)$")


@dataclass(frozen=True)
class Step:
    """A statement of one session. `label` names its result for the case."""

    session: str
    sql: str
    label: str = ""


@dataclass
class Done:
    """What a step came to: rows or a number of changed rows, or an error."""

    rows: list[Row] | None = None
    changed: int = 0
    error: int = 0

    def __str__(self) -> str:
        if self.error:
            return f"error {self.error}"
        if self.rows is not None:
            return " ".join(shown(row) for row in self.rows) or "no rows"
        return f"{self.changed} changed" if self.changed else "ok"


@dataclass
class StepOutcome:
    """One step of a run. `waited_until` is the number of the step that let it go on, from 1; 0
    when that was none of the script's. A step is `late` when the one before of its session waited.
    """

    step: Step
    done: Done = field(default_factory=Done)
    waited_until: int | None = None
    is_late: bool = False

    def __str__(self) -> str:
        return f"late, {self._text()}" if self.is_late else self._text()

    def _text(self) -> str:
        if self.waited_until is None:
            return str(self.done)
        until = f"step {self.waited_until}" if self.waited_until else "the end"
        return f"waits for {until}: {self.done}"


@dataclass
class Outcome:
    """All that one engine answered to a script."""

    steps: list[StepOutcome]
    final: list[Row]

    def rows(self, label: str) -> list[Row] | None:
        """Rows of the labelled step; None when it failed."""
        return self._labelled(label).rows

    def error(self, label: str) -> int:
        """Error number of the labelled step, 0 if none."""
        return self._labelled(label).error

    def succeeds(self, label: str) -> bool:
        return self.error(label) == 0

    def errors(self) -> list[int]:
        return [outcome.done.error for outcome in self.steps if outcome.done.error]

    def has_waits(self) -> bool:
        return any(outcome.waited_until is not None for outcome in self.steps)

    def lines(self) -> list[str]:
        """One line per step, and the rows at the end."""
        lines = [f"{number:2} {outcome.step.session}: {outcome.step.sql} -> {outcome}"
                 for number, outcome in enumerate(self.steps, 1)]
        final = " ".join(shown(row) for row in self.final) or "no rows"
        return [*lines, f"   in the end -> {final}"]

    def _labelled(self, label: str) -> Done:
        return next(outcome.done for outcome in self.steps if outcome.step.label == label)


@dataclass(frozen=True)
class Case:
    """A script and what it shows.

    `happens` tells from an outcome whether the anomaly has happened. Cases without one are about
    who waits for whom.
    """

    name: str
    title: str
    script: str
    happens: Callable[[Outcome], bool] | None = None
    table: str = "pair"

    def steps(self) -> list[Step]:
        return parse(self.script)


def parse(script: str) -> list[Step]:
    """The steps of a script."""
    steps = []
    for line in script.strip().splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _STEP.match(text)
        if match is None:
            raise ValueError(f"not a step: {text}")
        steps.append(Step(match["session"], match["sql"], match["label"] or ""))
    return steps


def sessions(steps: Sequence[Step]) -> list[str]:
    """Names of the sessions in order of appearance."""
    return list(dict.fromkeys(step.session for step in steps))


def shown(row: Row) -> str:
    return "(" + ",".join("NULL" if value is None else str(value) for value in row) + ")"
