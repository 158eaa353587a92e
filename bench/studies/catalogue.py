"""The studies there are, in the order of the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from basaltcli.errors import BasaltError

from lab.study import Study
from studies import (binlog_cost, by_hand, cloud_iops, constrained_sysbench, defaults, definitions,
                     durability, foreign_keys, goals, icp, insert_benchmark, large_transactions,
                     linkbench, memory_sweep, noise, range_scans, storage_speed)

STUDIES: Sequence[Study] = tuple(study.STUDY for study in (
    memory_sweep, cloud_iops, icp, constrained_sysbench, insert_benchmark, defaults, range_scans,
    binlog_cost, large_transactions, linkbench, storage_speed, durability, noise, goals, by_hand,
    foreign_keys, definitions))


def chosen_studies(names: Iterable[str]) -> Sequence[Study]:
    """The studies of these names; "all" are the published ones. Fails on a name that is none."""
    wanted = set(names)
    unknown = sorted(wanted - {"all"} - {study.name for study in STUDIES})
    if unknown:
        raise BasaltError(f"there is no study {', '.join(unknown)}",
                          f"the studies are {', '.join(study.name for study in STUDIES)}")
    return [study for study in STUDIES
            if study.name in wanted or ("all" in wanted and study.is_published)]
