"""Statements that change tables' definitions, and ones about whole tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.differential import _types
from tests.differential._scene import Scene
from tests.differential._schema import Key, Table
from tests.differential._statement import Comparison, Rows, Statement

# InnoDB says other things than other engines do.
_ENGINE_SPECIFIC = Comparison(Rows.NOTHING)


def draw(scene: Scene) -> list[Statement]:
    """An ALTER, a TRUNCATE, a copy of a table, or maintenance. Not within a transaction."""
    makers = (_add_column, _drop_column, _modify_column, _replace_column, _add_key, _add_key,
              _drop_key,
              _change_primary_key, _convert, _rebuild, _rename_column, _truncate, _copy, _like,
              _maintain, _partitions, _partitions, _ignore_key)
    return scene.chance.choice(makers)(scene)


def _alter(scene: Scene, table: Table, change: str, accepted: Callable[[], None],
           new_key: Key | None = None) -> list[Statement]:
    """In place, if the engine can do that, or by a copy, as the session has it. One counts rows,
    warns of values and names the first of several errors where the other does not.
    """
    if scene.chance.random() < 0.4 or new_key is not None and not _stay_in_order(table, new_key):
        return [Statement(f"ALTER TABLE {table.name} {change}", accepted=accepted)]
    return [Statement(f"ALTER TABLE {table.name} {change}, ALGORITHM=DEFAULT", _ENGINE_SPECIFIC,
                      accepted)]


def _stay_in_order(table: Table, new_key: Key) -> bool:
    """Whether both engines look for duplicates in the same order when the key has come.

    InnoDB does so in the order in which keys were made in place, and we in the server's: of two
    keys that a row violates another one is named, and the row that has it is updated.
    """
    old = [key for key in table.keys if key.is_unique and key.kind != "PRIMARY KEY"]
    return not old or not new_key.is_unique


def _add_column(scene: Scene) -> list[Statement]:
    chance = scene.chance
    table = scene.table()
    column = scene.designer.column()
    at = chance.randint(0, len(table.columns))
    place = "" if at == len(table.columns) else (
        " FIRST" if at == 0 else f" AFTER {table.columns[at - 1].name}")
    return _alter(scene, table, f"ADD COLUMN {column.sql()}{place}",
                          lambda: table.columns.insert(at, column))


def _drop_column(scene: Scene) -> list[Statement]:
    table = scene.table()
    free = [each for each in table.columns if not each.generated and not each.is_auto_increment
            and not any(each in key.columns() for key in table.keys)
            and not any(each.name in other.generated for other in table.columns)]
    if not free or len(table.columns) < 2:
        return _add_column(scene)
    column = scene.chance.choice(free)

    def dropped() -> None:
        table.columns = [each for each in table.columns if each is not column]

    return _alter(scene, table, f"DROP COLUMN {column.name}", dropped)


def _replace_column(scene: Scene) -> list[Statement]:
    """Another column under the same name, of which generated columns may be made."""
    chance = scene.chance
    table = scene.table()
    free = [each for each in table.columns if not each.generated and not each.is_auto_increment
            and not any(each in key.columns() for key in table.keys)]
    if not free or len(table.columns) < 2:
        return _add_column(scene)
    old = chance.choice(free)
    new = scene.designer.column()
    new.name = old.name
    if any(old.name in other.generated for other in table.columns):
        new.type, new.pool, new.default, new.extra = old.type, old.pool, old.default, ""

    def replaced() -> None:
        table.columns = [*(each for each in table.columns if each is not old), new]

    return _alter(scene, table, f"DROP COLUMN {old.name}, ADD COLUMN {new.sql()}", replaced)


def _modify_column(scene: Scene) -> list[Statement]:
    """Another type, a longer one, or only other attributes."""
    chance = scene.chance
    table = scene.table()
    column = chance.choice(table.columns)
    if column.generated or column.is_auto_increment:
        return _add_column(scene)
    new = scene.designer.column()
    new.name = column.name
    kind = chance.random()
    if kind < 0.6:
        new.type, new.pool = column.type, column.pool
        new.default, new.extra = column.default, ""
    longer = _types.longer(chance, column.type) if kind < 0.3 else None
    if longer is not None:
        new.type = longer
    is_key = any(column in key.columns() for key in table.keys)
    if is_key and (new.type.needs_prefix or not new.type.can_be_key
                   or not scene.designer.can_index(new.type)):
        return _add_column(scene)

    def modified() -> None:
        column.type, column.pool, column.default = new.type, new.pool, new.default
        column.nullable, column.extra = new.nullable, new.extra
        if table.primary is not None and column in table.primary.columns():
            column.nullable = False

    # The conversion of old values warns and fails row by row, in the order of a scan.
    return _alter(scene, table, f"MODIFY COLUMN {new.sql()}", modified)


def _rename_column(scene: Scene) -> list[Statement]:
    table = scene.table()
    column = scene.chance.choice(table.columns)
    name = scene.designer.name("c")
    if any(column.name in each.generated for each in table.columns) or table.items or (
            table.partition or table.period):
        return _rebuild(scene)

    def renamed() -> None:
        column.name = name

    return _alter(scene, table, f"RENAME COLUMN {column.name} TO {name}", renamed)


def _add_key(scene: Scene) -> list[Statement]:
    table = scene.table()
    before = {id(each): (each.nullable, each.default) for each in table.columns}
    key = scene.designer.add_key(table)
    if key is None:
        return _add_column(scene)
    table.keys.remove(key)
    for each in table.columns:
        each.nullable, each.default = before[id(each)]
    return _alter(scene, table, f"ADD {key.sql()}", lambda: table.keys.append(key), key)


def _drop_key(scene: Scene) -> list[Statement]:
    table = scene.table()
    keys = [key for key in table.keys if key.kind != "PRIMARY KEY"
            and not any(each.is_auto_increment for each in key.columns())]
    if not keys:
        return _add_key(scene)
    key = scene.chance.choice(keys)
    others = replace(table, keys=[each for each in table.keys if each is not key])
    if sum(key.name.encode()) % 3 == 0 and _stay_in_order(others, key):
        return _make_again(table, key)
    return _alter(scene, table, f"DROP KEY {key.name}", lambda: table.keys.remove(key))


# The server knows that it is the same key, and may take it for one that has another place.
def _make_again(table: Table, key: Key) -> list[Statement]:
    def moved() -> None:
        table.keys.remove(key)
        table.keys.append(key)

    return [Statement("SET STATEMENT alter_algorithm = 'DEFAULT' FOR "
                      f"ALTER TABLE {table.name} DROP KEY {key.name}, ADD {key.sql()}, "
                      "COMMENT = 'again'", accepted=moved)]


def _change_primary_key(scene: Scene) -> list[Statement]:
    table = scene.table()
    old = table.primary
    if table.auto_increment is not None or old is not None and old.extra_part:
        return _add_key(scene)
    if old is not None:
        table.keys.remove(old)
    before = {id(each): (each.nullable, each.default) for each in table.columns}
    new = scene.designer.add_key(table, "PRIMARY KEY")
    after = {id(each): (each.nullable, each.default) for each in table.columns}
    if new is not None:
        table.keys.remove(new)
    for each in table.columns:
        each.nullable, each.default = before[id(each)]
    if old is not None:
        table.keys.insert(0, old)

    def changed() -> None:
        if old is not None:
            table.keys.remove(old)
        if new is not None:
            table.keys.insert(0, new)
            for column in new.columns():
                column.nullable, column.default = after[id(column)]

    parts = ["DROP PRIMARY KEY"] if old is not None else []
    parts += [f"ADD {new.sql()}"] if new is not None else []
    return _alter(scene, table, ", ".join(parts), changed, new) if parts else _add_key(scene)


def _ignore_key(scene: Scene) -> list[Statement]:
    table = scene.table()
    keys = [key for key in table.keys if key.kind == "KEY"]
    if not keys:
        return _add_key(scene)
    key = scene.chance.choice(keys)
    is_ignored = "IGNORED" in key.extra

    def changed() -> None:
        key.extra = "" if is_ignored else " IGNORED"

    change = f"ALTER INDEX {key.name} {'NOT ' if is_ignored else ''}IGNORED"
    return _alter(scene, table, change, changed)


def _convert(scene: Scene) -> list[Statement]:
    """All text into another character set: the generator's values stay usable."""
    table = scene.table()
    charset, collation = scene.designer.collation(scene.chance)
    if any(each.generated for each in table.columns) or not scene.designer.can_index_in(collation):
        return _rebuild(scene)
    if "_nopad_" in collation and any(column.type.is_fixed for key in table.keys
                                      for column in key.columns()):
        return _rebuild(scene)

    def converted() -> None:
        for column in table.columns:
            if column.type.equality and column.type.equality != "double":
                head = column.type.sql.partition(" CHARACTER SET ")[0]
                # JSON stays as it is.
                if head != column.type.sql:
                    column.type = replace(
                        column.type, charset=charset, equality=collation,
                        sql=f"{head} CHARACTER SET {charset} COLLATE {collation}")

    change = f"CONVERT TO CHARACTER SET {charset} COLLATE {collation}"
    return _alter(scene, table, change, converted)


def _rebuild(scene: Scene) -> list[Statement]:
    return _alter(scene, scene.table(), "FORCE", lambda: None)


def _truncate(scene: Scene) -> list[Statement]:
    return [Statement(f"TRUNCATE TABLE {scene.table().name}")]


def _copy(scene: Scene) -> list[Statement]:
    """CREATE TABLE ... SELECT; the copy is compared and dropped."""
    table = scene.table()
    # Without an order, a hidden primary key numbers the rows in the order of the plan.
    return [Statement(f"CREATE TABLE copy_of SELECT * FROM {table.name} WHERE "
                      f"{scene.conditions(table).draw()}", Comparison(warnings=False)),
            Statement("SELECT * FROM copy_of"), Statement("CHECK TABLE copy_of"),
            Statement("SHOW CREATE TABLE copy_of", _ENGINE_SPECIFIC),
            Statement("DROP TABLE IF EXISTS copy_of")]


def _like(scene: Scene) -> list[Statement]:
    table = scene.table()
    columns = ", ".join(each.name for each in table.writable)
    return [Statement(f"CREATE TABLE copy_of LIKE {table.name}"),
            Statement(f"INSERT INTO copy_of ({columns}) SELECT {columns} FROM {table.name} "
                      f"ORDER BY {table.total_order()}"),
            Statement("SELECT * FROM copy_of"), Statement("CHECK TABLE copy_of"),
            Statement("DROP TABLE IF EXISTS copy_of")]


def _maintain(scene: Scene) -> list[Statement]:
    table = scene.table()
    return [Statement(f"{scene.chance.choice(('ANALYZE', 'OPTIMIZE'))} TABLE {table.name}",
                      _ENGINE_SPECIFIC)]


def _partitions(scene: Scene) -> list[Statement]:
    """Partitions emptied, dropped, rebuilt or exchanged."""
    chance = scene.chance
    tables = [each for each in scene.tables.values() if each.partitions]
    if not tables:
        return _rebuild(scene)
    table = chance.choice(tables)
    name = chance.choice(table.partitions)
    kind = chance.choice(("TRUNCATE", "REBUILD", "EXCHANGE", "ANALYZE", "REMOVE"))
    if kind == "EXCHANGE":
        return [Statement(f"CREATE TABLE copy_of LIKE {table.name}"),
                Statement("ALTER TABLE copy_of REMOVE PARTITIONING"),
                Statement(f"ALTER TABLE {table.name} EXCHANGE PARTITION {name} WITH TABLE "
                          "copy_of"),
                Statement("SELECT * FROM copy_of"), Statement("CHECK TABLE copy_of"),
                Statement("DROP TABLE IF EXISTS copy_of")]
    if kind == "REMOVE":
        def removed() -> None:
            table.partition, table.partitions = "", []
        if chance.random() < 0.8:
            return [Statement(f"SELECT * FROM {table.name} PARTITION ({name})")]
        return _alter(scene, table, "REMOVE PARTITIONING", removed)
    how = _ENGINE_SPECIFIC if kind == "ANALYZE" else Comparison()
    return [Statement(f"ALTER TABLE {table.name} {kind} PARTITION {name}", how)]
