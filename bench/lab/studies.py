"""The studies there are: the folders of bench/studies, in the order of the report."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence

from basaltcli.errors import BasaltError

from lab.study import Study

_NAMES = ("memory_sweep", "cloud_iops", "icp", "constrained_sysbench", "insert_benchmark",
          "defaults", "range_scans", "binlog_cost", "large_transactions", "linkbench",
          "storage_speed", "durability", "noise", "goals", "by_hand")


def all_studies() -> Sequence[Study]:
    """Every study."""
    return [importlib.import_module(f"studies.{name}").STUDY for name in _NAMES]


def chosen_studies(names: Iterable[str]) -> Sequence[Study]:
    """The studies of these names; "all" are the published ones. Fails on a name that is none."""
    wanted = set(names)
    studies = all_studies()
    unknown = sorted(wanted - {"all"} - {study.name for study in studies})
    if unknown:
        raise BasaltError(f"there is no study {', '.join(unknown)}",
                          f"the studies are {', '.join(study.name for study in studies)}")
    return [study for study in studies
            if study.name in wanted or ("all" in wanted and study.is_published)]
