"""The study of index condition pushdown: its verdicts on trials that are made up here."""

from __future__ import annotations

from typing import Any

import pytest
from lab.results import Results, TrialRecord
from lab.setup import Engine
from lab.study import Size, Verdict
from studies.icp import STUDY, claims
from studies.icp.cache import pages_missed

_COUNTS = {"parts": 200_000, "qualifying_parts": 480, "entries": 14_000, "matches": 110}
_ON = {"query_s": 2.0, "pages_missed": 1500.0, "read_kb_per_unit": 60_000.0,
       "cache_used_percent": 28.0, "entries_read": 110.0, "entries_tried": 14_000.0,
       "entries_passed": 110.0, "counters_off_percent": 0.0}
_OFF = {"query_s": 40.0, "pages_missed": 15_000.0, "read_kb_per_unit": 300_000.0,
        "cache_used_percent": 100.0, "entries_read": 14_000.0, "entries_tried": 0.0,
        "entries_passed": 0.0, "counters_off_percent": 0.0}
_CELLS = {claims.WARM_ON: _ON, claims.WARM_OFF: {**_OFF, "query_s": 4.0}, claims.COLD_ON: _ON,
          claims.COLD_OFF: _OFF, claims.NO_HINT: {"query_s": 4.0}}


def _results(index: str = claims.WRONG_INDEX, **changes: Any) -> Results:
    """Trials that are as published; `changes` replace values of the cell with pushdown."""
    return Results(
        TrialRecord("icp", cell, engine.value, 1, {}, "2026-01-01T00:00:00",
                    values={**values, **(changes if cell == claims.COLD_ON else {})},
                    details={"scale": 1, "counts": _COUNTS, "index": index})
        for engine in Engine for cell, values in _CELLS.items())


def _verdicts(results: Results) -> dict[str, Verdict]:
    return {claim.name: claim.judge(results).verdict for claim in STUDY.claims()}


def test_trials_as_published_reproduce_every_claim() -> None:
    assert set(_verdicts(_results()).values()) == {Verdict.REPRODUCED}


@pytest.mark.parametrize(("claim", "change"), [
    ("2.12", {"query_s": 30.0}), ("2.13a", {"counters_off_percent": 4.0}),
    ("2.13b", {"pages_missed": 9000.0}), ("2.13c", {"read_kb_per_unit": 200_000.0}),
    ("2.14", {"index": "i_l_partkey"}), ("2.15", {"cache_used_percent": 90.0})])
def test_a_claim_that_does_not_hold_is_not_reproduced(claim: str, change: dict[str, Any]) -> None:
    found = _verdicts(_results(**change))
    assert found.pop(claim) is Verdict.NOT_REPRODUCED
    assert set(found.values()) == {Verdict.REPRODUCED}


def test_nothing_measured_is_not_comparable() -> None:
    assert set(_verdicts(Results([])).values()) == {Verdict.NOT_COMPARABLE}


@pytest.mark.parametrize("size", list(Size))
def test_cells_have_names_of_their_own_and_the_claims_know_them(size: Size) -> None:
    names = [cell.name for cell in STUDY.cells(size)]
    assert len(names) == len(set(names))
    assert set(names) <= set(_CELLS)
    assert size is Size.SMOKE or set(names) == set(_CELLS)


def test_misses_are_those_of_the_engine_under_test() -> None:
    counters = {"Innodb_buffer_pool_reads": 7}
    assert pages_missed(Engine.INNODB, counters) == 7
    assert pages_missed(Engine.BASALT, counters) is None
    assert pages_missed(Engine.MYROCKS, {**counters, "Rocksdb_block_cache_data_miss": 3}) == 3
