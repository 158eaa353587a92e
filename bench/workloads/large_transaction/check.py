"""What the tables of large transactions must be: every statement did all or nothing."""

from __future__ import annotations

from collections.abc import Sequence

from lab.workload import Damage, Target
from workloads.indexes import disagreement

TABLES = ("source", "copied")
CODE = "CRC32(CONCAT(id, payload))"
_CHECKSUM = "BIT_XOR(id * 16777259 + version * 8191)"


def findings(target: Target, table: str, rows: int, *, is_atomic: bool) -> list[str]:
    """What is wrong with one table that has or had `rows` rows, or none, a sentence each."""
    count, least, greatest, oldest, newest, wrong, checksum = target.query(
        "SELECT COUNT(*), COALESCE(MIN(id), 1), COALESCE(MAX(id), 1),"
        " COALESCE(MIN(version), 0), COALESCE(MAX(version), 0),"
        f" COALESCE(SUM(code <> {CODE}), 0), {_CHECKSUM} FROM {table} FORCE INDEX (PRIMARY)")[0]
    found = []
    if is_atomic and count not in (0, rows):
        found.append(f"{table}: it has {count} rows, neither none nor all {rows}")
    if least < 1 or greatest > max(rows, 1):
        found.append(f"{table}: its ids are from {least} to {greatest}, and {rows} was the last")
    if is_atomic and oldest != newest:
        found.append(f"{table}: an update changed some rows and not all: they have versions from "
                     f"{oldest} to {newest}")
    if oldest < 0:
        found.append(f"{table}: there is a version below 0, which no update makes")
    if wrong:
        found.append(f"{table}: {wrong} rows have a payload that is not the one of their code")
    return found + disagreement(target, table, "by_version", _CHECKSUM, (count, checksum))


def damages(rows: int, *, is_atomic: bool) -> Sequence[Damage]:
    """One for each finding; index damage cannot be made with SQL."""
    torn = [
        Damage(["DELETE FROM source WHERE id = 3"], "source: it has"),
        Damage(["INSERT INTO copied SELECT * FROM source WHERE id = 3"], "copied: it has"),
        Damage(["UPDATE source SET version = version + 1 WHERE id = 3"], "some rows and not all"),
    ]
    return [
        *(torn if is_atomic else []),
        Damage([f"UPDATE source SET id = {rows + 1}, code = CRC32(CONCAT({rows + 1}, payload))"
                " WHERE id = 3"], "was the last"),
        Damage(["UPDATE source SET version = -1"], "below 0"),
        Damage(["UPDATE source SET payload = REVERSE(payload) WHERE id = 3"], "of their code"),
        Damage(["UPDATE source SET code = 0 WHERE id = 3"], "of their code"),
    ]
