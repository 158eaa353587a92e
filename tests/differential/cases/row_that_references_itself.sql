-- A row that references itself is not removed, nor changed, unless its removal is handed on.
CREATE TABLE r (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES r (id) ON UPDATE CASCADE)
INSERT INTO r VALUES (1, 1), (2, 1)
DELETE IGNORE FROM r ORDER BY id
UPDATE r SET id = 3, up = 3 WHERE id = 1
SELECT * FROM r
