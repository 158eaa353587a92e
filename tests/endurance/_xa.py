"""XA transactions that are prepared by one session and decided by another, perhaps after a crash.

Every step is written to a file before it is taken and after it is acknowledged, so that what must
be prepared and what must be there is known after any interruption, of the run itself, too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from basaltcli.server import Server
from tests.endurance import _judges
from tests.endurance._client import COMMON, DEFINED_ANEW, Client, Common
from tests.endurance._judges import (BEGUN, COMMITTED, COMMITTING, ONE_PHASE, PREPARED, ROLLED_BACK,
                                     ROLLING_BACK)

ACCOUNTS = 400
_BALANCE = 1000
MAKE = f"""
CREATE DATABASE xa; USE xa;
CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY (balance)) ENGINE=ROCKSDB;
INSERT INTO accounts SELECT seq, {_BALANCE} FROM seq_1_to_{ACCOUNTS};
CREATE TABLE log (client INT, number BIGINT, PRIMARY KEY (client, number), KEY (number))
  ENGINE=ROCKSDB;
"""
# That many stay undecided before the oldest is.
_OPEN_MAX = 3
_DECIDE_SECONDS = 120
_DECIDED = (COMMITTED, ROLLED_BACK)


class XaJournal:
    """States of the transactions of one client, in a file. One thread at a time."""

    def __init__(self, client: int, path: Path) -> None:
        self.client = client
        self.states: dict[int, str] = {}
        self.last = 0
        self._path = path
        if path.exists():
            for line in path.read_text().splitlines():
                number, _, state = line.partition(" ")
                if state:  # the last line may be half one
                    self.states[int(number)] = state
                    self.last = max(self.last, int(number))

    def note(self, number: int, state: str) -> None:
        self.states[number] = state
        self.last = max(self.last, number)
        with self._path.open("a") as file:
            file.write(f"{number} {state}\n")

    def name(self, number: int) -> str:
        return f"c{self.client}_{number}"

    def forget(self) -> list[int]:
        """Forgets decided transactions, and returns their numbers."""
        gone = [number for number, state in self.states.items() if state in _DECIDED]
        self.states = {number: state for number, state in self.states.items()
                       if state not in _DECIDED}
        lines = [f"{self.last} {ROLLED_BACK}\n"] if self.last not in self.states else []
        fresh = self._path.with_suffix(".new")
        fresh.write_text("".join([*lines, *(f"{number} {state}\n"
                                            for number, state in self.states.items())]))
        fresh.replace(self._path)
        return gone


class XaClient(Client):
    """One client with its sessions."""

    kind = "xa"
    expected = COMMON | DEFINED_ANEW
    # It kills its own sessions, where the server can bear that.
    may_be_killed = False
    database = "xa"
    pause = 0.3

    def __init__(self, common: Common, number: int) -> None:
        super().__init__(common, number)
        self.journal = XaJournal(number, common.directory / f"xa.{number}.txt")

    def turn(self) -> None:
        chance = self.chance
        waiting = [number for number, state in self.journal.states.items()
                   if state not in _DECIDED]
        if len(waiting) >= _OPEN_MAX or (waiting and chance.random() < 0.2):
            self._decide(waiting[0], elsewhere=chance.random() < 0.5)
            return
        number = self.journal.last + 1
        if not self._prepare(number):
            return
        fate = chance.random()
        if fate < 0.35:
            self._decide(number)
        elif fate < 0.7:
            self._leave()
            self._decide(number, elsewhere=True)
        else:
            self._leave()

    def _prepare(self, number: int) -> bool:
        """Whether the transaction is prepared; otherwise its session has gone, and it with it."""
        chance, xid = self.chance, f"'{self.journal.name(number)}'"
        self.session()
        self.journal.note(number, BEGUN)
        try:
            self.execute(f"XA START {xid}")
            self.execute("INSERT INTO log VALUES (%s, %s)", (self.number, number))
            for _ in range(chance.randint(1, 3)):
                giver, taker = chance.sample(range(1, ACCOUNTS + 1), 2)
                self.execute("UPDATE accounts SET balance = balance - 7 WHERE id = %s", (giver,))
                self.execute("UPDATE accounts SET balance = balance + 7 WHERE id = %s", (taker,))
            if chance.random() < 0.2:
                self.execute("SAVEPOINT s")
                self.execute("DELETE FROM accounts WHERE id < 5")
                self.execute("ROLLBACK TO SAVEPOINT s")
        except pymysql.err.Error as error:
            if not error.args or error.args[0] not in self.expected:
                raise
            self._met(error)
            self._leave("silence")
            self.journal.note(number, ROLLED_BACK)
            return False
        if chance.random() < 0.05:
            self._leave()
            self.journal.note(number, ROLLED_BACK)
            self.common.count("XA transactions abandoned before XA PREPARE")
            return False
        self.execute(f"XA END {xid}")
        if chance.random() < 0.1:
            self.journal.note(number, ONE_PHASE)
            self.execute(f"XA COMMIT {xid} ONE PHASE")
            self.journal.note(number, COMMITTED)
            self.common.count("XA transactions of one phase")
            self.succeeded()
            return False
        self.execute(f"XA PREPARE {xid}")
        self.journal.note(number, PREPARED)
        self.common.count("XA transactions prepared")
        return True

    def _leave(self, how: str = "") -> None:
        """Ends the session in some way, and waits until it has gone."""
        how = how or self.chance.choice(("quit", "silence", "KILL"))
        if self._connection is None:
            return
        thread = self._connection.thread_id()
        if how == "KILL":
            self.server.query(f"KILL CONNECTION {thread}")
        self.disconnect("quit" if how == "quit" else "silence")
        deadline = time.monotonic() + _DECIDE_SECONDS
        while self.server.query("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = %s",
                                (thread,)):
            self.demand(time.monotonic() < deadline, f"session {thread} does not end")
            if self.common.problems:
                return
            time.sleep(0.01)
        self.common.count("XA sessions ended")

    def _decide(self, number: int, *, elsewhere: bool = False) -> None:
        """Commits or rolls back what is prepared, in the session, or in a fresh one."""
        if elsewhere:
            self._leave("quit")
        state = self.journal.states[number]
        if state == PREPARED:
            state = self.chance.choice((COMMITTING, COMMITTING, ROLLING_BACK))
            self.journal.note(number, state)
        verb = "COMMIT" if state == COMMITTING else "ROLLBACK"
        self.execute(f"XA {verb} '{self.journal.name(number)}'")
        self.journal.note(number, COMMITTED if state == COMMITTING else ROLLED_BACK)
        self.common.count(f"XA transactions decided by {verb}"
                          + (", by another session" if elsewhere else ""))
        self.succeeded()

    def settle(self, prepared: set[str], logged: set[str]) -> None:
        """After a crash: what was under way has come out in one of the possible ways."""
        for number, state in list(self.journal.states.items()):
            name = self.journal.name(number)
            if state in _DECIDED:
                continue
            if name in prepared:
                if state == BEGUN:
                    self.journal.note(number, PREPARED)
            elif state in (BEGUN, ROLLING_BACK) and name not in logged:
                self.journal.note(number, ROLLED_BACK)
            elif state in (COMMITTING, ONE_PHASE) and name in logged:
                self.journal.note(number, COMMITTED)
            elif state == ONE_PHASE:
                self.journal.note(number, ROLLED_BACK)


def prepared_names(server: Server) -> set[str]:
    """What XA RECOVER gives, of our kind of names."""
    return {_text(row[3]) for row in server.query("XA RECOVER")}


def _text(name: str | bytes) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else name


def logged_names(server: Server) -> set[str]:
    return {f"c{client}_{number}"
            for client, number in server.query("SELECT client, number FROM xa.log")}


def known_states(clients: list[XaClient]) -> dict[str, str]:
    return {client.journal.name(number): state for client in clients
            for number, state in client.journal.states.items()}


def judge_xa(server: Server, known: dict[str, str]) -> list[str]:
    """Prepared transactions, their effects, and the sum of the accounts; at rest."""
    name = server.datadir.name
    problems = [f"{name}: {line}" for line in
                _judges.xa_problems(known, prepared_names(server), logged_names(server))]
    found = {way: tuple(int(value) for value in server.query(
        f"SELECT COUNT(*), SUM(balance) FROM xa.accounts FORCE INDEX ({way})")[0])
        for way in ("PRIMARY", "balance")}
    return problems + _judges.sum_problems(f"{name}: XA accounts", found,
                                           (ACCOUNTS, ACCOUNTS * _BALANCE))


@dataclass
class Alignment:
    """What had to be done so that both sides have the same prepared, and what nothing explains."""

    done: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def align(source: Server, replica: Server, known: dict[str, str]) -> Alignment:
    """After a crash of the source: lets both sides have the same transactions prepared.

    The server writes XA PREPARE, COMMIT and ROLLBACK to its log and has the engine do it one after
    the other, and forgets at recovery what was between them (MDEV-31038, MDEV-21777): with any
    engine a replica may have more or less prepared than its source. That is so for transactions
    whose step was under way; for any other it is a problem.
    """
    result = Alignment()
    here, there = prepared_names(source), prepared_names(replica)
    logged = {source: logged_names(source), replica: logged_names(replica)}
    for name in sorted(here ^ there):
        server, other = (source, replica) if name in here else (replica, source)
        state = known.get(name, "unknown")
        verb = ""
        if state in (BEGUN, ROLLING_BACK) and name not in logged[other]:
            verb = "ROLLBACK"
        elif state == COMMITTING and name in logged[other]:
            verb = "COMMIT"
        title = f"XA transaction {name}, {state}, is prepared on the {server.datadir.name} only"
        if not verb:
            result.problems.append(title)
            continue
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute(f"XA {verb} '{name}'")
        result.done.append(f"{title}: {verb}")
    return result
