-- A savepoint in a function took the outer statement's own: its rows stayed when it failed.
CREATE TABLE t (id INT PRIMARY KEY, n INT);
CREATE TABLE seen (what VARCHAR(20), x BIGINT);
CREATE FUNCTION noted(x BIGINT) RETURNS BIGINT BEGIN SAVEPOINT s; INSERT INTO seen VALUES
  ('noted', x); RETURN x; END;
CREATE FUNCTION undone(x BIGINT) RETURNS BIGINT BEGIN SAVEPOINT s; INSERT INTO seen VALUES
  ('undone', x); ROLLBACK TO SAVEPOINT s; RETURN x; END;
BEGIN;
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, noted(2)), (2, 3);
INSERT INTO t VALUES (3, undone(3)), (3, 3);
SELECT * FROM t;
SELECT * FROM seen;
UPDATE t SET n = undone(n) + 1;
INSERT INTO t VALUES (4, 4), (5, 5), (6, 6);
SELECT id, undone(n) FROM t FOR UPDATE;
INSERT INTO t SELECT id + 100, noted(n) FROM t ORDER BY id;
SELECT * FROM t;
COMMIT;
SELECT * FROM t;
CHECK TABLE t;
