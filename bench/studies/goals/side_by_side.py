"""The goals' cells in which all is cached, for bursts that alternate (lab/bursts.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lab.bursts import Contest
from lab.study import Size
from studies.goals.cells import Maker
from studies.goals.measuring import scans

# Seconds of a turn that is not measured.
_WARM = 3
_SMOKE = {"point select, 1 client", "full scan", "update index"}


def contests(size: Size) -> Sequence[Contest]:
    """The cells with at most eight clients, whose start takes little of a burst."""
    make = Maker(size)
    warm = 0 if make.is_smoke else _WARM

    def of(name: str, script: str, *, threads: int = 8, in_one_table: bool = False) -> Contest:
        cell = make.cached(name, script, threads=threads, in_one_table=in_one_table)
        return Contest(dataclasses.replace(cell, warm_seconds=warm))

    def scan(name: str, metric: str) -> Contest:
        contest = of(name, "oltp_read_only", threads=1)
        return dataclasses.replace(contest, statements=tuple(scans(metric, make.tables)))

    found = [
        of("point select, 1 client", "oltp_point_select", threads=1),
        of("point select, 8 clients", "oltp_point_select"),
        of("read-only", "oltp_read_only"),
        of("random ranges", "select_random_ranges", in_one_table=True),
        of("random points", "select_random_points", in_one_table=True),
        scan("full scan", "full_scan_s"),
        scan("index scan", "index_scan_s"),
        of("update non-index", "oltp_update_non_index"),
        of("update index", "oltp_update_index")]
    return [each for each in found if not make.is_smoke or each.cell.name in _SMOKE]
