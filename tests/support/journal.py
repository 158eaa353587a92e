"""What clients know of their transactions, and what the tables must hold because of it.

Every transaction of a client has a number, counted from 1, and inserts (client, number) into the
table `history`: its presence says that the transaction is committed. Every row of the load's
tables counts its changes in `version` and names its last writer; before COMMIT the client reads
its changed rows back and notes them. So after a crash it is known for every row and every version
who wrote it and what, and any loss, any half transaction and any lost update shows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]
# Position of columns in a row of the load's tables: id, version, client, number, k, c, pad.
ID, VERSION = 0, 1


class Fate(Enum):
    """What a client knows about the end of a transaction."""

    ACKNOWLEDGED = "acknowledged"
    IN_DOUBT = "in doubt"      # the connection broke while COMMIT was under way
    NOT_COMMITTED = "not committed"


@dataclass
class Attempt:
    """One transaction: by table, how often it changed a row and what it left there at the end."""

    client: int
    number: int
    changes: dict[str, Counter[int]] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    history_rows: int = 1
    fate: Fate = Fate.NOT_COMMITTED


class Journal:
    """The attempts of one client; also written to a file, a line for each. One thread."""

    def __init__(self, client: int, path: Path) -> None:
        self.client = client
        self.attempts: list[Attempt] = []
        self._path = path

    def begin(self) -> Attempt:
        """The next transaction."""
        return Attempt(self.client, len(self.attempts) + 1)

    def end(self, attempt: Attempt) -> None:
        """Notes the transaction's fate."""
        self.attempts.append(attempt)
        line = json.dumps([attempt.number, attempt.fate.value, attempt.history_rows, attempt.rows],
                          default=str)
        with self._path.open("a") as file:
            file.write(line + "\n")


@dataclass
class Verdict:
    """The tables measured against the journals."""

    problems: list[str] = field(default_factory=list)
    fates: Counter[Fate] = field(default_factory=Counter)
    in_doubt_committed: int = 0


def judge(journals: Iterable[Journal], history: dict[tuple[int, int], int],
          tables: dict[str, list[Row]]) -> Verdict:
    """Compares. `history` counts the rows of each (client, number); `tables` hold all rows."""
    verdict = Verdict()
    committed: list[Attempt] = []
    known: set[tuple[int, int]] = set()
    for journal in journals:
        for attempt in journal.attempts:
            known.add((attempt.client, attempt.number))
            verdict.fates[attempt.fate] += 1
            if _is_committed(attempt, history, verdict):
                committed.append(attempt)
    verdict.problems += [f"history has transaction {key}, which no client knows"
                         for key in sorted(history.keys() - known)]
    for name, rows in tables.items():
        verdict.problems += _judge_table(name, rows, committed)
    return verdict


def _is_committed(attempt: Attempt, history: dict[tuple[int, int], int],
                  verdict: Verdict) -> bool:
    title = f"client {attempt.client}, transaction {attempt.number}, {attempt.fate.value}"
    found = history.get((attempt.client, attempt.number), 0)
    if found not in (0, attempt.history_rows):
        verdict.problems.append(f"{title}: {found} of its {attempt.history_rows} history rows")
    if attempt.fate is Fate.ACKNOWLEDGED and not found:
        verdict.problems.append(f"{title}: lost")
    if attempt.fate is Fate.NOT_COMMITTED and found:
        verdict.problems.append(f"{title}: it is there")
    if attempt.fate is Fate.IN_DOUBT and found:
        verdict.in_doubt_committed += 1
    return found > 0


def _judge_table(name: str, rows: list[Row], committed: list[Attempt]) -> list[str]:
    """Every row must be what its last committed writer left, with no version missing."""
    problems: list[str] = []
    versions: dict[int, dict[int, Row]] = {}
    for attempt in committed:
        for row in attempt.rows.get(name, []):
            of_row = versions.setdefault(row[ID], {})
            first = row[VERSION] - attempt.changes[name][row[ID]] + 1
            for version in range(first, row[VERSION] + 1):
                if version in of_row:
                    problems.append(f"{name}, row {row[ID]}: version {version} written twice, by "
                                    f"{of_row[version][2:4]} and {row[2:4]}: a lost update")
                of_row[version] = row
    stored = {row[ID]: row for row in rows}
    for identity, of_row in versions.items():
        last = max(of_row)
        missing = sorted(set(range(1, last + 1)) - of_row.keys())
        if missing:
            problems.append(f"{name}, row {identity}: versions {missing[:5]} of {last} belong to "
                            "no committed transaction")
        if identity not in stored:
            problems.append(f"{name}, row {identity}: gone, last written by {of_row[last][2:4]}")
        elif stored[identity] != of_row[last]:
            problems.append(f"{name}, row {identity}: is {stored[identity]}, "
                            f"the last commit left {of_row[last]}")
    problems += [f"{name}, row {row[ID]}: version {row[VERSION]} by {row[2:4]}, not committed"
                 for row in rows if row[ID] not in versions and row[VERSION] != 0]
    return problems
