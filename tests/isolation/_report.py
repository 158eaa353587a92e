"""The page docs/isolation.md, made from what both engines answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.isolation._checker import FORBIDDEN
from tests.isolation._differences import KNOWN
from tests.isolation._engine import LEVELS, Level
from tests.isolation._script import Case, Outcome, StepOutcome, shown

ENGINES = ("InnoDB", "ROCKSDB")
# What an engine answered to a case at a level; keys are names.
Outcomes = Mapping[tuple[str, str, str], Outcome]

_DEADLOCK = 1213
_CHANGED = 1020

_HEAD = """# Isolation

What transactions see of each other, at each level, in InnoDB and in ROCKSDB. This page is written
by [hermitage.py](../tests/isolation/hermitage.py) from the answers of both engines in one run
(`--update`), and the test fails when it is not true any more. What the levels mean is told in the
[user guide](user-guide.md#isolation).

RU, RC, RR, SER: the four levels. SI: REPEATABLE READ with `rocksdb_snapshot_isolation=ON`, or
`innodb_snapshot_isolation=ON`.

## Anomalies

**yes**: the anomaly happens. Otherwise the cell tells what keeps it away: *wait*: one transaction
waits for the other; *deadlock*: one of them gets error 1213; *1020*: it gets that error, the record
has changed since the snapshot; *no*: what is read is not affected. Where the engines differ, InnoDB
is first.

"""
_DIFFERENCES = """
## Differences

All scripts of the test were run at all five levels; those that are not listed here got the same
answers from both engines: the same rows, waits and errors. Steps that the engines answer
differently are shown with InnoDB's answer and ours.
"""

_HISTORIES = """
## Random histories

[history.py](../tests/isolation/history.py) runs 16 clients with random transactions on lists and
sets, by primary key, secondary index and ranges of both, while the server is killed and started
again. Every value is added once, so reads tell who came before whom, and a
[checker](../tests/isolation/_checker.py) finds what must not have happened. Its
[own tests](../tests/isolation/checker_test.py) plant each of these and want them found.

"""
_MEANINGS = {
    "G0": "a cycle of changes that follow each other",
    "G1a": "something was read that was never committed, or undone to a savepoint",
    "G1b": "a part of what a transaction did to one object was read",
    "G1c": "a cycle of changes and of reads of what the other did",
    "dirty read": "what another had not yet asked to commit was read, and committed later",
    "order": "changes were read in another order than they have in the end",
    "duplicate": "a value is there twice",
    "lost write": "an acknowledged commit is not there after a kill, or has been overwritten",
    "half": "a part of a transaction is there after a kill",
    "vanished": "something was read that a kill has undone",
    "internal": "an own change was not read, or another's behind it",
    "stale read": "what was acknowledged before a snapshot began was not in it",
    "locked change": "a row, or a range with gap locks, was changed while another had it locked",
    "snapshot skew": "snapshots (of a statement at RU and RC, else of a transaction) had a later "
                     "change and not an earlier one, or saw two changes in two orders: long fork",
    "fuzzy read": "a row or a range read twice from one snapshot, or twice with locks, differed",
    "lost update": "two read the same version and both changed it",
    "G-single": "a cycle with one read of something older: read skew",
    "G-nonadjacent": "a cycle with several such reads, never one behind the other",
    "G2-item": "a cycle with several such reads: write skew",
    "G2": "the same with reads of ranges",
}
_QUESTIONS = """
[phantoms.py](../tests/isolation/phantoms.py) asks random tables random questions with locks, by all
kinds of indexes and plans, while another session tries to change the table: as long as the
transaction lasts, the answer stays.
"""


def page(cases: Sequence[Case], outcomes: Outcomes) -> str:
    """The whole page."""
    lines = list(_table([case for case in cases if case.happens is not None], outcomes))
    count = f"\n{len(cases)} scripts, {len(cases) * len(LEVELS)} runs on each engine.\n"
    return "".join((_HEAD, "\n".join(lines), "\n", _histories(), _DIFFERENCES, count,
                    _differences(cases, outcomes)))


def differing(theirs: Outcome, ours: Outcome) -> list[tuple[int, StepOutcome, StepOutcome]]:
    """Steps with different answers, with their numbers."""
    return [(number, one, two) for number, (one, two) in
            enumerate(zip(theirs.steps, ours.steps, strict=True), 1) if str(one) != str(two)]


def differs(theirs: Outcome, ours: Outcome) -> bool:
    return bool(differing(theirs, ours)) or theirs.final != ours.final


def difference_lines(theirs: Outcome, ours: Outcome) -> list[str]:
    """One line per step that differs, and one for the rows in the end."""
    lines = [f"{number}. `{one.step.session}: {one.step.sql}`: {one}; ROCKSDB: {two}"
             for number, one, two in differing(theirs, ours)]
    if theirs.final != ours.final:
        finals = [" ".join(map(shown, outcome.final)) for outcome in (theirs, ours)]
        lines.append(f"In the end: {finals[0]}; ROCKSDB: {finals[1]}")
    return lines


def _table(cases: Sequence[Case], outcomes: Outcomes) -> Iterator[str]:
    yield "| anomaly | " + " | ".join(level.short for level in LEVELS) + " |"
    yield "|---|" + "---|" * len(LEVELS)
    for case in cases:
        cells = [_cell(case, level, outcomes) for level in LEVELS]
        yield f"| {case.name}: {case.title} | " + " | ".join(cells) + " |"


def _histories() -> str:
    """What the checker forbids, and where."""
    kinds = set().union(*FORBIDDEN.values())
    assert kinds == _MEANINGS.keys(), "every kind of anomaly needs an explanation"
    rows = [f"| {kind} | {meaning} | "
            f"{', '.join(level.short for level in LEVELS if kind in FORBIDDEN[level.short])} |"
            for kind, meaning in _MEANINGS.items()]
    table = "\n".join(["| must not happen | meaning | at |", "|---|---|---|", *rows])
    return f"{_HISTORIES}{table}\n{_QUESTIONS}"


def _cell(case: Case, level: Level, outcomes: Outcomes) -> str:
    theirs, ours = (_verdict(case, outcomes[engine, case.name, level.short]) for engine in ENGINES)
    return theirs if theirs == ours else f"{theirs} / {ours}"


def _verdict(case: Case, outcome: Outcome) -> str:
    assert case.happens is not None
    if case.happens(outcome):
        return "**yes**"
    errors = outcome.errors()
    if _CHANGED in errors:
        return "1020"
    if _DEADLOCK in errors:
        return "deadlock"
    return "wait" if outcome.has_waits() else "no"


def _differences(cases: Sequence[Case], outcomes: Outcomes) -> str:
    text = ""
    for known in KNOWN:
        text += f"\n### {known.title}\n\n{known.reason}\n"
        for case in cases:
            groups: dict[str, list[str]] = {}
            for level in LEVELS:
                if not known.covers(case.name, level.short):
                    continue
                pair = [outcomes[engine, case.name, level.short] for engine in ENGINES]
                lines = difference_lines(pair[0], pair[1])
                groups.setdefault("\n  - ".join(lines), []).append(level.short)
            for lines_text, levels in groups.items():
                text += f"\n- {case.name} ({case.title}), {', '.join(levels)}:\n  - {lines_text}"
        text += "\n"
    return text
