"""What a scan meets while others move rows, and what it sees of rows that its statement changes."""

from __future__ import annotations

from tests.isolation._script import Case

SCAN_CASES = (
    # Rows that are moved ahead of a scan that locks.
    Case("moved ahead: secondary", "a scan waits for a row, which goes further on in its range", """
        T1: UPDATE t SET k = 24 WHERE id = 20
        T2: UPDATE t FORCE INDEX (k) SET v = v + 1 WHERE k BETWEEN 15 AND 25
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("moved ahead: primary", "a scan waits for a row, which gets a greater key there", """
        T1: UPDATE t SET id = 24 WHERE id = 20
        T2: DELETE FROM t WHERE id BETWEEN 15 AND 25
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("moved ahead: table scan", "the same without a range, and a condition that is met before "
         "and after", """
        T1: UPDATE t SET id = 34 WHERE id = 20
        T2: UPDATE t SET v = v + 1 WHERE u < 30
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("moved ahead: unique", "a scan waits for a row, whose unique value goes to another", """
        T1: UPDATE t SET u = 24 WHERE id = 20
        T1: UPDATE t SET u = 20 WHERE id = 40
        T2: SELECT id, u FROM t FORCE INDEX (u) WHERE u BETWEEN 15 AND 25 FOR UPDATE
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("moved ahead: backward", "a descending scan waits for a row, which goes further on", """
        T1: UPDATE t SET k = 16 WHERE id = 20
        T2: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 15 AND 25 ORDER BY k DESC FOR UPDATE
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("moved ahead: no wait", "a row has gone further on before the scan comes to it", """
        T3: SELECT id FROM t WHERE id = 10 FOR UPDATE
        T2: UPDATE t FORCE INDEX (k) SET v = v + 1 WHERE k BETWEEN 5 AND 35
        A1: UPDATE t SET k = 34 WHERE id = 20
        T3: COMMIT
        T2: COMMIT
        """, table="keyed"),

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
