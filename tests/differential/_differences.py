"""Differences that are right: each with its reason, and as narrow as can be told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.differential._pair import Answer
from tests.differential._statement import Create, Insert, Statement

NOT_SUPPORTED_YET = 1235
_REFUSED = 1296
_NO_ROW = 1032
_TOO_BIG_ROW = 1118
_DUPLICATE = 1062
_NO_SHAPE = 1416
_TRUNCATED = 1265
_TRUNCATED_CONSTANT = 1292
_CANNOT_CREATE = 1005
_ERROR_ON_RENAME = 1025
_NO_TABLE = 1146
_DROP_INDEX = 1553
_CANNOT_DROP = 1091
_CANNOT_ADD = 1215
_DUPLICATE_IN_CHILD = 1761
_COLUMN_NOT_NULL = 1830
_ROW_IS_REFERENCED = 1451
_NO_REFERENCED_ROW = 1452
# A trigger changes the table that its statement changes, or one that is not there.
_OF_TRIGGERS = (1442, _NO_TABLE)
_OF_FOREIGN_KEYS = (_ROW_IS_REFERENCED, _NO_REFERENCED_ROW)


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
            and codes[0] != codes[1]
            and all(one == other or {one, other} <= {_DUPLICATE, *_OF_FOREIGN_KEYS}
                    for one, other in zip(*codes, strict=True)))


def _may_reference_itself(statement: Statement, message: str) -> bool:
    """Whether a new row has the same in the columns of the key that the message names."""
    names = re.search(r"FOREIGN KEY \((.*?)\) REFERENCES `\w+` \((.*?)\)", message)
    if not isinstance(statement, Insert) or names is None:
        return True  # its rows are not known here
    columns = [[statement.columns.index(name) for name in re.findall(r"\w+", side)
                if name in statement.columns] for side in names.groups()]
    return any(all(row[one].casefold() == row[other].casefold()
                   for one, other in zip(*columns, strict=True))
               for row in statement.rows) if len(columns[0]) == len(columns[1]) else False


def _refuses_own_reference(statement: Statement, theirs: Answer, ours: Answer) -> bool:
    if not statement.sql.startswith(("INSERT", "REPLACE", "LOAD")):
        return False
    if theirs.error == _NO_REFERENCED_ROW:
        # Ours may come to another row of the statement, and find something else there.
        return (_is_of_own_key(theirs.message)
                and _may_reference_itself(statement, theirs.message))
    texts = [Counter(text for _, code, text in answer.warnings if code == _NO_REFERENCED_ROW)
             for answer in (theirs, ours)]
    only_theirs = texts[0] - texts[1]
    return (theirs.error == 0 and ours.error in (0, *_OF_TRIGGERS) and bool(only_theirs)
            and all(map(_is_of_own_key, only_theirs)))


def _names_another_parent(statement: Statement, theirs: Answer, ours: Answer) -> bool:
    if not _updates(statement) and not statement.sql.startswith("REPLACE"):
        return False
    if theirs.error or ours.error:
        return theirs.error == ours.error == _NO_REFERENCED_ROW
    codes = [[code for _, code, _ in answer.warnings] for answer in (theirs, ours)]
    return (codes[0] == codes[1] and _NO_REFERENCED_ROW in codes[0]
            and theirs.affected == ours.affected and theirs.warnings != ours.warnings)


def _updates(statement: Statement) -> bool:
    return statement.sql.startswith("UPDATE") or "ON DUPLICATE KEY" in statement.sql


def _updates_what_has_gone(statement: Statement, theirs: Answer, ours: Answer) -> bool:
    if not statement.may_lose_rows or not _updates(statement):
        return False
    # A statement of two tables looks for the row again.
    if ours.error == _NO_ROW:
        return theirs.error in (0, _NO_REFERENCED_ROW)
    if theirs.error == 0:
        return (ours.error == _REFUSED and "has moved, removed or changed" in ours.message
                or ours.error == 0 and ours.affected < theirs.affected)
    return theirs.error == _NO_REFERENCED_ROW and ours.error == 0


def _changes_the_duplicate(statement: Statement, theirs: Answer, ours: Answer) -> bool:
    """Whether ours goes on to the row that has the new one's unique value, where a trigger may fail
    in turn."""
    sql = statement.sql
    replaces = sql.startswith("REPLACE") or sql.startswith("LOAD DATA") and " REPLACE " in sql
    if not replaces and "ON DUPLICATE KEY" not in sql:
        return False
    if theirs.error == _NO_REFERENCED_ROW:
        return (ours.error in (0, *_OF_TRIGGERS)
                or replaces and ours.error == _ROW_IS_REFERENCED)
    return (theirs.error == 0 and ours.error in _OF_TRIGGERS
            and any(code == _NO_REFERENCED_ROW for _, code, _ in theirs.warnings))


def _is_of_other_spaces(theirs: Answer, ours: Answer) -> bool:
    return (theirs.error == 0 and ours.error == _CANNOT_CREATE
            and any("Field type or character set for column 's' does not match referenced column "
                    "'s'" in text for _, _, text in ours.warnings))


def _numbers_other_rows(theirs: Answer, ours: Answer) -> bool:
    if theirs.error or ours.error or theirs.affected != ours.affected:
        return False
    texts = [sorted(re.sub(r" at row \d+$", "", text) for _, _, text in answer.warnings)
             for answer in (theirs, ours)]
    return texts[0] == texts[1] and theirs.warnings != ours.warnings


def _forgot_key(statement: Statement, theirs: Answer, ours: Answer) -> bool:
    if statement.sql.startswith("ALTER TABLE") and "DROP FOREIGN KEY" in statement.sql:
        return theirs.error == _CANNOT_DROP and ours.error == 0
    if theirs.error in _OF_TRIGGERS and ours.error == _NO_REFERENCED_ROW:
        return _is_of_own_key(ours.message)  # the row was written there, and then the trigger ran
    if not statement.sql.startswith("SHOW CREATE TABLE") or theirs.error or ours.error:
        return False
    text = _text(ours.rows[0][1])
    their_text = _text(theirs.rows[0][1])
    key = re.compile(r",\n  CONSTRAINT `\w+` FOREIGN KEY .* REFERENCES .*?(?=,?\n)")
    return len(their_text) < len(text) and key.sub("", text) == key.sub("", their_text)


def _text(value: bytes | None) -> str:
    # A comment or a default may be of another character set.
    return (value or b"").decode(errors="replace")


def _keeps_without_parent(statement: Statement, theirs: Answer, ours: Answer) -> bool:
    if statement.sql.startswith("UPDATE") and theirs.error == _NO_REFERENCED_ROW:
        if ours.error in (0, *_OF_TRIGGERS):
            return True
    if theirs.error == ours.error == _NO_REFERENCED_ROW:
        # It names a key that the statement does not change.
        key = re.search(r"FOREIGN KEY \((.*?)\)", theirs.message)
        changed = _set_columns(statement)
        return (theirs.message != ours.message and key is not None and len(changed) != 0
                and changed.isdisjoint(re.findall(r"\w+", key.group(1))))
    codes = [[code for _, code, _ in answer.warnings] for answer in (theirs, ours)]
    return (statement.sql.startswith(("UPDATE IGNORE", "INSERT IGNORE"))
            and ("ON DUPLICATE KEY" in statement.sql or statement.sql.startswith("UPDATE"))
            and theirs.error == ours.error == 0
            and (codes[0].count(_NO_REFERENCED_ROW) > codes[1].count(_NO_REFERENCED_ROW)
                 # Of the row that ours has changed others are found, and refused, later.
                 or _NO_REFERENCED_ROW in codes[0] and theirs.affected < ours.affected))


def _set_columns(statement: Statement) -> set[str]:
    """The columns of the rows that are there which the statement changes."""
    if statement.sql.startswith("UPDATE"):
        changes = statement.sql.partition(" SET ")[2].partition(" WHERE ")[0]
    else:
        changes = statement.sql.partition(" ON DUPLICATE KEY UPDATE ")[2]
    return set(re.findall(r"\b(\w+) = ", changes))


def _changes_indexes(statement: Statement) -> bool:
    """Whether an UPDATE IGNORE sets the key, or a column that may be behind another in an index,
    or of which other bytes are equal."""
    return (statement.sql.startswith("UPDATE IGNORE")
            and not _set_columns(statement).isdisjoint({"id", "a", "b", "s", "v"}))


def _warns_of_constants_alone(theirs: Answer, ours: Answer) -> bool:
    others = [[text for _, code, text in answer.warnings if code != _TRUNCATED_CONSTANT]
              for answer in (theirs, ours)]
    return (theirs.error == ours.error == 0 and theirs.rows == ours.rows
            and theirs.affected == ours.affected and others[0] == others[1]
            and theirs.warnings != ours.warnings)


def _changes_what_it_joins_by(statement: Statement) -> bool:
    """Whether an UPDATE of two tables sets a column by which it finds the other one's rows."""
    joined = re.match(r"UPDATE (?:IGNORE )?\w+ x STRAIGHT_JOIN \w+ y ON (x\.\w+) = (y\.\w+)",
                      statement.sql)
    changes = statement.sql.partition(" SET ")[2]
    return joined is not None and any(f"{column} = " in changes for column in joined.groups())


def _refuses_own_removal(answer: Answer) -> bool:
    """Whether a row stays because of one of its own table, be it an error or a warning."""
    if answer.error == _ROW_IS_REFERENCED:
        return _is_of_own_key(answer.message)
    return answer.error == 0 and any(code == _ROW_IS_REFERENCED and _is_of_own_key(text)
                                     for _, code, text in answer.warnings)


def _is_of_own_key(message: str) -> bool:
    return re.search(r"\(`db`\.(`\w+`), CONSTRAINT .* REFERENCES \1 ", message) is not None


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
    Known("the order in which an UPDATE with a subquery looks at rows, and so the numbers of those "
          "that it warns of, is the plan's",
          lambda statement, theirs, ours: statement.sql.startswith("UPDATE")
          and "(SELECT" in statement.sql and _numbers_other_rows(theirs, ours), ends_case=False),
    Known("the server looks for a TIME beyond the greatest one in an index by the greatest one, "
          "and in a scan by itself: which of these it does is the plan's to say, InnoDB's too",
          lambda statement, theirs, ours: theirs.error == ours.error == 0
          and any("Truncated incorrect time value" in text for _, _, text in ours.warnings)),
    Known("how often the server turns a constant into a column's type, and warns, is the plan's",
          lambda statement, theirs, ours: statement.sql.startswith("SELECT")
          and _warns_of_constants_alone(theirs, ours), ends_case=False),
    Known("an UPDATE of two tables changes rows of the first while it looks for those of the "
          "second: by an index with the old values, in a scan with the new ones",
          lambda statement, theirs, ours: theirs.error == ours.error == 0
          and _changes_what_it_joins_by(statement)),
    Known("InnoDB gives a new foreign key without a name one of the copy's, until the copy is done",
          lambda statement, theirs, ours: statement.sql.startswith("ALTER TABLE")
          and theirs.error == ours.error == _NO_REFERENCED_ROW
          and "CONSTRAINT `#sql`" in theirs.message, ends_case=False),
    Known("an UPDATE hands new values down and looks for new parents: a row for which neither can "
          "be names either key",
          lambda statement, theirs, ours: _updates(statement)
          and {theirs.error, ours.error} == {_ROW_IS_REFERENCED, _NO_REFERENCED_ROW},
          ends_case=False),
    Known("InnoDB gives a table no other name whose foreign key to itself has lost its index: ours "
          "comes to the next one of the statement",
          lambda statement, theirs, ours: statement.sql.startswith("RENAME TABLE")
          and theirs.error == _ERROR_ON_RENAME and ours.error in (0, _NO_TABLE)),
    Known("InnoDB looks at unique and foreign keys in the order of the indexes, we at unique ones "
          "first: a row that violates both names another",
          lambda _, theirs, ours: _violates_two(theirs, ours), ends_case=False),
    Known("... and so ON DUPLICATE KEY UPDATE changes the other row, and REPLACE may keep it "
          "without its parent, where InnoDB says that the new one has none",
          _changes_the_duplicate),
    Known("InnoDB hands new values of a primary key down before it looks for that key: of two "
          "duplicates it names the child's",
          lambda statement, theirs, ours: theirs.error == _DUPLICATE_IN_CHILD
          and ours.error == _DUPLICATE and statement.sql.startswith("UPDATE"), ends_case=False),
    Known("... and IGNORE does not keep it from that, where ours leaves the row as it is",
          lambda statement, theirs, ours: theirs.error == _DUPLICATE_IN_CHILD and ours.error == 0
          and statement.sql.startswith("UPDATE IGNORE")),
    Known("InnoDB looks for all parents of a row whose primary key changes, of other columns, too, "
          "and for those of an index that changes behind the columns that reference",
          _keeps_without_parent),
    Known("... and so names another one of several that are missing; of a new row that is there "
          "already it names one of its own, we what the row lacks that is changed instead",
          _names_another_parent, ends_case=False),
    Known("... and leaves the row as it is where errors are ignored",
          lambda statement, theirs, ours: theirs.error == ours.error == 0
          and _changes_indexes(statement) and theirs.affected < ours.affected),
    Known("a new row that references itself is refused by InnoDB if the index of the columns that "
          "reference comes before that of those that are referenced",
          _refuses_own_reference),
    Known("without checks InnoDB forgets a foreign key when a copy finds that its own table, or a "
          "parent that was made anew, lacks the index or the columns that it needs, ours stays",
          _forgot_key),
    Known("InnoDB looks for rows that reference the old values of one before this has the new ones "
          "in its indexes, we afterwards: one that gives up values that others have, too, and "
          "references them, is refused (docs/user-guide.md, Foreign keys)",
          lambda statement, theirs, ours: theirs.error == 0 and ours.error == _ROW_IS_REFERENCED
          and statement.sql.startswith("UPDATE") and _is_of_own_key(ours.message)),
    Known("of several rows of one table that keep others of it from being removed, the first that "
          "is met is named: the order is that of indexes with us, of names with InnoDB",
          lambda statement, theirs, ours: statement.sql.startswith(("DELETE", "REPLACE"))
          and theirs.error == ours.error == _ROW_IS_REFERENCED
          and _is_of_own_key(theirs.message) and _is_of_own_key(ours.message), ends_case=False),
    Known("a row of which the removal is handed on references nothing any more with us, with "
          "InnoDB by its secondary indexes until that is done: a circle that ends with RESTRICT is "
          "refused there (docs/user-guide.md, Foreign keys)",
          lambda statement, theirs, ours: statement.sql.startswith(("DELETE", "REPLACE"))
          and ours.error in (0, _NO_REFERENCED_ROW, *_OF_TRIGGERS)
          and _refuses_own_removal(theirs)),
    Known("where spaces at the end count InnoDB takes CHAR and VARCHAR for one type, and CHAR of "
          "two lengths, and compares the spaces that it stores behind a CHAR, so that equal values "
          "do not reference each other; ours are refused (docs/user-guide.md, Foreign keys)",
          lambda statement, theirs, ours: _is_definition(statement)
          and _is_of_other_spaces(theirs, ours)),
    Known("InnoDB looks at the names of new foreign keys last",
          lambda _, theirs, ours: theirs.error == ours.error == _CANNOT_CREATE
          and "errno: 121" in ours.message + theirs.message),
    Known("InnoDB refuses to remove a row that a cascade gives NULL before, where one index has "
          "both columns",
          lambda statement, theirs, ours: statement.sql.startswith(("DELETE", "REPLACE"))
          and ours.error in (0, _NO_REFERENCED_ROW, *_OF_TRIGGERS)
          and (theirs.error == _NO_REFERENCED_ROW or any(
              code == _NO_REFERENCED_ROW for _, code, _ in theirs.warnings))),
    Known("InnoDB makes a table that is emptied anew, and refuses that where a foreign key of it "
          "leads to no table, or to one that has other columns",
          lambda statement, theirs, ours: statement.sql.startswith("TRUNCATE")
          and theirs.error == _CANNOT_ADD and ours.error == 0),
    Known("InnoDB does not copy a table whose foreign key leads to one that was made anew, without "
          "checks, and lacks the columns or the index",
          lambda statement, theirs, ours: statement.sql.startswith("ALTER TABLE")
          and theirs.error == _ERROR_ON_RENAME and "errno: 150" in theirs.message
          and ours.error == 0),
    Known("InnoDB updates a row that a trigger has just removed by way of a foreign key, which "
          "stays then without its parent and its index entries; ours is passed over, or refused "
          "where it may have moved (docs/user-guide.md, Foreign keys)", _updates_what_has_gone),
    Known("InnoDB copies the table, and then cannot give the copy its name, if a foreign key needs "
          "a dropped index, or NULL, or leads to a table that was made with other types: rows may "
          "not fit before",
          lambda statement, theirs, ours: statement.sql.startswith("ALTER TABLE")
          and (theirs.error in (_ERROR_ON_RENAME, _TRUNCATED)
               or theirs.error == _NO_REFERENCED_ROW and "`#sql`" in theirs.message)
          and ours.error in (_DROP_INDEX, _COLUMN_NOT_NULL, _CANNOT_CREATE), ends_case=False),
)


def known(statement: Statement, theirs: Answer, ours: Answer,
          is_read_committed: bool = False) -> Known | None:
    """Why the answers may differ, if they may."""
    return next((each for each in KNOWN if each.counts(statement, theirs, ours)
                 and (is_read_committed or not each.only_at_read_committed)), None)
