"""The classical anomalies: the Hermitage cases, and their kin with other predicates and indexes."""

from __future__ import annotations

from tests.isolation._script import Case

ANOMALIES = (
    Case("G0", "dirty write: two transactions' changes are interleaved", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: UPDATE t SET v = 21 WHERE id = 2
        T1: COMMIT
        T3: SELECT * FROM t
        T2: UPDATE t SET v = 22 WHERE id = 2
        T2: COMMIT
        """, lambda o: {row[1] for row in o.final} not in ({11, 21}, {12, 22})),
    Case("G1a", "dirty read: of a change that is rolled back", """
        T1: UPDATE t SET v = 101 WHERE id = 1
        T2 read: SELECT * FROM t
        T1: ROLLBACK
        T2: SELECT * FROM t
        T2: COMMIT
        """, lambda o: (1, 101) in (o.rows("read") or ())),
    Case("G1b", "dirty read: of a value that is changed again", """
        T1: UPDATE t SET v = 101 WHERE id = 1
        T2 read: SELECT * FROM t
        T1: UPDATE t SET v = 11 WHERE id = 1
        T1: COMMIT
        T2: SELECT * FROM t
        T2: COMMIT
        """, lambda o: (1, 101) in (o.rows("read") or ())),
    Case("G1c", "circular information flow: each reads the other's change", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T2: UPDATE t SET v = 22 WHERE id = 2
        T1 one: SELECT * FROM t WHERE id = 2
        T2 two: SELECT * FROM t WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """, lambda o: o.rows("one") == [(2, 22)] and o.rows("two") == [(1, 11)]),
    Case("OTV", "observed transaction vanishes: seen, and then seen in part", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T1: UPDATE t SET v = 19 WHERE id = 2
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: COMMIT
        T3 first: SELECT * FROM t WHERE id = 1
        T3 second: SELECT * FROM t WHERE id = 2
        T2: UPDATE t SET v = 18 WHERE id = 2
        T2: COMMIT
        T3: SELECT * FROM t WHERE id = 2
        T3: SELECT * FROM t WHERE id = 1
        T3: COMMIT
        """, lambda o: o.rows("first") == [(1, 12)] and o.rows("second") == [(2, 19)]),
    Case("PMP", "predicate-many-preceders: a row appears for a condition read before", """
        T1: SELECT * FROM t WHERE v = 30
        T2: INSERT INTO t VALUES (3, 30)
        T2: COMMIT
        T1 read: SELECT * FROM t WHERE v % 3 = 0
        T1: COMMIT
        """, lambda o: bool(o.rows("read"))),
    Case("PMP write", "predicate-many-preceders: a write's condition sees what its transaction "
         "does not read", """
        T1: UPDATE t SET v = v + 10
        T2 before: SELECT * FROM t WHERE v = 20
        T2 write: DELETE FROM t WHERE v = 20
        T1: COMMIT
        T2 after: SELECT * FROM t WHERE v = 20
        T2: COMMIT
        """, lambda o: o.succeeds("write") and o.rows("before") == [(2, 20)]
         and (1, 20) not in o.final),
    Case("P4", "lost update: read, then written from the client", """
        T1: SELECT * FROM t WHERE id = 1
        T2: SELECT * FROM t WHERE id = 1
        T1 one: UPDATE t SET v = 11 WHERE id = 1
        T2 two: UPDATE t SET v = 12 WHERE id = 1
        T1 commit: COMMIT
        T2: COMMIT
        """, lambda o: o.succeeds("one") and o.succeeds("two")),
    Case("P4 FOR UPDATE", "lost update, read with FOR UPDATE", """
        T1: SELECT * FROM t WHERE id = 1
        T2: SELECT * FROM t WHERE id = 1
        T1: SELECT * FROM t WHERE id = 1 FOR UPDATE
        T2 read: SELECT * FROM t WHERE id = 1 FOR UPDATE
        T1: UPDATE t SET v = 11 WHERE id = 1
        T1: COMMIT
        T2: UPDATE t SET v = 12 WHERE id = 1
        T2: COMMIT
        """, lambda o: o.rows("read") == [(1, 10)] and o.final[0] == (1, 12)),
    Case("P4 IN SHARE MODE", "lost update, read with LOCK IN SHARE MODE", """
        T1: SELECT * FROM t WHERE id = 1 LOCK IN SHARE MODE
        T2: SELECT * FROM t WHERE id = 1 LOCK IN SHARE MODE
        T1 one: UPDATE t SET v = 11 WHERE id = 1
        T2 two: UPDATE t SET v = 12 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """, lambda o: o.succeeds("one") and o.succeeds("two")),
    Case("P4 increment", "lost update of increments in the server", """
        T1: UPDATE t SET v = v + 1 WHERE id = 1
        T2: UPDATE t SET v = v + 1 WHERE id = 1
        T1: COMMIT
        T2 commit: COMMIT
        """, lambda o: not o.errors() and o.final[0] != (1, 12)),
    Case("P4 condition", "lost update guarded by a condition on what was read", """
        T1: SELECT * FROM t WHERE id = 1
        T2: SELECT * FROM t WHERE id = 1
        T1 one: UPDATE t SET v = 11 WHERE id = 1 AND v = 10
        T2 two: UPDATE t SET v = 12 WHERE id = 1 AND v = 10
        T1: COMMIT
        T2: COMMIT
        """, lambda o: o.final[0] == (1, 12)),
    Case("P2", "fuzzy read: a row read twice differs", """
        T1: SELECT * FROM t WHERE id = 1
        T2: UPDATE t SET v = 12 WHERE id = 1
        T2: COMMIT
        T1 again: SELECT * FROM t WHERE id = 1
        T1: COMMIT
        """, lambda o: o.rows("again") == [(1, 12)]),
    Case("P2 delete", "fuzzy read: a row read before is gone", """
        T1: SELECT * FROM t WHERE id = 1
        T2: DELETE FROM t WHERE id = 1
        T2: COMMIT
        T1 again: SELECT * FROM t WHERE id = 1
        T1: COMMIT
        """, lambda o: o.rows("again") == []),
    Case("P2 locking", "fuzzy read: a locking read differs from the read before", """
        T1: SELECT * FROM t WHERE id = 1
        T2: UPDATE t SET v = 12 WHERE id = 1
        T2: COMMIT
        T1 again: SELECT * FROM t WHERE id = 1 FOR UPDATE
        T1 plain: SELECT * FROM t WHERE id = 1
        T1: COMMIT
        """, lambda o: o.rows("again") == [(1, 12)]),
    Case("P2 own change", "fuzzy read: an own change shows another's", """
        T1: SELECT * FROM t WHERE id = 1
        T2: UPDATE t SET v = v + 2 WHERE id = 1
        T2: COMMIT
        T1 change: UPDATE t SET v = v + 100 WHERE id = 1
        T1 again: SELECT * FROM t WHERE id = 1
        T1: COMMIT
        """, lambda o: o.rows("again") == [(1, 112)]),
    Case("P3 primary", "phantom in a range of the primary key", """
        T1: SELECT * FROM t WHERE id BETWEEN 10 AND 30
        T2: INSERT INTO t VALUES (15, 15, 15, 0)
        T2: COMMIT
        T1 again: SELECT * FROM t WHERE id BETWEEN 10 AND 30
        T1: COMMIT
        """, lambda o: len(o.rows("again") or ()) == 4, "keyed"),
    Case("P3 secondary", "phantom in a range of a secondary index", """
        T1: SELECT id, k FROM t FORCE INDEX (k) WHERE k BETWEEN 10 AND 30
        T2: INSERT INTO t VALUES (50, 15, 50, 0)
        T2: COMMIT
        T1 again: SELECT id, k FROM t FORCE INDEX (k) WHERE k BETWEEN 10 AND 30
        T1: COMMIT
        """, lambda o: len(o.rows("again") or ()) == 4, "keyed"),
    Case("P3 unique", "phantom in a range of a unique index", """
        T1: SELECT id, u FROM t FORCE INDEX (u) WHERE u BETWEEN 10 AND 30
        T2: INSERT INTO t VALUES (50, 50, 15, 0)
        T2: COMMIT
        T1 again: SELECT id, u FROM t FORCE INDEX (u) WHERE u BETWEEN 10 AND 30
        T1: COMMIT
        """, lambda o: len(o.rows("again") or ()) == 4, "keyed"),
    Case("P3 moved", "phantom that an UPDATE moves into a range of a secondary index", """
        T1: SELECT id, k FROM t FORCE INDEX (k) WHERE k BETWEEN 10 AND 25
        T2: UPDATE t SET k = 15 WHERE id = 40
        T2: COMMIT
        T1 again: SELECT id, k FROM t FORCE INDEX (k) WHERE k BETWEEN 10 AND 25
        T1: COMMIT
        """, lambda o: len(o.rows("again") or ()) == 3, "keyed"),
    Case("P3 locking", "phantom in a range that is read with FOR UPDATE", """
        T1: SELECT * FROM t WHERE id BETWEEN 10 AND 30 FOR UPDATE
        T2: INSERT INTO t VALUES (15, 15, 15, 0)
        T1 again: SELECT * FROM t WHERE id BETWEEN 10 AND 30 FOR UPDATE
        T1: COMMIT
        T2: COMMIT
        """, lambda o: not o.has_waits(), "keyed"),
    Case("P3 locking, committed", "phantom for a locking read after a plain read", """
        T1: SELECT * FROM t WHERE id BETWEEN 10 AND 30
        T2: INSERT INTO t VALUES (15, 15, 15, 0)
        T2: COMMIT
        T1 again: SELECT * FROM t WHERE id BETWEEN 10 AND 30 FOR UPDATE
        T1: COMMIT
        """, lambda o: len(o.rows("again") or ()) == 4, "keyed"),
    Case("P3 count", "phantom in an aggregate of all rows", """
        T1: SELECT COUNT(*) FROM t
        T2: INSERT INTO t VALUES (3, 30)
        T2: COMMIT
        T1 again: SELECT COUNT(*) FROM t
        T1: COMMIT
        """, lambda o: o.rows("again") == [(3,)]),
    Case("P3 own update", "phantom that the own UPDATE of a range makes visible", """
        T1: SELECT * FROM t
        T2: INSERT INTO t VALUES (3, 30)
        T2: COMMIT
        T1 change: UPDATE t SET v = v + 1
        T1 again: SELECT * FROM t
        T1: COMMIT
        """, lambda o: len(o.rows("again") or ()) == 3),
    Case("G-single", "read skew: of two rows, one before and one after a change", """
        T1: SELECT * FROM t WHERE id = 1
        T2: SELECT * FROM t
        T2: UPDATE t SET v = 12 WHERE id = 1
        T2: UPDATE t SET v = 18 WHERE id = 2
        T2: COMMIT
        T1 read: SELECT * FROM t WHERE id = 2
        T1: COMMIT
        """, lambda o: o.rows("read") == [(2, 18)]),
    Case("G-single predicate", "read skew with conditions", """
        T1: SELECT * FROM t WHERE v % 5 = 0
        T2: UPDATE t SET v = 12 WHERE v = 10
        T2: COMMIT
        T1 read: SELECT * FROM t WHERE v % 3 = 0
        T1: COMMIT
        """, lambda o: bool(o.rows("read"))),
    Case("G-single write", "read skew with a write's condition: it does not meet the row that was "
         "read", """
        T1: SELECT * FROM t WHERE id = 1
        T2: SELECT * FROM t
        T2: UPDATE t SET v = 12 WHERE id = 1
        T2: UPDATE t SET v = 18 WHERE id = 2
        T2: COMMIT
        T1 write: DELETE FROM t WHERE v = 20
        T1: COMMIT
        """, lambda o: o.succeeds("write") and (2, 18) in o.final),
    Case("G-single interleaved", "read skew with a write's condition, between two changes", """
        T1: SELECT * FROM t WHERE id = 1
        T2: SELECT * FROM t
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1 write: DELETE FROM t WHERE v = 20
        T2: UPDATE t SET v = 18 WHERE id = 2
        T2: COMMIT
        T1: COMMIT
        """, lambda o: o.succeeds("write") and (2, 18) in o.final),
    Case("G2-item", "write skew: each changes what the other has read", """
        T1: SELECT * FROM t WHERE id IN (1, 2)
        T2: SELECT * FROM t WHERE id IN (1, 2)
        T1 one: UPDATE t SET v = 11 WHERE id = 1
        T2 two: UPDATE t SET v = 21 WHERE id = 2
        T1: COMMIT
        T2: COMMIT
        """, lambda o: o.succeeds("one") and o.succeeds("two")),
    Case("G2-item FOR UPDATE", "write skew, read with FOR UPDATE", """
        T1: SELECT * FROM t WHERE id IN (1, 2) FOR UPDATE
        T2 read: SELECT * FROM t WHERE id IN (1, 2) FOR UPDATE
        T1: UPDATE t SET v = 11 WHERE id = 1
        T1: COMMIT
        T2: UPDATE t SET v = 21 WHERE id = 2
        T2: COMMIT
        """, lambda o: o.rows("read") == [(1, 10), (2, 20)]),
    Case("G2", "anti-dependency cycle: each inserts what the other's condition has not met", """
        T1: SELECT * FROM t WHERE v % 3 = 0
        T2: SELECT * FROM t WHERE v % 3 = 0
        T1 one: INSERT INTO t VALUES (3, 30)
        T2 two: INSERT INTO t VALUES (4, 42)
        T1: COMMIT
        T2: COMMIT
        """, lambda o: o.succeeds("one") and o.succeeds("two")),
    Case("G2 index", "anti-dependency cycle through a range of a secondary index", """
        T1: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 11 AND 19
        T2: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 11 AND 19
        T1 one: INSERT INTO t VALUES (51, 15, 51, 0)
        T2 two: INSERT INTO t VALUES (52, 16, 52, 0)
        T1: COMMIT
        T2: COMMIT
        """, lambda o: o.succeeds("one") and o.succeeds("two"), "keyed"),
    Case("G2 two edges", "anti-dependency cycle with a transaction that only reads", """
        T1: SELECT * FROM t
        T2: UPDATE t SET v = v + 5 WHERE id = 2
        T2: COMMIT
        T3 read: SELECT * FROM t
        T3: COMMIT
        T1 one: UPDATE t SET v = 0 WHERE id = 1
        T1: COMMIT
        """, lambda o: o.rows("read") == [(1, 10), (2, 25)] and o.succeeds("one")),
    Case("G2 disjoint", "anti-dependency cycle of sums: each adds the other's sum", """
        T1: SELECT SUM(v) FROM t WHERE k = 10
        T2: SELECT SUM(v) FROM t WHERE k = 20
        T1 one: INSERT INTO t VALUES (51, 20, 51, 7)
        T2 two: INSERT INTO t VALUES (52, 10, 52, 7)
        T1: COMMIT
        T2: COMMIT
        """, lambda o: o.succeeds("one") and o.succeeds("two"), "keyed"),
)
