"""The machine stops: whole servers start from what their disks hold then.

Usage: ./basalt python tests/crash/power_loss.py [--images N] [--seconds S] [--clients C] [--seed N]

Servers write down what they do to their files (_journal_shim.c). From that it is made what a disk
may hold if the machine stops at some sync: what was synced, and any part of what was not
(_disk.py). A server starts from each such image, and then:

  - what a client was told is committed is there; what had not begun is not
  - CHECK TABLE EXTENDED of all tables is clean, and a transaction's tables agree
  - with a binary log, a transaction that changed tables of two engines is in both or in none;
    without, the server's recovery leaves that open (docs/user-guide.md), and only this engine's
    part is asked for
  - an XA transaction that its client was told is committed does not wait for a decision
  - the binary log has what the tables have
  - a replica has exactly what the position says that it has stored, follows the source again and
    gets all the rest

Three scenes: a server with a binary log; one without; a source with three replicas: with a binary
log, without one and the position in a table of the engine, and without one and the position in
InnoDB. The last stops when it has been idle for so long that the position is on disk for sure. All
logs are synced at each commit. Half of the clients, and one replica, have their changes moved to
files with each row. The servers of the first two scenes are stopped in order at the end,
and the machine stops meanwhile, too.
BASALT_TEST_POWER_LOSSES in the environment is another way to say --images.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import pymysql

from basaltcli.errors import BasaltError
from basaltcli.server import Server
from tests.crash._disk import Disk, Recording
from tests.support import checks, replication, workspace
from tests.support.replication import Link
from tests.support.workspace import Tally, Workspace

_DATABASE = "power"
_IDLE = "replica without binary log, position in InnoDB"
# InnoDB writes and syncs its log every second.
_IDLE_SECONDS = 2.5
# Asynchronous I/O passes the shim by.
_COMMON = ("--innodb-use-native-aio=0", "--innodb-flush-log-at-trx-commit=1",
           "--loose-rocksdb-flush-log-at-trx-commit=1", "--loose-rocksdb-write-buffer-size=1M")
_SPILLS = "rocksdb-write-batch-spill-bytes=1"
_BINLOG = ("--log-bin=binlog", "--sync-binlog=1", "--binlog-format=ROW")
_REPLICA = ("--relay-log=relay", "--relay-log-recovery=1", "--gtid-strict-mode=1")
_MAKE = f"""
CREATE DATABASE {_DATABASE}; USE {_DATABASE};
CREATE TABLE r (client INT, n INT, payload VARCHAR(4000), PRIMARY KEY (client, n),
                UNIQUE KEY (n, client), KEY (payload(20))) ENGINE=ROCKSDB;
CREATE TABLE c (client INT PRIMARY KEY, v INT, KEY (v)) ENGINE=ROCKSDB;
CREATE TABLE i (client INT, n INT, PRIMARY KEY (client, n)) ENGINE=InnoDB;
"""
# The first change in an engine makes a replica's table of positions there, and is itself written in
# two engines, together by a log that is mapped into memory: the shim sees nothing of that.
_FIRST_ROW = f"INSERT INTO {_DATABASE}.c VALUES (0, 0); DELETE FROM {_DATABASE}.c;"
_INSERT = re.compile(r"^### INSERT INTO `power`\.`r`$")
_COLUMN = re.compile(r"^###   @[12]=(\d+)")
_GTID = re.compile(r"\tGTID \d+-\d+-(\d+)")
Key = tuple[int, int]  # client and number


@dataclass
class Attempt:
    """A transaction; positions are those of the journal."""

    kind: str  # "plain", "two engines", "XA", "XA in one phase"
    begun: int
    acknowledged: int | None = None


class Client(threading.Thread):
    """Commits one transaction after the other."""

    def __init__(self, number: int, recording: Recording | _At, kinds: tuple[str, ...],
                 seed: int) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.attempts: dict[Key, Attempt] = {}
        self.error = ""
        self._recording = recording
        self._kinds = kinds
        self._chance = random.Random(f"{seed} {number}")
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self.join(60)

    def run(self) -> None:
        try:
            with (self._recording.server.connect(database=_DATABASE) as connection,
                  connection.cursor() as cursor):
                cursor.execute("INSERT INTO c VALUES (%s, 0)", (self.number,))
                if self.number % 2 == 0:
                    cursor.execute(f"SET {_SPILLS.replace('-', '_')}")
                n = 0
                while not self._stopping.is_set():
                    n += 1
                    attempt = Attempt(self._chance.choice(self._kinds), self._recording.position())
                    self.attempts[self.number, n] = attempt
                    self._commit(cursor, attempt.kind, n)
                    attempt.acknowledged = self._recording.position()
        except pymysql.err.Error as error:
            self.error = f"client {self.number}: {error}"

    def _commit(self, cursor: pymysql.cursors.Cursor, kind: str, n: int) -> None:
        name = f"'{self.number}-{n}'"
        is_xa = kind.startswith("XA")
        cursor.execute(f"XA START {name}" if is_xa else "BEGIN")
        payload = chr(97 + n % 26) * self._chance.randint(1, 3000)
        cursor.execute("INSERT INTO r VALUES (%s, %s, %s)", (self.number, n, payload))
        cursor.execute("UPDATE c SET v = v + 1 WHERE client = %s", (self.number,))
        if kind == "two engines":
            cursor.execute("INSERT INTO i VALUES (%s, %s)", (self.number, n))
        if is_xa:
            cursor.execute(f"XA END {name}")
        if kind == "XA":
            cursor.execute(f"XA PREPARE {name}")
        last = f"XA COMMIT {name}" + (" ONE PHASE" if kind == "XA in one phase" else "")
        cursor.execute(last if is_xa else "COMMIT")


class Test:
    """The scenes, and the tally of their images."""

    def __init__(self, work: Workspace, arguments: argparse.Namespace) -> None:
        self._work = work
        self._arguments = arguments
        self._chance = random.Random(arguments.seed)
        self.passed = self.failed = 0

    def scene(self, title: str, options: tuple[str, ...]) -> None:
        """A server alone, loaded and then stopped."""
        server = self._work.server(title.replace(" ", "-"), options=(*_COMMON, *options))
        server.start()
        server.client(_MAKE)
        server.stop()
        recording = Recording(self._work.directory, server)
        server.start()
        clients = self._load(recording, ("plain", "two engines", "XA", "XA in one phase"))
        # InnoDB syncs its last commits after the binary log is closed, which then has no answer for
        # those that a crash has left prepared: not our matter.
        time.sleep(_IDLE_SECONDS)
        clients += self._load(recording, ("plain",), first=self._arguments.clients + 1, seconds=0.3)
        stop_begins = recording.position()
        server.stop()
        attempts = self._attempts(clients)
        disk = recording.disk(self._arguments.seed)
        positions = disk.positions()
        stopping = [position for position in positions if position > stop_begins]
        count = self._arguments.images
        chosen = self._some(positions, count - count // 3) + self._some(stopping, count // 3)
        for position in sorted(chosen):
            disk.go_to(position)
            image = self._image(server, disk, (*_COMMON, *options))
            self._case(f"{title}, byte {position} of the journal"
                       + (", while it stops" if position > stop_begins else ""), image,
                       lambda image=image, position=position: self._check(
                           image, attempts, position, "--log-bin=binlog" in options))
        self._compare_files(title, disk, server)
        print(f"{title}: {len(attempts)} transactions, {len(positions)} syncs, "
              f"{len(chosen)} images", flush=True)

    def replicas(self) -> None:
        """A source and its replicas."""
        options = (*_COMMON, *_BINLOG, *replication.server_id(1))
        source = self._work.server("source", options=options)
        of_replica = (*_COMMON, *_REPLICA, *replication.parallel("optimistic", 4))
        forms = {"replica with binary log": (*of_replica, *_BINLOG, "--log-slave-updates",
                                             f"--loose-{_SPILLS}", *replication.server_id(2)),
                 "replica without binary log": (*of_replica, "--gtid-pos-auto-engines=rocksdb",
                                                "--server-id=3"),
                 _IDLE: (*of_replica, "--server-id=4")}
        links = {title: Link(source, self._work.server(re.sub("[ ,]+", "-", title), options=form))
                 for title, form in forms.items()}
        source.start()
        for link in links.values():
            link.replica.start()
            link.begin()
        source.client(_MAKE + _FIRST_ROW)
        recordings = {}
        for title, link in links.items():
            self._must(link.catch_up())
            if "--gtid-pos-auto-engines=rocksdb" in forms[title]:
                self._must(self._wait_for_own_position(link))
            link.replica.stop()
            recordings[title] = Recording(self._work.directory, link.replica)
            link.replica.start()
        clients = self._load(recordings[_IDLE], ("plain",), source)
        for link in links.values():
            self._must(link.catch_up())
        time.sleep(_IDLE_SECONDS)
        for link in links.values():
            link.replica.kill()
        attempts = self._attempts(clients)
        sequence = self._sequence_of(source)
        for title, recording in recordings.items():
            disk = recording.disk(self._arguments.seed)
            positions = self._some(disk.positions(), self._arguments.images // 2 + 1)
            if title == _IDLE:
                positions = [recording.position()]
            for position in sorted(positions):
                disk.go_to(position)
                image = self._image(links[title].replica, disk,
                                    (*forms[title], "--skip-slave-start"))
                self._case(f"{title}, byte {position} of the journal", image,
                           lambda image=image: self._check_replica(source, image, sequence))
            self._compare_files(title, disk, links[title].replica)
            print(f"{title}: {len(attempts)} transactions, {len(positions)} images", flush=True)
        source.stop()

    # ---- steps

    @staticmethod
    def _wait_for_own_position(link: Link) -> list[str]:
        """Waits for the table of positions in our engine; returns what is wrong."""
        query = ("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql' "
                 "AND TABLE_NAME LIKE 'gtid\\_slave\\_pos\\_%' AND ENGINE = 'ROCKSDB'")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if link.replica.query(query):
                return []
            time.sleep(0.05)
        return ["the replica made no table of positions in our engine"]

    def _load(self, recording: Recording, kinds: tuple[str, ...], server: Server | None = None, *,
              first: int = 1, seconds: float | None = None) -> list[Client]:
        where = recording if server is None else _At(server, recording)
        clients = [Client(number, where, kinds, self._arguments.seed)
                   for number in range(first, first + self._arguments.clients)]
        for client in clients:
            client.start()
        time.sleep(self._arguments.seconds if seconds is None else seconds)
        for client in clients:
            client.stop()
            self._must([client.error] if client.error else [])
        return clients

    @staticmethod
    def _attempts(clients: list[Client]) -> dict[Key, Attempt]:
        return {key: attempt for client in clients for key, attempt in client.attempts.items()}

    @staticmethod
    def _must(problems: list[str]) -> None:
        if problems:
            raise BasaltError("; ".join(problems), "look into the logs of the servers")

    def _some(self, positions: list[int], count: int) -> list[int]:
        return self._chance.sample(positions, min(count, len(positions)))

    def _image(self, server: Server, disk: Disk, options: tuple[str, ...]) -> Server:
        directory = server.datadir.with_name(server.datadir.name + ".image")
        shutil.rmtree(directory, ignore_errors=True)
        directory.with_name(directory.name + ".log").unlink(missing_ok=True)
        directory.mkdir()
        disk.write(directory)
        return self._work.server(directory.name, options=options)

    def _case(self, title: str, image: Server, check: Callable[[], list[str]]) -> None:
        try:
            image.start()
            problems = check() + checks.engine_errors(image)
        except (BasaltError, pymysql.err.Error) as error:
            problems = [f"after the machine stopped: {error}"]
        image.kill()
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)
        if not problems:
            self._work.remove(image)
            return
        kept = image.datadir.with_name(f"{image.datadir.name}-{self.failed}")
        shutil.rmtree(kept, ignore_errors=True)
        image.datadir.rename(kept)
        shutil.copy(image.log, kept.with_name(kept.name + ".log"))
        print(f"FAILED  {title}; seed {self._arguments.seed}; {kept}", flush=True)
        for problem in problems[:10]:
            print(f"        {problem}", flush=True)

    def _compare_files(self, title: str, disk: Disk, server: Server) -> None:
        problems = disk.compare(server.datadir)
        if problems:
            self.failed += 1
            print(f"FAILED  {title}: calls that the journal does not have", flush=True)
            for problem in problems[:10]:
                print(f"        {problem}", flush=True)

    def _check(self, image: Server, attempts: dict[Key, Attempt], position: int,
               has_binlog: bool) -> list[str]:
        rows = {(client, n) for client, n in image.query(f"SELECT client, n FROM {_DATABASE}.r")}
        problems = _check_rows(image, rows)
        waiting = {str(row[3]) for row in image.query("XA RECOVER")}
        in_both = set(image.query(f"SELECT client, n FROM {_DATABASE}.i"))
        for key, attempt in attempts.items():
            is_there = key in rows
            if attempt.acknowledged is not None and attempt.acknowledged <= position:
                if not is_there:
                    state = "waits" if f"{key[0]}-{key[1]}" in waiting else "is gone"
                    problems.append(f"{attempt.kind} {key} was acknowledged and {state}")
            elif attempt.begun >= position and is_there:
                problems.append(f"{attempt.kind} {key} had not begun and is there")
            if has_binlog and attempt.kind == "two engines" and (key in in_both) != is_there:
                problems.append(f"{attempt.kind} {key} is in one of them")
        if has_binlog:
            logged = set(_sequence(image))
            plain = {key for key in rows if not attempts[key].kind.startswith("XA")}
            problems += [f"{attempts[key].kind} {key} is in the table and not in the binary log"
                         for key in sorted(plain - logged)]
            problems += [f"{attempts[key].kind} {key} is in the binary log and not in the table"
                         for key in sorted(logged - rows)
                         if not attempts[key].kind.startswith("XA")]
        return problems

    @staticmethod
    def _sequence_of(source: Server) -> dict[Key, int]:
        source.query("FLUSH BINARY LOGS")
        return _sequence(source)

    @staticmethod
    def _check_replica(source: Server, image: Server, sequence: dict[Key, int]) -> list[str]:
        stored = str(image.query("SELECT @@gtid_slave_pos")[0][0])
        last = int(stored.rpartition("-")[2] or 0)
        rows = {(client, n) for client, n in image.query(f"SELECT client, n FROM {_DATABASE}.r")}
        problems = _check_rows(image, rows)
        for key, number in sequence.items():
            if (number <= last) != (key in rows):
                problems.append(f"the position is {stored}, and {key}, which is number {number}, "
                                + ("is there" if key in rows else "is not there"))
        if problems:
            return problems
        link = Link(source, image)
        link.begin()
        problems = link.catch_up()
        if not problems:
            for table in ("r", "c", "i"):
                here, there = (server.query(f"SELECT * FROM {_DATABASE}.{table} ORDER BY 1, 2")
                               for server in (source, image))
                problems += checks.difference(here, there, ("the source", "the replica"))
            problems += checks.check_tables(image)
        return problems


class _At:
    """A server that is loaded, and the journal of another one."""

    def __init__(self, server: Server, recording: Recording) -> None:
        self.server = server
        self.position = recording.position


def _check_rows(image: Server, rows: set[Key]) -> list[str]:
    problems = checks.check_tables(
        image, [f"{_DATABASE}.{table} EXTENDED" for table in ("r", "c", "i")])
    counts = dict(image.query(f"SELECT client, v FROM {_DATABASE}.c"))
    for client, count in counts.items():
        found = sum(key[0] == client for key in rows)
        if found != count:
            problems.append(f"client {client} has {found} rows, and has counted {count}")
    return problems


def _sequence(server: Server) -> dict[Key, int]:
    """By transaction, where it comes in the server's binary log."""
    release = server.release
    text = ""
    # One by one: each may end in the middle of an event, and that ends its decoding.
    for file in sorted(server.datadir.glob("binlog.0*")):
        decoded = subprocess.run(
            [str(release.program("mariadb-binlog")), "--no-defaults", "--verbose",
             "--base64-output=decode-rows",
             f"--character-sets-dir={release.usr}/share/mysql/charsets", str(file)],
            capture_output=True, check=False)
        text += decoded.stdout.decode(errors="replace")
    sequence: dict[Key, int] = {}
    number, columns, open_keys, is_insert = 0, [], [], False
    for line in text.splitlines():
        if found := _GTID.search(line):
            number, open_keys = int(found[1]), []
        if line.startswith("### INSERT") or line.startswith("### UPDATE"):
            is_insert, columns = _INSERT.match(line) is not None, []
        elif is_insert and (found := _COLUMN.match(line)):
            columns.append(int(found[1]))
            if len(columns) == 2:
                open_keys.append((columns[0], columns[1]))
        elif line.startswith("COMMIT"):
            sequence.update((key, number) for key in open_keys)
            open_keys = []
    return sequence


def run(work: Workspace, arguments: argparse.Namespace) -> Tally:
    if work.directory.is_relative_to("/dev/shm"):
        raise BasaltError(f"{work.directory} is in memory, where InnoDB writes without calls",
                          "set TMPDIR to a directory on a disk")
    test = Test(work, arguments)
    scenes = arguments.scenes.split(",")
    if "binlog" in scenes:
        test.scene("server with binary log", (*_BINLOG, *replication.server_id(1)))
    if "alone" in scenes:
        test.scene("server without binary log", ())
    if "replicas" in scenes:
        test.replicas()
    return Tally(test.passed, test.failed)


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--images", type=int,
                        default=int(os.environ.get("BASALT_TEST_POWER_LOSSES", "4")),
                        help="of each server (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of load")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--scenes", default="binlog,alone,replicas")
    workspace.add_seed(parser)
    return parser.parse_args()


if __name__ == "__main__":
    parsed = parse()
    sys.exit(workspace.main("power", parsed, run))
