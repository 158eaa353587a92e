"""Tables of all kinds, what is in them, and the program that takes them over."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from basaltcli.server import Server
from tests.support import checks

DATABASE = "shop"
# {engine} is InnoDB's or MyRocks' name; what MyRocks does not have is in InnoDB everywhere.
TYPES = """
SET sql_mode = '';
CREATE TABLE types (a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT ZEROFILL, d BIGINT UNSIGNED,
  e DECIMAL(30,10), f FLOAT, g DOUBLE, h BIT(13), i CHAR(10) CHARACTER SET ucs2,
  j VARCHAR(50) CHARACTER SET latin1, k VARCHAR(50) COLLATE utf8mb4_unicode_ci, l BINARY(5),
  m VARBINARY(20), n BLOB, o LONGTEXT CHARACTER SET cp1251, p ENUM('x', 'y', '''z'),
  q SET('a', 'b', 'c'), r DATE, s DATETIME(3), t TIMESTAMP(6) NULL, u TIME(2), v YEAR, w JSON,
  x UUID, y INET6, z BIT(64), bb TINYTEXT, cc CHAR(5) CHARACTER SET utf8mb3,
  dd MEDIUMBLOB, PRIMARY KEY (d, j)) ENGINE={engine};
INSERT INTO types VALUES (-128, 65535, 42, 18446744073709551615,
  '-12345678901234567890.0123456789', 1.1, 0.1, b'1010101010101', 'ÿab ', 'é''\\\\', '😀 utf8mb4',
  X'0001', X'00275C', CONCAT(X'FFFE000A0D', REPEAT('n', 70000)), 'Привет', '''z', 'a,c',
  '0000-00-00', '2020-02-30 11:11:11.123', '2020-02-02 11:11:11.123456', '-838:59:59', 2155,
  '{"a": [1]}', UUID(), '::1', b'1111',
  'tiny', 'ää', X'00');
INSERT INTO types (d, j) VALUES (1, 'a'), (2, 'b');
INSERT INTO types (d, j, f, g, p, v) VALUES (3, '', 3.4e38, 1.7976931348623157e308, 0, 0),
  (4, 'NULL', -1e-40, 2.2250738585072014e-308, 'x', 1901), (5, '\\\\N', 1/3, 1/3, 'y', 2000);
"""
OTHERS = """
CREATE TABLE counted (id BIGINT AUTO_INCREMENT PRIMARY KEY, x VARCHAR(40), KEY (x))
  ENGINE={engine};
INSERT INTO counted VALUES (0, 'zero');
INSERT INTO counted (x) SELECT CONCAT('row ', seq) FROM seq_1_to_1000;
DELETE FROM counted WHERE id > 990;
CREATE TRIGGER marks BEFORE INSERT ON counted FOR EACH ROW SET NEW.x = CONCAT(NEW.x, '!');
CREATE TABLE parted (id INT PRIMARY KEY, v INT, KEY (v)) ENGINE={engine} PARTITION BY RANGE (id)
  (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE);
INSERT INTO parted SELECT seq, seq % 7 FROM seq_1_to_1000;
CREATE TABLE keyless (x VARCHAR(10)) ENGINE={engine};
INSERT INTO keyless VALUES ('a'), ('a'), (NULL), (NULL), ('b');
CREATE TABLE nothing (a INT PRIMARY KEY) ENGINE={engine};
CREATE TABLE `odd ``name.` (`a ``b` INT PRIMARY KEY, `select` TEXT) ENGINE={engine};
INSERT INTO `odd ``name.` VALUES (1, '%s'), (2, 'tab\\t, line\\n, quote'', \\\\');
CREATE TABLE history (id INT PRIMARY KEY, v INT) ENGINE={engine} WITH SYSTEM VERSIONING;
INSERT INTO history VALUES (1, 1), (2, 2), (3, 3);
UPDATE history SET v = 10 WHERE id = 1;
DELETE FROM history WHERE id = 2;
CREATE TABLE generated (id INT PRIMARY KEY, g INT AS (id * 2) VIRTUAL, s INT AS (id * 3) STORED,
  hidden INT INVISIBLE DEFAULT 7, f INT, KEY (g)) ENGINE=InnoDB;
INSERT INTO generated (id, f) SELECT seq, seq * 7 FROM seq_1_to_100;
CREATE TABLE places (id INT PRIMARY KEY, p POINT, g GEOMETRY) ENGINE=InnoDB;
INSERT INTO places VALUES (1, POINT(1.5, -2), ST_GeomFromText('LINESTRING(0 0, 1 1)', 4326)),
  (2, NULL, NULL);
CREATE SEQUENCE numbers START WITH 10 ENGINE=InnoDB;
DO NEXTVAL(numbers), NEXTVAL(numbers);
CREATE VIEW of_table AS SELECT x FROM counted WHERE id < 10;
CREATE VIEW a_of_view AS SELECT UPPER(x) AS x FROM of_table;
CREATE PROCEDURE adds() INSERT INTO counted (x) VALUES ('by procedure');
CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2;
CREATE EVENT hourly ON SCHEDULE EVERY 1 HOUR DO CALL adds();
"""
BIG = """
CREATE TABLE big (id INT PRIMARY KEY, k INT, v VARCHAR(200), KEY (k)) ENGINE={engine};
INSERT INTO big SELECT seq, seq * 7 % 1000, REPEAT(CHAR(65 + seq % 26), 100)
  FROM seq_1_to_{rows};
"""


def create(server: Server, engine: str, rows: int) -> None:
    """All of the above in one database; `big` has so many rows."""
    server.client(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    for script in (TYPES, OTHERS, BIG):
        server.client(f"SET NAMES utf8mb4;{script}".replace("{engine}", engine)
                      .replace("{rows}", str(rows)), DATABASE)


def contents(server: Server) -> dict[str, list[tuple[object, ...]]]:
    """Every table's rows, as the driver gives them: history and hidden columns included."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for name, kind in server.query(
            "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES "
            "WHERE TABLE_SCHEMA = %s AND TABLE_TYPE <> 'VIEW'", [DATABASE]):
        quoted = f"{DATABASE}.`" + name.replace("`", "``") + "`"
        what = {"generated": "*, hidden", "history": "*, row_start, row_end",
                "types": "*, HEX(CAST(f AS DOUBLE)), CAST(f AS DOUBLE), HEX(i)"}.get(name, "*")
        history = " FOR SYSTEM_TIME ALL" if kind == "SYSTEM VERSIONED" else ""
        with server.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute(f"SELECT {what} FROM {quoted}{history}")
            found[name] = sorted(cursor.fetchall(), key=repr)
    return found


def difference(before: dict[str, list[tuple[object, ...]]],
               after: dict[str, list[tuple[object, ...]]]) -> list[str]:
    """Names of the tables whose rows differ."""
    return [f"{name}: rows differ" for name in sorted(before.keys() | after.keys())
            if before.get(name) != after.get(name)]


def use_clients(server: Server) -> None:
    """Lets this process, and those that it starts, find the release's mariadb-dump."""
    directory = f"{server.release.usr}/bin"
    if directory not in os.environ["PATH"].split(":"):
        os.environ["PATH"] = f"{directory}:{os.environ['PATH']}"


def start(server: Server, *arguments: str) -> subprocess.Popen[str]:
    """The program, as a user runs it."""
    use_clients(server)
    return subprocess.Popen([sys.executable, "-m", "basalt_migrate", *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, "PYTHONUNBUFFERED": "1"})


def run(server: Server, *arguments: str) -> tuple[int, str]:
    """Exit code and output of the program."""
    with start(server, *arguments) as process:
        output, _ = process.communicate()
    return process.returncode, output


def kill_at(process: subprocess.Popen[str], sign: str) -> str:
    """Kills the program when a line has `sign`; what it had said until then."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if sign in line:
            break
    process.kill()
    process.wait()
    return "".join(lines)


def problems(server: Server) -> list[str]:
    """What CHECK TABLE says of the tables that are the engine's by now."""
    names = [f"{DATABASE}.`" + name.replace("`", "``") + "`" for name, in server.query(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND "
        "ENGINE = 'ROCKSDB' AND TABLE_TYPE <> 'SEQUENCE'", [DATABASE])]
    return checks.check_tables(server, names)


def await_rows(server: Server, sql: str, seconds: float = 60) -> None:
    """Waits until a query has rows."""
    deadline = time.monotonic() + seconds
    while not server.query(sql) and time.monotonic() < deadline:
        time.sleep(0.02)
