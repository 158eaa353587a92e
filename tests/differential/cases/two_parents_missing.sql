-- Of several foreign keys that a row violates the one with the first index is named.
CREATE TABLE p (id INT PRIMARY KEY)
CREATE TABLE r (id INT, a INT, b INT, KEY (b), KEY (a),
  CONSTRAINT f1 FOREIGN KEY (a) REFERENCES p (id), CONSTRAINT f2 FOREIGN KEY (b) REFERENCES p (id))
INSERT INTO r VALUES (1, 1, 1)
INSERT IGNORE INTO r VALUES (1, 1, 1)
