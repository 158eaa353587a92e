"""Random programs of several sessions on few small tables: who moves what others look for.

At SERIALIZABLE and REPEATABLE READ all that writing sessions do takes locks, so the result must be
that of their transactions one after the other in the order of their ends, or of XA PREPARE.
Sessions that only read do so from snapshots, and must see what had been committed when theirs was
made.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.isolation._turns import PAUSE, Step

_WORDS = ("'ada'", "'Ada'", "'ADA'", "'ada '", "'bob'", "'Bob'", "'bob  '", "'carl'", "'Carl'")
_LIMIT = 5
_MOST_ROWS = 12
# The session that holds the lock at which functions stop.
CONTROLLER = "C"
DEFINER = "D"
READER = "R"


@dataclass
class Program:
    """What is run. `is_strong` tells whether it must be equal to some order of transactions."""

    setup: list[str]
    settings: dict[str, list[str]]
    steps: list[Step]
    is_strong: bool
    tables: list[str] = field(default_factory=lambda: ["t", "s"])

    def lines(self) -> list[str]:
        """All of it, to read."""
        lines = [f"setup: {sql}" for sql in self.setup]
        lines += [f"set {name}: {sql}" for name, settings in self.settings.items()
                  for sql in settings]
        return [*lines, *map(str, self.steps)]


def parse(lines: Sequence[str]) -> Program:
    """A program from its lines."""
    program = Program([], {CONTROLLER: []}, [], is_strong=True)
    for line in lines:
        who, _, sql = line.partition(": ")
        if who == "setup":
            program.setup.append(sql)
        elif who.startswith("set "):
            program.settings.setdefault(who.removeprefix("set "), []).append(sql)
        else:
            program.settings.setdefault(who, [])
            program.steps.append(Step(who, sql))
    # What writers see is judged unless they say that they need less.
    program.is_strong = not any("READ COMMITTED" in sql
                                for name, settings in program.settings.items()
                                for sql in settings if name.startswith("W"))
    return program


class Scene:
    """Draws a program."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(f"{seed} serial")
        chance = self._chance
        self._level = chance.choice(("REPEATABLE READ", "REPEATABLE READ", "SERIALIZABLE",
                                     "SERIALIZABLE", "READ COMMITTED"))
        self._is_partitioned = chance.random() < 0.15
        self._keys = [key for key in ("KEY key_k (k)", "KEY key_s (s)", "KEY key_kn (k, n)",
                                      "KEY key_sk (s, k)") if chance.random() < 0.5]
        if not self._is_partitioned:
            self._keys.append(chance.choice(("UNIQUE KEY u (u)", "UNIQUE KEY u (u)",
                                             "UNIQUE KEY u (u, k)")))
        self._next_id = 100
        self._writers = [f"W{number}" for number in range(1, chance.choice((2, 2, 3)) + 1)]
        # In these, letter case decides.
        self._is_lettered = random.Random(f"{seed} letters").random() < 0.2
        if self._is_lettered and "KEY key_s (s)" not in self._keys:
            self._keys.append("KEY key_s (s)")
        # In these, all go for the same few rows and values.
        self._limit = 2 if chance.random() < 0.3 else _LIMIT
        # In these, a statement is likely to be stopped while others go on.
        self._is_paused = chance.random() < 0.4

    def program(self) -> Program:
        """The program of this seed."""
        chance = self._chance
        settings: dict[str, list[str]] = {}
        for name in self._writers:
            settings[name] = self._settings(self._level)
        scripts = {name: self._writer(name) for name in self._writers}
        if self._is_paused or chance.random() < 0.4:
            level = chance.choice(("READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"))
            settings[READER] = self._settings(level)
            scripts[READER] = self._reader()
        settings[CONTROLLER] = []
        scripts[CONTROLLER] = self._controller()
        if chance.random() < 0.3:
            settings[DEFINER] = ["SET lock_wait_timeout = 2"]
            scripts[DEFINER] = self._definer()
        return Program(self._setup(), settings, self._mixed(scripts),
                       self._level != "READ COMMITTED")

    def _settings(self, level: str) -> list[str]:
        chance = self._chance
        settings = [f"SET SESSION TRANSACTION ISOLATION LEVEL {level}",
                    "SET rocksdb_lock_wait_timeout = 200, lock_wait_timeout = 200"]
        if chance.random() < 0.15:
            settings.append("SET rocksdb_snapshot_isolation = ON")
        if chance.random() < 0.15:
            settings.append(f"SET rocksdb_max_row_locks = {chance.randint(1, 5)}")
        if chance.random() < 0.2:
            settings.append("SET optimizer_switch = 'index_condition_pushdown=off'")
        return settings

    def _mixed(self, scripts: dict[str, list[str]]) -> list[Step]:
        """The sessions' steps in turn, some in a row."""
        chance = self._chance
        left = {name: list(script) for name, script in scripts.items() if script}
        steps: list[Step] = []
        if self._is_paused:
            steps.append(Step(CONTROLLER, left[CONTROLLER].pop(0)))
            steps += [Step(READER, sql) for sql in left[READER][:2]]
            del left[READER][:2]
            if chance.random() < 0.6:
                # Otherwise it goes on at any time; here when all else is done.
                del left[CONTROLLER]
        elif DEFINER in left and READER in left and chance.random() < 0.6:
            # A snapshot that is older than the definition.
            steps += [Step(READER, left[READER].pop(0)), Step(DEFINER, left.pop(DEFINER)[0])]
        while left:
            name = chance.choice(sorted(left))
            for _ in range(chance.choice((1, 1, 2, 3))):
                if left[name]:
                    steps.append(Step(name, left[name].pop(0)))
            if not left[name]:
                del left[name]
            if chance.random() < 0.03:
                steps.append(Step(CONTROLLER, f"KILL QUERY {chance.choice(sorted(scripts))}"))
        return steps

    # ---- tables and functions

    def _setup(self) -> list[str]:
        chance = self._chance
        key = chance.choice(("id", "id", "id DESC"))
        columns = ("id INT NOT NULL, u INT, k INT, n INT NOT NULL DEFAULT 0, "
                   "s VARCHAR(20) COLLATE utf8mb4_general_ci")
        partitions = " PARTITION BY HASH (id) PARTITIONS 3" if self._is_partitioned else ""
        parts = [columns, f"PRIMARY KEY ({key})", *self._keys]
        setup = [f"CREATE TABLE t ({', '.join(parts)}){partitions}",
                 f"CREATE TABLE s ({columns}, KEY key_k (k))"]
        for number in range(1, _MOST_ROWS if self._is_paused else _LIMIT):
            if chance.random() < 0.8:
                setup.append(f"INSERT IGNORE INTO t VALUES ({number}, {number}, "
                             f"{chance.randint(0, 4)}, 0, {self._word()})")
        savepoint = chance.choice(("", "SAVEPOINT f;", "SAVEPOINT f;",
                                   "SAVEPOINT f; ROLLBACK TO SAVEPOINT f;"))
        stop = (f"IF x {chance.choice(('=', '>='))} {chance.randint(1, _LIMIT)} THEN "
                f"SET @got = GET_LOCK('{PAUSE}', 200); SET @got = RELEASE_LOCK('{PAUSE}'); END IF;")
        look = chance.choice(("", "", "SELECT COUNT(*) INTO c FROM t WHERE k > 1;"))
        body = chance.choice((f"{savepoint} {stop} {look}", f"{stop} {savepoint} {look}",
                              f"{look} {stop} {savepoint}"))
        setup.append(f"CREATE FUNCTION paused(x INT) RETURNS INT BEGIN DECLARE c INT DEFAULT 0; "
                     f"{body} RETURN x + 100 * c; END")
        return setup

    # ---- sessions

    def _controller(self) -> list[str]:
        steps = []
        for _ in range(1 if self._is_paused else self._chance.choice((0, 1, 1, 2))):
            steps += [f"DO GET_LOCK('{PAUSE}', 0)", f"DO RELEASE_LOCK('{PAUSE}')"]
        return steps

    def _definer(self) -> list[str]:
        return [self._chance.choice(("ALTER TABLE t ADD KEY extra (k, n)",
                                     "ALTER TABLE t ADD KEY extra (n)", "ALTER TABLE t FORCE",
                                     "ALTER TABLE t FORCE, ALGORITHM=COPY"))]

    def _reader(self) -> list[str]:
        chance = self._chance
        script = [chance.choice(("BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"))]
        for _ in range(chance.choice((1, 2, 3))):
            is_paused = self._is_paused or chance.random() < 0.4
            script.append(self._select("paused(id)" if is_paused else "id", is_wide=is_paused))
        return [*script, "COMMIT"]

    def _writer(self, name: str) -> list[str]:
        chance = self._chance
        script = []
        for number in range(chance.choice((1, 2, 2, 3))):
            is_xa = chance.random() < 0.1
            script.append(f"XA START '{name}{number}'" if is_xa else chance.choice(
                ("BEGIN", "BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT")))
            for _ in range(chance.choice((1, 1, 2, 3, 4))):
                script.append(self._statement())
                if chance.random() < 0.1:
                    script += ["SAVEPOINT a", self._statement(), "ROLLBACK TO SAVEPOINT a"]
            if is_xa:
                script += [f"XA END '{name}{number}'", f"XA PREPARE '{name}{number}'",
                           f"XA COMMIT '{name}{number}'"]
            else:
                script.append(chance.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))
        return script

    def _statement(self) -> str:
        """One that locks all it reads."""
        chance = self._chance
        kind = chance.random()
        if kind < 0.25:
            lock = chance.choice((" FOR UPDATE", " LOCK IN SHARE MODE"))
            if self._level == "SERIALIZABLE" and chance.random() < 0.6:
                lock = ""
            function = chance.random() < 0.15 and self._level == "SERIALIZABLE"
            return self._select("paused(id)" if function else "s") + lock
        if kind < 0.5:
            return self._insert()
        if kind < 0.8:
            return self._update()
        if kind < 0.92:
            where = self._point() if chance.random() < 0.5 else self._condition()
            return f"DELETE FROM t WHERE {where}"
        return (f"INSERT INTO s SELECT id, u, k, n, s FROM t{self._hint()} WHERE "
                f"{self._condition()}")

    def _select(self, what: str, *, is_wide: bool = False) -> str:
        condition = self._condition()
        if is_wide and self._chance.random() < 0.7:
            condition = self._chance.choice(("k >= 0", "s >= ''", "id > 0", "u > 0", "k > 1"))
        return f"SELECT id, u, k, n, s, {what} FROM t{self._hint()} WHERE {condition}"

    def _insert(self) -> str:
        """One row that may be there, or whose unique value may."""
        chance = self._chance
        row = (f"({self._id()}, {chance.randint(1, self._limit)}, {chance.randint(0, 4)}, 0, "
               f"{self._word()})")
        change = chance.choice(("n = n + 1", "n = n + 1", f"id = {self._new_id()}",
                                f"u = {chance.randint(1, 30)}", f"s = {self._word()}"))
        return chance.choice((f"INSERT INTO t VALUES {row}", f"INSERT IGNORE INTO t VALUES {row}",
                              f"REPLACE INTO t VALUES {row}",
                              f"INSERT INTO t VALUES {row} ON DUPLICATE KEY UPDATE {change}",
                              f"INSERT INTO t VALUES {row} ON DUPLICATE KEY UPDATE {change}"))

    def _update(self) -> str:
        """Rows that move their primary key or a unique value, or change in less."""
        chance = self._chance
        change = chance.choice((f"id = {self._new_id()}", f"id = {self._new_id()}",
                                f"u = {chance.randint(1, 30)}", f"s = {self._word()}",
                                "s = UPPER(s)", "s = CONCAT(s, ' ')", "s = LOWER(s)",
                                f"k = {chance.randint(0, 4)}", "n = n + 1", "k = k + 1"))
        if self._is_lettered and chance.random() < 0.6:
            change = chance.choice(("s = UPPER(s)", "s = LOWER(s)", f"s = {self._word()}"))
        verb = "UPDATE IGNORE" if chance.random() < 0.1 else "UPDATE"
        if change.startswith(("id", "u")):
            return f"{verb} t SET {change} WHERE {self._point()}"
        where = self._point() if chance.random() < 0.6 else self._condition()
        return f"{verb} t{self._hint()} SET {change} WHERE {where}"

    # ---- parts

    def _id(self) -> int:
        return self._new_id() if self._chance.random() < 0.4 else self._chance.randint(1, _LIMIT)

    def _new_id(self) -> int:
        if self._chance.random() < 0.2:
            return self._chance.randint(1, _LIMIT)
        self._next_id += 1
        return self._next_id

    def _word(self) -> str:
        return self._chance.choice(_WORDS)

    def _point(self) -> str:
        number = self._chance.randint(1, self._limit)
        return self._chance.choice((f"id = {number}", f"id = {number}", f"u = {number}"))

    def _condition(self) -> str:
        chance = self._chance
        number = chance.randint(0, 4)
        word = self._word()
        if self._is_lettered and chance.random() < 0.6:
            return chance.choice((
                f"s = {word} AND BINARY s = {word}", "s < 'c' AND ASCII(s) < 97",
                f"s = {word} AND BINARY s <> {word}", f"s = {word} AND LENGTH(s) > 3"))
        return chance.choice((
            f"id = {number}", f"id BETWEEN {number} AND 6", f"u = {number}", f"k = {number}",
            f"k >= {number}", "n > 0", f"s = {word}", f"s = {word} AND BINARY s = {word}",
            f"s LIKE 'a%' AND s LIKE BINARY {word}", f"s >= 'a' AND BINARY s = {word}",
            f"s BETWEEN 'a' AND 'c' AND s COLLATE utf8mb4_bin = {word}",
            f"s = {word} AND LENGTH(s) > 3", f"s = {word} AND BINARY s <> {word}",
            "s < 'c' AND ASCII(s) < 97", "id > 0"))

    def _hint(self) -> str:
        chance = self._chance
        names = [key.partition("KEY ")[2].partition(" ")[0] for key in self._keys]
        if chance.random() < 0.45:
            return " FORCE INDEX (key_s)" if self._is_lettered else ""
        return f" FORCE INDEX ({chance.choice([*names, 'PRIMARY'])})"
