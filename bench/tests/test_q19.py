"""The Q19 workload: its rows, its query's counters, its check; 18,000 rows only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lab.setup import Engine
from lab.workload import Client
from workloads.q19 import Q19, expected, names, query, schema
from workloads.q19.generate import Generator, Lines, Parts, retail_price
from workloads.q19.text import line_rows, part_rows

SMALL = Q19(scale=0.003, seed=24)  # a seed whose query finds something
BIG_ENOUGH = Generator(scale=0.2, seed=1)


@pytest.fixture(params=[engine.value for engine in Engine])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine's name in turn."""
    return request.param


@pytest.fixture(scope="module")
def filled(server_of: Callable[[str], Any]) -> Callable[[str], Any]:
    """A function from the name of an engine to its server with the rows of SMALL."""
    known: dict[str, Any] = {}

    def target_of(name: str) -> Any:
        if name not in known:
            known[name] = server_of(name)
            known[name].empty()
            SMALL.prepare(known[name])
        return known[name]

    return target_of


def test_the_same_seed_makes_the_same_rows_and_another_seed_others() -> None:
    rows = [line_rows(Generator(0.01, seed).lines(0)) for seed in (1, 1, 2)]
    assert rows[0] == rows[1] != rows[2]


def test_a_row_s_text_has_its_numbers_in_the_order_of_the_table() -> None:
    lines, parts = SMALL.generator.lines(0), SMALL.generator.parts(0)
    for row, at in ((0, 0), (-1, -1)):
        fields = line_rows(lines).decode().splitlines()[row].split("\t")
        assert len(fields) == 16
        assert [int(field) for field in fields[:4]] == [
            lines.order[at], lines.part[at], lines.supplier[at], lines.number[at]]
        assert [round(float(field) * 100) for field in fields[4:8]] == [
            lines.quantity[at] * 100, lines.price[at], lines.discount[at], lines.tax[at]]
        assert len(fields[15]) == lines.comment_length[at]
    assert part_rows(parts).decode().splitlines()[41].startswith("0000000042\t")


def test_lines_follow_the_column_rules() -> None:
    lines = BIG_ENOUGH.lines(0)
    _, lengths = np.unique(lines.order, return_counts=True)
    assert (lengths.min(), lengths.max()) == (1, 7)
    assert lengths.mean() == pytest.approx(4, abs=0.05)
    assert (lines.number[np.cumsum(lengths) - 1] == lengths).all()
    assert (lines.quantity.min(), lines.quantity.max()) == (1, 50)
    assert (lines.price == lines.quantity * retail_price(lines.part)).all()
    assert ((lines.receipt_day - lines.ship_day).min(), lines.discount.max(), lines.tax.max()) == (
        1, 10, 8)
    assert lines.receipt_day.max() <= 2556  # 1998-12-31
    for column, values in ((lines.mode, 7), (lines.instruction, 4)):
        assert np.bincount(column).tolist() == pytest.approx(
            [len(column) / values] * values, rel=0.05)


def test_every_part_has_four_suppliers_of_the_supplier_table() -> None:
    lines = BIG_ENOUGH.lines(0)
    of_part = lines.supplier[lines.part == lines.part[0]]
    assert 2 <= len(set(of_part.tolist())) <= 4
    assert (lines.supplier.min() >= 1, lines.supplier.max() <= 2000) == (True, True)


def test_generated_counts_are_the_formulas_up_to_chance() -> None:
    counted, formula = query.answer(BIG_ENOUGH).counts, expected(0.2)
    assert counted.parts == formula.parts
    for name, per_event in (("qualifying_parts", 1), ("entries", 30), ("matches", 1)):
        mean = getattr(formula, name)
        # Four standard deviations of a count of independent events, each worth `per_event`.
        assert getattr(counted, name) == pytest.approx(mean, abs=4 * (mean * per_event) ** 0.5)


def test_the_answer_is_that_of_a_row_by_row_evaluation() -> None:
    parts = SMALL.generator.all_parts()
    total = 0
    for lines in SMALL.generator.all_lines():
        total += sum(_worth(lines, row, parts) for row in range(len(lines.order)))
    assert SMALL.answer.revenue * 10_000 == total
    assert total > 0


def test_the_answer_and_the_counters_are_right(
        filled: Callable[[str], Any], engine: str) -> None:
    target = filled(engine)
    for icp in (True, False):
        found = SMALL.query(target, icp)
        assert found.value == SMALL.answer.revenue
        assert (found.index("part"), found.index(), found.uses_icp()) == ("", "i_l_partkey", icp)
        # The scan's counter counts the end of the table too.
        wanted = SMALL.answer.counts.handler(icp)
        wanted["Handler_read_rnd_next"] += 1
        assert {name: found.counters[name] for name in wanted} == wanted
        assert (found.counters["Select_scan"], found.counters["Created_tmp_disk_tables"]) == (1, 0)


def test_without_force_the_answer_is_the_same(filled: Callable[[str], Any], engine: str) -> None:
    found = SMALL.query(filled(engine), force=False)
    assert found.value == SMALL.answer.revenue
    assert found.index() in schema.INDEXES


def test_the_client_runs_the_query(filled: Callable[[str], Any], engine: str) -> None:
    target = filled(engine)
    client, = SMALL.load(threads=2, seconds=5, seed=3).clients
    target.sysbench(client, events=4)
    with pytest.raises(Exception, match="no_such_table"):
        target.sysbench(Client("q19", client.script, 1, {"statement": "TABLE no_such_table"}),
                        events=1)


def test_check_is_silent_about_prepared_rows(filled: Callable[[str], Any], engine: str) -> None:
    assert SMALL.check(filled(engine)) == []


def test_check_finds_every_damage(filled: Callable[[str], Any], engine: str) -> None:
    target = filled(engine)
    target.query("CREATE TABLE good_part AS SELECT * FROM part")
    target.query("CREATE TABLE good_lines AS SELECT * FROM lineitem WHERE l_orderkey = 1")
    for damage in SMALL.damages():
        for statement in damage.sql:
            target.query(statement)
        found = SMALL.check(target)
        assert any(damage.found_as in problem for problem in found), (damage, found)
        _restore(target)
    assert SMALL.check(target) == []


@pytest.mark.parametrize("index", schema.INDEXES)
def test_check_finds_an_index_that_differs_from_its_table(
        filled: Callable[[str], Any], index: str) -> None:
    problems = SMALL.check(_WrongIndex(filled("innodb"), index))
    assert len(problems) == 1
    assert problems[0].startswith(f"the index {index} has ")


def _restore(target: Any) -> None:
    """Undoes any damage: part, the first order, the indexes."""
    for table, where in (("part", "TRUE"), ("lineitem", "l_orderkey = 1")):
        target.query(f"DELETE FROM {table} WHERE {where}")
    target.query("INSERT INTO part SELECT * FROM good_part")
    target.query("INSERT INTO lineitem SELECT * FROM good_lines")
    if _indexes(target) != schema.INDEXES:
        for index in _indexes(target):
            target.query(f"ALTER TABLE lineitem DROP INDEX {index}")
        target.query(f"ALTER TABLE lineitem {schema.ADD_INDEXES}")


def _indexes(target: Any) -> dict[str, tuple[str, ...]]:
    """Secondary indexes of lineitem with their columns."""
    rows = [row for row in target.query("SHOW INDEX FROM lineitem") if row[2] != "PRIMARY"]
    return {name: tuple(row[4] for row in rows if row[2] == name)
            for name in dict.fromkeys(row[2] for row in rows)}


def _worth(lines: Lines, row: int, parts: Parts) -> int:
    """What a line adds to the answer, in 1/10000, by the wording of the query."""
    part = lines.part[row] - 1
    brand, container = names.BRANDS[parts.brand[part]], names.CONTAINERS[parts.container[part]]
    branches = (("Brand#45", "SM CASE, SM BOX, SM PACK, SM PKG", 5, 1),
                ("Brand#24", "MED BAG, MED BOX, MED PKG, MED PACK", 10, 14),
                ("Brand#53", "LG CASE, LG BOX, LG PACK, LG PKG", 15, 28))
    if names.MODES[lines.mode[row]] not in ("AIR", "AIR REG") or (
            names.INSTRUCTIONS[lines.instruction[row]] != "DELIVER IN PERSON"):
        return 0
    is_counted = any(
        brand == wanted and container in containers.split(", ")
        and 1 <= parts.size[part] <= size and low <= lines.quantity[row] <= low + 10
        for wanted, containers, size, low in branches)
    return int(lines.price[row] * (100 - lines.discount[row])) if is_counted else 0


class _WrongIndex:
    """A server that reads another checksum from an index than the index has: no SQL breaks one."""

    def __init__(self, target: Any, index: str) -> None:
        self._target = target
        self._index = index

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        rows = self._target.query(sql)
        if "CRC32" in sql and f"FORCE INDEX ({self._index})" in sql:
            (count, checksum), = rows
            return [(count, checksum + 1)]
        return rows
