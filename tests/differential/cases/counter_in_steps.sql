-- The next value of AUTO_INCREMENT in steps that change, and where a type ends.
CREATE TABLE c (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT);
SET auto_increment_increment = 10, auto_increment_offset = 3;
INSERT INTO c (v) VALUES (1), (1), (1);
SET auto_increment_offset = 15;
INSERT INTO c (v) VALUES (2);
SELECT * FROM c;
SET auto_increment_increment = 2, auto_increment_offset = 15;
CREATE TABLE d (id TINYINT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO d (v) VALUES (0);
SELECT * FROM d;
SET auto_increment_increment = 1, auto_increment_offset = 1;
