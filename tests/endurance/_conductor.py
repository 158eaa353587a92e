"""Conducts a run: stretches of load, kills and restarts between them, checkpoints."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pymysql

from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.endurance import _definitions, _judges, _measure, _rows, _xa
from tests.endurance._client import Client, Common
from tests.endurance._definitions import ChangingClient, DefiningClient
from tests.endurance._figures import Figures
from tests.endurance._judges import MIB, MemoryLimits, Sample
from tests.endurance._rows import (ArchiveClient, BankClient, JournalClient, LargeClient, Reader,
                                   TemporaryClient)
from tests.endurance._xa import XaClient
from tests.support import checks, load, replication
from tests.support.journal import Fate
from tests.support.load import Load
from tests.support.replication import Link
from tests.support.workspace import Workspace

_BUFFER_MIB, _CACHE_MIB = 8, 64
_ENGINE = ("--loose-rocksdb-flush-log-at-trx-commit=1",
           f"--loose-rocksdb-write-buffer-size={_BUFFER_MIB}M",
           f"--loose-rocksdb-block-cache-size={_CACHE_MIB}M", "--max-connections=200",
           "--max-binlog-size=64M", "--local-infile=ON")
OPTIONS = (*replication.SOURCE_OPTIONS, *replication.server_id(1), *_ENGINE)
REPLICA_OPTIONS = (*replication.REPLICA_OPTIONS, *replication.server_id(2),
                   *replication.parallel("optimistic", 4), *_ENGINE,
                   "--slave-transaction-retries=1000")
# Up to four memtables, twice that of logs, and what a large transaction writes at once.
_LOGS_MAX = (4 * 4 * _BUFFER_MIB + 256) * MIB
# InnoDB, the server and its sessions; cache and memtables; large transactions and their traces.
LIMITS = MemoryLimits(ceiling=(450 + _CACHE_MIB + 4 * _BUFFER_MIB + 450) * MIB, growth=96 * MIB,
                      warm_up=900)
DATABASES = ("bank", "big", "archive", "brief", "xa", load.DATABASE, _definitions.DATABASE)
_JOURNAL_TABLES, _JOURNAL_ROWS = 3, 1000
# A replica that dies amid these stops at them, with any engine (the user guide).
UNSAFE = (DefiningClient.kind, XaClient.kind, LargeClient.kind, TemporaryClient.kind)
_HANG_SECONDS = 400.0
_IDLE_SECONDS = 300.0
_PROGRESS_SECONDS = 60.0
_SAVE_SECONDS = 5.0


@dataclass(frozen=True)
class Plan:
    """What a run does, in seconds of load."""

    seconds: float
    checkpoint: float
    # Load before an event, at least and at most.
    stretch: tuple[float, float]
    # A cycle begins with kills and restarts; then both servers live on until it ends.
    stormy: float
    cycle: float
    # Processor time that all together may take, in cores.
    cores: float
    scale: float
    # Every so many checkpoints all is compacted.
    compaction: int
    # Names of the events, one after the other; none: drawn.
    events: tuple[str, ...] = ()


class Failed(Exception):
    """The run has found something."""


class Conductor:
    """One run, or what is left of it."""

    def __init__(self, work: Workspace, figures: Figures, plan: Plan) -> None:
        self.figures = figures
        self._work = work
        self._plan = plan
        self._state = work.directory / "state.json"
        self.is_resumed = figures.load_seconds > 0 and (work.directory / "replica").exists()
        if not self.is_resumed:
            self._clear()
        self.source = work.server("source", options=OPTIONS)
        self._chance = random.Random(f"{figures.seed} conductor {figures.load_seconds:.0f}")
        self._link: Link | None = None
        self._clients: list[Client] = []
        self._common: Common | None = None
        self._load: Load | None = None
        self._started: dict[str, float] = {}
        self._called = time.monotonic()
        self._wall_before = figures.wall_seconds
        self._last_progress = time.monotonic()
        self._processor: dict[int, float] = {}
        self._events = 0
        self._last_save = 0.0

    # --- beginning ---

    def prepare(self) -> None:
        """Makes everything, or takes over what an earlier call has left."""
        if self.is_resumed:
            self._resume()
        else:
            self._begin()
        self._make_clients()
        defining = [each for each in self._clients if isinstance(each, DefiningClient)]
        for client in defining:
            client.rebuild(everything=True)
        if self.is_resumed:
            self._after_crash("resume")
        for client in self._clients:
            client.start()
        self._save()

    def _clear(self) -> None:
        """Removes what a call has left that was interrupted before any load."""
        directory = self._work.directory
        for name in ("source", "replica"):
            if (directory / name).exists():
                server = self._work.server(name)
                server.kill()
                self._work.remove(server)
        for path in [*directory.glob("xa.*.txt"), *directory.glob("*.jsonl"),
                     *directory.glob("*.log")]:
            path.unlink()

    def _begin(self) -> None:
        self._start(self.source)
        self._make_load()
        assert self._load is not None
        self._load.create_tables()
        for make in (_rows.MAKE, _xa.MAKE):
            self.source.client(make)
        _definitions.make(self.source)
        self._follow()

    def _resume(self) -> None:
        """Everything may have been killed at any moment, this program and both servers."""
        self.figures.resumes += 1
        self.source.kill()
        replica = self._work.server("replica", options=REPLICA_OPTIONS)
        replica.kill()
        link = Link(self.source, replica)
        self._start(self.source)
        self._make_load()
        self._judge_old_journals()
        self._start(replica)
        replica.query("STOP SLAVE")
        link.begin()
        problems = link.catch_up(source_died=True)
        if problems:
            # It died amid a statement that it cannot take up again, as with any engine.
            self._say(f"the replica is made anew, since it was killed with its source: {problems}")
            self.figures.counts["event replica made anew"] += 1
            replica.kill()
            self._work.remove(replica)
            self._follow()
        else:
            self._link = link

    def _follow(self) -> None:
        """A replica of a copy of the source's data."""
        self.source.query("RESET MASTER")
        self._link = replication.follow_with_copy(self._work, self.source, "replica",
                                                  REPLICA_OPTIONS)
        for server in (self.source, self._link.replica):
            self._has_started(server)

    def _make_load(self) -> None:
        self._load = Load(self.source, self._work.directory, _JOURNAL_TABLES, _JOURNAL_ROWS, 3,
                          _rows.JOURNAL_REFUSALS, _rows.JOURNAL_UNCERTAIN)

    def _judge_old_journals(self) -> None:
        """Acknowledged commits of the interrupted call are there; then journals begin anew."""
        assert self._load is not None
        there = {(client, number) for client, number in self.source.query(
            f"SELECT DISTINCT client, number FROM {load.DATABASE}.history")}
        problems = []
        for journal in self._load.journals:
            for line in _whole_lines(self._work.directory / f"journal.{journal.client}.jsonl"):
                number, fate = json.loads(line)[:2]
                if fate == Fate.ACKNOWLEDGED.value and (journal.client, number) not in there:
                    problems.append(f"client {journal.client}, transaction {number}: lost")
        self._demand(problems, "journals of the interrupted call")
        self._reset_journals()

    def _make_clients(self) -> None:
        assert self._link is not None and self._load is not None
        seed = f"{self.figures.seed} {self.figures.resumes}"
        common = Common(self.source, self._link.replica, self._work.directory, seed,
                        self._plan.scale)
        defining = [DefiningClient(common, number) for number in (1, 2)]
        tables = [name for each in defining
                  for name in (*each.tables, each.partitioned, each.exchanged)]
        self._clients = [
            *(JournalClient(common, journal.client, self._load, journal)
              for journal in self._load.journals),
            *(BankClient(common, number) for number in (1, 2)),
            *(XaClient(common, number) for number in (1, 2)),
            *(Reader(common, number) for number in (1, 2)),
            Reader(common, 3, of_replica=True), LargeClient(common, 1),
            ArchiveClient(common, 1),
            TemporaryClient(common, 1), TemporaryClient(common, 2), *defining,
            *(ChangingClient(common, number, tables) for number in (1, 2))]
        common.counts = self.figures.counts
        common.gate.close(self._kinds())
        self._common = common

    # --- the run ---

    def run(self) -> None:
        """All of it; raises Failed when something is found."""
        next_checkpoint = self.figures.load_seconds + self._plan.checkpoint
        while self.figures.load_seconds < self._plan.seconds:
            least, most = self._plan.stretch
            self._stretch(self._chance.uniform(least, most))
            if self.figures.load_seconds >= self._plan.seconds:
                break
            if self.figures.load_seconds >= next_checkpoint:
                self.checkpoint()
                next_checkpoint = self.figures.load_seconds + self._plan.checkpoint
            elif self.figures.load_seconds % self._plan.cycle < self._plan.stormy:
                self._event()
        self.checkpoint()

    def finish(self) -> None:
        """Both servers end in order, and say nothing that is not expected."""
        assert self._common is not None and self._link is not None
        self._common.gate.end()
        for client in self._clients:
            client.join(60)
        for server in (self._link.replica, self.source):
            server.stop()
        self._demand(self._read_logs(), "the end")
        self._save()

    def _stretch(self, seconds: float) -> None:
        """Load for so long."""
        assert self._common is not None
        gate = self._common.gate
        gate.open(self._kinds())
        began = last = time.monotonic()
        next_kill = began + self._chance.uniform(1, 4)
        while time.monotonic() < began + seconds:
            time.sleep(0.25)
            now = time.monotonic()
            self.figures.load_seconds += now - last
            last = now
            self._watch(now)
            if now - self._last_save > _SAVE_SECONDS:
                self._save()
            if now > next_kill:
                self._kill_somebody()
                next_kill = now + self._chance.uniform(1, 6)

    def _watch(self, now: float) -> None:
        """Whether all live and move; progress, pace, samples."""
        assert self._common is not None
        self._demand(self._common.problems, "load")
        for server in self._servers():
            if server.pid() is None:
                self._demand([f"mariadbd of {server.datadir.name} died by itself, see "
                              f"{server.log}"], "load")
        hanging = [f"{client.name}: a statement runs for {now - client.since:.0f} s"
                   for client in self._clients if client.since and
                   now - client.since > _HANG_SECONDS]
        self._demand(hanging, "load")
        if now - self._last_progress > _PROGRESS_SECONDS:
            self._progress()
        if int(now * 4) % 20 == 0:
            self._set_pace(now)

    def _kinds(self) -> tuple[str, ...]:
        return tuple({client.kind: None for client in self._clients})

    def _servers(self) -> list[Server]:
        assert self._link is not None
        return [self.source, self._link.replica]

    def _kill_somebody(self) -> None:
        """KILL of a session or of its statement, whatever it does at the moment."""
        assert self._common is not None
        with self._common.mutex:
            sessions = sorted(self._common.sessions.items())
        if not sessions:
            return
        (name, thread), kind = self._chance.choice(sessions)
        server = next(server for server in self._servers() if server.datadir.name == name)
        what = self._chance.choice(("QUERY", "QUERY", "CONNECTION"))
        try:
            server.query(f"KILL {what} {thread}")
        except (pymysql.err.Error, OSError):
            return  # it has gone
        self._common.count(f"killed {what.lower()} of {kind}")

    def _set_pace(self, now: float) -> None:
        """Longer pauses when more processor time is taken than wanted, and shorter ones."""
        assert self._common is not None
        used = sum(time.process_time() if pid is None else _measure.processor_seconds(pid)
                   for pid in (None, *(server.pid() for server in self._servers())))
        before, when = self._processor.get(0, 0.0), self._processor.get(1, now)
        self._processor = {0: used, 1: now}
        if now - when < 1 or used < before:
            return
        share = (used - before) / (now - when)
        factor = 1.1 if share > self._plan.cores else 0.93
        self._common.pace = min(max(self._common.pace * factor, 0.05), 50)

    # --- events ---

    def _event(self) -> None:
        """A kill or a restart, by chance."""
        events = {"kill source": self.kill_source, "kill replica": self.kill_replica,
                  "kill both": self.kill_both, "restart source": self.restart_source,
                  "restart replica": self.restart_replica}
        if self._plan.events:
            name = self._plan.events[self._events % len(self._plan.events)]
        else:
            name = self._chance.choices(tuple(events), (3, 2, 1, 1, 1))[0]
        self._events += 1
        events[name]()

    def kill_source(self) -> None:
        """SIGKILL amid everything."""
        self._end([self.source], Server.kill, "source killed")

    def restart_source(self) -> None:
        """An orderly end under load."""
        self._end([self.source], Server.stop, "source restarted")

    def kill_both(self) -> None:
        self._without_unsafe()
        self._end(self._servers(), Server.kill, "both killed")

    def kill_replica(self) -> None:
        """SIGKILL of the replica amid transactions that it can take up again."""
        self._end_replica(Server.kill, "replica killed")

    def restart_replica(self) -> None:
        self._end_replica(Server.stop, "replica restarted")

    def _end(self, servers: Sequence[Server], end: Callable[[Server], object], title: str) -> None:
        """The end of the source, perhaps with the replica's; no transaction begins meanwhile."""
        assert self._common is not None
        self._common.gate.close(self._kinds())
        for server in servers:
            end(server)
        self._note(f"event {title}")
        self._wait_idle(self._kinds())
        for server in servers:
            self._start(server)
        self._after_crash(title)

    def _end_replica(self, end: Callable[[Server], object], title: str) -> None:
        """The end of the replica alone; the load goes on."""
        self._without_unsafe()
        replica = self._servers()[1]
        end(replica)
        self._note(f"event {title}")
        self._start(replica)
        self._pause()
        self._after_crash(title, source_died=False)

    def _without_unsafe(self) -> None:
        """Load that a dying replica can bear, and only that is under way to it."""
        assert self._common is not None and self._link is not None
        self._common.gate.close(UNSAFE)
        self._wait_idle(UNSAFE)
        self._demand(self._link.catch_up(_IDLE_SECONDS), "before the replica's end")
        time.sleep(self._chance.uniform(0.5, 4))

    def _pause(self) -> None:
        assert self._common is not None
        self._common.gate.close(self._kinds())
        self._wait_idle(self._kinds())

    def _wait_idle(self, kinds: Sequence[str]) -> None:
        assert self._common is not None
        if not self._common.gate.wait_empty(kinds, _IDLE_SECONDS):
            self._demand([f"{client.name} does not come to an end: {client.ring[-1:]}"
                          for client in self._clients if client.since], "pause")
        self._demand(self._common.problems, "load")

    def _after_crash(self, title: str, *, source_died: bool = True) -> None:
        """What must hold when servers are there again. The load stands still."""
        assert self._link is not None and self._load is not None
        self._demand(self._link.catch_up(_IDLE_SECONDS, source_died=source_died), title)
        if source_died:
            alignment = _xa.align(*self._servers(), _xa.known_states(self._xa_clients()))
            for line in alignment.done:
                self._say(f"aligned: {line}")
                self._note("event XA transaction aligned")
            self._demand(alignment.problems, title)
            self._settle()
            for client in self._clients:
                if isinstance(client, DefiningClient):
                    client.rebuild()
            self._demand(self._link.catch_up(_IDLE_SECONDS), title)
        problems = self._judge_source()
        if title != "resume":
            problems += self._load.judge().problems
        problems += self._read_logs()
        self._demand(problems, title)
        self._say(f"{title}: nothing is lost")
        self._save()

    def _settle(self) -> None:
        prepared, logged = _xa.prepared_names(self.source), _xa.logged_names(self.source)
        for client in self._xa_clients():
            client.disconnect("silence")
            client.settle(prepared, logged)

    def _xa_clients(self) -> list[XaClient]:
        return [client for client in self._clients if isinstance(client, XaClient)]

    def _judge_source(self) -> list[str]:
        return [*_rows.judge_rows(self.source),
                *_xa.judge_xa(self.source, _xa.known_states(self._xa_clients()))]

    # --- checkpoints ---

    def checkpoint(self) -> None:
        """Everything is looked at, at rest."""
        assert self._link is not None and self._load is not None
        self._pause()
        began = time.monotonic()
        self._progress()
        # The last group of the source's log may be one that is rolled back, logged because it made
        # a temporary table: the replica takes its position and logs nothing, with any engine.
        self.source.query("CREATE DATABASE IF NOT EXISTS bank")
        problems = self._link.catch_up(_IDLE_SECONDS)
        if not problems:
            problems += self._link.compare(DATABASES)
            problems += _rows.judge_rows(self._link.replica)
            problems += _xa.judge_xa(self._link.replica, _xa.known_states(self._xa_clients()))
        problems += self._judge_source() + self._load.judge().problems
        found: dict[str, object] = {"load_seconds": self.figures.load_seconds,
                                    "problems": problems, "servers": {}}
        if not problems:
            self._forget_decided()
            self._reset_journals()
            problems += self._link.catch_up(_IDLE_SECONDS)
            is_compacted = len(self.figures.checkpoints) % self._plan.compaction == 0
            for server in self._servers():
                problems += self._measure(server, found, is_compacted=is_compacted)
            problems += _judges.memory_problems(
                [Sample(**sample) for sample in self.figures.samples], LIMITS)
            problems += self._read_logs()
            self._purge_logs()
        found["seconds"] = time.monotonic() - began
        self.figures.checkpoints.append(found)
        self._demand(problems, "checkpoint")
        self._say(f"checkpoint {len(self.figures.checkpoints)}: all is well, "
                  f"{found['seconds']:.0f} s")
        self._save()

    def _measure(self, server: Server, found: dict[str, object], *,
                 is_compacted: bool) -> list[str]:
        """Space, memory, files and threads of one server."""
        name = server.datadir.name
        if is_compacted:
            with server.connect() as connection, connection.cursor() as cursor:
                for table in checks.rocksdb_tables(server):
                    cursor.execute(f"OPTIMIZE NO_WRITE_TO_BINLOG TABLE {table}")
        server.query("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
        rows = _measure.index_space(server)
        problems = _judges.space_problems(rows, _measure.table_files(server))
        sizes = self._directory(server, sum(row.size for row in rows))
        problems += _judges.directory_problems(sizes, _LOGS_MAX)
        if is_compacted:
            series = self.figures.compacted.setdefault(name, [])
            series.append((sizes.tables, self._rows_of(server)))
            problems += _judges.compacted_problems(series)
        sample = self._sample(server)
        found["servers"][name] = {**asdict(sample), **asdict(sizes),  # type: ignore[index]
                                  "indexes": len(rows)}
        self.figures.samples.append(asdict(sample))
        return [f"{name}: {problem}" for problem in problems]

    def _directory(self, server: Server, live: int) -> _judges.Directory:
        """The sizes, once files that nobody needs have had the time to go."""
        deadline = time.monotonic() + 60
        while True:
            sizes = _measure.directory(server, live)
            if not _judges.directory_problems(sizes, _LOGS_MAX) or time.monotonic() > deadline:
                return sizes
            time.sleep(1)

    def _rows_of(self, server: Server) -> int:
        return sum(int(server.query(f"SELECT COUNT(*) FROM {table}")[0][0])
                   for table in checks.rocksdb_tables(server))

    def _sample(self, server: Server) -> Sample:
        name, pid = server.datadir.name, server.pid()
        return Sample(name, self.figures.incarnations[name],
                      self.figures.load_seconds - self._started[name], _measure.resident(pid),
                      _measure.open_files(pid), _measure.threads(pid))

    def _forget_decided(self) -> None:
        """Decided XA transactions have been judged."""
        for client in self._xa_clients():
            with self.source.connect(database="xa") as connection, connection.cursor() as cursor:
                for number in client.journal.forget():
                    # By whole keys: a scan would wait for those that are prepared.
                    cursor.execute("DELETE FROM log WHERE client = %s AND number = %s",
                                   (client.number, number))

    def _reset_journals(self) -> None:
        """What the tables have is where journals begin."""
        assert self._load is not None
        self.source.query(f"TRUNCATE TABLE {load.DATABASE}.history")
        for name in self._load.tables:
            self.source.query(f"UPDATE {load.DATABASE}.{name} SET version = 0, client = 0, "
                              "number = 0")
        for journal in self._load.journals:
            journal.attempts.clear()
            (self._work.directory / f"journal.{journal.client}.jsonl").unlink(missing_ok=True)

    def _purge_logs(self) -> None:
        for server in self._servers():
            server.query("FLUSH BINARY LOGS")
            last = server.query("SHOW BINARY LOGS")[-1][0]
            server.query(f"PURGE BINARY LOGS TO '{last}'")

    def _read_logs(self) -> list[str]:
        """Problems in what the error logs have since they were read."""
        problems: list[str] = []
        for server in self._servers():
            name = server.datadir.name
            data = server.log.read_bytes()[self.figures.log_read.get(name, 0):]
            data = data[:data.rfind(b"\n") + 1]
            self.figures.log_read[name] = self.figures.log_read.get(name, 0) + len(data)
            problems += [f"{name}: {line}" for line in
                         _judges.log_problems(data.decode(errors="replace"))]
        return problems

    # --- small parts ---

    def _start(self, server: Server) -> None:
        server.start(timeout=300)
        self._has_started(server)

    def _has_started(self, server: Server) -> None:
        name = server.datadir.name
        self.figures.incarnations[name] = self.figures.incarnations.get(name, 0) + 1
        self._started[name] = self.figures.load_seconds
        if self._common is not None:
            with self._common.mutex:
                for key in [key for key in self._common.sessions if key[0] == name]:
                    del self._common.sessions[key]

    def _note(self, name: str) -> None:
        self.figures.counts[name] += 1
        self._say(name)

    def _progress(self) -> None:
        self._last_progress = time.monotonic()
        counts = self.figures.counts
        sizes = ", ".join(f"{server.datadir.name} {_measure.resident(server.pid()) / MIB:.0f} MiB"
                          for server in self._servers())
        self._say(f"{self.figures.total('transactions '):,} transactions, "
                  f"{counts['statements']:,} statements, "
                  f"{self.figures.total('definition '):,} definitions, "
                  f"{counts['event source killed'] + counts['event both killed']} kills of the "
                  f"source; {sizes}; pace {self._common.pace if self._common else 0:.2f}")
        self._save()

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')}  {self.figures.load_seconds / 60:7.1f} min of load: "
              f"{text}", flush=True)

    def _save(self) -> None:
        self._last_save = time.monotonic()
        self.figures.wall_seconds = self._wall_before + self._last_save - self._called
        mutex = self._common.mutex if self._common is not None else None
        if mutex is None:
            self.figures.save(self._state)
            return
        with mutex:
            self.figures.save(self._state)

    def _demand(self, problems: Sequence[str], where: str) -> None:
        """Ends the run if there are problems."""
        if not problems:
            return
        self.figures.problems += [f"{where}: {problem}" for problem in problems]
        self._save()
        raise Failed(f"{where}: " + "\n  ".join(problems[:40]))

    def dump(self, cause: str) -> Path:
        """Writes all that is known at a failure into a file."""
        path = self._work.directory / f"failure.{time.strftime('%Y%m%d-%H%M%S')}.txt"
        parts = [f"seed {self.figures.seed}, after {self.figures.load_seconds:.0f} s of load\n",
                 cause, "\n"]
        # At once: clients go on meanwhile.
        rings = {client.name: list(client.ring) for client in self._clients}
        for server in self._servers() if self._link is not None else [self.source]:
            for title, sql in (("sessions", "SHOW FULL PROCESSLIST"), ("XA", "XA RECOVER"),
                               ("slave", "SHOW SLAVE STATUS"),
                               ("engine", "SHOW ENGINE ROCKSDB STATUS")):
                parts.append(f"\n== {server.datadir.name}: {title}\n" + _answer(server, sql))
            parts.append(f"\n== {server.datadir.name}: stacks\n" + _stacks(server.pid()))
        for client in self._clients:
            parts.append(f"\n== {client.name}\n" + "\n".join(rings[client.name]) + "\n")
            if isinstance(client, XaClient):
                parts.append(f"states: {client.journal.states}\n")
            if isinstance(client, DefiningClient):
                parts.append(f"doubtful: {client.doubtful}\n")
        path.write_text("".join(parts))
        return path


def guarded(conductor: Conductor, part: Callable[[], None]) -> bool:
    """Runs a part of a run; False, with everything written down, when it finds something."""
    try:
        part()
        return True
    except (Failed, BasaltError, pymysql.err.Error, OSError) as error:
        text = error.message if isinstance(error, BasaltError) else str(error)
        print(f"FAILED: {type(error).__name__}: {text}", flush=True)
        path = conductor.dump(f"{type(error).__name__}: {text}")
        if not isinstance(error, Failed):
            conductor.figures.problems.append(f"{type(error).__name__}: {text}")
        print(f"what clients did last, and the servers' state: {path}", flush=True)
        return False


def _whole_lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    text = path.read_text()
    return text[:text.rfind("\n") + 1].splitlines()


def _answer(server: Server, sql: str) -> str:
    try:
        return "\n".join(map(str, server.query(sql))) + "\n"
    except (pymysql.err.Error, OSError) as error:
        return f"{error}\n"


def _stacks(pid: int | None) -> str:
    """Stacks of all threads, where a debugger is installed."""
    if pid is None or shutil.which("gdb") is None:
        return "none\n"
    try:
        return subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 25"],
                              capture_output=True, text=True, check=False, timeout=120).stdout
    except subprocess.TimeoutExpired:
        return "gdb gave no answer\n"
