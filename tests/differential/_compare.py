"""Whether two answers to one statement agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.differential._pair import Answer, Pair, Row
from tests.differential._statement import Comparison, Rows, Statement, comparison_of

_ROW_NUMBER = re.compile(r" at row \d+")
_WARNINGS_MAX = 64


@dataclass(frozen=True)
class Difference:
    """What differs. `kind` is the same for differences that look alike."""

    kind: str
    text: str


def difference(pair: Pair, statement: Statement, theirs: Answer,
               ours: Answer) -> Difference | None:
    """None when the answers agree in all that the statement determines."""
    how = comparison_of(statement)
    if theirs.error != ours.error:
        return Difference(f"error {theirs.error} and {ours.error}",
                          f"InnoDB: {_error(theirs)}\nROCKSDB: {_error(ours)}")
    if how.rows is Rows.NOTHING:
        return None
    if theirs.error:
        one, two = _message(theirs.message, how), _message(ours.message, how)
        return None if one == two else Difference("message", f"InnoDB: {one}\nROCKSDB: {two}")
    for name in ("columns", "affected", "insert_id", "info"):
        one, two = getattr(theirs, name), getattr(ours, name)
        if one != two and not (name == "info" and not how.warnings):
            return Difference(name, f"{name}: InnoDB: {one}\nROCKSDB: {two}")
    return _warnings(theirs, ours, how) or _rows(pair, theirs.rows, ours.rows, how)


def _error(answer: Answer) -> str:
    return f"error {answer.error}: {answer.message}" if answer.error else "no error"


def _message(message: str, how: Comparison) -> str:
    if not how.names_key and message.startswith("Duplicate entry"):
        return "Duplicate entry"
    return message if how.numbers_rows else _ROW_NUMBER.sub("", message)


def _warnings(theirs: Answer, ours: Answer, how: Comparison) -> Difference | None:
    if not how.warnings:
        return None
    lists = [Counter((level, code, _message(message, how))
                     for level, code, message in answer.warnings) for answer in (theirs, ours)]
    # The server keeps the first of many.
    if lists[0] == lists[1] or sum(lists[0].values()) == sum(lists[1].values()) == _WARNINGS_MAX:
        return None
    return Difference("warnings", _listed(lists[0], lists[1]))


def _rows(pair: Pair, theirs: Sequence[Row], ours: Sequence[Row],
          how: Comparison) -> Difference | None:
    if how.equality and list(theirs) != list(ours):
        theirs, ours = _represented(pair, theirs, ours, how)
    if how.rows is Rows.SEQUENCE:
        if list(theirs) != list(ours):
            if Counter(theirs) == Counter(ours):
                return Difference("order", _side_by_side(theirs, ours))
            return Difference("rows", _listed(Counter(theirs), Counter(ours)))
        return None
    if len(theirs) != len(ours):
        return Difference("rows", f"InnoDB: {len(theirs)} rows\nROCKSDB: {len(ours)} rows\n"
                          + _listed(Counter(theirs), Counter(ours)))
    if how.rows is Rows.BAG and Counter(theirs) != Counter(ours):
        return Difference("rows", _listed(Counter(theirs), Counter(ours)))
    keys = [[tuple(row[at] for at in how.ordered) for row in rows] for rows in (theirs, ours)]
    if keys[0] != keys[1]:
        return Difference("order", _side_by_side(keys[0], keys[1]))
    return None


def _represented(pair: Pair, theirs: Sequence[Row], ours: Sequence[Row],
                 how: Comparison) -> tuple[list[Row], list[Row]]:
    """The rows with equal values made the same, in columns where any of them may stand."""
    lists = [[list(row) for row in rows] for rows in (theirs, ours)]
    for at, rule in how.equality:
        values = sorted({row[at] for rows in lists for row in rows if row[at] is not None})
        classes = _doubles(values) if rule == "double" else _strings(pair, values, rule)
        for rows in lists:
            for row in rows:
                row[at] = classes.get(row[at], row[at])
    return [tuple(row) for row in lists[0]], [tuple(row) for row in lists[1]]


def _doubles(values: Sequence[bytes]) -> dict[bytes | None, bytes | None]:
    return {value: b"0" if value in (b"-0", b"0") else value for value in values}


def _strings(pair: Pair, values: Sequence[bytes], collation: str
             ) -> dict[bytes | None, bytes | None]:
    """The least equal value of each, as the server compares them."""
    if len(values) < 2:
        return {}
    charset = collation.partition("_")[0]
    listed = " UNION ALL ".join(f"SELECT {number} AS n, _{charset} X'{value.hex()}' "
                                f"COLLATE {collation} AS v" for number, value in enumerate(values))
    found = pair.theirs.rows(f"SELECT a.n, MIN(b.n) FROM ({listed}) a JOIN ({listed}) b "
                             "ON a.v = b.v GROUP BY a.n")
    return {values[int(number or 0)]: values[int(first or 0)] for number, first in found}


def _listed(theirs: Counter[Row], ours: Counter[Row]) -> str:
    lines = [f"only InnoDB: {_shown(row)}" for row in list((theirs - ours).elements())[:10]]
    lines += [f"only ROCKSDB: {_shown(row)}" for row in list((ours - theirs).elements())[:10]]
    return "\n".join(lines)


def _side_by_side(theirs: Sequence[Row], ours: Sequence[Row]) -> str:
    at = next((at for at, pair in enumerate(zip(theirs, ours, strict=False))
               if pair[0] != pair[1]), 0)
    return "\n".join(f"row {at + number}: InnoDB {_shown(one)}, ROCKSDB {_shown(two)}"
                     for number, (one, two) in enumerate(
                         zip(theirs[at:at + 6], ours[at:at + 6], strict=False)))


def _shown(row: Sequence[object]) -> str:
    cells = [repr(cell) for cell in row]
    return ", ".join(cell if len(cell) < 80 else f"{cell[:60]}... ({len(cell)})" for cell in cells)
