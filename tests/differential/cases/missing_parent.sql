-- Other columns of a row that has lost its parent can be changed.
SET foreign_key_checks = 0
CREATE TABLE r (id INT PRIMARY KEY, p INT, v INT, FOREIGN KEY (p) REFERENCES nowhere (id))
INSERT INTO r VALUES (1, 1, 1)
SET foreign_key_checks = 1
UPDATE r SET v = 2
UPDATE r SET p = 2
SELECT * FROM r
