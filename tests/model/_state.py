"""The model: committed rows, what transactions see and hold, and what statements come to.

Locks. A statement that meets another transaction's lock fails at once (lock wait timeout 0). The
model keeps two sets of locks per transaction: those it certainly holds, and those it may hold,
because what a range scan locks on its way depends on the plan. A certain conflict predicts the
error; a possible one makes the outcome unknown, and such a statement is not run.

Gaps. Which ranges a scan closes for inserts depends on the plan, too. The model knows per table
only whether a transaction may have inserted keys and whether it may have closed ranges; a scan that
may meet the former, or an insert that may meet the latter, is not run. tests/isolation has those.

Tables. A transaction keeps the definition of a table that it has used. A definition that meets one,
or the changes of a prepared transaction whose session has gone, fails at once; consistent reads of
a table that was made anew after their snapshot fail, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.model._schema import Index, Row, Table, Weight

Rows = dict[Weight, Row]
Changes = dict[str, dict[Weight, Row | None]]
LockKey = tuple[str, str, Weight]
Locks = dict[LockKey, bool]  # True: exclusive


class Unknown(Exception):
    """The model cannot tell what the statement comes to."""


class Timeout(Exception):
    """Another transaction holds a lock that the statement needs; the argument is its key."""


class Duplicate(Exception):
    """A row with that value is there already."""

    def __init__(self, index: str, row: Row) -> None:
        super().__init__(index)
        self.index = index
        self.row = row


class Redefined(Exception):
    """The table is another one than in the transaction's snapshot."""


@dataclass
class Savepoint:
    """The transaction's changes when it was set."""

    name: str
    takes_part: bool
    own: Changes
    uses: set[str]


@dataclass(eq=False)
class Transaction:
    """A transaction of one connection."""

    is_repeatable: bool
    snapshot: dict[str, Rows] | None = None
    snapshot_moment: int = 0
    own: Changes = field(default_factory=lambda: defaultdict(dict))
    takes_part: bool = False  # whether a statement has used the engine
    xid: str = ""
    is_prepared: bool = False
    is_detached: bool = False  # prepared, and the session has gone
    uses: set[str] = field(default_factory=set)  # tables whose definitions it keeps
    may_use: set[str] = field(default_factory=set)
    savepoints: list[Savepoint] = field(default_factory=list)
    certain: Locks = field(default_factory=dict)
    possible: Locks = field(default_factory=dict)

    def set_savepoint(self, name: str) -> None:
        self.savepoints = [each for each in self.savepoints if each.name != name]
        self.savepoints.append(Savepoint(name, self.takes_part, copy_of(self.own),
                                        set(self.uses)))

    def roll_back_to(self, name: str) -> None:
        """Undoes what came after the savepoint. Locks stay.

        But an engine that took no part in the transaction yet when the savepoint was set is
        rolled back wholly by the server: locks and snapshot go.
        """
        position = [each.name for each in self.savepoints].index(name)
        del self.savepoints[position + 1:]
        savepoint = self.savepoints[position]
        self.own = copy_of(savepoint.own)
        self.uses = set(savepoint.uses)
        if not savepoint.takes_part:
            self.takes_part = False
            self.snapshot = None
            self.certain, self.possible = {}, {}

    def release(self, name: str) -> None:
        del self.savepoints[[each.name for each in self.savepoints].index(name):]

    def prepare(self) -> None:
        """XA PREPARE: nothing will be read any more, so what was read may change around it. But its
        table is perhaps kept as if rows were locked."""
        self.is_prepared = True
        self.savepoints.clear()
        for locks in (self.certain, self.possible):
            for key in [key for key in locks if key[1] == "closed ranges"]:
                del locks[key]
                self.possible[(key[0], "formerly closed ranges", ())] = True

    def recover(self, committed: dict[str, Rows]) -> None:
        """A prepared transaction after a restart: certainly it only has what it changed."""
        self.is_detached = True
        self.uses.clear()
        self.may_use.clear()
        _merge(self.possible, self.certain)
        self.certain = {(name, "row", key): True for name, changes in self.own.items()
                        for key, row in changes.items()
                        if row is not None or key in committed[name]}

    def has_changed(self, table: str, committed: dict[str, Rows]) -> bool:
        """Whether it certainly has changes in a table."""
        return any(row is not None or key in committed[table]
                   for key, row in self.own[table].items())

    def may_concern(self, table: str) -> bool:
        """Whether it may have changes or locks in a table."""
        return bool(self.own[table]) or any(key[0] == table for key in self.possible)

    def forget(self, table: str) -> None:
        """A temporary table is gone, with what was changed in it."""
        self.own[table] = {}
        for savepoint in self.savepoints:
            savepoint.own[table] = {}
        if self.snapshot is not None:
            self.snapshot[table] = {}
        for locks in (self.certain, self.possible):
            for key in [key for key in locks if key[0] == table]:
                del locks[key]


class Model:
    """Committed rows, and the open transactions."""

    def __init__(self) -> None:
        self.committed: dict[str, Rows] = defaultdict(dict)
        self.open: list[Transaction] = []
        self.moment = 0  # grows with each definition
        self.remade: dict[str, int] = defaultdict(int)  # when a table was last made anew
        # What a row's change does beside it: the statement, the event and the row.
        self.on_change: Callable[[Statement, str, Row], None] = lambda *_: None
        self._number = 0

    def next_number(self) -> int:
        """For rows that nothing else tells apart."""
        self._number += 1
        return self._number

    @property
    def detached(self) -> list[Transaction]:
        """Prepared transactions that anybody may decide."""
        return [each for each in self.open if each.is_detached]

    def redefine(self, table: str) -> None:
        """The table is made anew."""
        self.moment += 1
        self.remade[table] = self.moment

    def restart(self) -> None:
        """Only what is prepared outlives it."""
        self.open = [each for each in self.open if each.is_prepared]
        for transaction in self.open:
            transaction.recover(self.committed)

    def begin(self, is_repeatable: bool) -> Transaction:
        transaction = Transaction(is_repeatable)
        self.open.append(transaction)
        return transaction

    def commit(self, transaction: Transaction) -> None:
        for name, changes in transaction.own.items():
            self.committed[name] = overlaid(self.committed[name], changes)
        self.open.remove(transaction)

    def roll_back(self, transaction: Transaction) -> None:
        self.open.remove(transaction)

    def open_snapshot(self, transaction: Transaction) -> None:
        """Committed tables are replaced, never changed: keeping them is a snapshot."""
        if transaction.is_repeatable and transaction.snapshot is None:
            transaction.snapshot = defaultdict(dict, self.committed)
            transaction.snapshot_moment = self.moment

    def consistent(self, transaction: Transaction, table: Table) -> Rows:
        """What a read without locks sees; at REPEATABLE READ the first one takes the snapshot."""
        if (transaction.snapshot is not None
                and transaction.snapshot_moment < self.remade[table.name]):
            raise Redefined(table.name)
        self.open_snapshot(transaction)
        base = (transaction.snapshot or self.committed)[table.name]
        return overlaid(base, transaction.own[table.name])

    def current(self, transaction: Transaction, table: Table) -> Rows:
        """What a locking read sees, and what writes meet."""
        return overlaid(self.committed[table.name], transaction.own[table.name])


class Statement:
    """A statement being tried on the model. accept() or refuse() ends it.

    With `has_succeeded` it is known to have succeeded, so that no lock can have been in its way.
    """

    def __init__(self, model: Model, transaction: Transaction, table: Table,
                 has_succeeded: bool = False) -> None:
        self._has_succeeded = has_succeeded
        self.model = model
        self.transaction = transaction
        self.table = table
        self.rows = model.current(transaction, table)
        self._changes = dict(transaction.own[table.name])
        self._certain: Locks = {}
        self._possible: Locks = {}
        self._inner: dict[str, Statement] = {}

    def inner(self, table: Table) -> Statement:
        """What triggers and functions of the statement do to another table."""
        if table.name not in self._inner:
            self._inner[table.name] = Statement(self.model, self.transaction, table,
                                                self._has_succeeded)
        return self._inner[table.name]

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Changes in the block are undone at its end. Locks stay."""
        rows, changes = dict(self.rows), dict(self._changes)
        yield
        self.rows, self._changes = rows, changes

    def accept(self) -> None:
        """The statement succeeded."""
        self.transaction.own[self.table.name] = self._changes
        _merge(self.transaction.certain, self._certain)
        _merge(self.transaction.possible, self._certain)
        _merge(self.transaction.possible, self._possible)
        for inner in self._inner.values():
            inner.accept()

    def refuse(self) -> None:
        """The statement failed: its changes are undone, its locks may stay."""
        _merge(self.transaction.possible, self._certain)
        _merge(self.transaction.possible, self._possible)
        for inner in self._inner.values():
            inner.refuse()

    # ---- locks

    def lock(self, keys: Iterable[LockKey], exclusive: bool = True) -> None:
        """Locks that the statement certainly takes, in whatever order."""
        wanted = list(keys)
        held = [key for key in wanted if self._is_held(key, exclusive, only_certain=True)]
        for key in wanted:
            if not held and self._is_held(key, exclusive, only_certain=False):
                raise Unknown
            _merge(self._possible if held else self._certain, {key: exclusive})
        if held:
            raise Timeout(held[0])

    def note_possible(self, keys: Iterable[LockKey], exclusive: bool) -> None:
        """Locks that the statement may have got before it failed."""
        _merge(self._possible, dict.fromkeys(keys, exclusive))

    def may_lock(self, keys: Iterable[LockKey], exclusive: bool = True) -> None:
        """Locks that the statement may try to take."""
        for key in keys:
            if self._is_held(key, exclusive, only_certain=False):
                raise Unknown
            _merge(self._possible, {key: exclusive})

    def row_lock(self, key: Weight) -> LockKey:
        return (self.table.name, "row", key)

    def scan(self) -> None:
        """A locking read of more than a key waits for inserts, and closes what it looks over."""
        self._meet_others("inserted keys")
        if self.transaction.is_repeatable:
            self._possible[(self.table.name, "closed ranges", ())] = True

    def _put_keys(self) -> None:
        """Keys that an index did not have wait for closed ranges."""
        self._meet_others("closed ranges")
        self._possible[(self.table.name, "inserted keys", ())] = True

    def _meet_others(self, what: str) -> None:
        if self._is_held((self.table.name, what, ()), exclusive=True, only_certain=False):
            raise Unknown

    def _is_held(self, key: LockKey, exclusive: bool, only_certain: bool) -> bool:
        """Whether another transaction holds a lock in the way."""
        if self._has_succeeded:
            return False
        for other in self.model.open:
            locks = other.certain if only_certain else other.possible
            if other is not self.transaction and key in locks and (exclusive or locks[key]):
                return True
        return False

    # ---- rows

    @contextmanager
    def _giving_back(self) -> Iterator[None]:
        """A refused row gives back its new locks, but those of the row and the value in its way."""
        before = dict(self._certain)
        try:
            yield
        except Duplicate as duplicate:
            kept = {self.row_lock(self.table.key(duplicate.row)),
                    *((self.table.name, index.name, self.table.unique_value(index, duplicate.row))
                      for index in self.table.unique if index.name == duplicate.index)}
            for key in self._certain.keys() - before.keys() - kept:
                _merge(self._possible, {key: self._certain.pop(key)})
            raise

    def insert(self, row: Row) -> None:
        with self._giving_back():
            self._insert(row)

    def _insert(self, row: Row) -> None:
        self._put_keys()
        key = self.table.key(row)
        if self.table.primary is not None:
            self.lock([self.row_lock(key)])
            if key in self.rows:
                raise Duplicate("PRIMARY", self.rows[key])
        for index in self.table.unique:
            self._enter(index, row)
        self._set(key, row)
        self.model.on_change(self, "INSERT", row)

    def delete(self, row: Row) -> None:
        key = self.table.key(row)
        self.lock([self.row_lock(key)])
        for index in self.table.unique:
            value = self.table.unique_value(index, row)
            if value is not None:
                self.lock([(self.table.name, index.name, value)])
        self._set(key, None)
        self.model.on_change(self, "DELETE", row)

    def update(self, old: Row, new: Row) -> bool:
        """False when the row stays as it is: then the server does not call the engine."""
        if old == new:
            self.model.on_change(self, "UPDATE", new)
            return False
        self._put_keys()
        self.lock([self.row_lock(self.table.key(old))])
        with self._giving_back():
            self._move(old, new)
        self.model.on_change(self, "UPDATE", new)
        return True

    def _move(self, old: Row, new: Row) -> None:
        old_key, new_key = self.table.key(old), self.table.key(new)
        if old_key != new_key:
            self.lock([self.row_lock(new_key)])
            if new_key in self.rows:
                raise Duplicate("PRIMARY", self.rows[new_key])
        for index in self.table.unique:
            value = self.table.unique_value(index, old)
            if value == self.table.unique_value(index, new):
                continue
            if value is not None:
                self.lock([(self.table.name, index.name, value)])
            self._enter(index, new)
        if old_key != new_key:
            self._set(old_key, None)
        self._set(new_key, new)

    def _enter(self, index: Index, row: Row) -> None:
        """The checks for a value that enters a unique index."""
        value = self.table.unique_value(index, row)
        if value is None:
            return
        self.lock([(self.table.name, index.name, value)])
        for other in self.rows.values():
            if self.table.unique_value(index, other) == value:
                self.lock([self.row_lock(self.table.key(other))])
                raise Duplicate(index.name, other)

    def _set(self, key: Weight, row: Row | None) -> None:
        self._changes[key] = row
        if row is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = row


def overlaid(rows: Rows, changes: dict[Weight, Row | None]) -> Rows:
    """Rows with changes on top; a new dictionary."""
    result = dict(rows)
    for key, row in changes.items():
        if row is None:
            result.pop(key, None)
        else:
            result[key] = row
    return result


def copy_of(changes: Changes) -> Changes:
    return defaultdict(dict, {name: dict(each) for name, each in changes.items()})


def has_clash(table: Table, index: Index, rows: Rows) -> bool:
    """Whether two rows have the same unique value: a snapshot under own changes can be so."""
    values = [table.unique_value(index, row) for row in rows.values()]
    known = [value for value in values if value is not None]
    return len(known) != len(set(known))


def _merge(locks: Locks, more: Locks) -> None:
    for key, exclusive in more.items():
        locks[key] = locks.get(key, False) or exclusive
