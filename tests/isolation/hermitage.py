"""The classical anomalies and the waits of transactions, on InnoDB and on ROCKSDB side by side.

Usage: ./basalt python tests/isolation/hermitage.py [--update] [--case NAME ...] [--level L ...]
                                                    [--show]

Scripts of steps for several sessions (_anomalies.py, _lock_cases.py, _scan_cases.py; the Hermitage
cases and many more) run at the four levels, and at REPEATABLE READ with snapshot isolation. Rows,
who waits for which step, and error numbers must be the same, except where _differences.py says why
not; what it says must be seen. docs/isolation.md is made of the answers, and compared; --update
writes it.

A step waits when its engine says so: InnoDB by transaction, ours by the number of waiting requests.
Should it not say so, a step that is not over after some seconds waits too, which is reported.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import threading
from dataclasses import dataclass, field

import pymysql

from basaltcli import layout
from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.isolation import _report
from tests.isolation._anomalies import ANOMALIES
from tests.isolation._differences import KNOWN, known
from tests.isolation._engine import LEVELS, Engine
from tests.isolation._lock_cases import LOCK_CASES
from tests.isolation._report import ENGINES, difference_lines, differs
from tests.isolation._scan_cases import SCAN_CASES
from tests.isolation._script import Case, Outcome
from tests.support import workspace
from tests.support.workspace import Tally, Workspace

_PAGE_NAME = "docs/isolation.md"
PAGE = layout.ROOT / _PAGE_NAME
# Nothing is synced: no crash here.
_OPTIONS = ("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync",
            "--debug-no-sync", "--loose-rocksdb-flush-log-at-trx-commit=0")


@dataclass
class _Answers:
    """What the engines answered, and what went wrong on the way."""

    outcomes: dict[tuple[str, str, str], Outcome] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    quiet_waits: int = 0


def ask(server: Server, cases: list[Case], levels: list[str]) -> _Answers:
    """Runs all scripts, each engine in a thread of its own."""
    answers = _Answers()
    threads = [threading.Thread(target=_ask_engine, args=(server, name, cases, levels, answers))
               for name in ENGINES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def _ask_engine(server: Server, name: str, cases: list[Case], levels: list[str],
                answers: _Answers) -> None:
    engine = Engine(server, name)
    for case in cases:
        for level in LEVELS:
            if level.short not in levels:
                continue
            try:
                answers.outcomes[name, case.name, level.short] = engine.run(case, level)
            except (BasaltError, pymysql.err.Error) as error:
                answers.problems.append(f"{name}, {case.name}, {level.short}: {error}")
    answers.quiet_waits += engine.quiet_waits
    engine.close()


def compare(cases: list[Case], levels: list[str], answers: _Answers) -> Tally:
    """Compares the engines, case by case; prints what differs and should not."""
    failed = 0
    for case in cases:
        for level in levels:
            pair = [answers.outcomes.get((engine, case.name, level)) for engine in ENGINES]
            failed += not _is_right(case, level, pair[0], pair[1])
    for problem in answers.problems:
        print(problem)
    return Tally(len(cases) * len(levels) - failed, failed)


def _is_right(case: Case, level: str, theirs: Outcome | None, ours: Outcome | None) -> bool:
    if theirs is None or ours is None:
        return False
    reason = known(case.name, level)
    if differs(theirs, ours) == (reason is not None):
        return True
    if reason is not None:
        print(f"{case.name}, {level}: no difference, though _differences.py lists it: "
              f"{reason.title}")
        return False
    print(f"{case.name} ({case.title}), {level}: InnoDB and ROCKSDB differ:")
    for line in difference_lines(theirs, ours):
        print(f"  {line}")
    return False


def check_page(cases: list[Case], answers: _Answers, update: bool) -> bool:
    """Whether the page in docs is what the answers make; with `update` it is written."""
    if answers.problems:
        print(f"{PAGE.name} is not checked: not all scripts have run")
        return False
    text = _report.page(cases, answers.outcomes)
    if update:
        PAGE.write_text(text)
    old = PAGE.read_text() if PAGE.exists() else ""
    if old == text:
        return True
    print(f"{_PAGE_NAME} is not what was seen; write it with --update, and read it")
    print(*difflib.unified_diff(old.splitlines(), text.splitlines(), "page", "seen", n=0,
                                lineterm=""), sep="\n")
    return False


def check_names(cases: list[Case]) -> bool:
    """Whether names of cases are unique, and differences name cases and levels that exist."""
    names = [case.name for case in cases]
    shorts = {level.short for level in LEVELS}
    bad = [name for name in set(names) if names.count(name) > 1]
    bad += [name for each in KNOWN for name, levels in each.cases
            if name not in names or not set(levels) <= shorts]
    for name in bad:
        print(f"{name}: no such case, or two, or no such level")
    return not bad


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    cases = [case for case in (*ANOMALIES, *LOCK_CASES, *SCAN_CASES)
             if not arguments.case or any(case.name.startswith(name) for name in arguments.case)]
    levels = [level.short for level in LEVELS
              if not arguments.level or level.short in arguments.level]
    server = work.server("data", options=_OPTIONS)
    server.start()
    answers = ask(server, cases, levels)
    if arguments.show:
        for (engine, name, level), outcome in sorted(answers.outcomes.items()):
            print(f"{name}, {level}, {engine}:", *outcome.lines(), sep="\n")
    tally = compare(cases, levels, answers)
    if answers.quiet_waits:
        print(f"{answers.quiet_waits} waits of which the engine said nothing")
    server.stop()
    if arguments.case or arguments.level:
        return tally
    good = [check_names(cases), check_page(cases, answers, arguments.update)]
    return Tally(tally.passed + sum(good), tally.failed + good.count(False))


def main() -> int:
    parser = workspace.parser(__doc__)
    parser.add_argument("--update", action="store_true", help=f"write {_PAGE_NAME}")
    parser.add_argument("--case", nargs="*", help="only cases whose names begin so")
    parser.add_argument("--level", nargs="*", choices=[level.short for level in LEVELS],
                        help="only these levels")
    parser.add_argument("--show", action="store_true", help="print all answers")
    return workspace.main("isolation", parser.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
