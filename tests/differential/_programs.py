"""Programs: transactions whose statements meet what their own transaction has changed before.

Rows move along the primary key and along indexes while a statement scans them; triggers and
functions change other tables, and set savepoints, in the middle of statements; temporary tables
come and go inside transactions. What is drawn gives the same answer in whatever order rows are
visited, or says the order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from tests.differential import _program_tables, _routines, _selects
from tests.differential._counters import Counters
from tests.differential._program_tables import ProgramTable
from tests.differential._scene import Scene
from tests.differential._schema import Designer, Table
from tests.differential._server import Collations
from tests.differential._statement import Comparison, Insert, Statement
from tests.differential._temporary import TemporaryTables
from tests.support import spilling

FIRST_MOMENT = 1_700_000_000
_LEVELS = ("REPEATABLE READ", "REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE")
# Moves go further than that anything meets; from here on tables begin anew.
_FAR = 1 << 50
_UNCHECKED = Comparison(warnings=False, names_key=False)


class Programs:
    """Draws the statements of one case. Ask for the next only when the last has been answered."""

    # How many tables have hundreds of rows.
    share_of_large = 0.08

    def __init__(self, seed: int, collations: Collations, features: Collection[str]) -> None:
        self._chance = random.Random(f"{seed} programs")
        designer = Designer(self._chance, collations, features)
        self.scene = Scene(self._chance, designer, features)
        self._tables: list[ProgramTable] = []
        self._reach = 100  # no id or unique value is further from 0
        self._tokens = 0
        self._count = 0
        self._transactions = 0
        self._has_savepoints = False  # in routines
        self._has_succeeded = True
        self._counters = Counters(self._chance)
        self._temporary = TemporaryTables(self._chance)

    def settings(self) -> list[Statement]:
        """The session's settings, for the whole case."""
        mode = self._chance.choice(("STRICT_TRANS_TABLES", "STRICT_TRANS_TABLES", ""))
        settings = [f"SET sql_mode = '{mode}'", f"SET timestamp = {FIRST_MOMENT}.25",
                    "SET SESSION TRANSACTION ISOLATION LEVEL "
                    f"{self._chance.choice(_LEVELS)}", f"SET {spilling.setting(self._chance)}"]
        return [Statement(sql, is_setting=True) for sql in settings]

    def table_count(self) -> int:
        """How many tables the case has."""
        self._count = self._chance.choice((1, 2, 2, 3))
        return self._count

    def table(self, number: int) -> Table:
        """A table to create; give it to `keep` when both engines have it."""
        return _program_tables.draw(self._chance, f"p{number}")

    def keep(self, table: Table) -> list[Statement]:
        """Makes a table one of the case's; gives the statements that fill it."""
        assert isinstance(table, ProgramTable)
        self.scene.tables[table.name] = table
        self._tables.append(table)
        statements = self._fill(table)
        if len(self._tables) == self._count:
            statements.append(Statement(_routines.create_seen()))
            statements += _routines.functions(self._chance, self._tables)
            if self._chance.random() < 0.6:
                statements += _routines.triggers(self._chance, self._tables)
            self._has_savepoints = any("SAVEPOINT" in each.sql for each in statements)
            statements += self._counters.tables()
        return statements

    def statements(self, count: int) -> Iterator[Statement]:
        """The case's statements, with comparisons of everything among them and at the end."""
        given = 0
        while given < count:
            for statement in self._transaction():
                given += 1
                yield statement
            yield from self._everything()
            given += 1

    # ---- transactions

    def _transaction(self) -> Iterator[Statement]:
        chance = self._chance
        self._transactions += 1
        begin, end = _ends(chance, self._transactions)
        yield from (Statement(sql) for sql in begin)
        savepoints: list[str] = []
        for _ in range(chance.choice((1, 2, 3, 3, 4, 6))):
            yield from self._moment()
            yield from self._step()
            if not begin:
                break
            if self._has_savepoints and not self._has_succeeded:
                # InnoDB keeps what the statement did before a savepoint in it; ours nothing.
                end = [end[0], f"XA ROLLBACK{end[0].removeprefix('XA END')}"] if (
                    begin[0].startswith("XA")) else ["ROLLBACK"]
                break
            yield from self._savepoint(savepoints)
        yield from (Statement(sql) for sql in end)
        if begin:
            yield from self._temporary.end(end[-1])

    def _savepoint(self, names: list[str]) -> Iterator[Statement]:
        kind = self._chance.random()
        if kind < 0.25:
            names.append(self._chance.choice("xyz"))
            yield Statement(f"SAVEPOINT {names[-1]}")
        elif kind < 0.35 and names:
            yield Statement(f"ROLLBACK TO SAVEPOINT {self._chance.choice(names)}")
            yield from self._temporary.undone()
        elif kind < 0.4 and names:
            yield Statement(f"RELEASE SAVEPOINT {self._chance.choice(names)}")

    def _moment(self) -> list[Statement]:
        """Time goes on where rows say when they were valid."""
        if not any(each.is_versioned for each in self._tables):
            return []
        self.scene.moment += 1
        return [Statement(f"SET timestamp = {FIRST_MOMENT + self.scene.moment}.25")]

    def _everything(self) -> Iterator[Statement]:
        yield from _selects.whole_tables(self.scene)
        yield Statement(f"SELECT * FROM {_routines.SEEN}")
        yield Statement(f"CHECK TABLE {_routines.SEEN}")
        yield from self._counters.look()
        if self._reach > _FAR:
            self._reach = 100
            for table in self._tables:
                yield from self._moment()
                yield Statement(f"DELETE FROM {table.name}")
                yield from self._fill(table)

    # ---- statements

    def _step(self) -> Iterator[Statement]:
        """A change, and what its tables hold then."""
        chance = self._chance
        self._has_succeeded = True
        kind = chance.random()
        if kind < 0.12:
            yield from self._temporary.step(chance.choice(self._tables))
            return
        if kind < 0.17:
            yield from self._counters.step()
            return
        yield self._change(chance.choice(self._tables))
        if not self._has_savepoints or self._has_succeeded:
            yield from self._look()

    def _change(self, table: ProgramTable) -> Statement:
        """Changes tables; `_has_succeeded` says afterwards whether it did."""
        makers: tuple[Callable[[ProgramTable], Statement], ...] = (
            self._insert, self._insert, self._move, self._move, self._move, self._move_limited,
            self._shift, self._move_join, self._delete, self._delete_join, self._copy, self._copy,
            self._copy_onto, self._update, self._update, self._call, self._call)
        self._has_succeeded = False
        return replace(self._chance.choice(makers)(table), accepted=self._succeeded)

    def _look(self) -> Iterator[Statement]:
        for each in self._tables:
            history = " FOR SYSTEM_TIME ALL" if each.is_versioned else ""
            hint = self._hint(each)
            yield Statement(f"SELECT * FROM {each.name}{history}{'' if history else hint}")

    def _succeeded(self) -> None:
        self._has_succeeded = True

    def _fill(self, table: ProgramTable) -> list[Statement]:
        count = self._chance.choice((3, 8, 8, 20))
        statements = [self._rows(table, "INSERT IGNORE", 1) for _ in range(count)]
        if self._chance.random() < self.share_of_large:
            # Enough for the entries to come in several runs.
            names = ["id", "b", "u", "k", "n", "s"] + (["name"] if table.mover == "name" else [])
            more = ", CONCAT('m', seq)" if table.mover == "name" else ""
            statements.append(Statement(
                f"INSERT INTO {table.name} ({', '.join(names)}) SELECT seq + 100, seq % 10, "
                f"seq + 100, seq % 7, 0, 'many'{more} FROM seq_1_to_300 ORDER BY seq"))
            self._reach = max(self._reach, 500)
        return statements

    def _rows(self, table: ProgramTable, verb: str, count: int, tail: str = "") -> Insert:
        rows = tuple(table.row(self._chance) for _ in range(count))
        return Insert(verb=verb, table=table.name, rows=rows, tail=tail,
                      columns=tuple(each.name for each in table.writable))

    def _insert(self, table: ProgramTable) -> Statement:
        chance = self._chance
        verb = chance.choice(("INSERT", "INSERT", "INSERT", "INSERT IGNORE", "REPLACE"))
        tail = ""
        if verb == "INSERT" and chance.random() < 0.4:
            change = chance.choice(("n = n + 1", "k = VALUES(k)", self._moved(table),
                                    f"u = u + {self._further()}"))
            tail = f" ON DUPLICATE KEY UPDATE {change}"
        return self._rows(table, verb, chance.choice((1, 1, 2, 3, 6)), tail)

    def _update(self, table: ProgramTable) -> Statement:
        """Columns of secondary indexes move."""
        chance = self._chance
        change = chance.choice(("k = k + 1", "k = k + 100", "k = k - 1, n = n + 1", "n = n + 1",
                                "s = CONCAT('a', s)", "s = CONCAT('z', s)", "s = UPPER(s)",
                                "n = noted(n)", "b = NULL, k = b", "n = counted(3)"))
        if "counted" in change:
            return Statement(f"UPDATE {table.name} SET {change}{self._where(table)} "
                             f"ORDER BY {table.total_order()}")
        return Statement(f"UPDATE {table.name}{self._hint(table)} SET {change}"
                         f"{self._where(table)}", Comparison(names_key=False))

    def _move(self, table: ProgramTable) -> Statement:
        """Many rows go along the primary or the unique key, further than any other row is."""
        chance = self._chance
        change = chance.choice((self._moved(table), self._moved(table),
                                f"{self._moved(table)}, b = b + 1",
                                f"{self._moved(table)}, u = u + {self._further()}",
                                f"u = u {chance.choice('+-')} {self._further()}",
                                f"{self._moved(table)}, n = noted(n)"))
        verb = chance.choice(("UPDATE", "UPDATE", "UPDATE", "UPDATE IGNORE"))
        order = ""
        if chance.random() < 0.15:
            order = f" ORDER BY {table.total_order()}{chance.choice(('', ' DESC'))}"
            order += f" LIMIT {chance.randint(1, 6)}" if chance.random() < 0.5 else ""
        return Statement(f"{verb} {table.name}{self._hint(table)} SET {change}"
                         f"{self._where(table)}{order}", Comparison(names_key=False))

    def _move_limited(self, table: ProgramTable) -> Statement:
        """Without an order, the first rows of a scan along the primary key."""
        if table.partition or table.is_versioned:
            return self._move(table)
        if self._chance.random() < 0.3:
            return Statement(f"DELETE FROM {table.name} LIMIT {self._chance.randint(1, 6)}")
        return Statement(f"UPDATE {table.name} SET {self._moved(table)} "
                         f"LIMIT {self._chance.randint(1, 8)}")

    def _shift(self, table: ProgramTable) -> Statement:
        """Rows move onto each other, in an order that says which are in the way."""
        chance = self._chance
        column = chance.choice(("id", "u"))
        verb = chance.choice(("UPDATE", "UPDATE IGNORE"))
        return Statement(f"{verb} {table.name} SET {column} = {column} {chance.choice('+-')} "
                         f"{chance.choice((1, 1, 2, 7))}{self._where(table)} "
                         f"ORDER BY {table.total_order()}{chance.choice(('', ' DESC'))}",
                         Comparison(names_key=False))

    def _move_join(self, table: ProgramTable) -> Statement:
        other = self._chance.choice(self._tables)
        changes = [self._moved(table, "a.")]
        if other is not table and self._chance.random() < 0.5:
            changes.append(self._moved(other, "b."))
        elif self._chance.random() < 0.3:
            changes = ["a.n = a.n + 1", "b.n = b.n + 1"] if other is not table else ["a.n = 7"]
        return Statement(
            f"UPDATE {table.name} a{self._hint(table)} JOIN {other.name} b{self._hint(other)} "
            f"ON a.k = b.{self._chance.choice('kb')} SET {', '.join(changes)} "
            f"WHERE {self._condition('a.')}", _UNCHECKED)

    def _delete(self, table: ProgramTable) -> Statement:
        chance = self._chance
        kind = chance.random()
        if kind < 0.3:
            other = chance.choice(self._tables)
            return Statement(f"DELETE FROM {table.name} WHERE k IN (SELECT x.{chance.choice('kb')} "
                             f"FROM {other.name} x WHERE {self._condition('x.')})")
        if kind < 0.5:
            return Statement(f"DELETE FROM {table.name}{self._where(table)} ORDER BY "
                             f"{table.total_order()} LIMIT {chance.randint(1, 5)}")
        returning = chance.choice(("", " RETURNING id, n", " RETURNING noted(id)"))
        return Statement(f"DELETE FROM {table.name} WHERE {self._condition()}{returning}")

    def _delete_join(self, table: ProgramTable) -> Statement:
        other = self._chance.choice(self._tables)
        targets = self._chance.choice(("a", "a, b"))
        return Statement(f"DELETE {targets} FROM {table.name} a JOIN {other.name} b ON a.k = b.k "
                         f"WHERE {self._condition('a.')} AND {self._condition('b.')}", _UNCHECKED)

    def _copy(self, table: ProgramTable) -> Statement:
        """Rows of a table into itself or another, where nothing is in their way."""
        source = self._chance.choice((table, self._chance.choice(self._tables)))
        verb = self._chance.choice(("INSERT", "INSERT", "INSERT IGNORE", "REPLACE"))
        names = [each.name for each in table.writable]
        values = []
        distance = self._further()
        for name in names:
            if name in ("id", "u"):
                values.append(f"{name} + {distance}")
            elif name == "name":
                values.append(f"CONCAT('{self._token()}', "
                              f"{'name' if source.mover == 'name' else 'id'}, ':', id, ':', n)")
            elif name == "n":
                values.append(self._chance.choice(("n", "n", "noted(n)")))
            else:
                values.append(name)
        # Without a primary key, equal ids may come twice: only the unique value would clash.
        return Statement(f"{verb} INTO {table.name} ({', '.join(names)}) SELECT "
                         f"{', '.join(values)} FROM {source.name}{self._where(source)} "
                         f"ORDER BY {source.total_order()}", _UNCHECKED)

    def _copy_onto(self, table: ProgramTable) -> Statement:
        """Rows of a table into itself, where each meets one that is there."""
        chance = self._chance
        names = [each.name for each in table.writable]
        change = chance.choice((f"n = {table.name}.n + 1", f"k = {table.name}.k + 100",
                                f"u = {table.name}.u + {self._further()}",
                                self._moved(table, f"{table.name}.")))
        move = chance.choice(("", " + 1", " - 3"))
        values = [f"x.{each}{move if each in ('id', 'u') else ''}" for each in names]
        verb, tail = chance.choice((("INSERT", f" ON DUPLICATE KEY UPDATE {change}"),
                                    ("REPLACE", ""), ("INSERT IGNORE", "")))
        return Statement(f"{verb} INTO {table.name} ({', '.join(names)}) SELECT "
                         f"{', '.join(values)} FROM {table.name} x WHERE "
                         f"{self._condition('x.')} ORDER BY {table.total_order('x')}{tail}",
                         _UNCHECKED)

    def _call(self, table: ProgramTable) -> Statement:
        """Functions in the middle of a statement that reads, or alone."""
        chance = self._chance
        function = chance.choice(("noted", "counted", "tried"))
        kind = chance.random()
        if kind < 0.2:
            return Statement(f"DO {function}({chance.randint(0, 9)})", _UNCHECKED)
        if kind < 0.5:
            row = list(table.row(chance))
            row[[each.name for each in table.writable].index("n")] = f"{function}(1)"
            rows = (tuple(row), table.row(chance))
            return Insert(table=table.name, rows=rows if chance.random() < 0.5 else rows[::-1],
                          columns=tuple(each.name for each in table.writable))
        function = "noted" if function == "tried" else function
        lock = chance.choice(("", "", " FOR UPDATE", " LOCK IN SHARE MODE"))
        return Statement(f"SELECT id, {function}(k) FROM {table.name}{self._hint(table)}"
                         f"{self._where(table)}{lock}")

    # ---- parts of statements

    def _further(self) -> int:
        """A distance that takes rows beyond all others, and no row of one statement onto another.
        """
        distance = 2 * self._reach + self._chance.randint(1, 9)
        self._reach += distance
        return distance

    def _token(self) -> str:
        """Goes before names; none is used twice."""
        self._tokens += 1
        return f"{self._chance.choice('!z')}{self._tokens}:"

    def _moved(self, table: ProgramTable, prefix: str = "") -> str:
        """An assignment that moves a row along the primary key."""
        if table.mover == "name":
            return f"{prefix}name = CONCAT('{self._token()}', {prefix}name)"
        return f"{prefix}id = {prefix}id {self._chance.choice('++-')} {self._further()}"

    def _where(self, table: ProgramTable) -> str:
        if self._chance.random() < 0.35:
            return ""
        if self._chance.random() < 0.15:
            other = self._chance.choice(self._tables)
            return f" WHERE k IN (SELECT x.b FROM {other.name} x WHERE {self._condition('x.')})"
        return f" WHERE {self._condition()}"

    def _condition(self, prefix: str = "") -> str:
        number = self._chance.randint(0, 9)
        return self._chance.choice((
            f"{prefix}b < 5", f"{prefix}b % 3 = 1", f"{prefix}id > {number}", f"{prefix}id < 1000",
            f"{prefix}id BETWEEN {number} AND 20", f"{prefix}k = {number}",
            f"{prefix}k >= {number}", f"{prefix}u IS NOT NULL", f"{prefix}u > {number}",
            f"{prefix}s LIKE 'a%'", f"{prefix}s = 'bob'", f"{prefix}n >= 0",
            f"{prefix}n < 2 OR {prefix}k = {number}", f"NOT {prefix}b = {number}"))

    def _hint(self, table: ProgramTable) -> str:
        if not table.keys or self._chance.random() < 0.6:
            return ""
        return f" FORCE INDEX ({self._chance.choice(table.key_names)})"


def _ends(chance: random.Random, number: int) -> tuple[list[str], list[str]]:
    """How a transaction begins and ends; without a beginning it is a single statement."""
    kind = chance.random()
    if kind < 0.2:
        return [], []
    if kind < 0.85:
        begin = chance.choice(("BEGIN", "BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"))
        return [begin], [chance.choice(("COMMIT", "COMMIT", "ROLLBACK"))]
    xid = f"'db_side_{number}'"
    ends = chance.choice((["XA PREPARE", "XA COMMIT"], ["XA PREPARE", "XA ROLLBACK"],
                          ["XA COMMIT"], ["XA ROLLBACK"]))
    phase = " ONE PHASE" if ends == ["XA COMMIT"] else ""
    return [f"XA START {xid}"], [f"XA END {xid}", *(f"{end} {xid}{phase}" for end in ends)]
