"""Statements that read."""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential._scene import Scene
from tests.differential._schema import Column, Key, Table, visible
from tests.differential._statement import Comparison, Out, Rows, Select, Statement
from tests.differential._types import Group


def draw(scene: Scene) -> list[Statement]:
    """One query, or the few statements of a HANDLER."""
    makers = (_plain, _plain, _plain, _covering, _covering, _aggregate, _grouped, _distinct,
              _join, _join, _join, _subquery, _subquery, _union, _handler, _prepared, _window)
    made = scene.chance.choice(makers)(scene)
    return made if isinstance(made, list) else [made]


# ---- one table


def _outs(columns: Sequence[Column], alias: str = "") -> tuple[Out, ...]:
    qualifier = f"{alias}." if alias else ""
    return tuple(Out(qualifier + each.name, each.name) for each in columns)


def _plain(scene: Scene) -> Statement:
    table = scene.table()
    columns = visible(table.columns) if scene.chance.random() < 0.5 else _some(scene, table)
    return _query(scene, table, columns, scene.hint(table))


def _covering(scene: Scene) -> Statement:
    """Columns of one index."""
    table = scene.table()
    keys = scene.usable_keys(table)
    if not keys:
        return _plain(scene)
    key = scene.chance.choice(keys)
    columns = list(dict.fromkeys(key.columns()))
    if table.primary is not None and scene.chance.random() < 0.4:
        columns = list(dict.fromkeys([*columns, *table.primary.columns()],))
    return _query(scene, table, columns, f" FORCE INDEX ({key.hint})", key)


def _query(scene: Scene, table: Table, columns: Sequence[Column], hint: str,
           key: Key | None = None, parameters: list[str] | None = None) -> Select:
    chance = scene.chance
    conditions = scene.conditions(table, may_be_wrong=parameters is None, parameters=parameters)
    where = ""
    if chance.random() < 0.85:
        term = conditions.on_key(key) if key and chance.random() < 0.7 else conditions.draw()
        where = f" WHERE {term}"
    rest = f" FROM {table.name}{hint}{where}"
    outs = _outs(columns)
    rows = Rows.BAG
    kind = chance.random()
    limit = f" LIMIT {chance.randint(1, 8)}" if chance.random() < 0.4 else ""
    if limit and chance.random() < 0.2:
        limit += f" OFFSET {chance.randint(1, 4)}"
    if kind < 0.3:  # the order of a key, ties open
        outs, order = _ordered(scene, table, outs, key)
        rest += order + limit
        rows = Rows.COUNT if limit else Rows.BAG
    elif kind < 0.6:
        rest += f" ORDER BY {_total(scene, table, key)}{limit}"
        rows = Rows.SEQUENCE
    elif limit and kind < 0.7:
        rest += limit
        rows = Rows.COUNT
    if chance.random() < 0.1:
        rest += chance.choice((" FOR UPDATE", " LOCK IN SHARE MODE"))
    return Select(outs=outs, rest=rest, rows=rows, warnings=conditions.is_clean)


def _ordered(scene: Scene, table: Table, outs: tuple[Out, ...],
             key: Key | None) -> tuple[tuple[Out, ...], str]:
    """An ORDER BY of a key's columns, which are then selected too."""
    chance = scene.chance
    if key is None and table.keys:
        key = chance.choice(table.keys)
    parts = key.parts if key else []
    columns = [part.column for part in parts] or [chance.choice(table.columns)]
    columns = [each for each in columns if each.type.group is not Group.SHAPE]
    if not columns:
        return outs, ""
    columns = columns[:chance.randint(1, len(columns))]
    backward = chance.random() < 0.4
    terms = []
    for at, column in enumerate(columns):
        down = backward != (at < len(parts) and parts[at].descending)
        down = not down if chance.random() < 0.05 else down
        terms.append(column.name + (" DESC" if down else ""))
    # What is behind a column whose order is open has an open order, too.
    is_open = [not all(before.type.is_sorted_as_compared for before in columns[:at + 1])
               for at in range(len(columns))]
    listed = tuple(Out(each.name, each.name, each.type.equality, is_ordered=not is_open[at])
                   for at, each in enumerate(columns))
    names = {each.name for each in columns}
    return (tuple(each for each in outs if each.column not in names) + listed,
            f" ORDER BY {', '.join(terms)}")


def _total(scene: Scene, table: Table, key: Key | None) -> str:
    first = ""
    if key is not None and scene.chance.random() < 0.6:
        first = ", ".join(f"{part.column.name}{' DESC' if part.descending else ''}"
                          for part in key.parts) + ", "
    return first + table.total_order()


def _some(scene: Scene, table: Table) -> list[Column]:
    count = scene.chance.randint(1, len(table.columns))
    return scene.chance.sample(table.columns, count)


def _aggregate(scene: Scene) -> Statement:
    table = scene.table()
    chance = scene.chance
    conditions = scene.conditions(table, may_be_wrong=True)
    where = f" WHERE {conditions.draw()}" if chance.random() < 0.7 else ""
    outs = [Out("COUNT(*)")] if chance.random() < 0.6 else []
    outs += _aggregates(scene, table)
    return Select(outs=tuple(outs), rest=f" FROM {table.name}{scene.hint(table)}{where}",
                  warnings=conditions.is_clean)


def _aggregates(scene: Scene, table: Table, alias: str = "") -> list[Out]:
    chance = scene.chance
    outs = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        column = chance.choice(table.columns)
        name = f"{alias}.{column.name}" if alias else column.name
        if column.type.group is Group.SHAPE:
            outs.append(Out(f"COUNT({name})", column.name))
            continue
        function = chance.choice(("MIN", "MAX", "MIN", "MAX", "COUNT", "COUNT(DISTINCT", "SUM"))
        if function == "SUM":
            # Sums of approximate numbers depend on the order of addition.
            is_exact = column.type.group is Group.NUMBER
            outs.append(Out(f"SUM({name})" if is_exact else f"COUNT({name})", column.name))
        elif function.startswith("COUNT"):
            outs.append(Out(f"{function}{' ' if '(' in function else '('}{name})", column.name))
        else:
            outs.append(Out(f"{function}({name})", column.name, column.type.equality))
    return outs


def _grouped(scene: Scene) -> Statement:
    table = scene.table()
    chance = scene.chance
    columns = _group_columns(scene, table)
    if not columns:
        return _plain(scene)
    conditions = scene.conditions(table)
    where = f" WHERE {conditions.draw()}" if chance.random() < 0.6 else ""
    names = ", ".join(each.name for each in columns)
    outs = [Out(each.name, each.name, each.type.equality) for each in columns]
    outs += _aggregates(scene, table)
    having = " HAVING COUNT(*) > 1" if chance.random() < 0.15 else ""
    return Select(outs=tuple(outs), warnings=conditions.is_clean,
                  rest=f" FROM {table.name}{scene.hint(table)}{where} GROUP BY {names}{having}")


def _group_columns(scene: Scene, table: Table) -> list[Column]:
    chance = scene.chance
    if table.keys and chance.random() < 0.7:
        columns = chance.choice(table.keys).columns()
        columns = columns[:chance.randint(1, len(columns))]
    else:
        columns = _some(scene, table)[:2]
    return [each for each in columns if each.type.group is not Group.SHAPE]


def _distinct(scene: Scene) -> Statement:
    table = scene.table()
    columns = _group_columns(scene, table)
    if not columns:
        return _plain(scene)
    conditions = scene.conditions(table)
    where = f" WHERE {conditions.draw()}" if scene.chance.random() < 0.5 else ""
    outs = tuple(Out(each.name, each.name, each.type.equality) for each in columns)
    return Select(head="SELECT DISTINCT", outs=outs,
                  rest=f" FROM {table.name}{scene.hint(table)}{where}")


def _window(scene: Scene) -> Statement:
    table = scene.table()
    order = table.total_order()
    column = scene.chance.choice(table.columns)
    outs = (Out(column.name, column.name), Out(f"ROW_NUMBER() OVER (ORDER BY {order})"),
            Out(f"COUNT({column.name}) OVER (ORDER BY {order})"))
    return Select(outs=outs, rest=f" FROM {table.name}")


# ---- several tables


def _join(scene: Scene) -> Statement:
    chance = scene.chance
    first = scene.table()
    tables, aliases, clauses = [first], ["a"], [f"{first.name} a{scene.hint(first)}"]
    for alias in ("b", "c")[:1 if scene.is_large else chance.choice((1, 1, 2))]:
        table = scene.other_table(chance.choice(tables))
        at = chance.randrange(len(tables))
        on = _join_condition(scene, tables[at], aliases[at], table, alias)
        if on is None:
            break
        kind = chance.choice(("JOIN", "JOIN", "LEFT JOIN", "STRAIGHT_JOIN"))
        clauses.append(f"{kind} {table.name} {alias}{scene.hint(table)} ON {on}")
        tables.append(table)
        aliases.append(alias)
    outs: list[Out] = []
    for table, alias in zip(tables, aliases, strict=True):
        outs += _outs(_some(scene, table)[:3], alias)
    at = chance.randrange(len(tables))
    conditions = scene.conditions(tables[at], aliases[at])
    where = f" WHERE {conditions.draw()}" if chance.random() < 0.6 else ""
    rest = f" FROM {' '.join(clauses)}{where}"
    if scene.is_large or chance.random() < 0.2:
        return Select(outs=(Out("COUNT(*)"), *_aggregates(scene, tables[at], aliases[at])),
                      rest=rest, warnings=False)
    rows = Rows.BAG
    if chance.random() < 0.3:
        order = ", ".join(table.total_order(alias)
                          for table, alias in zip(tables, aliases, strict=True))
        limit = f" LIMIT {chance.randint(1, 6)}" if chance.random() < 0.5 else ""
        rest, rows = f"{rest} ORDER BY {order}{limit}", Rows.SEQUENCE
    return Select(outs=tuple(outs), rest=rest, rows=rows, warnings=False)


def _join_condition(scene: Scene, one: Table, one_alias: str, two: Table,
                    two_alias: str) -> str | None:
    pair = scene.pair_of_columns(one, two)
    if pair is None:
        return None
    operator = scene.chance.choice(("=", "=", "=", "=", "=", "<=>", "<", ">="))
    on = f"{one_alias}.{pair[0].name} {operator} {two_alias}.{pair[1].name}"
    other = scene.pair_of_columns(one, two)
    if other is not None and scene.chance.random() < 0.25:
        on += f" AND {one_alias}.{other[0].name} = {two_alias}.{other[1].name}"
    return on


def _subquery(scene: Scene) -> Statement:
    chance = scene.chance
    outer = scene.table()
    inner = scene.other_table(outer)
    pair = scene.pair_of_columns(outer, inner)
    if pair is None:
        return _plain(scene)
    left, right = f"a.{pair[0].name}", f"b.{pair[1].name}"
    source = f"FROM {inner.name} b{scene.hint(inner)}"
    limit = scene.conditions(inner, "b").draw()
    # A value that the other type cannot hold is not sought in a materialized result, and NULLs in
    # it are forgotten then: NOT IN is true, where it is NULL without that plan, with InnoDB, too.
    known = limit if pair[0].type.sql == pair[1].type.sql else f"{right} IS NOT NULL AND ({limit})"
    term = chance.choice((
        f"{left} IN (SELECT {right} {source} WHERE {limit})",
        f"{left} IN (SELECT {right} {source})",
        f"{left} NOT IN (SELECT {right} {source} WHERE {known})",
        f"EXISTS (SELECT 1 {source} WHERE {right} = {left} AND ({limit}))",
        f"NOT EXISTS (SELECT 1 {source} WHERE {right} = {left})",
        f"{left} = (SELECT MAX({right}) {source} WHERE {limit})",
        f"{left} >= ALL (SELECT {right} {source} WHERE {limit})",
        f"{left} < ANY (SELECT {right} {source} WHERE {limit})",
        f"(SELECT COUNT(*) {source} WHERE {right} = {left}) > 1"))
    if pair[0].type.group is Group.SHAPE:
        term = f"EXISTS (SELECT 1 {source} WHERE {right} = {left})"
    return Select(outs=_outs(_some(scene, outer), "a"), warnings=False,
                  rest=f" FROM {outer.name} a{scene.hint(outer)} WHERE {term}")


def _union(scene: Scene) -> Statement:
    table = scene.table()
    columns = _some(scene, table)[:3]
    names = ", ".join(each.name for each in columns)
    where = scene.conditions(table).draw()
    other = scene.conditions(table).draw()
    verb = scene.chance.choice(("UNION", "UNION ALL", "UNION ALL", "EXCEPT", "INTERSECT"))
    equality = "" if verb == "UNION ALL" else None
    outs = tuple(Out(each.name, each.name, each.type.equality if equality is None else "")
                 for each in columns)
    table_name = table.name
    return Select(outs=outs, warnings=False, rest=f" FROM {table_name} WHERE {where} {verb} "
                  f"SELECT {names} FROM {table_name} WHERE {other}")


def _prepared(scene: Scene) -> list[Statement]:
    """A query prepared once and executed with two sets of parameters."""
    table = scene.table()
    parameters: list[str] = []
    query = _query(scene, table, visible(table.columns), scene.hint(table), None, parameters)
    if not parameters:
        return [query]
    text = query.sql.replace("\\", "\\\\").replace("'", "''")
    other = [scene.chance.choice([*parameters, "NULL"]) for _ in parameters]
    how = Comparison(Rows.COUNT if query.rows is Rows.COUNT else Rows.BAG, warnings=False)
    # Parameters of another type than the column's are converted once per evaluation or per plan.
    rows = [parameters] if scene.chance.random() < 0.5 else [parameters, other, parameters]
    return [Statement(f"PREPARE p FROM '{text}'", how),
            *(Statement(f"EXECUTE p USING {', '.join(values)}", how) for values in rows),
            Statement("DEALLOCATE PREPARE p")]


# ---- HANDLER


# Where NEXT and PREV go after a key that was not found, engines decide: nothing follows these.
_POSITIONS = ("=", ">=", ">", "<=", "<")


def _handler(scene: Scene) -> list[Statement]:
    """Reads by position, all along one index or the table."""
    chance = scene.chance
    table = scene.table()
    if table.partition or table.is_versioned:
        return [_plain(scene)]
    statements = [Statement(f"HANDLER {table.name} OPEN AS h")]
    keys = [key for key in scene.usable_keys(table) if not key.extra_part]
    key = chance.choice(keys) if keys and chance.random() < 0.8 else None
    index = f" `{key.hint}`" if key else ""
    limit = f" LIMIT {chance.choice((1, 2, 3, 100))}"
    where = ""
    if chance.random() < 0.2:
        where = f" WHERE {scene.conditions(table).draw()}"
    follow = ""
    for _ in range(chance.randint(1, 8)):
        if follow and chance.random() < 0.6:
            move = follow
        elif key is None:
            move, follow = "FIRST", "NEXT"
        elif chance.random() < 0.4:
            move, follow = chance.choice((("FIRST", "NEXT"), ("LAST", "PREV")))
        else:
            columns = key.columns()[:chance.randint(1, len(key.parts))]
            values = ", ".join(each.draw(chance, null=0.05) for each in columns)
            move, follow = f"{chance.choice(_POSITIONS)} ({values})", ""
        statements.append(Statement(f"HANDLER h READ{index} {move}{where}{limit}",
                                    Comparison(Rows.SEQUENCE, warnings=False)))
    return [*statements, Statement("HANDLER h CLOSE")]


def whole_tables(scene: Scene) -> list[Statement]:
    """Every table in every way there is to read all of it, and the engine's own checks."""
    statements: list[Statement] = []
    for table in scene.tables.values():
        name = table.name
        history = " FOR SYSTEM_TIME ALL" if table.is_versioned else ""
        # A star leaves some columns out, and some digits of FLOAT.
        special = [each for each in table.columns
                   if each.type.sql.startswith("FLOAT") or "INVISIBLE" in each.extra]
        more = "".join(f", {each.name} + 0e0" if each.type.group is Group.APPROXIMATE
                       else f", {each.name}" for each in special)
        statements.append(Statement(f"SELECT {name}.*{more} FROM {name}{history}"))
        # InnoDB's checksum of the same rows is not always the same.
        statements.append(Statement(f"CHECKSUM TABLE {name}", Comparison(Rows.NOTHING)))
        statements.append(Statement(f"CHECK TABLE {name}"))
        for key in scene.usable_keys(table):
            columns = ", ".join(each.name for each in dict.fromkeys(key.columns()))
            statements.append(Statement(
                f"SELECT {columns} FROM {name} FORCE INDEX ({key.hint})"))
            if not table.partition and not table.is_versioned and not key.extra_part:
                forward = scene.chance.choice(("FIRST", "LAST"))
                statements += [
                    Statement(f"HANDLER {name} OPEN AS h"),
                    Statement(f"HANDLER h READ `{key.hint}` {forward} LIMIT 100000",
                              Comparison(Rows.SEQUENCE)),
                    Statement("HANDLER h CLOSE")]
    return statements
