"""When secondary indexes are made while tables are filled: before, or from the finished table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import pymysql

from lab.workload import Target

# ER_ALTER_OPERATION_NOT_SUPPORTED, with a reason and without.
_NOT_IN_PLACE = (1845, 1846)


@contextlib.contextmanager
def indexed(target: Target, tables: Mapping[str, str]) -> Iterator[None]:
    """Tables that are filled inside the block; they have their indexes at its end.

    `tables` maps each, which is empty, to the clauses of ALTER TABLE that add its indexes. Where
    the engine builds indexes in place they are built from the rows, sorted, at the end. An engine
    that would copy the table for that takes longer than one that fills them row by row.
    """
    if any(_is_indexed_in_place(target, table, clauses) for table, clauses in tables.items()):
        yield
        for table, clauses in tables.items():
            target.query(f"ALTER TABLE {table} {clauses}")
    else:
        for table, clauses in tables.items():
            target.query(f"ALTER TABLE {table} {clauses}")
        yield


def disagreement(target: Target, table: str, index: str, checksum: str,
                 rows: tuple[int, int]) -> list[str]:
    """What is wrong if an index has other entries than the table has rows, else nothing.

    `rows` are the number and the `checksum`, an expression, of the table by its primary key.
    """
    found = target.query(f"SELECT COUNT(*), {checksum} FROM {table} FORCE INDEX ({index})")[0]
    if tuple(found) == rows:
        return []
    return [f"{table}: index {index} has {found[0]} entries that disagree with the table's "
            f"{rows[0]} rows"]


def _is_indexed_in_place(target: Target, table: str, clauses: str) -> bool:
    """Whether the engine does so; the empty table is as before."""
    shadow = f"{table}_indexed"
    target.query(f"CREATE TABLE {shadow} LIKE {table}")
    try:
        target.query(f"ALTER TABLE {shadow} {clauses}, ALGORITHM=INPLACE")
    except pymysql.err.Error as error:
        if error.args[0] in _NOT_IN_PLACE:
            return False
        raise
    finally:
        target.query(f"DROP TABLE {shadow}")
    return True
