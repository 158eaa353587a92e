"""What a scan meets while others move rows, and what it sees of rows that its statement changes."""

from __future__ import annotations

from tests.isolation._script import Case

SCAN_CASES = (
    # Within a statement: its snapshot, changes of others, its own changes.
    Case("behind changes: same column", "a trigger reads what its statement and others changed", """
        T1: UPDATE t SET k = 25, u = 25 WHERE id = 20
        T2: UPDATE t SET k = k + 100, u = u + 100, v = v + 1 WHERE id <= 20
        T1: COMMIT
        T2: SELECT * FROM s WHERE n > 1
        T2: COMMIT
        """, table="watched"),
    Case("behind changes: other column", "the same, and the statement leaves the keys alone", """
        T1: UPDATE t SET k = 25, u = 25 WHERE id = 20
        T2: UPDATE t SET v = v + 1 WHERE id <= 20
        T1: COMMIT
        T2: SELECT * FROM s WHERE n > 1
        T2: COMMIT
        """, table="watched"),
    Case("behind changes: DELETE", "the same, of rows that are deleted", """
        T1: UPDATE t SET k = 25, u = 25 WHERE id = 20
        T2: DELETE FROM t WHERE id <= 20
        T1: COMMIT
        T2: SELECT * FROM s WHERE n > 1
        T2: COMMIT
        """, table="watched"),
)
