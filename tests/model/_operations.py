"""Random statements: each as SQL together with what the model expects of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.model._query import (Selection, absent_keys, draw_point, draw_selection, literal,
                                order_of, sort_rows)
from tests.model._routines import Routines
from tests.model._schema import NOTES, TABLES, Index, Row, Table, weight
from tests.model._state import (Duplicate, Model, Redefined, Rows, Statement, Timeout, Transaction,
                                Unknown, has_clash)

LOCK_WAIT_TIMEOUT = 1205
DUPLICATE_KEY = 1062
TABLE_DEF_CHANGED = 1412
# Stands for an AUTO_INCREMENT value that only the server knows yet.
_UNKNOWN_ID = 1 << 30
# More than statements can have used up since the highest value that was seen.
_LOST_IDS = 50


@dataclass
class Expected:
    """What a statement must come to. `finish` brings the model up to date; call it once.

    `finish` gets the generated AUTO_INCREMENT value, which it may find wrong: then its result
    says why.
    """

    error: int = 0
    key: str = ""     # of a duplicate
    reason: str = ""  # of an error, for people
    rows: list[Row] | None = None
    is_ordered: bool = False
    count: int | None = None
    finish: Callable[[int], str] = lambda _: ""
    uses: frozenset[str] = frozenset()     # tables
    may_use: frozenset[str] = frozenset()  # those of triggers and functions


Operation = tuple[str, Expected]


class Generator:
    """Draws statements for transactions of one model. Raises Unknown for what cannot be told."""

    def __init__(self, model: Model, chance: random.Random, routines: Routines,
                 partitioned: frozenset[str]) -> None:
        self._model = model
        self._chance = chance
        self._routines = routines
        self._partitioned = partitioned
        # Indexes that were added later, and when.
        self.added: dict[str, tuple[Index, int]] = {}
        self._tag = 0
        self._highest_id = max(TABLES[0].column("id").values)

    def draw(self, transaction: Transaction, temporary: Table | None = None) -> Operation:
        """One statement within a transaction; perhaps on the session's temporary table."""
        kinds = (self._select, self._select, self._join, self._select_locking, self._insert,
                 self._insert, self._update, self._update_keys, self._shift, self._delete,
                 self._routine)
        tables = [TABLES[0], TABLES[0], *TABLES[1:]]
        if temporary is not None:
            tables += [temporary, temporary]
        table = self._chance.choice(tables)
        sql, expected = self._chance.choice(kinds)(transaction, table)
        expected.uses = expected.uses or frozenset((table.name,))
        if table is TABLES[0]:
            expected.may_use |= {NOTES.name}
        return sql, expected

    def whole_index(self, transaction: Transaction, table: Table, number: int,
                    backward: bool) -> Operation:
        """Reads all rows along one index."""
        selection = Selection(table, table.indexes[number], ())
        return self._ordered(transaction, selection, backward, None)

    # ---- reads

    def _select(self, transaction: Transaction, table: Table) -> Operation:
        chance = self._chance
        selection = draw_selection(table, chance)
        kind = chance.random()
        if table.name in self.added and kind < 0.08:
            index, moment = self.added[table.name]
            if transaction.snapshot is not None and transaction.snapshot_moment < moment:
                raise Unknown
            return self._ordered(transaction, Selection(table, index, ()), kind < 0.04, None)
        if kind < 0.2:
            return self._aggregate(transaction, selection)
        limit = chance.randint(1, 6) if chance.random() < 0.3 else None
        return self._ordered(transaction, selection, chance.random() < 0.5, limit)

    def _view(self, transaction: Transaction, selection: Selection) -> list[Row]:
        return selection.rows(self._whole_view(transaction, selection.table))

    def _whole_view(self, transaction: Transaction, table: Table) -> Rows:
        """All rows that a consistent read sees."""
        try:
            view = self._model.consistent(transaction, table)
        except Redefined:
            # A statement that touches no partition that was made anew does not notice.
            if table.name in self._partitioned:
                raise Unknown from None
            raise
        if any(has_clash(table, index, view) for index in table.unique):
            raise Unknown
        return view

    def _consistent(self, sql: str, answer: Callable[[], Expected]) -> Operation:
        """A consistent read, which does not meet a table that is newer than its snapshot."""
        try:
            return sql, answer()
        except Redefined as redefined:
            return sql, Expected(TABLE_DEF_CHANGED, reason=f"{redefined.args[0]} is newer than "
                                                           "the snapshot")

    def _ordered(self, transaction: Transaction, selection: Selection, backward: bool,
                 limit: int | None) -> Operation:
        table = selection.table
        order = order_of(table, selection.index, backward)
        columns = self._columns(selection)
        text = ", ".join(f"{part}{' DESC' if down else ''}" for part, down in order)
        sql = (f"SELECT {', '.join(columns)} FROM {table.name}{selection.hint()}"
               f"{selection.where()} ORDER BY {text}{f' LIMIT {limit}' if limit else ''}")

        def answer() -> Expected:
            rows = sort_rows(table, self._view(transaction, selection), order)[:limit]
            return Expected(rows=[tuple(table.value(row, column) for column in columns)
                                  for row in rows], is_ordered=True)

        return self._consistent(sql, answer)

    def _columns(self, selection: Selection) -> list[str]:
        """All, or those that an index-only read can give."""
        everything = [column.name for column in selection.table.columns]
        if selection.index is None or self._chance.random() < 0.6:
            return everything
        covered = {*selection.index.parts, *selection.table.identity}
        return [name for name in everything if name in covered]

    def _aggregate(self, transaction: Transaction, selection: Selection) -> Operation:
        table = selection.table
        column = self._chance.choice([each.name for each in table.columns if "INT" in each.sql])

        def answer() -> Expected:
            values = [table.value(row, column) for row in self._view(transaction, selection)]
            known = [value for value in values if value is not None]
            return Expected(rows=[(len(values), min(known, default=None),
                                   max(known, default=None), sum(known) if known else None)])

        sql = (f"SELECT COUNT(*), MIN({column}), MAX({column}), CAST(SUM({column}) AS SIGNED) "
               f"FROM {table.name}{selection.hint()}{selection.where()}")
        return self._consistent(sql, answer)

    def _join(self, transaction: Transaction, _: Table) -> Operation:
        one, two = TABLES[0], TABLES[1]
        left, right = self._chance.choice((("k", "x"), ("m", "y"), ("n", "p"), ("u", "x")))

        def answer() -> Expected:
            views = [self._whole_view(transaction, table) for table in (one, two)]
            return Expected(rows=[(one.value(a, "id"), two.value(b, "p"), two.value(b, "z"))
                                  for a in views[0].values() for b in views[1].values()
                                  if one.value(a, left) is not None
                                  and weight(one.value(a, left)) == weight(two.value(b, right))])

        sql, expected = self._consistent(f"SELECT id, p, z FROM t1 JOIN t2 ON {left} = {right}",
                                         answer)
        expected.uses = frozenset((one.name, two.name))
        return sql, expected

    def _select_locking(self, transaction: Transaction, table: Table) -> Operation:
        exclusive = self._chance.random() < 0.5
        selection = self._selection(table)
        statement = Statement(self._model, transaction, table)
        sql = (f"SELECT * FROM {table.name}{selection.hint()}{selection.where()} "
               f"{'FOR UPDATE' if exclusive else 'LOCK IN SHARE MODE'}")

        def run() -> Expected:
            rows = self._lock(statement, selection, exclusive)
            return Expected(rows=rows)

        return sql, self._attempt(statement, run)

    # ---- writes

    def _insert(self, transaction: Transaction, table: Table) -> Operation:
        kind = self._chance.random()
        if table.has_auto_increment and kind < 0.25:
            return self._insert_generated(transaction, table)
        rows = [self._row(table) for _ in range(self._chance.choice((1, 1, 2, 3)))]
        statement = Statement(self._model, transaction, table)
        values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        if kind < 0.4:
            return (f"REPLACE INTO {table.name} VALUES {values}",
                    self._attempt(statement, lambda: self._replace(statement, rows)))
        if kind < 0.55:
            names = [name for name in self._plain_columns(table) if self._chance.random() < 0.6]
            names = names or self._plain_columns(table)[:1]
            changes = ", ".join(f"{name} = VALUES({name})" for name in names)
            return (f"INSERT INTO {table.name} VALUES {values} ON DUPLICATE KEY UPDATE {changes}",
                    self._attempt(statement, lambda: self._insert_or_update(statement, rows,
                                                                            names)))
        ignore = kind < 0.65
        return (f"INSERT {'IGNORE ' if ignore else ''}INTO {table.name} VALUES {values}",
                self._attempt(statement, lambda: self._insert_rows(statement, rows, ignore)))

    def _insert_rows(self, statement: Statement, rows: list[Row], ignore: bool) -> Expected:
        count = 0
        for row in rows:
            try:
                statement.insert(row)
                count += 1
            except Duplicate:
                if not ignore:
                    raise
        return Expected(count=count)

    def _insert_or_update(self, statement: Statement, rows: list[Row],
                          names: list[str]) -> Expected:
        count = 0
        table = statement.table
        for row in rows:
            try:
                statement.insert(row)
                count += 1
            except Duplicate as duplicate:
                new = table.changed(duplicate.row,
                                    {name: table.value(row, name) for name in names})
                count += 2 if statement.update(duplicate.row, new) else 0
        return Expected(count=count)

    def _replace(self, statement: Statement, rows: list[Row]) -> Expected:
        for row in rows:
            while True:
                try:
                    statement.insert(row)
                    break
                except Duplicate as duplicate:
                    self._replace_row(statement, duplicate.row, row)
        return Expected()

    def _replace_row(self, statement: Statement, old: Row, new: Row) -> None:
        """The old row goes. Whether values that stay are locked depends on how the server does it.
        """
        table = statement.table
        staying = [(table.name, index.name, value) for index in table.unique
                   if (value := table.unique_value(index, old)) is not None
                   and value == table.unique_value(index, new)]
        statement.may_lock(staying)
        statement.delete(old)

    def _insert_generated(self, transaction: Transaction, table: Table) -> Operation:
        row = self._row(table)
        statement = Statement(self._model, transaction, table)
        statement_row = table.changed(row, {"id": _UNKNOWN_ID})
        names = [column.name for column in table.columns if column.name != "id"]
        sql = (f"INSERT INTO {table.name} ({', '.join(names)}) VALUES "
               f"({', '.join(literal(table.value(row, name)) for name in names)})")
        expected = self._attempt(statement,
                                 lambda: self._insert_rows(statement, [statement_row], False))
        if expected.error:
            # The lock on the generated value stays, and nobody tells which value that was.
            statement.may_lock(statement.row_lock((weight(value),))
                               for value in range(1, self._highest_id + _LOST_IDS))
        else:
            expected.finish = lambda value: self._finish_generated(transaction, table, row, value)
        return sql, expected

    def _finish_generated(self, transaction: Transaction, table: Table, row: Row,
                          value: int) -> str:
        highest = self._highest(table)
        if value <= highest:
            return f"AUTO_INCREMENT gave {value}, there is a row {highest}"
        statement = Statement(self._model, transaction, table, has_succeeded=True)
        statement.insert(table.changed(row, {"id": value}))
        statement.accept()
        self._highest_id = max(self._highest_id, value)
        return ""

    def _highest(self, table: Table) -> int:
        """The greatest id that a row has, committed or not."""
        known = [*self._model.committed[table.name].values(),
                 *(each for other in self._model.open for each in other.own[table.name].values())]
        return max((each[0] for each in known if each is not None), default=0)

    def _update(self, transaction: Transaction, table: Table) -> Operation:
        """Columns that are in no unique index, in rows by any condition."""
        selection = self._selection(table)
        names = self._plain_columns(table)
        changes = {name: table.column(name).draw(self._chance)
                   for name in self._chance.sample(names, min(len(names), 2))}
        return self._set(transaction, table, selection, changes)

    def _update_keys(self, transaction: Transaction, table: Table) -> Operation:
        """Any column of one row; or a number in key columns of many, in a given order."""
        if table.primary is None:
            return self._update(transaction, table)
        selection = draw_point(table, self._chance)
        names = self._chance.sample([each.name for each in table.columns], 2)
        changes = {name: table.column(name).draw(self._chance) for name in names}
        return self._set(transaction, table, selection, changes)

    def _set(self, transaction: Transaction, table: Table, selection: Selection,
             changes: dict[str, object]) -> Operation:
        """The selected rows get these values."""
        statement = Statement(self._model, transaction, table)
        text = ", ".join(f"{name} = {literal(value)}" for name, value in changes.items())

        def run() -> Expected:
            rows = self._lock(statement, selection, True)
            return Expected(count=sum(statement.update(row, table.changed(row, changes))
                                      for row in rows))

        return (f"UPDATE {table.name}{selection.hint()} SET {text}{selection.where()}",
                self._attempt(statement, run))

    def _shift(self, transaction: Transaction, table: Table) -> Operation:
        """Rows move along a key by a number, in the order of an index or all as they come."""
        if not table.moving:
            return self._delete(transaction, table)
        chance = self._chance
        column = chance.choice(table.moving)
        step = chance.choice((1, 1, 1, 2, -1, -1, 3, 40, -40))
        selection = draw_selection(table, chance)
        order = order_of(table, selection.index, chance.random() < 0.5)
        is_ordered = chance.random() < 0.7
        limit = chance.randint(1, 5) if is_ordered and chance.random() < 0.4 else None
        sql = (f"UPDATE {table.name}{selection.hint()} SET {column} = {column} + {step}"
               f"{selection.where()}")
        if is_ordered:
            text = ", ".join(f"{part}{' DESC' if down else ''}" for part, down in order)
            sql += f" ORDER BY {text}{f' LIMIT {limit}' if limit else ''}"
        if table.has_auto_increment:
            self._highest_id = max(self._highest_id, self._highest(table) + step)
        statement = Statement(self._model, transaction, table)

        def run() -> Expected:
            statement.scan()
            rows = sort_rows(table, selection.rows(statement.rows), order)[:limit]
            changed = [self._shifted(table, row, column, step) for row in rows]
            if not is_ordered:
                self._expect_room(statement, rows, changed)
            try:
                statement.may_lock(statement.row_lock(key) for key in statement.rows)
                statement.may_lock(absent_keys(selection, statement.rows))
                statement.lock(statement.row_lock(table.key(row)) for row in rows)
            except Timeout:
                raise Unknown from None
            return Expected(count=sum(statement.update(row, new)
                                      for row, new in zip(rows, changed, strict=True)))

        return sql, self._attempt(statement, run)

    @staticmethod
    def _shifted(table: Table, row: Row, column: str, step: int) -> Row:
        value = table.value(row, column)
        return table.changed(row, {column: None if value is None else value + step})

    @staticmethod
    def _expect_room(statement: Statement, rows: list[Row], changed: list[Row]) -> None:
        """In whatever order rows move, none may meet another one."""
        table = statement.table
        assert table.primary is not None
        for index in (table.primary, *table.unique):
            there = {table.unique_value(index, row) for row in statement.rows.values()}
            for old, new in zip(rows, changed, strict=True):
                value = table.unique_value(index, new)
                if value is not None and value != table.unique_value(index, old) and value in there:
                    raise Unknown

    def _delete(self, transaction: Transaction, table: Table) -> Operation:
        selection = self._selection(table)
        selection = Selection(table, None, selection.conditions)
        statement = Statement(self._model, transaction, table)
        returning = self._chance.random() < 0.2

        def run() -> Expected:
            rows = self._lock(statement, selection, True)
            statement.lock((table.name, index.name, value) for row in rows
                           for index in table.unique
                           if (value := table.unique_value(index, row)) is not None)
            for row in rows:
                statement.delete(row)
            return Expected(rows=rows) if returning else Expected(count=len(rows))

        return (f"DELETE FROM {table.name}{selection.where()}{' RETURNING *' if returning else ''}",
                self._attempt(statement, run))

    # ---- functions with savepoints, see _routines

    def _routine(self, transaction: Transaction, table: Table) -> Operation:
        kinds = [self._call, self._notes, self._select_calling]
        if table.numbers:
            kinds += [self._update_calling, self._insert_calling]
        return self._chance.choice(kinds)(transaction, table)

    def _call(self, transaction: Transaction, _: Table) -> Operation:
        function, x = self._chance.choice(self._routines.functions), self._chance.randint(-3, 3)
        statement = Statement(self._model, transaction, NOTES)

        def run() -> Expected:
            function.run(statement, x)
            return Expected(rows=[(x,)])

        expected = self._attempt(statement, run)
        expected.uses = frozenset(function.writes[-1:])
        expected.may_use = frozenset(function.writes)
        return f"SELECT {function.name}({x})", expected

    def _notes(self, transaction: Transaction, _: Table) -> Operation:
        low = self._chance.randint(-4, 3)
        if self._chance.random() < 0.5:
            sql = f"SELECT x FROM notes FORCE INDEX (x) WHERE x >= {low} ORDER BY x"
        else:
            sql = f"SELECT x FROM notes IGNORE INDEX (x) WHERE x >= {low} ORDER BY x"

        def answer() -> Expected:
            view = self._whole_view(transaction, NOTES)
            return Expected(rows=sorted((row[0],) for row in view.values() if row[0] >= low),
                            is_ordered=True)

        sql, expected = self._consistent(sql, answer)
        expected.uses = frozenset((NOTES.name,))
        return sql, expected

    def _select_calling(self, transaction: Transaction, table: Table) -> Operation:
        """A consistent scan, in the middle of which there are writes and savepoints."""
        function = self._chance.choice(self._routines.for_table(table))
        x = self._chance.randint(-3, 3)
        selection = draw_selection(table, self._chance)
        columns = self._columns(selection)
        statement = Statement(self._model, transaction, NOTES)
        sql = (f"SELECT {', '.join(columns)}, {function.name}({x}) FROM {table.name}"
               f"{selection.hint()}{selection.where()}")

        def answer() -> Expected:
            rows = self._view(transaction, selection)

            def run() -> Expected:
                for _ in rows:
                    function.run(statement, x)
                return Expected(rows=[(*(table.value(row, column) for column in columns), x)
                                      for row in rows])

            return self._attempt(statement, run)

        sql, expected = self._consistent(sql, answer)
        expected.may_use = frozenset(function.writes)
        return sql, expected

    def _update_calling(self, transaction: Transaction, table: Table) -> Operation:
        function = self._chance.choice(self._routines.for_table(table))
        selection = self._selection(table)
        if len(function.writes) > 1:
            # Nobody knows for which of several rows it has been called when another's lock is held.
            if table.primary is None:
                raise Unknown
            selection = draw_point(table, self._chance)
        column, x = self._chance.choice(table.numbers), self._chance.randint(-3, 3)
        statement = Statement(self._model, transaction, table)

        def run() -> Expected:
            count = 0
            for row in self._lock(statement, selection, True):
                function.run(statement, x)
                count += statement.update(row, table.changed(row, {column: x}))
            return Expected(count=count)

        expected = self._attempt(statement, run)
        expected.may_use = frozenset(function.writes)
        return (f"UPDATE {table.name}{selection.hint()} SET {column} = {function.name}({x})"
                f"{selection.where()}", expected)

    def _insert_calling(self, transaction: Transaction, table: Table) -> Operation:
        function = self._chance.choice(self._routines.for_table(table))
        column, x = self._chance.choice(table.numbers), self._chance.randint(-3, 3)
        rows = [table.changed(self._row(table), {column: x})
                for _ in range(self._chance.choice((1, 2, 3)))]
        call = f"{function.name}({x})"
        at = table.position(column)
        values = ", ".join(
            f"({', '.join(call if i == at else literal(each) for i, each in enumerate(row))})"
            for row in rows)
        statement = Statement(self._model, transaction, table)

        def run() -> Expected:
            for row in rows:
                function.run(statement, x)
                statement.insert(row)
            return Expected(count=len(rows))

        expected = self._attempt(statement, run)
        expected.may_use = frozenset(function.writes)
        return f"INSERT INTO {table.name} VALUES {values}", expected

    # ---- parts

    def _attempt(self, statement: Statement, run: Callable[[], Expected]) -> Expected:
        """Tries the statement on the model; what it expects, the model changed only by finish."""
        try:
            expected = run()
        except Timeout as timeout:
            expected = Expected(LOCK_WAIT_TIMEOUT, reason=f"lock {timeout.args[0]} is held")
        except Duplicate as duplicate:
            expected = Expected(DUPLICATE_KEY, duplicate.index, reason=f"there is {duplicate.row}")
        end = statement.refuse if expected.error else statement.accept

        def finish(_: int) -> str:
            end()
            return ""

        expected.finish = finish
        return expected

    def _lock(self, statement: Statement, selection: Selection, exclusive: bool) -> list[Row]:
        """The rows of a locking read, locked, with what else it may lock on its way."""
        table = selection.table
        if not selection.is_point():
            statement.scan()
        rows = selection.rows(statement.rows)
        # For a row that is not there the lock is tried; below REPEATABLE READ it is given back.
        statement.may_lock(absent_keys(selection, statement.rows), exclusive)
        passed = [] if selection.is_point() else self._passed(statement, selection)
        on_the_way = [statement.row_lock(table.key(row)) for row in passed]
        try:
            statement.lock((statement.row_lock(table.key(row)) for row in rows), exclusive)
        except Timeout:
            statement.note_possible(on_the_way, exclusive)
            raise
        statement.may_lock(on_the_way, exclusive)
        return rows

    def _passed(self, statement: Statement, selection: Selection) -> list[Row]:
        """Rows that a scan may visit: along a forced index those by its parts, and neighbours."""
        table, index = selection.table, selection.index
        everything = list(statement.rows.values())
        if index is None:
            return everything
        along = tuple(each for each in selection.conditions if each.column in index.parts)
        if not along or along[0].column != index.parts[0] or along[0].op == "IN":
            return everything
        inside = Selection(table, index, along).rows(statement.rows)
        if not inside:
            return everything
        ordered = sort_rows(table, everything, order_of(table, index, False))
        places = [place for place, row in enumerate(ordered) if row in inside]
        return ordered[max(0, places[0] - 1):places[-1] + 2]

    def _selection(self, table: Table) -> Selection:
        """For locking statements: mostly few rows."""
        if table.primary is not None and self._chance.random() < 0.5:
            return draw_point(table, self._chance)
        return draw_selection(table, self._chance, may_scan=self._chance.random() < 0.1)

    def _row(self, table: Table) -> Row:
        row = []
        for column in table.columns:
            if column.name == "tag":
                self._tag += 1
                row.append(self._tag)
            else:
                row.append(column.draw(self._chance))
        return tuple(row)

    def _plain_columns(self, table: Table) -> list[str]:
        """Columns in neither the primary key nor a unique index."""
        keyed = {part for index in table.indexes if index.is_unique for part in index.parts}
        return [column.name for column in table.columns
                if column.name not in keyed and column.name not in table.identity]
