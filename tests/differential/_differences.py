"""Differences that are right: each with its reason, and as narrow as can be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from _pair import Answer
from _statement import Create, Statement

NOT_SUPPORTED_YET = 1235
_TOO_BIG_ROW = 1118
_DUPLICATE = 1062


@dataclass(frozen=True)
class Known:
    """A difference that is documented. `counts` says whether two answers are a case of it.

    One that `ends_case` leaves the databases with different contents.
    """

    reason: str
    counts: Callable[[Statement, Answer, Answer], bool]
    ends_case: bool = True


def _is_definition(statement: Statement) -> bool:
    return isinstance(statement, Create) or statement.sql.startswith(("ALTER TABLE",
                                                                      "CREATE TABLE"))


KNOWN = (
    Known("our engine says that it does not support something yet (docs/user-guide.md, Limits)",
          lambda statement, theirs, ours: _is_definition(statement) and theirs.error == 0
          and ours.error == NOT_SUPPORTED_YET),
    Known("InnoDB's rows have to fit into half a page, ours have no such limit",
          lambda statement, theirs, ours: theirs.error == _TOO_BIG_ROW and ours.error == 0),
    Known("InnoDB looks for duplicates when an ALTER has copied all rows: it names another, or "
          "finds another error before",
          lambda statement, theirs, ours: statement.sql.startswith("ALTER TABLE")
          and theirs.error != 0 and ours.error == _DUPLICATE, ends_case=False),
)


def known(statement: Statement, theirs: Answer, ours: Answer) -> Known | None:
    """Why the answers may differ, if they may."""
    return next((each for each in KNOWN if each.counts(statement, theirs, ours)), None)
