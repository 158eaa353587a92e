"""Clients that change and read rows: journals, money, large and temporary tables, snapshots.

Each table has an invariant that it tells itself, so that it can be judged after any interruption.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pymysql
from pymysql.constants import ER

from basaltcli.server import Server
from tests.endurance import _judges
from tests.endurance._client import COMMON, DEFINED_ANEW, LEVELS, TIMED, Client, Common, Row
from tests.support import load
from tests.support.journal import Attempt, Fate, Journal
from tests.support.load import Load

ACCOUNTS = 2000
_BALANCE = 1000
BANK_SUM = (ACCOUNTS, ACCOUNTS * _BALANCE, ACCOUNTS * (ACCOUNTS + 1) // 2)
_BRANCHES = 20
JOURNAL_UNCERTAIN = frozenset((ER.QUERY_INTERRUPTED,))
JOURNAL_REFUSALS = DEFINED_ANEW

MAKE = f"""
CREATE DATABASE bank; USE bank;
CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, branch INT NOT NULL,
  tag INT, note VARCHAR(120), KEY branch (branch, balance), UNIQUE KEY tag (tag)) ENGINE=ROCKSDB;
INSERT INTO accounts SELECT seq, {_BALANCE}, seq % {_BRANCHES}, seq, REPEAT('n', 60)
  FROM seq_1_to_{ACCOUNTS};
CREATE DATABASE big; USE big;
CREATE TABLE rows_of_it (id INT PRIMARY KEY, k INT NOT NULL, payload VARCHAR(300), KEY k (k))
  ENGINE=ROCKSDB;
CREATE TABLE state (id INT PRIMARY KEY, n BIGINT NOT NULL, total BIGINT NOT NULL) ENGINE=ROCKSDB;
INSERT INTO state VALUES (1, 0, 0);
CREATE DATABASE archive; USE archive;
CREATE TABLE entries (id BIGINT PRIMARY KEY, at BIGINT NOT NULL, body VARBINARY(300),
  KEY at (at)) ENGINE=ROCKSDB;
CREATE TABLE state (id INT PRIMARY KEY, first BIGINT NOT NULL, last BIGINT NOT NULL)
  ENGINE=ROCKSDB;
INSERT INTO state VALUES (1, 1, 0);
CREATE DATABASE brief; USE brief;
CREATE TABLE results (id BIGINT AUTO_INCREMENT PRIMARY KEY, client INT NOT NULL, n INT NOT NULL,
  total BIGINT NOT NULL, copied INT NOT NULL, KEY (client, n)) ENGINE=ROCKSDB;
"""


def bank_sums(rows: Sequence[Row]) -> tuple[int, ...]:
    """Number of accounts, sum of balances, sum of tags."""
    return tuple(int(value or 0) for value in rows[0])


def _archive_ways() -> dict[str, str]:
    return {way: "SELECT COUNT(*), MIN(id), MAX(id) FROM archive.entries FORCE INDEX "
            f"({way}) WHERE id + at >= 0" for way in ("PRIMARY", "at")}


_ARCHIVE_STATE = "SELECT last - first + 1, first, last FROM archive.state"
_SUMS = "COUNT(*), SUM(balance), SUM(tag)"
_BY_INDEX = {name: f"SELECT {_SUMS} FROM bank.accounts FORCE INDEX ({name})"
             for name in ("PRIMARY", "branch", "tag")}


def judge_rows(server: Server) -> list[str]:
    """The invariants of all tables of this module, at rest."""
    name = server.datadir.name
    found = {way: bank_sums(server.query(sql)) for way, sql in _BY_INDEX.items()}
    problems = _judges.sum_problems(f"{name}: accounts", found, BANK_SUM)
    state = tuple(int(value) for value in server.query("SELECT n, total FROM big.state")[0])
    ways = {way: tuple(int(value or 0) for value in server.query(
        f"SELECT COUNT(*), SUM(k) FROM big.rows_of_it FORCE INDEX ({way})")[0])
        for way in ("PRIMARY", "k")}
    problems += _judges.sum_problems(f"{name}: large table", ways, state)
    found = {way: tuple(int(value or 0) for value in server.query(sql)[0])
             for way, sql in _archive_ways().items()}
    state = tuple(int(value) for value in server.query(_ARCHIVE_STATE)[0])
    if state[0]:
        problems += _judges.sum_problems(f"{name}: archive", found, state)
    wrong = server.query("SELECT COUNT(*) FROM brief.results WHERE n <> copied")[0][0]
    if wrong:
        problems.append(f"{name}: {wrong} temporary tables had other rows than were put in")
    return problems


class _JournaledSession(load.Client):
    """As the crash tests' client, with savepoints and changes of several rows at once."""

    def __init__(self, client: Client, connection: pymysql.connections.Connection, work: Load,
                 chance: random.Random) -> None:
        super().__init__(connection, work, chance)
        self._client = client

    def execute(self, sql: str, arguments: tuple[Any, ...] = ()) -> list[Row]:
        with self._client.noted(self.connection, sql, arguments or None):
            return super().execute(sql, arguments)

    def _change(self, attempt: Attempt) -> None:
        if self._chance.random() < 0.3:
            self._change_and_undo(attempt)
        if self._chance.random() < 0.3:
            self._change_several(attempt)
        super()._change(attempt)
        for name in attempt.changes.keys() - attempt.rows.keys():  # those of an insert alone
            attempt.rows[name] = self._own_rows(name, set(attempt.changes[name]), attempt)

    def _change_and_undo(self, attempt: Attempt) -> None:
        name, first = self._draw()
        self.execute("SAVEPOINT undone")
        self.execute(f"UPDATE {name} SET version = version + 7, k = k + 1 WHERE id BETWEEN %s AND "
                     "%s", (first, first + self._chance.randint(0, 5)))
        self.execute("INSERT INTO history (client, number, part, payload) VALUES (%s, %s, 0, 'no')",
                     (attempt.client, attempt.number))
        if self._chance.random() < 0.5:
            self.execute(f"DELETE FROM {name} WHERE id = %s", (first,))
        self.execute("ROLLBACK TO SAVEPOINT undone")

    def _change_several(self, attempt: Attempt) -> None:
        name, first = self._draw()
        last = min(first + self._chance.randint(1, 8), self._rows)
        column = self._chance.choice(("k = k + 1", "c = CONCAT('m', LEFT(c, 99))"))
        self.execute(f"UPDATE {name} SET version = version + 1, client = %s, number = %s, {column} "
                     "WHERE id BETWEEN %s AND %s", (attempt.client, attempt.number, first, last))
        attempt.changes.setdefault(name, Counter()).update(range(first, last + 1))

    def _draw(self) -> tuple[str, int]:
        return self._chance.choice(self._tables), self._chance.randint(1, self._rows)


class JournalClient(Client):
    """Notes what it commits, so that any loss shows (support/journal.py)."""

    kind = "journal"
    expected = COMMON | DEFINED_ANEW
    database = load.DATABASE

    def __init__(self, common: Common, number: int, work: Load, journal: Journal) -> None:
        super().__init__(common, number)
        self._work = work
        self.journal = journal
        self._journaled: _JournaledSession | None = None

    def turn(self) -> None:
        connection = self.session()
        if self._journaled is None or self._journaled.connection is not connection:
            connection.autocommit(False)
            self._journaled = _JournaledSession(self, connection, self._work, self.chance)
        attempt = self.journal.begin()
        try:
            is_alive = self._journaled.transact(attempt)
        finally:
            self.journal.end(attempt)
        if attempt.fate is Fate.ACKNOWLEDGED:
            self.succeeded()
        if not is_alive:
            self.common.count(f"errors {self.kind}: connection lost")
            self.disconnect("silence")
        elif self.chance.random() < 0.01:
            self._abandon(connection)

    def _abandon(self, connection: pymysql.connections.Connection) -> None:
        """A transaction whose client goes away without a word: nothing of it may be there."""
        name = self.chance.choice(self._work.tables)
        self.execute(f"UPDATE {name} SET version = version + 1000 WHERE id = %s",
                     (self.chance.randint(1, self._work.rows),))
        self.common.count("event client lost")
        self.disconnect("silence")


class BankClient(Client):
    """Moves money, accounts and tags about; their sums stay."""

    kind = "bank"
    expected = COMMON | DEFINED_ANEW
    database = "bank"
    pause = 0.04

    def turn(self) -> None:
        chance = self.chance
        self.session()
        self.begin(chance.choice(LEVELS))
        for _ in range(chance.choice((1, 1, 2, 4))):
            self._savepoint() if chance.random() < 0.15 else self._step()
        if chance.random() < 0.1:
            self.execute("ROLLBACK")
            return
        self.execute("COMMIT")
        self.succeeded()

    def _savepoint(self) -> None:
        self.execute("SAVEPOINT s")
        self.execute("UPDATE accounts SET balance = balance + 5 WHERE branch = %s",
                     (self.chance.randrange(_BRANCHES),))
        self.execute("ROLLBACK TO SAVEPOINT s")

    def _step(self) -> None:
        self.chance.choice((self._transfer, self._transfer, self._transfer, self._move, self._swap,
                            self._pay_many, self._rebranch))()

    def _transfer(self) -> None:
        giver, taker = self._two()
        amount = self.chance.randint(1, 50)
        if self.chance.random() < 0.5:
            self.execute("SELECT balance FROM accounts WHERE id = %s FOR UPDATE", (giver,))
        self.execute("UPDATE accounts SET balance = balance - %s WHERE id = %s", (amount, giver))
        self.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (amount, taker))

    def _move(self) -> None:
        """Deletes an account and opens it again, elsewhere."""
        account, _ = self._two()
        rows = self.execute("DELETE FROM accounts WHERE id = %s RETURNING balance, tag", (account,))
        if not rows:
            # The server answers so, with any engine, when KILL QUERY meets the statement.
            still = self.execute("SELECT 1 FROM accounts WHERE id = %s FOR UPDATE", (account,))
            self.demand(len(still) == 1, f"account {account} is gone")
            self.common.count("DELETE ... RETURNING ended by KILL without an error")
            return
        self.execute("INSERT INTO accounts VALUES (%s, %s, %s, %s, %s)",
                     (account, *rows[0][:1], self.chance.randrange(_BRANCHES), rows[0][1],
                      "m" * self.chance.randint(1, 120)))

    def _swap(self) -> None:
        """Two accounts change their tags, which are unique."""
        first, second = self._two()
        rows = dict(self.execute("SELECT id, tag FROM accounts WHERE id IN (%s, %s) FOR UPDATE",
                                 (first, second)))
        for account, tag in ((first, None), (second, rows[first]), (first, rows[second])):
            self.execute("UPDATE accounts SET tag = %s WHERE id = %s", (tag, account))

    def _pay_many(self) -> None:
        """Many pay one each to their neighbours."""
        first = self.chance.randrange(ACCOUNTS // 2 - 20) * 2 + 1
        self.execute("UPDATE accounts SET balance = balance + IF(id %% 2, -1, 1) WHERE id BETWEEN "
                     "%s AND %s", (first, first + 2 * self.chance.randint(1, 20) - 1))

    def _rebranch(self) -> None:
        self.execute("UPDATE accounts SET branch = (branch + 1) %% %s, note = %s WHERE branch = %s "
                     "LIMIT 30", (_BRANCHES, "r" * self.chance.randint(1, 120),
                                  self.chance.randrange(_BRANCHES)))

    def _two(self) -> tuple[int, int]:
        most = 30 if self.chance.random() < 0.15 else ACCOUNTS
        first, second = self.chance.sample(range(1, most + 1), 2)
        return first, second


class Reader(Client):
    """Snapshots that stay open; the same sums by every index, from beginning to end."""

    kind = "reader"
    expected = COMMON | DEFINED_ANEW | TIMED
    pause = 0.5

    def __init__(self, common: Common, number: int, *, of_replica: bool = False) -> None:
        super().__init__(common, number)
        self._of_replica = of_replica

    @property
    def server(self) -> Server:
        return self.common.replica if self._of_replica else self.common.server

    def turn(self) -> None:
        self.session()
        self.chance.choice((self._snapshot, self._snapshot, self._statements, self._timed))()

    def _snapshot(self) -> None:
        seconds = self.chance.uniform(2, 25 if self.common.scale >= 1 else 6)
        deadline = time.monotonic() + seconds
        self.begin("REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        seen: set[tuple[int, ...]] = set()
        while True:
            self._judge_bank(BANK_SUM)
            seen.add(self._judge_big())
            self._judge_journal()
            if self.chance.random() < 0.3:
                self._judge_archive()
            if time.monotonic() > deadline or self.common.gate.is_closed(self.kind):
                break
            time.sleep(self.chance.uniform(0.5, 3))
        self.execute("COMMIT")
        self.demand(len(seen) == 1, f"a snapshot saw the large table change: {seen}")
        self.succeeded("reader, snapshot")

    def _statements(self) -> None:
        """At READ COMMITTED each statement has its own snapshot, which is one."""
        self.begin("READ COMMITTED")
        for _ in range(3):
            self._judge_bank(BANK_SUM)
        self.execute("COMMIT")
        self.succeeded("reader, statements")

    def _timed(self) -> None:
        self.execute("SET STATEMENT max_statement_time = %s FOR SELECT COUNT(*), MAX(a.payload) "
                     "FROM big.rows_of_it a JOIN big.rows_of_it b ON b.k = a.k WHERE "
                     "b.payload <> ''", (self.chance.choice((0.05, 0.5, 2)),))

    def _judge_bank(self, expected: tuple[int, ...]) -> None:
        way = self.chance.choice(tuple(_BY_INDEX))
        found = bank_sums(self.execute(_BY_INDEX[way]))
        self.demand(found == expected, f"accounts by {way} give {found}, expected {expected}")

    def _judge_big(self) -> tuple[int, ...]:
        state = tuple(int(value) for value in self.execute("SELECT n, total FROM big.state")[0])
        way = self.chance.choice(("PRIMARY", "k"))
        found = tuple(int(value or 0) for value in self.execute(
            f"SELECT COUNT(*), SUM(k) FROM big.rows_of_it FORCE INDEX ({way})")[0])
        self.demand(found == state, f"the large table by {way} has {found}, expected {state}")
        return state

    def _judge_archive(self) -> None:
        state = tuple(int(value) for value in self.execute(_ARCHIVE_STATE)[0])
        way, sql = self.chance.choice(tuple(_archive_ways().items()))
        found = tuple(int(value or 0) for value in self.execute(sql)[0])
        self.demand(found == state or not state[0],
                    f"the archive by {way} has {found}, expected {state}")

    def _judge_journal(self) -> None:
        found = [self.execute(f"SELECT COUNT(*), SUM(k) FROM {load.DATABASE}.t1 FORCE INDEX "
                              f"({way})")[0] for way in ("PRIMARY", "k")]
        self.demand(found[0] == found[1], f"journal.t1 by PRIMARY {found[0]}, by k {found[1]}")


class ArchiveClient(Client):
    """Puts entries in at one end and takes as many out at the other: most of the data there is."""

    kind = "archive"
    expected = COMMON | DEFINED_ANEW
    database = "archive"
    pause = 2.0
    _rows_max = 400_000
    _step = 2000

    def turn(self) -> None:
        step = self._step
        self.session()
        self.execute("BEGIN")
        first, last = self.execute("SELECT first, last FROM state WHERE id = 1 FOR UPDATE")[0]
        size = self.chance.randint(50, 250)
        self.execute(f"INSERT INTO entries SELECT {last} + seq, ({last} + seq) DIV 7, "
                     f"RANDOM_BYTES({size}) FROM seq_1_to_{step}")
        last += step
        if last - first > self._rows_max * self.common.scale:
            way = self.chance.choice((f"id < {first + step}",
                                      f"at <= {(first + step - 1) // 7} AND id < {first + step}"))
            self.execute(f"DELETE FROM entries WHERE {way}")
            deleted = self.execute("SELECT ROW_COUNT()")[0][0]
            if deleted == 0:
                # As in BankClient._move().
                self.common.count("DELETE ended by KILL without an error")
                self.execute("ROLLBACK")
                return
            self.demand(deleted == step, f"{deleted} entries were deleted of {step}: {way}")
            first += step
        self.execute("UPDATE state SET first = %s, last = %s WHERE id = 1", (first, last))
        if self.chance.random() < 0.1:
            self.execute("ROLLBACK")
            return
        self.execute("COMMIT")
        self.succeeded()


class LargeClient(Client):
    """Transactions of tens of thousands of rows, some of them undone; what is put in goes again."""

    kind = "large"
    expected = COMMON | DEFINED_ANEW
    database = "big"
    pause = 6.0
    settings = "SET rocksdb_lock_wait_timeout = 10, lock_wait_timeout = 10"

    def turn(self) -> None:
        most = int(120_000 * self.common.scale)
        self.session()
        n, first = self.execute("SELECT n, (SELECT IFNULL(MAX(id), 0) FROM rows_of_it) FROM state "
                                "WHERE id = 1")[0]
        if self.chance.random() < 0.15:
            self._copy()
            return
        self.execute("BEGIN")
        self._savepoint(first)
        if n > most or (n > most // 3 and self.chance.random() < 0.4):
            self._remove(n, first)
        elif self.chance.random() < 0.3 and n:
            self.execute("UPDATE rows_of_it SET payload = CONCAT('u', LEFT(payload, 250)), "
                         "k = k + 1")
        elif self.chance.random() < 0.3:
            self._load_file(first)
        else:
            self._insert(first)
        self.execute("UPDATE state, (SELECT COUNT(*) AS n, IFNULL(SUM(k), 0) AS total "
                     "FROM rows_of_it) AS now SET state.n = now.n, state.total = now.total")
        if self.chance.random() < 0.25:
            self.execute("ROLLBACK")
            self.succeeded("large, undone")
            return
        self.execute("COMMIT")
        self.succeeded()

    def _savepoint(self, first: int) -> None:
        if self.chance.random() < 0.3:
            self.execute("SAVEPOINT s")
            self._insert(first)
            self.execute("ROLLBACK TO SAVEPOINT s")

    def _insert(self, first: int) -> None:
        count = int(self.chance.randint(10_000, 40_000) * self.common.scale)
        self.execute(f"INSERT INTO rows_of_it SELECT {first} + seq, seq % 1000, CONCAT(SHA2(seq + "
                     f"{first}, 512), REPEAT('p', seq % 100)) FROM seq_1_to_{count}")

    def _remove(self, n: int, last: int) -> None:
        how = self.chance.random()
        if how < 0.2:
            self.execute("DELETE FROM rows_of_it")
        elif how < 0.6:
            self.execute("DELETE FROM rows_of_it WHERE id < %s",
                         (last - self.chance.randint(0, n // 2),))
        else:
            self.execute("DELETE FROM rows_of_it WHERE k < %s", (self.chance.randint(300, 1000),))

    def _load_file(self, first: int) -> None:
        path = self.common.directory / f"load.{self.number}.txt"
        count = int(20_000 * self.common.scale)
        if not path.exists():
            path.write_text("".join(f"{line}\t{line % 1000}\t{line:0100}\n"
                                    for line in range(1, count + 1)))
        self.execute(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE rows_of_it (@id, k, payload) "
                     f"SET id = @id + {first}")

    def _copy(self) -> None:
        """CREATE TABLE ... SELECT, and its end."""
        self.execute("CREATE OR REPLACE TABLE copied (KEY k (k)) ENGINE=ROCKSDB SELECT * FROM "
                     "rows_of_it")
        by_key, by_rows = (self.execute(f"SELECT COUNT(*) FROM copied {hint}")[0][0]
                           for hint in ("FORCE INDEX (k)", "IGNORE INDEX (k)"))
        self.execute("DROP TABLE copied")
        self.common.count("definition CREATE SELECT of many rows")
        self.demand(by_key == by_rows, f"a copy has {by_rows} rows, {by_key} by its index")


class TemporaryClient(Client):
    """Temporary tables that are made, filled and dropped inside of transactions."""

    kind = "temporary"
    expected = COMMON | DEFINED_ANEW
    database = "brief"
    pause = 0.4

    def turn(self) -> None:
        chance = self.chance
        self.session()
        self.execute("BEGIN")
        n = chance.choice((10, 200, 3000))
        self.execute("CREATE TEMPORARY TABLE m (id INT PRIMARY KEY, v BIGINT, s VARCHAR(300), KEY "
                     "(v)) ENGINE=ROCKSDB SELECT id, balance AS v, REPEAT(note, 2) AS s FROM "
                     f"bank.accounts ORDER BY id LIMIT {n}")
        n = min(n, ACCOUNTS)
        self.execute("SAVEPOINT s")
        self.execute("UPDATE m SET v = v + 1 WHERE id % 2 = 0")
        if chance.random() < 0.5:
            self.execute("DELETE FROM m WHERE id % 3 = 0")
            self.execute("ROLLBACK TO SAVEPOINT s")
        copied, total = self.execute("SELECT COUNT(*), IFNULL(SUM(v), 0) FROM m FORCE INDEX (v)")[0]
        self.demand(copied == n, f"a temporary table has {copied} rows of {n}")
        self.execute("INSERT INTO results (client, n, total, copied) VALUES (%s, %s, %s, %s)",
                     (self.number, n, total, copied))
        self.execute("DELETE FROM results WHERE client = %s AND id + 300 < LAST_INSERT_ID()",
                     (self.number,))
        is_dropped = chance.random() < 0.6
        if chance.random() < 0.2:
            self.execute("TRUNCATE TABLE m")
        if is_dropped:
            self.execute("DROP TEMPORARY TABLE m")
        self.execute(chance.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        self.succeeded()
        if not is_dropped:
            if chance.random() < 0.3:
                self.disconnect(chance.choice(("quit", "silence")))
            else:
                self.execute("DROP TEMPORARY TABLE m")
