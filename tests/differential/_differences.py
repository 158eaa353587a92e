"""Differences that are right: each with its reason, and as narrow as can be told."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.differential._pair import Answer
from tests.differential._statement import Create, Statement

NOT_SUPPORTED_YET = 1235
_TOO_BIG_ROW = 1118
_DUPLICATE = 1062
_NO_SHAPE = 1416
_CANNOT_CREATE = 1005
_ERROR_ON_RENAME = 1025
_DROP_INDEX = 1553
_ROW_IS_REFERENCED = 1451
_NO_REFERENCED_ROW = 1452
_OF_FOREIGN_KEYS = (_ROW_IS_REFERENCED, _NO_REFERENCED_ROW)
_ADDS_OWN_KEY = re.compile(r"ALTER TABLE (\w+) ADD .*REFERENCES \1 ")


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


def _violates_two(theirs: Answer, ours: Answer) -> bool:
    """Whether one side says that a unique key is violated, and the other one a foreign key."""
    errors = (theirs.error, ours.error)
    if _DUPLICATE in errors and set(errors) & set(_OF_FOREIGN_KEYS):
        return True
    codes = [[code for _, code, _ in answer.warnings] for answer in (theirs, ours)]
    return (errors == (0, 0) and theirs.affected == ours.affected and len(codes[0]) == len(codes[1])
            and {_DUPLICATE, *_OF_FOREIGN_KEYS} >= {*codes[0], *codes[1]} and codes[0] != codes[1])


def _looks_at_copied_rows(theirs: Answer, ours: Answer) -> bool:
    return (ours.error == _NO_REFERENCED_ROW and "`db`.`#sql`" in ours.message
            and (theirs.error in (0, _ERROR_ON_RENAME) or theirs.message != ours.message))


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
    Known("InnoDB gives a new foreign key without a name one of the copy's, until the copy is done",
          lambda statement, theirs, ours: statement.sql.startswith("ALTER TABLE")
          and theirs.error == ours.error == _NO_REFERENCED_ROW
          and "CONSTRAINT `#sql`" in theirs.message, ends_case=False),
    Known("InnoDB looks at unique and foreign keys in the order of the indexes, we at unique ones "
          "first: a row that violates both names another",
          lambda _, theirs, ours: _violates_two(theirs, ours), ends_case=False),
    Known("... and so ON DUPLICATE KEY UPDATE changes the other row, where InnoDB says that the "
          "new one has no parent",
          lambda statement, theirs, ours: theirs.error == _NO_REFERENCED_ROW and ours.error == 0
          and "ON DUPLICATE KEY" in statement.sql),
    Known("InnoDB looks for all parents of a row whose primary key changes, of other columns, too",
          lambda statement, theirs, ours: theirs.error == _NO_REFERENCED_ROW and ours.error == 0
          and statement.sql.startswith("UPDATE")),
    Known("a defect of ours: an ALTER TABLE that copies looks at foreign keys that are not new",
          lambda _, theirs, ours: _looks_at_copied_rows(theirs, ours)),
    Known("a defect of ours: an ALTER TABLE may drop the index that a foreign key of the table to "
          "itself needs",
          lambda statement, theirs, ours: theirs.error == _ERROR_ON_RENAME and ours.error == 0
          and statement.sql.startswith("ALTER TABLE")),
    Known("InnoDB looks at the names of new foreign keys last",
          lambda _, theirs, ours: theirs.error == ours.error == _CANNOT_CREATE
          and "errno: 121" in ours.message + theirs.message),
    Known("InnoDB copies the table, and then cannot give the copy its name, if a foreign key needs "
          "a dropped index",
          lambda statement, theirs, ours: statement.sql.startswith("ALTER TABLE")
          and theirs.error == _ERROR_ON_RENAME and ours.error == _DROP_INDEX, ends_case=False),
    Known("InnoDB lets ON UPDATE CASCADE lead from a column with NULL to one without only if there "
          "is an action for DELETE, ours does not",
          lambda statement, theirs, ours: theirs.error == 0 and ours.error == _CANNOT_CREATE
          and "ON UPDATE CASCADE" in statement.sql),
    Known("InnoDB looks for the index that a new foreign key of a table to itself needs in the "
          "table as it was before",
          lambda statement, theirs, ours: theirs.error == _CANNOT_CREATE != ours.error
          and _ADDS_OWN_KEY.match(statement.sql) is not None),
)


def known(statement: Statement, theirs: Answer, ours: Answer,
          is_read_committed: bool = False) -> Known | None:
    """Why the answers may differ, if they may."""
    return next((each for each in KNOWN if each.counts(statement, theirs, ours)
                 and (is_read_committed or not each.only_at_read_committed)), None)
