"""What the tables of sysbench's OLTP scripts must be after a script has run, or was killed."""

from __future__ import annotations

from collections.abc import Sequence

from lab.workload import Damage, Target
from workloads.indexes import disagreement
from workloads.sysbench_oltp.scripts import RowsAfter, Script

# c and pad: 10 and 5 groups of 11 digits. Both in one pattern, as matching is what takes the time;
# neither column has room for a group more.
_DIGITS_ARE_RIGHT = "CONCAT_WS('-', c, pad) REGEXP '^([0-9]{11}-){14}[0-9]{11}$'"
_CHECKSUM = "BIT_XOR(id * 16777259 + k * 8191)"


def findings(target: Target, number: int, rows: int, script: Script) -> list[str]:
    """What is wrong with one table that was filled with `rows` rows, a sentence each."""
    table = f"sbtest{number}"
    k_is_right = "k >= 1" if script.changes_k else f"k BETWEEN 1 AND {rows}"
    count, least, greatest, prepared, bad_k, bad_digits, checksum = target.query(
        "SELECT COUNT(*), COALESCE(MIN(id), 1), COALESCE(MAX(id), 1),"
        f" COALESCE(SUM(id <= {rows}), 0), COALESCE(SUM(NOT ({k_is_right})), 0),"
        f" COALESCE(SUM(NOT ({_DIGITS_ARE_RIGHT})), 0), {_CHECKSUM}"
        f" FROM {table} FORCE INDEX (PRIMARY)")[0]
    found = []
    if not _ids_are_right(script.rows_after, rows, count, least, greatest, prepared):
        found.append(f"{table}: it has {count} ids from {least} to {greatest}, and should have "
                     f"{script.rows_after.value} as the {rows} it was filled with")
    if bad_k:
        found.append(f"{table}: {bad_k} rows have a k that no client writes")
    if bad_digits:
        found.append(f"{table}: {bad_digits} rows have a c or pad that is not groups of 11 digits")
    return found + disagreement(target, table, f"k_{number}", _CHECKSUM, (count, checksum))


def _ids_are_right(rows_after: RowsAfter, rows: int, count: int, least: int, greatest: int,
                   prepared: int) -> bool:
    """`prepared` is the number of rows whose ids the table was filled with."""
    if least < 1:
        return False
    if rows_after is RowsAfter.SAME:
        return count == prepared == rows
    if rows_after is RowsAfter.MORE:
        return prepared == rows
    return count == prepared and greatest <= max(rows, 1)


def damages(rows: int, script: Script) -> Sequence[Damage]:
    """One for each finding, on the first table; index damage cannot be made with SQL."""
    change = "UPDATE sbtest1 SET {} WHERE id = 7".format
    lost = Damage(["DELETE FROM sbtest1 WHERE id = 7"], "and should have")
    moved = Damage([change(f"id = {rows + 100}")], "and should have")
    negative = Damage([change("id = -7")], "and should have")
    by_rows = {RowsAfter.SAME: [lost, moved, negative], RowsAfter.MORE: [lost, moved, negative],
               RowsAfter.FEWER: [moved, negative]}
    digits = "c or pad that is not groups"
    k_too_great = [] if script.changes_k else [
        Damage([change(f"k = {rows + 1}")], "a k that no client writes")]
    return [
        *by_rows[script.rows_after],
        Damage([change("k = 0")], "a k that no client writes"), *k_too_great,
        Damage([change("c = CONCAT('x', SUBSTR(c, 2))")], digits),
        Damage([change("c = LEFT(c, 118)")], digits),
        Damage([change("pad = REPLACE(pad, '-', '')")], digits),
    ]
