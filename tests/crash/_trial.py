"""One scenario: its data, the states it goes through, its deaths and what follows them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator

import pymysql
from pymysql.cursors import Cursor

from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.crash._scenarios import DATABASE, Scenario
from tests.crash._state import OTHERS, State, describe, state_of
from tests.support import checks
from tests.support.binlog import BinlogReplay
from tests.support.workspace import Workspace

BINLOG = ("--log-bin=binlog", "--sync-binlog=1", "--binlog-format=ROW", "--server-id=1")
_DEATH_SECONDS = 10.0
# For one that has lost its clients, and so is dying.
_PATIENCE = 120.0


class Trial:
    """One scenario: its data before the first step, the states it goes through, its deaths."""

    def __init__(self, work: Workspace, number: int, scenario: Scenario) -> None:
        self.work = work
        self.scenario = scenario
        self.name = f"scenario-{number}"
        self.states: list[State] = []
        self._servers = 0
        self._base = self._server("base")
        self._prepare()

    def die(self, point: str, visit: int) -> tuple[Server, int] | None:
        """Runs the steps up to the crash; the dead server, and how many steps it acknowledged.

        None when the visit never comes.
        """
        server = self._server(f"{point}-{visit}", f"{point}:{visit}")
        server.start()
        done = 0
        try:
            with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
                for step in self.scenario.steps:
                    for statement in step:
                        cursor.execute(statement)
                    done += 1
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError) as error:
            if not wait_for_death(server, _PATIENCE):
                raise BasaltError(f"{self.scenario.name}: {error}") from error
            return server, done
        if self.scenario.waits_for_death and wait_for_death(server, _DEATH_SECONDS):
            return server, done
        server.kill()
        self.work.remove(server)
        return None

    def after(self, server: Server, point: str, done: int) -> list[str]:
        """Restarts the dead server and checks everything; then throws it away, if all is well."""
        server.environment.pop("BASALT_FAILPOINT", None)
        log_size = server.log.stat().st_size
        try:
            server.start()
            problems = self._check(server, point, done)
        except (BasaltError, pymysql.err.Error) as error:
            problems = [f"after the crash: {error}"]
        problems += checks.engine_errors(server, log_size)
        server.kill()
        if problems:
            problems.append(f"data: {server.datadir}")
        else:
            self.work.remove(server)
        return problems

    def finish(self) -> None:
        self.work.remove(self._base)

    def _server(self, name: str, failpoint: str = "") -> Server:
        """A server; with a failpoint on a copy of the base's data."""
        self._servers += 1
        name = f"{self.name}-{self._servers}-{name}"
        environment = {"BASALT_FAILPOINT": failpoint} if failpoint else {}
        if failpoint:
            shutil.copytree(self._base.datadir, self.work.directory / name)
        return self.work.server(name, environment=environment,
                                options=BINLOG if self.scenario.has_binlog else ())

    def _prepare(self) -> None:
        """Makes the data; runs the steps once to see the states; ends with the data as before."""
        server = self._base
        server.start()
        server.query(f"CREATE DATABASE {DATABASE}")
        with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            for statement in self.scenario.setup:
                cursor.execute(statement)
            if self.scenario.exported:
                self._give_files(*self.scenario.exported, cursor)
        if self.scenario.has_binlog:
            replay = self._replay(server)
            if replay:
                replay.create_copies()
            server.query("RESET MASTER")
        server.stop()
        model = self._server("model", "none:1")
        model.start()
        self.states.append(state_of(model, DATABASE))
        with model.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            for step in self.scenario.steps:
                for statement in step:
                    cursor.execute(statement)
                self.states.append(state_of(model, DATABASE))
        model.kill()
        self.work.remove(model)

    def _give_files(self, source: str, target: str, cursor: Cursor) -> None:
        """Gives a table the files of another one, to be imported."""
        cursor.execute(f"FLUSH TABLES {source} FOR EXPORT")
        directory = self._base.datadir / DATABASE
        for path in directory.glob(f"{source}.*"):
            if path.suffix != ".frm":
                shutil.copy(path, directory / path.name.replace(source, target, 1))
        cursor.execute("UNLOCK TABLES")

    def _replay(self, server: Server) -> BinlogReplay | None:
        return BinlogReplay(server, [DATABASE]) if self.scenario.replays_binlog else None

    def _check(self, server: Server, point: str, done: int) -> list[str]:
        problems = checks.check_tables(server) + checks.left_tables(server)
        found = state_of(server, DATABASE)
        step = self._step_of(found, done)
        if step is None:
            expected = [describe(state) for state in self.states[done:done + 2]]
            return [*problems, f"found     {describe(found)}",
                    *(f"expected  {text}" for text in expected),
                    *_differences(found, self.states[done])]
        for beginning, is_done in self.scenario.decided:
            if point.startswith(beginning) and done < len(self.scenario.steps):
                if is_done != (step > done):
                    problems.append(f"the step is {'done' if step > done else 'undone'}; at this "
                                    f"point it must be {'done' if is_done else 'undone'}")
        problems += self._check_binlog(server, step)
        problems += self._go_on(server, step)
        return problems + checks.check_tables(server) + checks.left_tables(server)

    def _step_of(self, found: State, done: int) -> int | None:
        """The number of steps that are done, by the data: `done` or one more."""
        # Steps may leave things as they were: then the later state is meant.
        for step in (done, done + 1):
            if step < len(self.states) and found == self.states[step]:
                return step
        return None

    def _check_binlog(self, server: Server, step: int) -> list[str]:
        replay = self._replay(server)
        if replay:
            problems = replay.catch_up() + replay.compare()
            return [f"binary log: {problem}" for problem in problems]
        verb = self.scenario.ddl_verb
        if not verb or not self.scenario.has_binlog:
            return []
        is_logged = any(verb in _binlog_text(server, name).upper()
                        for (name, *_) in server.query("SHOW BINARY LOGS"))
        if is_logged == (step > 0):
            return []
        return [f"the binary log {'has' if is_logged else 'lacks'} the {verb}; "
                f"the tables {'have' if step else 'lack'} its effect"]

    def _go_on(self, server: Server, step: int) -> list[str]:
        """Does the rest of the steps."""
        with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            for statements in self.scenario.steps[step:]:
                for statement in statements:
                    try:
                        cursor.execute(statement)
                    except pymysql.err.Error as error:
                        return [f"going on, {statement[:60]}: {error}"]
        found = state_of(server, DATABASE)
        if _without_rows_of_counter(found) == _without_rows_of_counter(self.states[-1]):
            return []
        return [f"gone on to  {describe(found)}", f"expected    {describe(self.states[-1])}",
                *_differences(found, self.states[-1])]


def _without_rows_of_counter(state: State) -> State:
    """The state, less the generated ids of new rows: a crash may skip some."""
    result: State = {}
    for name, value in state.items():
        if name not in OTHERS and "AUTO_INCREMENT" in value[0]:
            value = (value[0], sorted((row[1:] for row in value[1]), key=repr))
        result[name] = value
    return result


def _differences(found: State, expected: State) -> Iterator[str]:
    for name in sorted(found.keys() | expected.keys()):
        if name not in expected:
            yield f"table {name} should not be there"
        elif name not in found:
            yield f"table {name} is missing"
        elif name in OTHERS:
            if found[name] != expected[name]:
                yield f"{name}: {found[name]}"
        elif found[name] != expected[name]:
            if found[name][0] != expected[name][0]:
                yield f"table {name} is defined as {found[name][0]}"
            for line in checks.difference(found[name][1], expected[name][1],
                                          ("the table", "what is expected"), 3):
                yield f"{name}: {line}"


def _binlog_text(server: Server, name: str) -> str:
    return "\n".join(str(row[5]) for row in server.query(f"SHOW BINLOG EVENTS IN '{name}'"))


def wait_for_death(server: Server, seconds: float) -> bool:
    """Whether the server dies by itself within that time."""
    deadline = time.monotonic() + seconds
    while server.pid() is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    server.kill()  # collects the exit code
    return True
