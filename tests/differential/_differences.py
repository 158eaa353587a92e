"""Differences that are right: each with its reason, and as narrow as can be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.differential._pair import Answer
from tests.differential._statement import Create, Statement

NOT_SUPPORTED_YET = 1235
_TOO_BIG_ROW = 1118
_DUPLICATE = 1062
_NO_SHAPE = 1416


@dataclass(frozen=True)
class Known:
    """A difference that is documented. `counts` says whether two answers are a case of it.

    One that `ends_case` leaves the databases with different contents.
    """

    reason: str
    counts: Callable[[Statement, Answer, Answer], bool]
    ends_case: bool = True
    only_at_read_committed: bool = False


def _is_definition(statement: Statement) -> bool:
    return isinstance(statement, Create) or statement.sql.startswith(("ALTER TABLE",
                                                                      "CREATE TABLE"))


def _names_another_key(theirs: Answer, ours: Answer) -> bool:
    if theirs.error == ours.error == _DUPLICATE:
        return theirs.message != ours.message
    codes = [[code for _, code, _ in answer.warnings] for answer in (theirs, ours)]
    return (theirs.error == ours.error == 0 and codes[0] == codes[1] and _DUPLICATE in codes[0]
            and theirs.warnings != ours.warnings)


KNOWN = (
    Known("at READ COMMITTED the server checks long unique keys and overlaps of periods after "
          "InnoDB's write, and always before ours: a row that violates two keys names another",
          lambda _, theirs, ours: _names_another_key(theirs, ours), only_at_read_committed=True),
    Known("our engine says that it does not support something yet (docs/user-guide.md, Limits)",
          lambda statement, theirs, ours: _is_definition(statement) and theirs.error == 0
          and ours.error == NOT_SUPPORTED_YET),
    Known("InnoDB's rows have to fit into half a page, ours have no such limit",
          lambda statement, theirs, ours: theirs.error == _TOO_BIG_ROW and ours.error == 0),
    Known("InnoDB has the server check long unique keys after the write, which this statement does "
          "not get on with; we have it check before",
          lambda _, theirs, ours: theirs.error == NOT_SUPPORTED_YET and ours.error == 0
          and "UNIQUE constraint USING HASH" in theirs.message),
    Known("InnoDB updates no shape to the empty value that stands for NULL in a NOT NULL column "
          "without strict mode, though it inserts it",
          lambda _, theirs, ours: theirs.error == _NO_SHAPE and ours.error == 0),
    Known("InnoDB looks for duplicates when an ALTER has copied all rows: it names another, or "
          "finds another error before",
          lambda statement, theirs, ours: statement.sql.startswith("ALTER TABLE")
          and theirs.error != 0 and ours.error == _DUPLICATE, ends_case=False),
)


def known(statement: Statement, theirs: Answer, ours: Answer,
          is_read_committed: bool = False) -> Known | None:
    """Why the answers may differ, if they may."""
    return next((each for each in KNOWN if each.counts(statement, theirs, ours)
                 and (is_read_committed or not each.only_at_read_committed)), None)
