"""The judge of random programs finds what is planted into a record, and nothing in a good one.

Each record is written by hand, as sessions could have left it, and judged with an answer that is
right, and with some that are not.
"""

from __future__ import annotations

import sys

from tests.isolation._serial_oracle import Oracle
from tests.isolation._serial_scene import parse
from tests.isolation._turns import Record, Row, Step
from tests.support import workspace
from tests.support.workspace import Workspace

_SETUP = (
    "setup: CREATE TABLE t (id INT PRIMARY KEY, k INT, s VARCHAR(9) COLLATE utf8mb4_general_ci)",
    "setup: CREATE TABLE s (k INT, s VARCHAR(9) COLLATE utf8mb4_general_ci)",
    "setup: INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')",
    "setup: INSERT INTO s VALUES (1, 'a'), (1, 'a'), (1, 'A'), (1, NULL)",
    "set W1: DO 1", "set W2: DO 1", "set R: DO 1")
_ALL = "SELECT id FROM t"
_OF_S = "SELECT * FROM s"


class Judge:
    """Judges records with one program's tables."""

    def __init__(self, work: Workspace) -> None:
        self._server = work.server("data")
        self._server.start()

    def problems(self, *steps: tuple[str, str, list[Row] | int | None]) -> list[str]:
        """What is wrong with steps that were done in this order: who, what, and the answer."""
        program = parse([*_SETUP, *(f"{who}: {sql}" for who, sql, _ in steps)])
        record = Record(("W1", "W2", "R"))
        for who, sql, answer in steps:
            event = record.begin(Step(who, sql))
            assert event is not None
            if isinstance(answer, list):
                event.rows = answer
            else:
                event.changed = answer or 0
            record.finish(event)
        oracle = Oracle(self._server, program)
        try:
            return oracle.differences(record)
        finally:
            oracle.close()


def _ids(*ids: int) -> list[Row]:
    return [(number,) for number in ids]


def _expect(problems: dict[str, list[str]], *, wrong: tuple[str, ...]) -> list[str]:
    """Which of the records were judged otherwise than they should have been."""
    return [f"{name}: {found or 'nothing found'}" for name, found in problems.items()
            if bool(found) != (name in wrong)]


def writers_follow_each_other_by_their_ends(judge: Judge) -> list[str]:
    """W2 begins first, and ends last: it must have seen what W1 did."""
    found = {name: judge.problems(
        ("W2", "BEGIN", 0), ("W1", "BEGIN", 0), ("W1", "INSERT INTO t VALUES (5, 5, 'e')", 1),
        ("W1", "COMMIT", 0), ("W2", f"{_ALL} FOR UPDATE", answer), ("W2", "COMMIT", 0))
        for name, answer in (("seen", _ids(1, 2, 5)), ("not seen", _ids(1, 2)))}
    return _expect(found, wrong=("not seen",))


def a_prepared_writer_comes_before_who_ends_after_it_was_prepared(judge: Judge) -> list[str]:
    """What W2 adds once W1 is prepared, W1 cannot have seen."""
    found = {name: judge.problems(
        ("W1", "XA START 'a'", 0), ("W1", f"{_ALL} FOR UPDATE", answer), ("W1", "XA END 'a'", 0),
        ("W1", "XA PREPARE 'a'", 0), ("W2", "BEGIN", 0),
        ("W2", "INSERT INTO t VALUES (5, 5, 'e')", 1), ("W2", "COMMIT", 0),
        ("W1", "XA COMMIT 'a'", 0))
        for name, answer in (("before", _ids(1, 2)), ("as if after", _ids(1, 2, 5)))}
    return _expect(found, wrong=("as if after",))


def a_prepared_writer_comes_after_who_ended_before_it_was_prepared(judge: Judge) -> list[str]:
    """It waited for W2, and must have seen what that did."""
    found = {name: judge.problems(
        ("W1", "XA START 'a'", 0), ("W2", "BEGIN", 0),
        ("W2", "INSERT INTO t VALUES (5, 5, 'e')", 1), ("W2", "COMMIT", 0),
        ("W1", f"{_ALL} FOR UPDATE", answer), ("W1", "XA END 'a'", 0), ("W1", "XA PREPARE 'a'", 0),
        ("W2", "BEGIN", 0), ("W2", "INSERT INTO t VALUES (6, 6, 'f')", 1), ("W2", "COMMIT", 0),
        ("W1", "XA COMMIT 'a'", 0))
        for name, answer in (("between", _ids(1, 2, 5)), ("too early", _ids(1, 2)),
                             ("too late", _ids(1, 2, 5, 6)))}
    return _expect(found, wrong=("too early", "too late"))


def what_is_prepared_is_in_no_snapshot(judge: Judge) -> list[str]:
    """The reader sees what W2 has committed, and nothing of W1, which comes before it."""
    found = {name: judge.problems(
        ("W1", "XA START 'a'", 0), ("W1", "INSERT INTO t VALUES (4, 4, 'd')", 1),
        ("W1", "DELETE FROM t WHERE id = 1", 1), ("W1", "XA END 'a'", 0),
        ("W1", "XA PREPARE 'a'", 0), ("W2", "BEGIN", 0),
        ("W2", "INSERT INTO t VALUES (5, 5, 'e')", 1), ("W2", "COMMIT", 0), ("R", "BEGIN", 0),
        ("R", _ALL, answer), ("R", "COMMIT", 0), ("W1", "XA COMMIT 'a'", 0))
        for name, answer in (("committed", _ids(1, 2, 5)), ("prepared", _ids(2, 4, 5)),
                             ("nothing", _ids(1, 2)))}
    return _expect(found, wrong=("prepared", "nothing"))


def what_was_prepared_is_in_snapshots_after_its_commit(judge: Judge) -> list[str]:
    """Also changes of rows that are there twice, in letters that compare the same, or NULL."""
    left: list[Row] = sorted([(1, "A"), (1, "a"), (2, None), (7, "z")], key=repr)
    found = {name: judge.problems(
        ("W1", "XA START 'a'", 0), ("W1", "DELETE FROM s WHERE BINARY s = 'a' LIMIT 1", 1),
        ("W1", "UPDATE s SET k = 2 WHERE s IS NULL", 1), ("W1", "XA END 'a'", 0),
        ("W1", "XA PREPARE 'a'", 0), ("W2", "BEGIN", 0), ("W2", "INSERT INTO s VALUES (7, 'z')", 1),
        ("W2", "COMMIT", 0), ("W1", "XA COMMIT 'a'", 0), ("R", "BEGIN", 0), ("R", _OF_S, answer),
        ("R", "COMMIT", 0))
        for name, answer in (("all", left), ("without W2", left[:-1]), ("without W1", sorted(
            [(1, "a"), (1, "a"), (1, "A"), (1, None), (7, "z")], key=repr)))}
    return _expect(found, wrong=("without W2", "without W1"))


def what_was_prepared_and_rolled_back_is_in_no_snapshot(judge: Judge) -> list[str]:
    """And in nothing that writers after it see."""
    found = {name: judge.problems(
        ("W1", "XA START 'a'", 0), ("W1", "INSERT INTO t VALUES (4, 4, 'd')", 1),
        ("W1", "XA END 'a'", 0), ("W1", "XA PREPARE 'a'", 0), ("W2", "BEGIN", 0),
        ("W2", "INSERT INTO t VALUES (5, 5, 'e')", 1), ("W2", "COMMIT", 0),
        ("W1", "XA ROLLBACK 'a'", 0), ("R", "BEGIN", 0), ("R", _ALL, read), ("R", "COMMIT", 0),
        ("W2", "BEGIN", 0), ("W2", f"{_ALL} FOR UPDATE", locked), ("W2", "COMMIT", 0))
        for name, read, locked in (("gone", _ids(1, 2, 5), _ids(1, 2, 5)),
                                   ("read", _ids(1, 2, 4, 5), _ids(1, 2, 5)),
                                   ("locked", _ids(1, 2, 5), _ids(1, 2, 4, 5)))}
    return _expect(found, wrong=("read", "locked"))


_TESTS = (writers_follow_each_other_by_their_ends,
          a_prepared_writer_comes_before_who_ends_after_it_was_prepared,
          a_prepared_writer_comes_after_who_ended_before_it_was_prepared,
          what_is_prepared_is_in_no_snapshot, what_was_prepared_is_in_snapshots_after_its_commit,
          what_was_prepared_and_rolled_back_is_in_no_snapshot)


if __name__ == "__main__":
    sys.exit(workspace.check("serial-oracle", __doc__, _TESTS, Judge))
