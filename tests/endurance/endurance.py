"""Hours of mixed load with definitions, XA, temporary tables, kills and restarts, and a replica.

Usage: ./basalt python tests/endurance/endurance.py [--hours H --directory DIR] [--seed S]
                                                    [--cores C]

Clients in threads: journaled transactions, transfers of money, XA transactions decided by others,
temporary tables inside transactions, transactions of tens of thousands of rows, snapshots that stay
open on source and replica, statements that define tables beside them, KILL at random. The source
and its replica (parallel, optimistic) are killed and restarted under load. After each kill: no
acknowledged commit is lost, sums are right, the same XA transactions are prepared. At checkpoints
the load stops, and

  - CHECK TABLE is clean, and the replica is equal (support/replication.py)
  - every index with entries belongs to a table, files have the size of what is in them
  - memory, open files and threads of a server that lives long stay as they are
  - the error log has no line that is not expected; clients have met no unexpected error

Without --hours a short form in a temporary directory. With it the run keeps its state in DIR: the
same call goes on with the same data when it was interrupted, by whatever, and adds up. It stops at
its first finding, writes what every client did last, and keeps the data. The seed repeats what is
drawn; not when things happen.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from basaltcli import layout
from basaltcli.errors import BasaltError
from tests.endurance import _figures
from tests.endurance._conductor import Conductor, Plan, guarded
from tests.endurance._figures import Figures
from tests.support import workspace
from tests.support.workspace import Tally, Workspace

_SHORT_SECONDS = 30.0


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan of the long form, or of the short one."""
    if arguments.hours:
        return Plan(arguments.hours * 3600, checkpoint=arguments.checkpoint * 60,
                    stretch=(10, 50), stormy=arguments.stormy * 60, cycle=3600,
                    cores=arguments.cores, scale=1.0, compaction=4)
    return Plan(_SHORT_SECONDS, checkpoint=1e9, stretch=(5, 7), stormy=1e9, cycle=1e9,
                cores=arguments.cores, scale=0.2, compaction=1,
                events=("kill source", "kill both", "restart source", "kill replica"))


def figures_of(work: Workspace, arguments: argparse.Namespace) -> Figures:
    """Those of the directory, or fresh ones. Other options cannot go on with the same data."""
    options = {"scale": plan_of(arguments).scale}
    found = Figures.load(work.directory / "state.json")
    if found is None:
        return Figures(arguments.seed, options)
    if found.options != options or found.seed != arguments.seed:
        raise BasaltError(f"{work.directory} has a run with seed {found.seed} and {found.options}",
                          "give the same options, or another --directory")
    if found.problems and not arguments.go_on:
        raise BasaltError(f"the run in {work.directory} has found: {found.problems[0]}",
                          "move the directory away, or go on with its data by --go-on")
    return found


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """Goes on to the end, or to the first finding."""
    figures = figures_of(work, arguments)
    print(f"seed {figures.seed}, {figures.load_seconds:.0f} s of load before", flush=True)
    conductor = Conductor(work, figures, plan_of(arguments))
    is_good = all(guarded(conductor, part)
                  for part in (conductor.prepare, conductor.run, conductor.finish))
    report(work.directory, figures)
    return Tally(len(figures.checkpoints), 0 if is_good else 1)


def report(directory: Path, figures: Figures) -> None:
    """The figures, on the screen and as files."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in _figures.table(figures):
        table.add_row(name, value)
    Console(soft_wrap=True, width=110).print(table)
    (directory / "report.md").write_text(_figures.markdown(figures))
    (directory / "report.json").write_text(json.dumps(dict(_figures.table(figures)), indent=1))


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--hours", type=float, default=0, help="of load; 0: the short form")
    parser.add_argument("--directory", type=Path, default=layout.BUILD / "endurance",
                        help="where the long form keeps its state (default: build/endurance)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=float, default=0.8,
                        help="processor time it may take, in cores (default: %(default)s)")
    parser.add_argument("--checkpoint", type=float, default=5,
                        help="minutes of load between checkpoints (default: %(default)s)")
    parser.add_argument("--stormy", type=float, default=20,
                        help="minutes of each hour with kills and restarts (default: %(default)s)")
    parser.add_argument("--go-on", action="store_true", help="even after a finding")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    if not arguments.hours:
        return workspace.main("endurance", arguments, run)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with Workspace("endurance", workspace.settings_of(arguments),
                       arguments.directory.absolute()) as work:
            tally = run(work, arguments)
    except BasaltError as error:
        print(f"error: {error.message}\nwhat to do: {error.remedy}")
        tally = Tally(0, 1)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
