"""What clients did and saw: the history that the checker judges, and its file.

Objects are lists and sets, each named by a key. Every value is added once and to one object, so a
value tells who wrote it. A list keeps the order of its values; a set has none. An object that a
read found no row of is empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path

Key = str
Value = int

SET_PREFIX = "S"
LIST_PREFIX = "L"


class Fate(Enum):
    """What is known of a transaction's end."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass
class Read:
    """A statement that read whole objects. Values of lists are in their order.

    A plain read sees a snapshot; a locking one the newest state, which stays so.
    """

    found: dict[Key, tuple[Value, ...]]
    started: float
    ended: float
    is_locking: bool = False
    is_range: bool = False
    sql: str = ""


@dataclass
class Append:
    """A statement that added a value, which is at the list's end or in the set."""

    key: Key
    value: Value
    started: float
    ended: float
    is_undone: bool = False
    sql: str = ""


Operation = Read | Append


@dataclass
class Transaction:
    """One transaction. Times are of one monotonic clock, in seconds.

    `held_until`: its locks were held at least so long. `ended`: when the client knew the outcome.
    """

    number: int
    client: int
    began: float = 0.0
    held_until: float = 0.0
    ended: float = 0.0
    fate: Fate = Fate.ABORTED
    has_early_snapshot: bool = False
    operations: list[Operation] = field(default_factory=list)

    @property
    def reads(self) -> list[Read]:
        return [each for each in self.operations if isinstance(each, Read)]

    @property
    def appends(self) -> list[Append]:
        return [each for each in self.operations if isinstance(each, Append)]

    def __str__(self) -> str:
        return f"T{self.number} (client {self.client}, {self.fate.value})"


@dataclass
class History:
    """All transactions of a level, and the objects in the end."""

    level: str
    transactions: list[Transaction]
    final: dict[Key, tuple[Value, ...]]


def is_set(key: Key) -> bool:
    return key.startswith(SET_PREFIX)


def save(history: History, path: Path) -> None:
    """Writes a history, one transaction per line after the first."""
    with path.open("w") as file:
        print(json.dumps({"level": history.level, "final": history.final}), file=file)
        for transaction in history.transactions:
            content = asdict(transaction)
            content["fate"] = transaction.fate.value
            print(json.dumps(content), file=file)


def load(path: Path) -> History:
    """Reads what save() wrote."""
    with path.open() as file:
        head = json.loads(next(file))
        transactions = [_transaction(json.loads(line)) for line in file]
    return History(head["level"], transactions, _found(head["final"]))


def _transaction(content: dict[str, object]) -> Transaction:
    operations = content.pop("operations")
    assert isinstance(operations, list)
    transaction = Transaction(**content)  # type: ignore[arg-type]
    transaction.fate = Fate(transaction.fate)
    for each in operations:
        if "found" in each:
            transaction.operations.append(Read(**{**each, "found": _found(each["found"])}))
        else:
            transaction.operations.append(Append(**each))
    return transaction


def _found(found: Mapping[str, Sequence[int]]) -> dict[Key, tuple[Value, ...]]:
    return {key: tuple(values) for key, values in found.items()}


def described(transactions: Iterable[Transaction]) -> list[str]:
    """Transactions in full, a line per operation, for reports."""
    lines = []
    for transaction in transactions:
        lines.append(f"{transaction}: began {transaction.began:.6f}, locks until "
                     f"{transaction.held_until:.6f}, ended {transaction.ended:.6f}")
        for each in transaction.operations:
            if isinstance(each, Read):
                what = f"read {each.found}"
            else:
                what = f"add {each.value} to {each.key}{', undone' if each.is_undone else ''}"
            lines.append(f"  {each.started:.6f} {each.ended:.6f} {what}  [{each.sql}]")
    return lines
