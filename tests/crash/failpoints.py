"""Lets the server die at every failpoint of the engine, and checks what the restart makes of it.

Usage: ./basalt python tests/crash/failpoints.py [--every-visit] [--only TEXT] [--verbose]

The failpoints are those that the source names (BASALT_FAILPOINT in src/); one that no scenario
of _scenarios.py reaches is a failure. Each scenario dies at the first visit of each of its
failpoints; with --every-visit also at the second, third, ... until a run ends without being killed.
After every death the server must start on its data, and:

  - the tables are as before or as after the step that died, definitions and rows: what was
    acknowledged is there, the rest wholly or not at all; where the point decides which, it is so
  - CHECK TABLE of every table is clean; the error log has no error of the engine; the dictionary
    has no table that the server does not know
  - the steps that are left can be done and lead to the state they always lead to: names are
    usable, prepared transactions can be committed
  - the binary log agrees: replayed into InnoDB copies it gives the same rows; a DDL statement is
    in it exactly if its effect is there

Three more parts: clients commit together and die at a later visit, while a replica follows, which
must be equal afterwards (support/journal.py and support/replication.py judge); servers die a second
time while they recover from the first; what drops several tables is checked table by table. The
last line is "N passed, N failed", a case being one death and restart.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import pymysql

from basaltcli import layout
from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.crash._scenarios import DATABASE, PIECEWISE, SCENARIOS
from tests.crash._state import OTHERS, state_of
from tests.crash._trial import BINLOG, Trial, wait_for_death
from tests.support import checks, replication, workspace
from tests.support.binlog import BinlogReplay
from tests.support.failpoints import source_points
from tests.support.load import DATABASE as LOAD_DATABASE
from tests.support.load import Load
from tests.support.workspace import Tally, Workspace

# Scenarios with the point of a first death, and what recovery from it may visit.
_DDL_RECOVERY = ("catalog.drop", "catalog.rename", "maintenance.")
_SECOND_DEATHS = {
    "transaction with binary log": ("server.commit_ordered", ("txn.commit",)),
    "two engines with binary log": ("txn.commit.before_write", ("txn.commit",)),
    "changes in files with binary log": ("txn.load.before_ingest", ("txn.load.",)),
    "ALTER TABLE by copy": ("catalog.rename.after_write", _DDL_RECOVERY),
    "ALTER TABLE in place": ("table.build_index.after_ingest", _DDL_RECOVERY),
    "ALTER TABLE by copy of a table with partitions": ("catalog.rename.after_write",
                                                       _DDL_RECOVERY),
    "RENAME TABLE with partitions": ("catalog.rename.after_write", _DDL_RECOVERY),
    "ALTER TABLE by copy that renames a parent": ("catalog.rename.before_write", _DDL_RECOVERY),
    "ALTER TABLE by copy that renames a child that is a parent": ("catalog.rename.after_write",
                                                                  _DDL_RECOVERY),
    "ALTER TABLE that makes partitions": ("catalog.rename.after_write", _DDL_RECOVERY),
    "CREATE TABLE": ("catalog.create.after_write", _DDL_RECOVERY),
    "DROP TABLE": ("catalog.drop.before_write", _DDL_RECOVERY),
    "reclaiming after DROP TABLE": ("maintenance.reclaim.before_forget", ("maintenance.",)),
}
_MANY = 1000
_CLIENTS = 8
_CLIENTS_VISIT = 40
_REPLICA = (*replication.REPLICA_OPTIONS, *replication.server_id(2),
            *replication.parallel("optimistic"))


@dataclass
class Report:
    """What happened so far."""

    verbose: bool
    passed: int = 0
    failed: int = 0
    reached: set[str] = field(default_factory=set)

    def case(self, title: str, problems: list[str]) -> None:
        """Counts one death and restart, or another check."""
        if problems:
            self.failed += 1
        else:
            self.passed += 1
        if problems or self.verbose:
            print(f"{'FAILED' if problems else 'passed'}  {title}", flush=True)
        for problem in problems[:12]:
            print(f"        {problem}", flush=True)


# ---- the parts of the test


def die_everywhere(work: Workspace, points: list[str], wanted: Callable[[str], bool],
                   report: Report, last_visit: int) -> None:
    """Every scenario at the visits of its points, up to the last wanted."""
    for number, scenario in enumerate(SCENARIOS):
        if not wanted(scenario.name):
            continue
        before = report.passed + report.failed
        trial = Trial(work, number, scenario)
        for point in points:
            if point.startswith(scenario.points):
                _die_at_visits(trial, point, report, last_visit)
        trial.finish()
        print(f"{scenario.name}: {report.passed + report.failed - before} deaths", flush=True)


def _die_at_visits(trial: Trial, point: str, report: Report, last_visit: int) -> None:
    last_visit = min(last_visit, 1) if trial.scenario.waits_for_death else last_visit
    for visit in range(1, last_visit + 1):
        death = trial.die(point, visit)
        if death is None:
            return
        report.reached.add(point)
        problems = trial.after(death[0], point, death[1])
        report.case(f"{trial.scenario.name}, {point}, visit {visit}", problems)
        if problems:
            return


def die_while_recovering(work: Workspace, points: list[str], wanted: Callable[[str], bool],
                         report: Report) -> None:
    """After a first crash, a second one at each point that recovery visits."""
    for number, scenario in enumerate(SCENARIOS):
        if scenario.name not in _SECOND_DEATHS or not wanted(f"recovery {scenario.name}"):
            continue
        trial = Trial(work, 100 + number, scenario)
        first, beginnings = _SECOND_DEATHS[scenario.name]
        deaths = 0
        for second in (point for point in points if point.startswith(beginnings)):
            death = trial.die(first, 1)
            if death is None:
                continue
            server, done = death
            if not _die_again(server, second):
                work.remove(server)
                continue
            deaths += 1
            report.case(f"{scenario.name}, {first}, then {second} in recovery",
                        trial.after(server, first, done))
        trial.finish()
        print(f"recovery after {scenario.name}: {deaths} second deaths", flush=True)


def _die_again(server: Server, point: str) -> bool:
    """Starts the server to die at `point`; False when it does not, and then it is killed."""
    server.environment["BASALT_FAILPOINT"] = point
    try:
        server.start()
    except BasaltError:
        return True
    died = wait_for_death(server, 1.5)
    server.kill()
    return died


def die_in_company(work: Workspace, points: list[str], wanted: Callable[[str], bool],
                   report: Report) -> None:
    """Clients that commit together, the server dying at a later visit: group commit.

    A replica follows, and must be equal after the restart.
    """
    for point in points:
        # These clients have nothing in files.
        is_of_commit = (point.startswith(("txn.", "server.")) and
                        not point.startswith(("txn.load.", "txn.spill.")))
        if not is_of_commit or not wanted(f"company {point}"):
            continue
        server = work.server(f"company-{point}", options=BINLOG,
                             environment={"BASALT_FAILPOINT": f"{point}:{_CLIENTS_VISIT}"})
        load = Load(server, work.directory, 2, 60, _CLIENTS)
        server.start()
        load.create_tables()
        replay = BinlogReplay(server, [LOAD_DATABASE])
        replay.create_copies()
        link = replication.follow_with_copy(work, server, f"replica-{point}", _REPLICA)
        load.start(1)
        problems = [] if wait_for_death(server, 60) else ["not reached within 60 s"]
        server.kill()
        load.join()
        server.environment.clear()
        log_size = server.log.stat().st_size
        server.start()
        problems += checks.check_tables(server) + load.errors + load.judge().problems
        problems += replay.catch_up() + replay.compare()
        problems += link.catch_up(source_died=True) or link.compare([LOAD_DATABASE])
        problems += checks.engine_errors(server, log_size) + checks.engine_errors(link.replica)
        for one in (link.replica, server):
            one.kill()
            if not problems:
                work.remove(one)
        report.case(f"{_CLIENTS} clients, {point}, visit {_CLIENTS_VISIT}", problems)
    print("clients in company: done", flush=True)


def die_piecewise(work: Workspace, points: list[str], wanted: Callable[[str], bool],
                  report: Report) -> None:
    """Each table is there as before or as after, or gone and its name usable."""
    for number, scenario in enumerate(PIECEWISE):
        if not wanted(scenario.name):
            continue
        trial = Trial(work, 200 + number, scenario)
        for point in (name for name in points if name.startswith(scenario.points)):
            visit = 1
            while (death := trial.die(point, visit)) is not None:
                report.reached.add(point)
                report.case(f"{scenario.name}, {point}, visit {visit}",
                            _check_pieces(trial, death[0]))
                visit += 1
        trial.finish()
        print(f"{scenario.name}: done", flush=True)


def _check_pieces(trial: Trial, server: Server) -> list[str]:
    server.environment.clear()
    log_size = server.log.stat().st_size
    server.start()
    problems = checks.check_tables(server) + checks.left_tables(server)
    for name, value in state_of(server, DATABASE).items():
        allowed = [state.get(name) for state in (trial.states[0], trial.states[-1])]
        if name not in OTHERS and value not in allowed:
            problems.append(f"table {name} is not as it was")
    server.query(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    server.query(f"DROP DATABASE {DATABASE}")
    server.query(f"CREATE DATABASE {DATABASE}")
    with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
        for statement in trial.scenario.setup:
            try:
                cursor.execute(statement)
            except pymysql.err.Error as error:
                problems.append(f"{statement[:40]}: {error}")
    if not problems and state_of(server, DATABASE) != trial.states[0]:
        problems.append("tables made anew are not as they were made first")
    problems += checks.engine_errors(server, log_size)
    server.kill()
    if not problems:
        trial.work.remove(server)
    return problems


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    """All parts."""
    report = Report(arguments.verbose)
    points = source_points()
    plugin = (arguments.plugin_dir or layout.plugin_dir(arguments.flavour)) / layout.PLUGIN_NAME
    code = plugin.read_bytes()
    for missing in [point for point in points if point.encode() not in code]:
        report.case(f"failpoint {missing}", ["is in the source, not in the plugin: rebuild it"])

    def wanted(name: str) -> bool:
        return not arguments.only or arguments.only.lower() in name.lower()

    die_everywhere(work, points, wanted, report, _MANY if arguments.every_visit else 1)
    for part in (die_while_recovering, die_in_company, die_piecewise):
        part(work, points, wanted, report)
    if not arguments.only:
        for point in points:
            report.case(f"failpoint {point} is reached",
                        [] if point in report.reached else ["no scenario gets there"])
    return Tally(report.passed, report.failed)


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="only scenarios whose names contain this")
    parser.add_argument("--every-visit", action="store_true",
                        help="die at each visit of a point, not only at the first")
    parser.add_argument("--verbose", action="store_true", help="name passed cases too")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    if arguments.flavour == "release":
        return workspace.skip("a release build has no failpoints")
    return workspace.main("failpoints", arguments, run)


if __name__ == "__main__":
    sys.exit(main())
