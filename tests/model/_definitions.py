"""Statements that define tables, and what becomes of them while others use the tables."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.model._schema import NOTES, TABLES, Index, Table
from tests.model._state import Model, Transaction, Unknown

LOCK_WAIT_TIMEOUT = 1205
_ADDED = {"t1": ("n", "k"), "t2": ("y", "x"), "h": ("w", "tag"), "g": ("c", "e")}


@dataclass(frozen=True)
class Definition:
    """What it does to rows, and to those who look at the table through an older snapshot."""

    sql: tuple[str, ...]
    table: Table
    empties: bool = False
    remakes: bool = False         # the table, so that older snapshots do not have it
    keeps_undecided: bool = True  # refused while a prepared transaction has changes
    adds: Index | None = None
    drops: bool = False           # the added index


def draw(chance: random.Random, model: Model, added: dict[str, tuple[Index, int]],
         partitions: dict[str, str]) -> Definition:
    """One of the kinds; `added` are the indexes there are by others of these statements."""
    table = chance.choice(_undecided(model) or (*TABLES, *TABLES, NOTES))
    name = table.name
    is_partitioned = bool(partitions.get(name))
    kind = chance.random()
    if kind < 0.4 and name in _ADDED:
        if name in added:
            return Definition((f"ALTER TABLE {name} DROP KEY z",), table, drops=True)
        placement = chance.choice(("", "cfname=rows", "entries"))
        index = Index("z", _ADDED[name], placement=placement)
        is_copied = is_partitioned or chance.random() < 0.3
        algorithm = "COPY" if is_copied else "INPLACE"
        return Definition((f"ALTER TABLE {name} ADD {index.sql()}, ALGORITHM={algorithm}",), table,
                          adds=index, remakes=is_copied)
    if kind < 0.5:
        return Definition((f"ALTER TABLE {name} FORCE, ALGORITHM=COPY",), table, remakes=True)
    if kind < 0.65:
        if is_partitioned and chance.random() < 0.7:
            partitions = chance.choice(("TRUNCATE PARTITION ALL", "REBUILD PARTITION ALL"))
            return Definition((f"ALTER TABLE {name} {partitions}",), table, remakes=True,
                              empties=partitions.startswith("TRUNCATE"))
        if chance.random() < 0.4 or table is NOTES:
            return Definition((f"TRUNCATE TABLE {name}",), table, empties=True, remakes=True)
    if kind < 0.8 and name in ("t2", "h", "g"):
        create = table.create_sql(partitions.get(name, ""))
        statements = chance.choice(((f"DROP TABLE {name}", create),
                                    (create.replace("CREATE", "CREATE OR REPLACE"),)))
        return Definition(statements, table, empties=True, remakes=True, drops=name in added)
    if kind < 0.9 and name in ("t2", "h", "g"):
        return Definition((f"RENAME TABLE {name} TO {name}_away",
                           f"RENAME TABLE {name}_away TO {name}"), table, keeps_undecided=False)
    return Definition((f"OPTIMIZE TABLE {name}",), table, keeps_undecided=False)


def _undecided(model: Model) -> list[Table]:
    """Tables that nothing keeps but what transactions without a session have changed."""
    return [table for table in TABLES
            if any(each.has_changed(table.name, model.committed) for each in model.detached)
            and not any(table.name in each.may_use for each in model.open)]


def expected_error(model: Model, definition: Definition, own: Transaction | None) -> int:
    """What it comes to for a session, whose own transaction it commits first."""
    name = definition.table.name
    if definition.sql[0].startswith("OPTIMIZE"):
        return 0
    others = [each for each in model.open if each is not own]
    if any(name in each.uses for each in others):
        return LOCK_WAIT_TIMEOUT
    if any(name in each.may_use for each in others):
        raise Unknown
    if not definition.keeps_undecided:
        return 0
    detached = [each for each in others if each.is_detached]
    if any(each.has_changed(name, model.committed) for each in detached):
        return LOCK_WAIT_TIMEOUT
    if any(each.may_concern(name) for each in detached):
        raise Unknown
    return 0
