"""Which statement comes next."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator

from tests.differential import _changes, _definitions, _selects
from tests.differential._scene import Scene
from tests.differential._schema import Designer, Table
from tests.differential._server import Collations
from tests.differential._statement import Statement
from tests.support import spilling

# Statements between two comparisons of everything.
_CHECK_EVERY = 25
_SQL_MODES = (
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION",
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION",
    "", "", "TRADITIONAL", "STRICT_ALL_TABLES,PAD_CHAR_TO_FULL_LENGTH", "ALLOW_INVALID_DATES",
    "NO_ZERO_DATE,NO_ZERO_IN_DATE", "ANSI,NO_BACKSLASH_ESCAPES")
_SWITCHES = (
    "index_condition_pushdown=off", "index_condition_pushdown=on", "mrr=on,mrr_cost_based=off",
    "mrr=on,mrr_cost_based=off,mrr_sort_keys=on", "mrr=off", "rowid_filter=off",
    "rowid_filter=on", "materialization=off", "materialization=on", "semijoin=off", "semijoin=on",
    "index_merge_sort_intersection=on", "index_merge_intersection=off", "index_merge=on",
    "extended_keys=off", "extended_keys=on", "join_cache_bka=on", "join_cache_hashed=off",
    "firstmatch=off", "loosescan=off", "in_to_exists=off", "derived_with_keys=off",
    "subquery_cache=off", "optimize_join_buffer_size=off", "split_materialized=off",
    "not_null_range_scan=on", "condition_pushdown_for_derived=off", "default")
_SETTINGS = ("join_cache_level = 8", "join_cache_level = 6", "join_cache_level = 2",
             "join_buffer_size = 16384", "join_buffer_size = DEFAULT", "mrr_buffer_size = 8192",
             "mrr_buffer_size = DEFAULT", "eq_range_index_dive_limit = 1",
             "optimizer_use_condition_selectivity = 1", "max_heap_table_size = 16384",
             "use_stat_tables = NEVER", "tmp_memory_table_size = 1024",
             "tmp_memory_table_size = DEFAULT")
FIRST_MOMENT = 1_700_000_000


class Generator:
    """Draws the statements of one case. Ask for the next only when the last has been answered."""

    def __init__(self, seed: int, collations: Collations, features: Collection[str]) -> None:
        self._chance = random.Random(seed)
        self._features = features
        self.designer = Designer(self._chance, collations, features)
        self.scene = Scene(self._chance, self.designer, features)

    def settings(self) -> list[Statement]:
        """The session's settings, for the whole case."""
        chance = self._chance
        mode = chance.choice(_SQL_MODES)
        self.scene.is_strict = "STRICT" in mode or mode == "TRADITIONAL"
        level = chance.choice(("REPEATABLE READ", "REPEATABLE READ", "READ COMMITTED",
                               "SERIALIZABLE"))
        settings = [f"SET sql_mode = '{mode}'", "SET time_zone = 'SYSTEM'",
                    f"SET timestamp = {FIRST_MOMENT}.25", "SET alter_algorithm = 'COPY'",
                    "SET max_sort_length = 20000", "SET sort_buffer_size = 16777216",
                    "SET rand_seed1 = 1, rand_seed2 = 2",
                    f"SET SESSION TRANSACTION ISOLATION LEVEL {level}",
                    f"SET {spilling.setting(chance)}"]
        return [Statement(sql, is_setting=True) for sql in settings]

    def table_count(self) -> int:
        """How many tables the case has."""
        return self._chance.choice((1, 2, 2, 3))

    def table(self, number: int) -> Table:
        """A table to create; give it to `keep` when both engines have it."""
        return self.designer.table(f"t{number}")

    def keep(self, table: Table) -> list[Statement]:
        """Makes a table one of the case's; gives the statements that fill it."""
        self.scene.tables[table.name] = table
        return _changes.fill(self.scene, table)

    def statements(self, count: int) -> Iterator[Statement]:
        """The case's statements, with comparisons of everything among them and at the end."""
        since_check = 0
        given = 0
        while given < count:
            group = self._next()
            yield from group
            given += len(group)
            since_check += len(group)
            if since_check >= _CHECK_EVERY:
                since_check = 0
                yield from _selects.whole_tables(self.scene)
        if self.scene.in_transaction:
            yield from _changes.end_transaction(self.scene)
        yield from _selects.whole_tables(self.scene)

    def _next(self) -> list[Statement]:
        chance, scene = self._chance, self.scene
        kind = chance.random()
        if kind < 0.42:
            return _selects.draw(scene)
        if kind < 0.84:
            return self._moment() + _changes.draw(scene)
        if kind < 0.91:
            return _changes.transaction(scene)
        if kind < 0.95:
            end = _changes.end_transaction(scene) if scene.in_transaction else []
            return [*end, *self._moment(), *_definitions.draw(scene)]
        if kind < 0.98:
            return [Statement(f"SET optimizer_switch = '{chance.choice(_SWITCHES)}'")]
        return [Statement(f"SET {chance.choice(_SETTINGS)}")]

    def _moment(self) -> list[Statement]:
        """Time goes on where rows say when they were valid."""
        if not any(each.is_versioned for each in self.scene.tables.values()):
            return []
        self.scene.moment += 1
        return [Statement(f"SET timestamp = {FIRST_MOMENT + self.scene.moment}.25")]
