"""Statements that change rows, and transactions."""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential._scene import Scene
from tests.differential._schema import Column, Table, visible
from tests.differential._statement import Comparison, Insert, Statement
from tests.differential._types import Group


def _in_order(table: Table) -> Comparison:
    """For statements that visit rows in a determined order."""
    return Comparison(numbers_rows=True, names_key=not table.has_keys_of_server)


def draw(scene: Scene) -> list[Statement]:
    """A change, with what must go before it."""
    makers = (_insert, _insert, _insert, _insert, _insert_select, _insert_many, _update, _update,
              _update, _update_join, _delete, _delete_join, _portion)
    return scene.chance.choice(makers)(scene)


def fill(scene: Scene, table: Table) -> list[Statement]:
    """The first rows of a table: one by one, so that a bad one spoils nothing else."""
    statements: list[Statement] = []
    for _ in range(scene.chance.choice((0, 3, 8, 8, 15, 30))):
        statements += _rows(scene, table, "INSERT IGNORE", 1, is_wrong=0)
    return statements


# ---- INSERT and REPLACE


def _insert(scene: Scene) -> list[Statement]:
    chance = scene.chance
    table = scene.table()
    verb = chance.choice(("INSERT", "INSERT", "INSERT", "INSERT IGNORE", "REPLACE"))
    if table.has_keys_of_server:
        verb = chance.choice(("INSERT", "INSERT IGNORE"))
    tail = ""
    if verb == "INSERT" and chance.random() < 0.35 and not table.has_keys_of_server:
        tail = f" ON DUPLICATE KEY UPDATE {_on_duplicate(scene, table)}"
    if chance.random() < 0.15:
        names = [each.name for each in chance.sample(table.columns,
                                                     min(2, len(table.columns)))]
        tail += f" RETURNING {', '.join(names)}"
    count = chance.choice((1, 1, 1, 2, 3, 8))
    if table.is_temporary and (tail or verb == "REPLACE"):
        # InnoDB does not bring back all rows of temporary tables when such a statement fails.
        count = 1
    return _rows(scene, table, verb, count, tail=tail)


def _rows(scene: Scene, table: Table, verb: str, count: int, *, tail: str = "",
          is_wrong: float = 0.01) -> list[Statement]:
    chance = scene.chance
    before: list[Statement] = []
    columns = list(table.writable)
    if chance.random() < 0.2:
        columns = [each for each in columns
                   if not each.nullable and not each.default or chance.random() < 0.6] or columns
    counter = table.auto_increment
    if counter is not None and chance.random() < 0.5:
        columns = [each for each in columns if each is not counter]
        before = _same_counter(scene, table)
        if not columns:
            columns = [counter]
    rows = tuple(tuple(_value(scene, column, is_wrong) for column in columns)
                 for _ in range(count))
    return [*before, Insert(verb=verb, table=table.name,
                            columns=tuple(each.name for each in columns), rows=rows, tail=tail,
                            comparison=_in_order(table))]


def _same_counter(scene: Scene, table: Table) -> list[Statement]:
    """Lets both engines go on from the same value: after errors and gaps they may differ."""
    if scene.in_transaction or table.is_temporary or scene.chance.random() < 0.7:
        return [Statement(f"SET insert_id = {scene.chance.randint(1, 120)}")]
    return [Statement(f"ALTER TABLE {table.name} AUTO_INCREMENT = 1")]


def _value(scene: Scene, column: Column, is_wrong: float) -> str:
    chance = scene.chance
    if chance.random() < is_wrong:
        return column.type.draw_wrong(chance)
    if column.default and chance.random() < 0.03:
        return "DEFAULT"
    if not column.nullable and chance.random() < is_wrong / 3 and not column.is_auto_increment:
        return "NULL"
    return column.draw(chance)


def _on_duplicate(scene: Scene, table: Table) -> str:
    chance = scene.chance
    changes = []
    for column in chance.sample(table.writable, min(len(table.writable), chance.randint(1, 2))):
        kind = chance.random()
        if kind < 0.4:
            value = f"VALUES({column.name})"
        elif kind < 0.6 and column.type.is_integer:
            value = f"{column.name} + 1"
        else:
            value = column.draw(chance)
        changes.append(f"{column.name} = {value}")
    return ", ".join(changes)


def _insert_select(scene: Scene) -> list[Statement]:
    """Rows of a table into itself or another."""
    chance = scene.chance
    target = scene.table()
    source = scene.other_table(target)
    columns = [each for each in target.writable if not each.is_auto_increment]
    if not columns:
        return _insert(scene)
    values = []
    for column in columns:
        same = [each for each in source.columns if each.type.group is column.type.group]
        take = chance.choice(same) if same and chance.random() < 0.7 else None
        values.append(take.name if take else column.draw(chance))
    names = ", ".join(each.name for each in columns)
    verb = chance.choice(("INSERT", "INSERT IGNORE", "REPLACE"))
    verb = "INSERT" if target.is_temporary or target.has_keys_of_server else verb
    before = _same_counter(scene, target) if target.auto_increment else []
    return [*before, Statement(
        f"{verb} INTO {target.name} ({names}) SELECT {', '.join(values)} FROM {source.name}"
        f"{scene.hint(source)} WHERE {scene.conditions(source).draw()} "
        f"ORDER BY {source.total_order()} LIMIT {chance.randint(1, 20)}",
        Comparison(names_key=not target.has_keys_of_server))]


def _insert_many(scene: Scene) -> list[Statement]:
    """A few hundred rows made from a number sequence."""
    chance = scene.chance
    if chance.random() < 0.9 or scene.is_large:
        return _insert(scene)
    table = scene.table()
    columns = [each for each in table.writable if not each.is_auto_increment]
    if not columns:
        return _insert(scene)
    values = []
    for column in columns:
        if column.type.is_integer and chance.random() < 0.8:
            values.append(f"seq % {chance.choice((3, 100, 1000))}")
        elif column.type.group is Group.TEXT and chance.random() < 0.7:
            values.append(f"LEFT(MD5(seq), {min(column.type.length, chance.choice((1, 2, 8)))})")
        else:
            pool = ", ".join(chance.sample(column.pool, 3))
            values.append(f"ELT(1 + seq % 3, {pool})")
    before = _same_counter(scene, table) if table.auto_increment else []
    scene.is_large = True
    return [*before, Statement(
        f"INSERT IGNORE INTO {table.name} ({', '.join(each.name for each in columns)}) "
        f"SELECT {', '.join(values)} FROM seq_1_to_{chance.choice((50, 200, 400))} ORDER BY seq",
        _in_order(table))]


# ---- UPDATE


def _assignments(scene: Scene, table: Table, columns: Sequence[Column], *,
                 constant: bool = False) -> str:
    chance = scene.chance
    changes = []
    for column in columns:
        kind = 1.0 if constant else chance.random()
        others = [each for each in table.columns if each.type.group is column.type.group]
        if kind < 0.3 and column.type.group is Group.NUMBER:
            value = f"{column.name} {chance.choice(('+', '-'))} {chance.choice((1, 1, 2, 10))}"
        elif kind < 0.4:
            value = chance.choice(others).name
        elif kind < 0.5 and column.type.group is Group.TEXT:
            value = chance.choice((f"UPPER({column.name})", f"LEFT({column.name}, 1)",
                                   f"CONCAT({column.name}, ' ')"))
        elif kind < 0.53 and column.default:
            value = "DEFAULT"
        else:
            value = _value(scene, column, 0.01)
        changes.append(f"{column.name} = {value}")
    return ", ".join(changes)


def _update(scene: Scene) -> list[Statement]:
    chance = scene.chance
    table = scene.table()
    columns = chance.sample(table.writable, min(len(table.writable), chance.choice((1, 1, 2, 3))))
    verb = chance.choice(("UPDATE", "UPDATE", "UPDATE", "UPDATE IGNORE"))
    where = f" WHERE {_where(scene, table)}" if chance.random() < 0.85 else ""
    # With ORDER BY over several tables, the server assigns columns of the wrong rows.
    changes = _assignments(scene, table, columns, constant="(SELECT " in where)
    unique = table.unique_columns()
    # Whether a value is a duplicate depends on which rows were changed before.
    needs_order = ("IGNORE" in verb or bool(table.partition) or table.is_versioned
                   or any(each.name in unique for each in columns))
    order = ""
    if needs_order or chance.random() < 0.2:
        order = f" ORDER BY {table.total_order()}{chance.choice(('', ' DESC'))}"
        if chance.random() < 0.3:
            order += f" LIMIT {chance.randint(1, 5)}"
    if table.is_temporary and any(each.name in unique for each in columns):
        # InnoDB does not bring back all rows of temporary tables when such a statement fails.
        order = f" ORDER BY {table.total_order()} LIMIT 1"
    return [Statement(f"{verb} {table.name}{scene.hint(table)} SET {changes}{where}{order}",
                      Comparison(numbers_rows=bool(order),
                                 names_key=not table.has_keys_of_server))]


def _where(scene: Scene, table: Table) -> str:
    """Sometimes with a look into the table itself or another."""
    chance = scene.chance
    if chance.random() < 0.88:
        return scene.conditions(table).draw()
    inner = scene.other_table(table)
    pair = scene.pair_of_columns(table, inner)
    if pair is None or inner is table and table.is_temporary:
        return scene.conditions(table).draw()
    return (f"{pair[0].name} IN (SELECT x.{pair[1].name} FROM {inner.name} x WHERE "
            f"{scene.conditions(inner, 'x').draw()})")


def _update_join(scene: Scene) -> list[Statement]:
    """Columns without uniqueness only: rows come in the order of the plan."""
    chance = scene.chance
    table = scene.table()
    other = scene.other_table(table)
    pair = scene.pair_of_columns(table, other)
    unique = table.unique_columns()
    columns = [each for each in table.writable if each.name not in unique
               and each.name not in table.partition]
    if pair is None or not columns or table.partition or table.is_versioned:
        return _update(scene)
    column = chance.choice(columns)
    return [Statement(f"UPDATE {table.name} a JOIN {other.name} b ON a.{pair[0].name} = "
                      f"b.{pair[1].name} SET a.{column.name} = {column.draw(chance)} WHERE "
                      f"{scene.conditions(table, 'a').draw()}",
                      Comparison(warnings=False, names_key=False))]


# ---- DELETE


def _delete(scene: Scene) -> list[Statement]:
    chance = scene.chance
    table = scene.table()
    where = scene.conditions(table).on_key(chance.choice(table.keys)) if (
        table.keys and chance.random() < 0.5) else _where(scene, table)
    order = ""
    if chance.random() < 0.4:
        order = f" ORDER BY {table.total_order()} LIMIT {chance.randint(1, 6)}"
    returning = ""
    if chance.random() < 0.25:
        returning = " RETURNING " + ", ".join(each.name for each in visible(table.columns)[:4])
    return [Statement(f"DELETE FROM {table.name} WHERE {where}{order}{returning}")]


def _delete_join(scene: Scene) -> list[Statement]:
    table = scene.table()
    other = scene.other_table(table)
    pair = scene.pair_of_columns(table, other)
    if pair is None:
        return _delete(scene)
    targets = scene.chance.choice(("a", "a", "a, b")) if other is not table else "a"
    return [Statement(f"DELETE {targets} FROM {table.name} a JOIN {other.name} b ON "
                      f"a.{pair[0].name} = b.{pair[1].name} WHERE "
                      f"{scene.conditions(table, 'a').draw()} AND "
                      f"{scene.conditions(other, 'b').draw()}", Comparison(warnings=False))]


def _portion(scene: Scene) -> list[Statement]:
    """UPDATE and DELETE of a part of a period."""
    chance = scene.chance
    tables = [each for each in scene.tables.values() if each.period]
    if not tables:
        return _insert(scene)
    table = chance.choice(tables)
    days = sorted(chance.sample(range(1, 29), 2))
    portion = (f"FOR PORTION OF p FROM '2024-01-{days[0]:02}' TO '2024-01-{days[1]:02}'")
    where = scene.conditions(table).draw()
    columns = [each for each in table.writable if each.name not in table.unique_columns()]
    if table.auto_increment is not None:
        return _insert(scene)
    if chance.random() < 0.5 or not columns:
        return [Statement(f"DELETE FROM {table.name} {portion} WHERE {where}",
                          Comparison(warnings=False))]
    return [Statement(f"UPDATE {table.name} {portion} SET "
                      f"{_assignments(scene, table, [chance.choice(columns)])} WHERE {where}",
                      Comparison(warnings=False, names_key=False))]


# ---- transactions


def transaction(scene: Scene) -> list[Statement]:
    """Begins or ends a transaction, or sets and uses savepoints."""
    chance = scene.chance
    if any(table.is_temporary for table in scene.tables.values()):
        # InnoDB's rollback loses rows of temporary tables.
        return _update(scene)
    if not scene.in_transaction:
        def begun() -> None:
            scene.in_transaction, scene.savepoints = True, []
        return [Statement(chance.choice(("BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT")),
                          accepted=begun)]
    kind = chance.random()
    if kind < 0.3:
        name = chance.choice("xyz")
        return [Statement(f"SAVEPOINT {name}", accepted=lambda: scene.savepoints.append(name))]
    if kind < 0.55 and scene.savepoints:
        name = chance.choice(scene.savepoints)
        return [Statement(f"ROLLBACK TO SAVEPOINT {name}")]
    if kind < 0.6 and scene.savepoints:
        return [Statement(f"RELEASE SAVEPOINT {scene.savepoints.pop()}")]
    return end_transaction(scene)


def end_transaction(scene: Scene) -> list[Statement]:
    def ended() -> None:
        scene.in_transaction = False
    return [Statement(scene.chance.choice(("COMMIT", "COMMIT", "ROLLBACK")), accepted=ended)]
