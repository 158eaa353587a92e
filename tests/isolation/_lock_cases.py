"""Who waits for whom, and who does not: gaps, missing keys, deletes, inserts of many kinds."""

from __future__ import annotations

from tests.isolation._script import Case

LOCK_CASES = (
    # Inserts into ranges that are locked.
    Case("gap: inside", "insert inside a range that was read with FOR UPDATE", """
        T1: SELECT id FROM t WHERE id BETWEEN 15 AND 25 FOR UPDATE
        T2: INSERT INTO t VALUES (17, 17, 17, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: far away", "insert far outside of a range that was read with FOR UPDATE", """
        T1: SELECT id FROM t WHERE id BETWEEN 15 AND 25 FOR UPDATE
        T2: INSERT INTO t VALUES (35, 35, 35, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: beyond the bound", "insert beyond a range, before the next row", """
        T1: SELECT id FROM t WHERE id BETWEEN 15 AND 25 FOR UPDATE
        T2: INSERT INTO t VALUES (27, 27, 27, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: before the bound", "insert before a range, behind the last row before it", """
        T1: SELECT id FROM t WHERE id BETWEEN 15 AND 25 FOR UPDATE
        T2: INSERT INTO t VALUES (12, 12, 12, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: next row", "change of the first row beyond a range", """
        T1: SELECT id FROM t WHERE id BETWEEN 15 AND 25 FOR UPDATE
        T2: UPDATE t SET v = 1 WHERE id = 30
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: open end", "insert behind the last row of a range without an end", """
        T1: SELECT id FROM t WHERE id >= 30 FOR UPDATE
        T2: INSERT INTO t VALUES (99, 99, 99, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: open beginning", "insert before the first row of a range without a beginning", """
        T1: SELECT id FROM t WHERE id <= 20 FOR UPDATE
        T2: INSERT INTO t VALUES (1, 1, 1, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: shared", "insert inside a range that was read with LOCK IN SHARE MODE", """
        T1: SELECT id FROM t WHERE id BETWEEN 15 AND 25 LOCK IN SHARE MODE
        T3: SELECT id FROM t WHERE id BETWEEN 15 AND 25 LOCK IN SHARE MODE
        T2: INSERT INTO t VALUES (17, 17, 17, 0)
        T1: COMMIT
        T3: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: empty range", "two lock an empty range, a third inserts", """
        T1: SELECT id FROM t WHERE id BETWEEN 22 AND 28 FOR UPDATE
        T3: SELECT id FROM t WHERE id BETWEEN 22 AND 28 FOR UPDATE
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T3: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: both insert", "two lock an empty range, and both insert", """
        T1: SELECT id FROM t WHERE id BETWEEN 22 AND 28 FOR UPDATE
        T2: SELECT id FROM t WHERE id BETWEEN 22 AND 28 FOR UPDATE
        T1: INSERT INTO t VALUES (24, 24, 24, 0)
        T2: INSERT INTO t VALUES (26, 26, 26, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: own insert", "the holder of a range inserts into it", """
        T1: SELECT id FROM t WHERE id BETWEEN 22 AND 28 FOR UPDATE
        T1: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        """, table="keyed"),
    Case("gap: DELETE", "insert inside a range that was deleted", """
        T1: DELETE FROM t WHERE id BETWEEN 15 AND 35
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: UPDATE", "insert inside a range that was updated", """
        T1: UPDATE t SET v = 1 WHERE id BETWEEN 15 AND 35
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: secondary", "insert inside a range of a secondary index", """
        T1: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 15 AND 25 FOR UPDATE
        T2: INSERT INTO t VALUES (17, 17, 17, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: secondary, other place", "insert with a near primary and a far secondary key", """
        T1: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 15 AND 25 FOR UPDATE
        T2: INSERT INTO t VALUES (17, 99, 99, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: secondary, equal", "insert of another row with the key that was read", """
        T1: SELECT id FROM t FORCE INDEX (k) WHERE k = 20 FOR UPDATE
        T2: INSERT INTO t VALUES (17, 20, 17, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: secondary, neighbour", "insert beside the secondary key that was read", """
        T1: SELECT id FROM t FORCE INDEX (k) WHERE k = 20 FOR UPDATE
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: secondary, missing", "insert of a secondary key that was looked for in vain", """
        T1: SELECT id FROM t FORCE INDEX (k) WHERE k = 25 FOR UPDATE
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: secondary, moved", "UPDATE that moves a row into a range of a secondary index", """
        T1: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 15 AND 25 FOR UPDATE
        T2: UPDATE t SET k = 17 WHERE id = 40
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: secondary, moved out", "UPDATE that moves a row out of a locked range", """
        T1: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 15 AND 25 FOR UPDATE
        T2: UPDATE t SET k = 99 WHERE id = 20
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: unique", "insert inside a range of a unique index", """
        T1: SELECT id FROM t FORCE INDEX (u) WHERE u BETWEEN 15 AND 25 FOR UPDATE
        T2: INSERT INTO t VALUES (17, 17, 17, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: unique, found", "insert beside a unique key that was read", """
        T1: SELECT id FROM t WHERE u = 20 FOR UPDATE
        T2: INSERT INTO t VALUES (17, 17, 17, 0)
        T2: INSERT INTO t VALUES (23, 23, 23, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: primary, found", "insert beside a primary key that was read", """
        T1: SELECT id FROM t WHERE id = 20 FOR UPDATE
        T2: INSERT INTO t VALUES (17, 17, 17, 0)
        T2: INSERT INTO t VALUES (23, 23, 23, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: condition without index", "insert of any row while a condition without index is "
         "locked", """
        T1: SELECT * FROM t WHERE v = 20 FOR UPDATE
        T2: INSERT INTO t VALUES (3, 30)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("gap: LIMIT", "insert behind the row at which LIMIT ended a locking scan", """
        T1: SELECT id FROM t WHERE id >= 15 ORDER BY id LIMIT 1 FOR UPDATE
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T2: INSERT INTO t VALUES (17, 17, 17, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: last row", "insert behind the last row, which ORDER BY DESC LIMIT 1 has locked", """
        T1: SELECT id FROM t ORDER BY id DESC LIMIT 1 FOR UPDATE
        T2: INSERT INTO t VALUES (41, 41, 41, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("gap: empty table", "insert into an empty table that was read with FOR UPDATE", """
        T1: SELECT * FROM t FOR UPDATE
        T2: INSERT INTO t VALUES (1, 1, 1)
        T1: COMMIT
        T2: COMMIT
        """, table="empty"),
    Case("gap: next number", "two insert MAX(id) + 1", """
        T1: INSERT INTO t SELECT MAX(id) + 1, 0 FROM t AS old
        T2: INSERT INTO t SELECT MAX(id) + 1, 0 FROM t AS old
        T1: COMMIT
        T2: COMMIT
        """),
    # Keys that are not there.
    Case("missing: insert", "insert of a key that another has looked for with FOR UPDATE", """
        T1: SELECT * FROM t WHERE id = 25 FOR UPDATE
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("missing: neighbour", "insert beside a key that another has looked for in vain", """
        T1: SELECT * FROM t WHERE id = 25 FOR UPDATE
        T2: INSERT INTO t VALUES (26, 26, 26, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("missing: both", "two look for the same missing key with FOR UPDATE, then both insert", """
        T1: SELECT * FROM t WHERE id = 25 FOR UPDATE
        T2: SELECT * FROM t WHERE id = 25 FOR UPDATE
        T1: INSERT INTO t VALUES (25, 25, 25, 1)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("missing: different", "two look for different missing keys, then both insert", """
        T1: SELECT * FROM t WHERE id = 24 FOR UPDATE
        T2: SELECT * FROM t WHERE id = 26 FOR UPDATE
        T1: INSERT INTO t VALUES (24, 24, 24, 1)
        T2: INSERT INTO t VALUES (26, 26, 26, 2)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("missing: unique", "insert of a unique value that another has looked for", """
        T1: SELECT * FROM t WHERE u = 25 FOR UPDATE
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("missing: UPDATE", "insert of a key that another's UPDATE has looked for", """
        T1: UPDATE t SET v = 1 WHERE id = 25
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("missing: DELETE", "insert of a key that another's DELETE has looked for", """
        T1: DELETE FROM t WHERE id = 25
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    # Deletes and inserts of the same key.
    Case("delete: read", "a locking read of a row that is being deleted", """
        T1: DELETE FROM t WHERE id = 1
        T2: SELECT * FROM t WHERE id = 1 FOR UPDATE
        T1: COMMIT
        T2: COMMIT
        """),
    Case("delete: rolled back", "a locking read of a row whose deletion is undone", """
        T1: DELETE FROM t WHERE id = 1
        T2: SELECT * FROM t WHERE id = 1 FOR UPDATE
        T1: ROLLBACK
        T2: COMMIT
        """),
    Case("delete: reinsert", "a locking read of a row that is deleted and inserted again", """
        T1: DELETE FROM t WHERE id = 1
        T2: SELECT * FROM t WHERE id = 1 FOR UPDATE
        T1: INSERT INTO t VALUES (1, 11)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("delete: insert", "insert of a key that is being deleted", """
        T1: DELETE FROM t WHERE id = 1
        T2: INSERT INTO t VALUES (1, 12)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("delete: insert, rolled back", "insert of a key whose deletion is undone", """
        T1: DELETE FROM t WHERE id = 1
        T2: INSERT INTO t VALUES (1, 12)
        T1: ROLLBACK
        T2: COMMIT
        """),
    Case("delete: unique value", "insert of a unique value whose row is being deleted", """
        T1: DELETE FROM t WHERE id = 20
        T2: INSERT INTO t VALUES (25, 25, 20, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("delete: unique value moved", "insert of a unique value that an UPDATE gives up", """
        T1: UPDATE t SET u = 21 WHERE id = 20
        T2: INSERT INTO t VALUES (25, 25, 20, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("delete: both", "two delete the same row", """
        T1: DELETE FROM t WHERE id = 1
        T2: DELETE FROM t WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("delete: unseen", "delete of a row that the snapshot does not show", """
        T1: SELECT * FROM t
        T2: INSERT INTO t VALUES (3, 30)
        T2: COMMIT
        T1: DELETE FROM t WHERE id = 3
        T1: SELECT * FROM t
        T1: COMMIT
        """),
    Case("delete: snapshot", "a snapshot goes on showing what is deleted and inserted again", """
        T1: SELECT * FROM t
        T2: DELETE FROM t
        T2: INSERT INTO t VALUES (1, 11), (3, 30)
        T2: COMMIT
        T1: SELECT * FROM t
        T1: COMMIT
        T1: SELECT * FROM t
        """),
    Case("delete: own new row", "a locking read of a range with another's row, new and deleted "
         "and inserted again", """
        T1: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: DELETE FROM t WHERE id = 25
        T2: SELECT id FROM t WHERE id BETWEEN 22 AND 28 LOCK IN SHARE MODE
        T1: INSERT INTO t VALUES (25, 25, 25, 1)
        T1: COMMIT
        T2: SELECT id FROM t WHERE id BETWEEN 22 AND 28 LOCK IN SHARE MODE
        T2: COMMIT
        """, table="keyed"),
    Case("delete: own moved entry", "a locking read of a range out of which and into which another "
         "moves a row", """
        T1: UPDATE t SET k = 25 WHERE id = 40
        T1: UPDATE t SET k = 90 WHERE id = 40
        T2: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 22 AND 28 LOCK IN SHARE MODE
        T1: UPDATE t SET k = 25 WHERE id = 40
        T1: COMMIT
        T2: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 22 AND 28 LOCK IN SHARE MODE
        T2: COMMIT
        """, table="keyed"),
    Case("insert: own row twice", "a locking read of a range with another's new, changed row", """
        T1: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: UPDATE t SET v = 1, k = 26 WHERE id = 25
        T2: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 22 AND 28 LOCK IN SHARE MODE
        T1: UPDATE t SET k = 27 WHERE id = 25
        T1: COMMIT
        T2: SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN 22 AND 28 LOCK IN SHARE MODE
        T2: COMMIT
        """, table="keyed"),
    Case("insert: behind a waiting scan", "two rows inserted into a range that another waits to "
         "read", """
        T1: INSERT INTO t VALUES (25, 25, 25, 0)
        T2: SELECT id FROM t WHERE id BETWEEN 20 AND 30 FOR UPDATE
        T1: INSERT INTO t VALUES (27, 27, 27, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("insert: before a waiting scan", "two rows inserted, the second before the first", """
        T1: INSERT INTO t VALUES (27, 27, 27, 0)
        T2: SELECT id FROM t WHERE id BETWEEN 20 AND 30 FOR UPDATE
        T1: INSERT INTO t VALUES (25, 25, 25, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    # Inserts of the same key.
    Case("insert: same key", "insert of a key that another inserts", """
        T1: INSERT INTO t VALUES (3, 30)
        T2: INSERT INTO t VALUES (3, 31)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("insert: same key, rolled back", "insert of a key whose insert is undone", """
        T1: INSERT INTO t VALUES (3, 30)
        T2: INSERT INTO t VALUES (3, 31)
        T1: ROLLBACK
        T2: COMMIT
        """),
    Case("insert: three, rolled back", "two wait to insert a key whose insert is undone", """
        T2: INSERT INTO t VALUES (5, 0), (6, 0), (7, 0)
        T1: INSERT INTO t VALUES (3, 30)
        T2: INSERT INTO t VALUES (3, 31)
        T3: INSERT INTO t VALUES (3, 32)
        T1: ROLLBACK
        A1: SELECT COUNT(*) FROM t WHERE id < 3
        """),
    Case("insert: same unique value", "insert of a unique value that another inserts", """
        T1: INSERT INTO t VALUES (50, 50, 50, 0)
        T2: INSERT INTO t VALUES (51, 51, 50, 0)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("insert: neighbours", "inserts of neighbouring keys do not wait", """
        T1: INSERT INTO t VALUES (24, 24, 24, 0)
        T2: INSERT INTO t VALUES (25, 25, 25, 0)
        T3: INSERT INTO t VALUES (26, 24, 26, 0)
        T1: COMMIT
        T2: COMMIT
        T3: COMMIT
        """, table="keyed"),
    Case("insert: duplicate keeps a lock", "change of a row that another's insert has met", """
        T1: INSERT INTO t VALUES (1, 99)
        T2: UPDATE t SET v = 11 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("insert: IGNORE", "INSERT IGNORE of a key that another inserts", """
        T1: INSERT INTO t VALUES (3, 30)
        T2: INSERT IGNORE INTO t VALUES (3, 31), (4, 41)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("insert: seen by a range", "a locking read of a range with another's new row", """
        T1: INSERT INTO t VALUES (25, 25, 25, 0)
        T2: SELECT id FROM t WHERE id BETWEEN 20 AND 30 LOCK IN SHARE MODE
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("insert: not seen, rolled back", "a locking read of a range whose new row is undone", """
        T1: INSERT INTO t VALUES (25, 25, 25, 0)
        T2: SELECT id FROM t WHERE id BETWEEN 20 AND 30 LOCK IN SHARE MODE
        T1: ROLLBACK
        T2: COMMIT
        """, table="keyed"),
    Case("REPLACE: same key", "REPLACE of a row that another changes", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T2: REPLACE INTO t VALUES (1, 12)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("REPLACE: missing key", "two REPLACE the same missing key", """
        T1: REPLACE INTO t VALUES (3, 31)
        T2: REPLACE INTO t VALUES (3, 32)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("REPLACE: two keys", "REPLACE that removes two rows, another changes one of them", """
        T1: UPDATE t SET v = 1 WHERE id = 30
        T2: REPLACE INTO t VALUES (20, 20, 30, 7)
        T1: COMMIT
        T2: COMMIT
        """, table="keyed"),
    Case("ON DUPLICATE KEY: same key", "two increments by INSERT ... ON DUPLICATE KEY UPDATE", """
        T1: INSERT INTO t VALUES (1, 0) ON DUPLICATE KEY UPDATE v = v + 1
        T2: INSERT INTO t VALUES (1, 0) ON DUPLICATE KEY UPDATE v = v + 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("ON DUPLICATE KEY: missing key", "two such inserts of a missing key", """
        T1: INSERT INTO t VALUES (3, 0) ON DUPLICATE KEY UPDATE v = v + 1
        T2: INSERT INTO t VALUES (3, 0) ON DUPLICATE KEY UPDATE v = v + 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("ON DUPLICATE KEY: unseen", "such an insert of a key that the snapshot does not show", """
        T1: SELECT * FROM t
        T2: INSERT INTO t VALUES (3, 30)
        T2: COMMIT
        T1: INSERT INTO t VALUES (3, 0) ON DUPLICATE KEY UPDATE v = v + 1
        T1: SELECT * FROM t
        T1: COMMIT
        """),
    # Statements that read one thing and write another.
    Case("INSERT ... SELECT: source", "change of a row that INSERT ... SELECT has read", """
        T1: INSERT INTO t SELECT id + 10, v FROM s
        T2: UPDATE s SET v = 11 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """, table="two"),
    Case("INSERT ... SELECT: new source row", "insert into what INSERT ... SELECT has read", """
        T1: INSERT INTO t SELECT id + 10, v FROM s WHERE id < 10
        T2: INSERT INTO s VALUES (5, 5, 50)
        T1: COMMIT
        T2: COMMIT
        """, table="two"),
    Case("INSERT ... SELECT: changed source", "INSERT ... SELECT of a row that another changes", """
        T1: UPDATE s SET v = 11 WHERE id = 1
        T2: INSERT INTO t SELECT id + 10, v FROM s
        T1: COMMIT
        T2: COMMIT
        """, table="two"),
    Case("UPDATE ... JOIN", "change of a row that another's UPDATE has only read", """
        T1: UPDATE t JOIN s ON s.id = t.id SET t.v = s.v + 1
        T2: UPDATE s SET v = 11 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """, table="two"),
    Case("DELETE by subquery", "change of a row that another's DELETE has only read", """
        T1: DELETE FROM t WHERE id IN (SELECT id FROM s WHERE k = 1)
        T2: UPDATE s SET v = 11 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """, table="two"),
    # Conditions without an index.
    Case("scan: UPDATE", "UPDATE of other rows by a column without index", """
        T1: UPDATE t SET v = 11 WHERE v = 10
        T2: UPDATE t SET v = 21 WHERE v = 20
        T1: COMMIT
        T2: COMMIT
        """),
    Case("scan: UPDATE of a row that matches", "UPDATE of a row that matches only later", """
        T1: UPDATE t SET v = 20 WHERE id = 1
        T2: UPDATE t SET v = v + 1 WHERE v = 20
        T1: COMMIT
        T2: COMMIT
        """),
    Case("scan: UPDATE of a row that no more matches", "UPDATE of a row that matches no more", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T2: UPDATE t SET v = v + 1 WHERE v = 10
        T1: COMMIT
        T2: COMMIT
        """),
    Case("scan: UPDATE in a table without key", "UPDATE of other rows, no index at all", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T2: UPDATE t SET v = 21 WHERE id = 2
        T1: COMMIT
        T2: COMMIT
        """, table="plain"),
    Case("scan: DELETE", "DELETE of other rows by a column without index", """
        T1: DELETE FROM t WHERE v = 10
        T2: DELETE FROM t WHERE v = 20
        T1: COMMIT
        T2: COMMIT
        """),
    Case("scan: FOR UPDATE", "a locking read of other rows by a column without index", """
        T1: SELECT * FROM t WHERE v = 10 FOR UPDATE
        T2: SELECT * FROM t WHERE v = 20 FOR UPDATE
        T1: COMMIT
        T2: COMMIT
        """),
    Case("scan: unlock", "change of a row that another has read and not wanted", """
        T1: SELECT * FROM t WHERE v = 10 FOR UPDATE
        T2: UPDATE t SET v = 21 WHERE id = 2
        T1: COMMIT
        T2: COMMIT
        """),
    Case("scan: new row", "UPDATE of all rows while another inserts one", """
        T1: INSERT INTO t VALUES (3, 30)
        T2: UPDATE t SET v = v + 1 WHERE v < 30
        T1: COMMIT
        T2: COMMIT
        """),
    # NOWAIT, SKIP LOCKED, deadlocks, savepoints, snapshots.
    Case("NOWAIT", "NOWAIT on a row that another changes", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T2: SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT
        T2: SELECT * FROM t WHERE id = 2 FOR UPDATE NOWAIT
        T1: COMMIT
        T2: SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT
        T2: COMMIT
        """),
    Case("SKIP LOCKED", "two take the first free row of a queue", """
        T1: SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
        T2: SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
        T3: SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
        T1: DELETE FROM t WHERE id = 1
        T1: COMMIT
        T2: ROLLBACK
        T3: SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
        T3: COMMIT
        """),
    Case("deadlock: two", "two change two rows in opposite order; who did less gives up", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T1: INSERT INTO t VALUES (11, 0), (12, 0), (13, 0)
        T2: UPDATE t SET v = 22 WHERE id = 2
        T1: UPDATE t SET v = 21 WHERE id = 2
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("deadlock: heavier requester", "the waiter did less and gives up", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T2: UPDATE t SET v = 22 WHERE id = 2
        T2: INSERT INTO t VALUES (11, 0), (12, 0), (13, 0)
        T1: UPDATE t SET v = 21 WHERE id = 2
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("deadlock: three", "a cycle of three", """
        T1: UPDATE t SET v = 1 WHERE id = 10
        T2: UPDATE t SET v = 2 WHERE id IN (20, 40)
        T3: UPDATE t SET v = 3 WHERE id = 30
        T3: INSERT INTO t VALUES (51, 51, 51, 0), (52, 52, 52, 0)
        T2: INSERT INTO t VALUES (61, 61, 61, 0), (62, 62, 62, 0)
        T1: UPDATE t SET v = 1 WHERE id = 20
        T2: UPDATE t SET v = 2 WHERE id = 30
        T3: UPDATE t SET v = 3 WHERE id = 10
        T3: COMMIT
        T2: COMMIT
        T1: COMMIT
        """, table="keyed"),
    Case("deadlock: gap", "each inserts into the range that the other has locked", """
        T1: SELECT id FROM t WHERE id BETWEEN 11 AND 15 FOR UPDATE
        T2: SELECT id FROM t WHERE id BETWEEN 31 AND 35 FOR UPDATE
        T2: INSERT INTO t VALUES (61, 61, 61, 0), (62, 62, 62, 0), (63, 63, 63, 0)
        T2: INSERT INTO t VALUES (12, 12, 12, 0)
        T1: INSERT INTO t VALUES (32, 32, 32, 0)
        T2: COMMIT
        T1: COMMIT
        """, table="keyed"),
    Case("savepoint", "locks of changes that are undone to a savepoint stay", """
        T1: UPDATE t SET v = 21 WHERE id = 2
        T1: SAVEPOINT a
        T1: UPDATE t SET v = 11 WHERE id = 1
        T1: ROLLBACK TO a
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("savepoint: insert", "insert of a key whose insert was undone to a savepoint", """
        T1: UPDATE t SET v = 21 WHERE id = 2
        T1: SAVEPOINT a
        T1: INSERT INTO t VALUES (3, 30)
        T1: ROLLBACK TO a
        T2: INSERT INTO t VALUES (3, 31)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("savepoint: the first", "undone to a savepoint that was set before all else", """
        T1: SAVEPOINT a
        T1: UPDATE t SET v = 11 WHERE id = 1
        T1: ROLLBACK TO a
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("failed statement", "change of a row that another's failed statement has changed", """
        T1: INSERT INTO t VALUES (3, 30), (1, 99)
        T2: INSERT INTO t VALUES (3, 31)
        T1: COMMIT
        T2: COMMIT
        """),
    Case("consistent snapshot", "START TRANSACTION WITH CONSISTENT SNAPSHOT fixes what is seen", """
        T1: START TRANSACTION WITH CONSISTENT SNAPSHOT
        T2: UPDATE t SET v = 12 WHERE id = 1
        T2: COMMIT
        T1: SELECT * FROM t
        T1: COMMIT
        """),
    Case("first read", "a snapshot begins with the first read, not with BEGIN", """
        T1: BEGIN
        T2: UPDATE t SET v = 12 WHERE id = 1
        T2: COMMIT
        T1: SELECT * FROM t WHERE id = 2
        T2: UPDATE t SET v = 13 WHERE id = 1
        T2: COMMIT
        T1: SELECT * FROM t
        T1: COMMIT
        """),
    Case("first write", "a change begins no snapshot", """
        T1: UPDATE t SET v = 21 WHERE id = 2
        T2: UPDATE t SET v = 12 WHERE id = 1
        T2: COMMIT
        T1: SELECT * FROM t
        T1: COMMIT
        """),
    Case("READ ONLY", "a transaction that only reads, and one that only reads and locks", """
        T1: START TRANSACTION READ ONLY
        T1: SELECT * FROM t
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: SELECT * FROM t WHERE id = 2 FOR UPDATE
        T1: UPDATE t SET v = 0
        T1: COMMIT
        T2: COMMIT
        """),
    Case("autocommit read", "a read outside of any transaction does not wait", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        A1: SELECT * FROM t
        T1: COMMIT
        A1: SELECT * FROM t
        """),
    Case("read in a transaction", "a read in a transaction, of a row that another changes", """
        T1: UPDATE t SET v = 11 WHERE id = 1
        T2: SELECT * FROM t WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("write after read", "change of a row that another has read", """
        T1: SELECT * FROM t WHERE id = 1
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
    Case("upgrade", "who reads in share mode first changes first, whoever else waits", """
        T1: SELECT * FROM t WHERE id = 1 LOCK IN SHARE MODE
        T2: UPDATE t SET v = 12 WHERE id = 1
        T1: UPDATE t SET v = 11 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
        """),
)
