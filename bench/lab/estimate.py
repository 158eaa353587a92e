"""How long trials and the loading of templates may take, guessed before anything is measured.

The guesses are for two cores and a disk of hundreds of megabytes per second; a run corrects them by
what it sees (lab/progress.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from lab.cell import Cell
from lab.setup import Setup
from lab.workload import Workload

# Seconds of a trial for starting and stopping the server and its clients, for the seconds without a
# write after the deferred work, and for that work itself.
_AROUND = 8.0
# Copied and checked after the window. Client and server share two cores.
_ROWS_PER_SECOND = 700_000
_LOADED_ROWS_PER_SECOND = 75_000
# What making a template takes beside loading: the server's own tables, statistics, compaction,
# rest.
_AROUND_LOADING = 6.0
# What a server reads and writes before it answers, one by one when its disk is limited.
_STARTING_OPERATIONS = 800


def of_trial(cell: Cell) -> float:
    """Seconds from the copy of the template to the end of the check."""
    limits = [limit for limit in (cell.limits.disk.read_iops, cell.limits.disk.write_iops) if limit]
    start = _STARTING_OPERATIONS / min(limits) if limits else 0
    return (cell.warm_seconds + cell.seconds + cell.seconds_after + start + _AROUND
            + cell.workload.expected_rows() / _ROWS_PER_SECOND)


def of_loading(wanted: Iterable[tuple[Setup, Workload]]) -> float:
    """Seconds for the templates of these, each counted once."""
    rows = {(setup.engine, setup.table_options, setup.data_options, workload.name,
             json.dumps(dict(workload.identity()), sort_keys=True)): workload.expected_rows()
            for setup, workload in wanted}
    return sum(_AROUND_LOADING + count / _LOADED_ROWS_PER_SECOND for count in rows.values())
