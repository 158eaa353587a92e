"""What every purchase table must be, whatever was inserted into it, and by whom.

The writers mark the first row of each commit in its data (see rows.lua): with the client, the
number of the commit since the client started, and its rows. A crash may end the sequence of a
client, whose next load begins with 0 again, and leave a gap in the ids there; it may not tear a
commit nor lose one while later ones of the same client are there. That commits at the very end are
missing cannot be seen here.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from lab.workload import Damage, Target
from workloads.indexes import disagreement
from workloads.insert_benchmark.shape import Shape, table_name

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUE = {digit: value for value, digit in enumerate(_DIGITS)}
_SEQUENCE = 64 ** 4
# Factors that make the sum of columns unlike that of other rows. With ids below 2^39 the sum stays
# below 2^63.
_FACTORS = {"transactionid": 16777259, "dateandtime": 1000003, "customerid": 8191,
            "cashregisterid": 131071, "productid": 65537, "price": 524287}


@dataclasses.dataclass(frozen=True)
class _Commit:
    """The first row of a commit and what it says."""

    id: int
    client: int
    number: int
    rows: int


def findings(target: Target, shape: Shape, number: int, *, prepared_rows: int,
             has_deletes: bool) -> list[str]:
    """What is wrong with one table, a sentence each."""
    table = table_name(number)
    indexes = [name for (name,) in target.query(
        "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS "
        f"WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{table}' AND INDEX_NAME <> 'PRIMARY'")]
    checksums = [f"BIT_XOR({_sum_of(shape, name)})" for name in indexes]
    rows, greatest, wrong, *expected = target.query(
        "SELECT COUNT(*), COALESCE(MAX(transactionid), 0),"
        f" COALESCE(SUM(({_values_are_right(shape)}) IS NOT TRUE), 0)"
        f"{''.join(', ' + part for part in checksums)} FROM {table} FORCE INDEX (PRIMARY)")[0]
    found = [f"{table}: {wrong} rows hold values that no client inserts"] if wrong else []
    for name, checksum, value in zip(indexes, checksums, expected, strict=True):
        found += disagreement(target, table, name, checksum, (rows, value))
    if rows < prepared_rows and not has_deletes:
        found.append(f"{table}: there are {rows} rows, fewer than the {prepared_rows} it was "
                     "filled with")
    return found + list(_commit_findings(target, table, rows, greatest, has_deletes))


def _sum_of(shape: Shape, index: str) -> str:
    """A whole number of a row that its entry in an index yields too."""
    expressions = {"dateandtime": "(dateandtime + 0) % 1000000000", "price": shape.price}
    return " + ".join(f"{expressions.get(column, column)} * {_FACTORS[column]}"
                      for column in ("transactionid", *shape.indexes[index]))


def _values_are_right(shape: Shape) -> str:
    return ("cashregisterid BETWEEN 0 AND 999 AND customerid BETWEEN 0 AND 99999"
            f" AND productid BETWEEN 0 AND 9999 AND {shape.price_is_right}"
            " AND dateandtime >= '2017-01-24' AND LENGTH(data) BETWEEN 10 AND 20"
            " AND LEFT(data, 5) = 'aaaaa'")


def _commit_findings(target: Target, table: str, rows: int, greatest: int,
                     has_deletes: bool) -> Iterator[str]:
    commits = [_commit(identifier, mark) for identifier, mark in target.query(
        f"SELECT transactionid, SUBSTR(data, 12, 7) FROM {table} FORCE INDEX (PRIMARY)"
        " WHERE LENGTH(data) = 20 AND SUBSTR(data, 11, 1) = '/' ORDER BY transactionid")]
    if commits and has_deletes:
        # The oldest commit may have been deleted in part, its first row before the others.
        rows -= target.query(
            f"SELECT COUNT(*) FROM {table} WHERE transactionid < {commits[0].id}")[0][0]
    claimed = sum(commit.rows for commit in commits)
    if rows != claimed:
        yield f"{table}: the commits in it inserted {claimed} rows, and it has {rows}"
    yield from _lost_commits(table, commits, has_deletes)
    if len({commit.client for commit in commits}) == 1:
        yield from _gaps(table, commits, greatest)


def _commit(identifier: int, mark: str | bytes) -> _Commit:
    text = mark.decode("latin1") if isinstance(mark, bytes) else mark
    client, *rest = (_VALUE.get(digit, 0) for digit in text.ljust(7, "A"))
    return _Commit(identifier, client, _number(rest[:4]), _number(rest[4:]))


def _number(digits: Sequence[int]) -> int:
    value = 0
    for digit in digits:
        value = value * 64 + digit
    return value


def _lost_commits(table: str, commits: Sequence[_Commit], has_deletes: bool) -> Iterator[str]:
    """A client's commits are numbered without a gap from when it started."""
    expected: dict[int, int] = {}
    for commit in commits:
        if commit.client in expected:
            next_number = expected[commit.client]
        else:
            next_number = commit.number if has_deletes else 0
        if commit.number not in (0, next_number):
            yield (f"{table}: commits {next_number} to {commit.number - 1} of client "
                   f"{commit.client} are missing before id {commit.id}")
        expected[commit.client] = (commit.number + 1) % _SEQUENCE


def _gaps(table: str, commits: Sequence[_Commit], greatest: int) -> Iterator[str]:
    """The ids of a table with one client have gaps only where the client began anew."""
    # A sentinel behind the last commit, whose rows end the table.
    ends = itertools.chain(commits[1:], [_Commit(greatest + 1, 0, -1, 0)])
    for commit, following in zip(commits, ends, strict=True):
        end = commit.id + commit.rows
        if following.id != end and not (following.number == 0 and following.id > end):
            yield (f"{table}: behind the {commit.rows} rows committed from id {commit.id} on, id "
                   f"{end} should follow, not {following.id}")


def damages(shape: Shape, rows: int) -> list[Damage]:
    """One for each finding, on the first table; index damage cannot be made with SQL."""
    table = table_name(1)
    wrong = "hold values that no client inserts"
    values = {"cashregisterid": "1000", "customerid": "100000", "productid": "-1",
              "price": "100000", "dateandtime": "NULL", "data": "CONCAT('b', data)"}
    return [
        *(Damage([f"UPDATE {table} SET {column} = {value} WHERE transactionid = 105"], wrong)
          for column, value in values.items()),
        Damage([f"DELETE FROM {table} WHERE transactionid = 105"], "inserted"),
        Damage([f"DELETE FROM {table} WHERE transactionid BETWEEN 101 AND 200"],
               "commits 1 to 1 of client 0 are missing"),
        Damage([f"DELETE FROM {table} WHERE transactionid = 105",
                f"INSERT INTO {table} SELECT {2 * rows}, dateandtime, cashregisterid, customerid, "
                f"productid, price, data FROM {table} WHERE transactionid = 106"],
               f"should follow, not {2 * rows + 1}"),
        Damage([f"DELETE FROM {table} ORDER BY transactionid DESC LIMIT 100"],
               "fewer than the"),
    ]
