"""Makes a list of statements shorter while it still shows the same kind of difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.differential._statement import Create, Insert, Select, Statement

Shows = Callable[[Sequence[Statement]], bool]


def shrink(statements: Sequence[Statement], shows: Shows, seconds: float) -> list[Statement]:
    """The shortest list found in the time; the last statement, which differs, stays."""
    deadline = time.monotonic() + seconds
    best = list(statements)
    before = -1
    while before != _size(best) and time.monotonic() < deadline:
        before = _size(best)
        best = _fewer(best, shows, deadline)
        for simpler in (_smaller_inserts, _fewer_items, _fewer_outs):
            best = _improve(best, simpler, shows, deadline)
    return best


def _size(statements: Sequence[Statement]) -> int:
    return sum(len(statement.sql) for statement in statements)


def _fewer(statements: list[Statement], shows: Shows, deadline: float) -> list[Statement]:
    """Without runs of statements: long runs first."""
    best = statements
    length = max(1, len(best) // 2)
    while length and time.monotonic() < deadline:
        at = len(best) - 1
        while at > 0 and time.monotonic() < deadline:
            start = max(0, at - length)
            kept = [each for each in best[start:at] if each.is_setting]
            candidate = best[:start] + kept + best[at:]
            if len(candidate) < len(best) and shows(candidate):
                best = candidate
            at = start
        length //= 2
    return best


def _improve(statements: list[Statement],
             simpler: Callable[[list[Statement]], Iterator[list[Statement]]], shows: Shows,
             deadline: float) -> list[Statement]:
    """Takes any simpler list that still shows the difference, until there is none."""
    best = statements
    found = True
    while found:
        found = False
        for candidate in simpler(best):
            if time.monotonic() > deadline:
                return best
            if shows(candidate):
                best, found = candidate, True
                break
    return best


def _smaller_inserts(statements: list[Statement]) -> Iterator[list[Statement]]:
    for at, statement in enumerate(statements):
        if isinstance(statement, Insert) and len(statement.rows) > 1:
            for row in range(len(statement.rows)):
                smaller = replace(statement,
                                  rows=statement.rows[:row] + statement.rows[row + 1:])
                yield [*statements[:at], smaller, *statements[at + 1:]]


def _fewer_items(statements: list[Statement]) -> Iterator[list[Statement]]:
    """Tables without a key, or without a column that is then inserted and selected nowhere."""
    for at, statement in enumerate(statements):
        if not isinstance(statement, Create) or len(statement.items) < 2:
            continue
        for item in reversed(range(len(statement.items))):
            name = statement.items[item][0]
            smaller = replace(statement, items=statement.items[:item] + statement.items[item + 1:])
            candidate = [*statements[:at], smaller, *statements[at + 1:]]
            yield [_without(each, statement.table, name) for each in candidate]


def _without(statement: Statement, table: str, column: str) -> Statement:
    if isinstance(statement, Insert) and statement.table == table:
        return statement.without_column(column)
    if isinstance(statement, Select) and len(statement.outs) > 1:
        outs = tuple(out for out in statement.outs if out.column != column)
        return replace(statement, outs=outs or statement.outs)
    return statement


def _fewer_outs(statements: list[Statement]) -> Iterator[list[Statement]]:
    for at, statement in enumerate(statements):
        if isinstance(statement, Select) and len(statement.outs) > 1:
            for out in range(len(statement.outs)):
                smaller = replace(statement,
                                  outs=statement.outs[:out] + statement.outs[out + 1:])
                yield [*statements[:at], smaller, *statements[at + 1:]]
