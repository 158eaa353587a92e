"""Programs whose statements are interrupted in a first attempt: alone, and in transactions."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential import _routines
from tests.differential._interruptions import FROM_LOG, LOGGED, How, Interruption
from tests.differential._program_tables import ProgramTable
from tests.differential._programs import Programs
from tests.differential._statement import Comparison, Rows, Statement

_MADE = "made"
# What takes a second of waiting is drawn less often.
_HOWS = (How.LOST_CLIENT,) * 3 + (How.KILL_QUERY,) * 3 + (How.KILL_CONNECTION,) * 3 + (
    How.STATEMENT_TIME, How.STATEMENT_TIME, How.LOCK_TIME, How.NOTHING, How.NOTHING)
_FORGOTTEN = Comparison(Rows.NOTHING)


class InterruptedPrograms(Programs):
    """Draws the statements of one case. Ask for the next only when the last has been answered.

    What depends on counters is left out, as an attempt may use numbers up. Rows are few: copies
    that are committed make them more.
    """

    share_of_large = 0.0

    def statements(self, count: int) -> Iterator[Statement]:
        yield from super().statements(count)
        for each in self._tables:
            yield Statement(f"SELECT * FROM {each.name}{FROM_LOG}")
        yield Statement(f"SELECT * FROM {_routines.SEEN}{FROM_LOG}")

    def _transaction(self) -> Iterator[Statement]:
        kind = self._chance.random()
        yield from self._moment()
        if kind < 0.1:
            yield from self._create()
        elif kind < 0.17:
            yield from self._alter()
        elif kind < 0.65:
            table = self._chance.choice(self._tables)
            yield from self._attempted(table, self._change(table))
        else:
            yield from self._several()

    def _everything(self) -> Iterator[Statement]:
        """By all ways now and then only: CHECK TABLE compares rows and indexes, too."""
        if self._chance.random() < 0.15:
            yield from super()._everything()
        else:
            yield from self._look()
            yield Statement(f"SELECT * FROM {_routines.SEEN}")
        names = ", ".join(each.name for each in self._tables)
        yield Statement(f"CHECK TABLE {names}, {_routines.SEEN} EXTENDED")
        yield Statement(LOGGED)

    # ---- transactions

    def _several(self) -> Iterator[Statement]:
        """A statement is interrupted when its transaction has changed something, or has not."""
        chance = self._chance
        begin, end = chance.choice((("BEGIN", ""), ("SET autocommit = 0", "SET autocommit = 1"),
                                    ("START TRANSACTION WITH CONSISTENT SNAPSHOT", "")))
        yield Statement(begin)
        yield from self._in_transaction()
        yield Statement(chance.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))
        if end:
            yield Statement(end)

    def _in_transaction(self) -> Iterator[Statement]:
        chance = self._chance
        for _ in range(chance.choice((0, 1, 1, 2))):
            yield self._change(chance.choice(self._tables))
            yield from self._undone()
            yield from self._moment()
        table = chance.choice(self._tables)
        yield from self._attempted(table, self._change(table))
        yield from self._undone()
        yield from self._look()

    def _undone(self) -> Iterator[Statement]:
        """InnoDB keeps what a statement that failed did before a savepoint in it: ours nothing."""
        if self._has_savepoints and not self._has_succeeded:
            yield Statement("ROLLBACK")

    # ---- attempts

    def _attempted(self, table: ProgramTable, change: Statement) -> Iterator[Statement]:
        """An attempt at a change of this table and perhaps of others. If it did nothing the
        statement may be run as it is."""
        interruption = self._interruption(table, change.sql)
        yield Statement(f"{change.sql}{interruption}", change.comparison, change.accepted)
        has_succeeded = self._has_succeeded
        self._has_succeeded = True  # nothing is half done
        if not has_succeeded and self._chance.random() < 0.6:
            yield from self._look()
            self._has_succeeded = False
            yield change

    def _interruption(self, table: ProgramTable, sql: str) -> Interruption:
        chance = self._chance
        how = chance.choice(_HOWS)
        if how is How.LOCK_TIME and "tried(" in sql:
            how = How.KILL_QUERY  # the function has a handler for the other one
        if how is How.STATEMENT_TIME and sql.startswith("ALTER"):
            how = How.KILL_QUERY  # the other one is in the binary log, and is obeyed from there
        held = tuple(self._held(chance.choice((table, table, table, *self._tables)))
                     for _ in range(chance.choice((1, 1, 1, 2, 3))))
        after_ms = chance.choice((0, 1, 3, 10)) if chance.random() < 0.2 else None
        return Interruption(how, held, after_ms, is_after_release=chance.random() < 0.15)

    def _held(self, table: ProgramTable) -> str:
        """A row, or the key of one that is not there."""
        chance = self._chance
        if chance.random() < 0.15:
            return self._rows(table, "INSERT", 1).sql
        # After a query that needs no partition at all the server forgets to look into any when it
        # updates columns of the partitioning.
        column = "id + 0" if table.partition else "id"
        return (f"SELECT id FROM {table.name} WHERE {column} = (SELECT x.id FROM {table.name} x "
                f"ORDER BY MD5(x.id + {chance.randint(1, 99)}) LIMIT 1) FOR UPDATE NOWAIT")

    # ---- definitions

    def _create(self) -> Iterator[Statement]:
        """A table from the rows of another."""
        chance = self._chance
        source = chance.choice(self._tables)
        # With the function none that fails: InnoDB would keep what it has written.
        keys, number = chance.choice((("", "n"), ("(PRIMARY KEY (id)) ", "n"),
                                      ("(KEY (s), KEY (k)) ", "noted(n) AS n")))
        sql = (f"CREATE TABLE {_MADE} {keys}SELECT id, b, u, k, {number}, s FROM {source.name}"
               f"{self._where(source)} ORDER BY {source.total_order()}"
               f"{chance.choice(('', ' FOR UPDATE', ' FOR UPDATE'))}")
        comparison = Comparison(warnings=False, names_key=False)
        yield from self._attempted(source, self._definition(sql, comparison))
        yield Statement(f"SELECT * FROM {_MADE}")
        yield Statement(f"DROP TABLE IF EXISTS {_MADE}", _FORGOTTEN)

    def _definition(self, sql: str, comparison: Comparison) -> Statement:
        self._has_succeeded = False
        return Statement(sql, comparison, self._succeeded)

    def _alter(self) -> Iterator[Statement]:
        table = self._chance.choice(self._tables)
        sql = f"ALTER TABLE {table.name} " + self._chance.choice((
            "FORCE", "FORCE, ALGORITHM = COPY", "ADD KEY extra (k, n)",
            "ADD KEY extra (s), ADD KEY extra_too (n, u)"))
        yield from self._attempted(table, self._definition(sql, _FORGOTTEN))
        yield Statement(f"ALTER TABLE {table.name} DROP KEY IF EXISTS extra, "
                        "DROP KEY IF EXISTS extra_too", _FORGOTTEN)
