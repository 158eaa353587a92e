"""The lists of tests/upstream/results: what each case comes to, and why it is no pass.

A list has the names of all cases of a suite in groups. Cases that pass are one group without a
reason; every other group has one:

  as_innodb       gives what InnoDB gives as well; the expectation is of MyISAM, or outdated
  differs         runs on our engine and gives something else than expected
  timing          passes or gives something else, as the server's threads happen to run
  skipped         the server's own conditions are not met
  not_applicable  asks for what is none of our engine's business, or of a later step
  not_run         not applicable, and would wait for ever or disturb the cases after it
"""

from __future__ import annotations

import enum
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from basaltcli.errors import BasaltError


class Outcome(enum.Enum):
    """What a case came to in a run."""

    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed the server"
    TIMED_OUT = "timed out"
    SKIPPED = "was skipped"
    NOT_OURS = "passed without a table in our engine"
    MISSING = "did not run"


STATUSES = ("pass", "as_innodb", "differs", "timing", "skipped", "not_applicable", "not_run")
# Those whose cases may have a recorded difference.
WITH_DIFFERENCE = ("as_innodb", "differs")
# What is as the list says. A crash or a hang never is. With a recorded difference a case passes.
_AS_LISTED = {
    "pass": {Outcome.PASSED},
    "as_innodb": {Outcome.FAILED},
    "differs": {Outcome.FAILED},
    "timing": {Outcome.PASSED, Outcome.FAILED},
    "skipped": {Outcome.SKIPPED},
    "not_applicable": {Outcome.FAILED, Outcome.SKIPPED, Outcome.NOT_OURS},
    "not_run": {Outcome.SKIPPED},
}


@dataclass(frozen=True)
class Expectation:
    """What a list says of one case."""

    status: str
    reason: str = ""


def load(path: Path) -> dict[str, Expectation]:
    """The list in a file; empty if there is none."""
    if not path.exists():
        return {}
    expectations: dict[str, Expectation] = {}
    for status, groups in tomllib.loads(path.read_text()).items():
        if status not in STATUSES:
            raise BasaltError(f"{path}: unknown group {status}", f"use {', '.join(STATUSES)}")
        for group in groups:
            reason = group.get("reason", "")
            for case in group["cases"]:
                if case in expectations:
                    raise BasaltError(f"{path}: {case} is listed twice", "remove one of them")
                if status != "pass" and not reason:
                    raise BasaltError(f"{path}: {case} has no reason", "write why it is no pass")
                expectations[case] = Expectation(status, reason)
    return expectations


def dump(expectations: Mapping[str, Expectation], title: str) -> str:
    """The text of a list: groups in order of their statuses and reasons, cases sorted."""
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for case, expectation in expectations.items():
        groups[STATUSES.index(expectation.status), expectation.reason].append(case)
    lines = [f"# {title}"]
    for (status, reason), cases in sorted(groups.items()):
        lines += ["", f"[[{STATUSES[status]}]]"]
        if reason:
            lines += _reason(reason)
        lines += ["cases = [", *(f'  "{case}",' for case in sorted(cases)), "]"]
    return "\n".join(lines) + "\n"


def _reason(reason: str) -> list[str]:
    """One line, or lines that TOML joins again to one."""
    text = reason.replace("\\", "\\\\").replace('"', '\\"')
    if len(text) < 80:
        return [f'reason = "{text}"']
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + len(word) < 96:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return ['reason = """', *(line + " \\" for line in lines[:-1]), lines[-1] + "\\", '"""']


@dataclass(frozen=True)
class Surprise:
    """A case that is not as the list says."""

    case: str
    outcome: Outcome
    expected: Expectation | None

    def __str__(self) -> str:
        if self.expected is None:
            return f"{self.case} {self.outcome.value}, and is not in the list"
        listed = f"listed as {self.expected.status}"
        if self.expected.reason:
            listed += f" ({self.expected.reason})"
        return f"{self.case} {self.outcome.value}, {listed}"


def compare(expectations: Mapping[str, Expectation], outcomes: Mapping[str, Outcome],
            recorded: Collection[str] = (), is_complete: bool = False) -> list[Surprise]:
    """Where a run and a list disagree; after a complete run also about cases that did not run.

    `recorded` are the cases that ran with a recorded difference.
    """
    surprises = []
    for case, outcome in outcomes.items():
        expected = expectations.get(case)
        if expected is None:
            surprises.append(Surprise(case, outcome, expected))
            continue
        good = _AS_LISTED[expected.status]
        if case in recorded:
            good = {Outcome.PASSED} if expected.status in WITH_DIFFERENCE else set()
        if outcome not in good:
            surprises.append(Surprise(case, outcome, expected))
    if is_complete:
        surprises += [Surprise(case, Outcome.MISSING, expected)
                      for case, expected in expectations.items() if case not in outcomes]
    return sorted(surprises, key=lambda surprise: surprise.case)


def updated(expectations: Mapping[str, Expectation], outcomes: Mapping[str, Outcome],
            comments: Mapping[str, str]) -> dict[str, Expectation]:
    """The list as the run would have it. Reasons stay; a new one must be written by hand."""
    listed = dict(expectations)
    for surprise in compare(expectations, outcomes):
        case = surprise.case
        if surprise.outcome is Outcome.PASSED:
            listed[case] = Expectation("pass")
        elif surprise.outcome is Outcome.SKIPPED:
            listed[case] = Expectation("skipped", comments.get(case, "") or UNEXPLAINED)
        elif surprise.outcome is Outcome.NOT_OURS:
            listed[case] = Expectation("not_applicable", "makes no table in the default engine")
        else:
            listed[case] = Expectation("differs", UNEXPLAINED)
    return listed


# Stands for a reason that nobody has written yet; never accepted by a run.
UNEXPLAINED = "?"


def unexplained(expectations: Mapping[str, Expectation]) -> list[str]:
    """The cases whose reason is still to be written."""
    return sorted(case for case, expectation in expectations.items()
                  if expectation.reason == UNEXPLAINED)


@dataclass(frozen=True)
class Figures:
    """A suite's line in the table."""

    cases: int
    not_applicable: int
    skipped: int
    applicable: int
    passed: int

    @property
    def percent(self) -> float:
        return 100.0 * self.passed / self.applicable if self.applicable else 100.0


def figures(expectations: Mapping[str, Expectation], outcomes: Mapping[str, Outcome],
            recorded: Collection[str] = ()) -> Figures:
    """Counts a run: a case that passed counts only with a table in our engine.

    A recorded difference counts as a pass where InnoDB has it as well.
    """
    def is_listed(case: str, status: str) -> bool:
        expected = expectations.get(case)
        return expected is not None and expected.status == status

    not_applicable = sum(
        outcome is Outcome.NOT_OURS or is_listed(case, "not_applicable")
        or is_listed(case, "not_run") for case, outcome in outcomes.items())
    skipped = sum(outcome is Outcome.SKIPPED and not is_listed(case, "not_applicable")
                  and not is_listed(case, "not_run") for case, outcome in outcomes.items())
    passed = sum(
        is_listed(case, "as_innodb") if case in recorded
        else outcome is Outcome.PASSED and not is_listed(case, "not_applicable")
        for case, outcome in outcomes.items())
    applicable = len(outcomes) - skipped - not_applicable
    return Figures(len(outcomes), not_applicable, skipped, applicable, passed)


def total(lines: Iterable[Figures]) -> Figures:
    """The sum of several suites."""
    rows = list(lines)
    return Figures(*(sum(getattr(row, name) for row in rows)
                     for name in ("cases", "not_applicable", "skipped", "applicable", "passed")))
