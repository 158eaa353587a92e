"""What must hold of a server that has run for long: pure functions over what was measured.

Each returns one line per problem, none if all is well; judges_test.py shows each of them what it is
there to see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MIB = 1 << 20
# [ERROR] lines that an engine without defects may cause, and why.
ALLOWED_ERRORS = (
    # Clients that are killed, or go, while a replica or a dump reads the log.
    r"Read semi-sync reply",
    # A replica whose source is away.
    r"Slave I/O: error (re)?connecting to master",
    r"Slave I/O: Got (fatal|packet).* from master",
    r"Error reading packet from server: ",
    r"Slave I/O: Relay log write failure: could not queue event",
    r"Slave I/O: Unexpected break of being relay-logged GTID",
    # The server says so of any transaction that a parallel replica takes back and tries again.
    r"Slave (SQL|worker).*(Deadlock found|Lock wait timeout|Record has changed)",
    r"Slave SQL: .*Commit failed due to failure of an earlier commit",
    r"Slave SQL: Connection was killed",
    # Recovery tells about statements that it finishes or undoes.
    r"DDL_LOG: (Executing|Execution)",
)
_SEVERE = re.compile(r"ssertion|orrupt|got signal|Sanitizer|\[FATAL\]")
# Words of messages that are not about damage.
_HARMLESS = re.compile(r"table.*should be repaired|--corrupt|Crash recovery")


def log_problems(text: str, allowed: Sequence[str] = ALLOWED_ERRORS) -> list[str]:
    """Lines of an error log that nobody expects."""
    expected = re.compile("|".join(allowed))
    return [f"error log: {line}" for line in text.splitlines()
            if (_SEVERE.search(line) and not _HARMLESS.search(line))
            or ("[ERROR]" in line and not expected.search(line))]


@dataclass(frozen=True)
class Sample:
    """A server between two stretches of load. Ages are seconds of load since its start."""

    server: str
    incarnation: int
    age: float
    resident: int
    files: int = 0
    threads: int = 0


@dataclass(frozen=True)
class MemoryLimits:
    """What a server may take, in bytes, and how much more late in its life than after warm-up."""

    ceiling: int
    growth: int
    warm_up: float
    files: int = 200
    threads: int = 20


def memory_problems(samples: Iterable[Sample], limits: MemoryLimits) -> list[str]:
    """Whether memory, open files and threads stay as they are in each incarnation of each server.

    Compared are the lowest values of the first and the last third of the samples after warm-up: a
    peak is no leak, and what leaks never comes down.
    """
    problems: list[str] = []
    by_life: dict[tuple[str, int], list[Sample]] = {}
    for sample in samples:
        by_life.setdefault((sample.server, sample.incarnation), []).append(sample)
        if sample.resident > limits.ceiling:
            problems.append(f"{sample.server}, start {sample.incarnation}: "
                            f"{sample.resident / MIB:.0f} MiB resident after {sample.age:.0f} s, "
                            f"more than {limits.ceiling / MIB:.0f}")
    for (server, incarnation), life in by_life.items():
        warm = [sample for sample in life if sample.age >= limits.warm_up]
        third = len(warm) // 3
        if not third:
            continue
        for name, unit, most in (("resident", "bytes", limits.growth),
                                 ("files", "open files", limits.files),
                                 ("threads", "threads", limits.threads)):
            first, last = (min(getattr(sample, name) for sample in part)
                           for part in (warm[:third], warm[-third:]))
            if last - first > most:
                problems.append(f"{server}, start {incarnation}: {unit} grow from {first} to "
                                f"{last}, by more than {most}")
    return problems


@dataclass(frozen=True)
class IndexSpace:
    """A row of information_schema.ROCKSDB_INDEX_SPACE."""

    index: int
    family: str
    state: str
    table: str
    name: str
    size: int
    is_undecided: bool


def space_problems(rows: Iterable[IndexSpace], tables: set[str]) -> list[str]:
    """Indexes whose entries belong to no table. `tables` are the names of all, as files have them.

    What is dropped may stay while a transaction is undecided that has changed it.
    """
    problems: list[str] = []
    for row in rows:
        if row.state == "unknown":
            problems.append(f"index {row.index} has {row.size} bytes and belongs to nobody")
        elif row.state == "dropped" and not row.is_undecided:
            problems.append(f"index {row.index} was dropped, and its space is not given back")
        elif row.state == "building":
            problems.append(f"index {row.index} of {row.table} is being built, and nobody does")
        elif row.state == "in use" and row.table not in tables and "#sql" not in row.table:
            problems.append(f"index {row.index} is of table {row.table}, which does not exist")
        elif row.state == "in use" and "#sql" in row.table and not row.is_undecided:
            problems.append(f"index {row.index} is of {row.table}, which a statement has left")
    return problems


@dataclass(frozen=True)
class Directory:
    """Sizes of an engine's directory in bytes, by kind of file, and what its indexes have."""

    tables: int
    logs: int
    other: int
    live: int


def directory_problems(found: Directory, logs_max: int, factor: float = 1.5,
                       slack: int = 48 * MIB) -> list[str]:
    """Whether files hold what is in the indexes, and not much else."""
    problems: list[str] = []
    if found.tables > factor * found.live + slack:
        problems.append(f"files of tables have {found.tables / MIB:.0f} MiB, their indexes "
                        f"{found.live / MIB:.0f} MiB")
    if found.logs > logs_max:
        problems.append(f"logs have {found.logs / MIB:.0f} MiB, more than {logs_max / MIB:.0f}")
    if found.other > slack:
        problems.append(f"other files have {found.other / MIB:.0f} MiB")
    return problems


def compacted_problems(sizes: Sequence[tuple[int, int]], factor: float = 2.0,
                       slack: int = 32 * MIB) -> list[str]:
    """Whether compacted data takes as much a row as it did. `sizes` are (bytes, rows) over time."""
    if len(sizes) < 2:
        return []
    (first_bytes, first_rows), (last_bytes, last_rows) = sizes[0], sizes[-1]
    expected = first_bytes / max(first_rows, 1) * last_rows
    if last_bytes <= factor * expected + slack:
        return []
    return [f"{last_rows} rows take {last_bytes / MIB:.0f} MiB after compaction, "
            f"{expected / MIB:.0f} were expected"]


def sum_problems(title: str, found: Mapping[str, tuple[int, ...]],
                 expected: tuple[int, ...] | None = None) -> list[str]:
    """Whether all ways to the same figures, by index, give the same, and the expected ones."""
    wanted = expected if expected is not None else next(iter(found.values()), ())
    return [f"{title}: {way} gives {figures}, expected {wanted}"
            for way, figures in found.items() if tuple(figures) != tuple(wanted)]


# Life of an XA transaction, as its client knows it.
BEGUN, PREPARED, COMMITTING, ROLLING_BACK, COMMITTED, ROLLED_BACK, ONE_PHASE = (
    "begun", "prepared", "committing", "rolling back", "committed", "rolled back", "one phase")


def xa_problems(known: Mapping[str, str], prepared: set[str], logged: set[str]) -> list[str]:
    """Whether the server has the prepared transactions, and the effects, that clients know of.

    `known` is the state of each transaction by name, `prepared` what XA RECOVER gives, `logged`
    those whose row is in the table.
    """
    problems = [f"XA transaction {name} is prepared, and no client knows it"
                for name in sorted(prepared - known.keys())]
    for name, state in known.items():
        is_prepared, is_there = name in prepared, name in logged
        if is_prepared and is_there:
            problems.append(f"XA transaction {name}: prepared, and its row is visible")
        elif is_prepared and state in (COMMITTED, ROLLED_BACK):
            problems.append(f"XA transaction {name}: {state}, and prepared again")
        elif not is_prepared and state == PREPARED:
            problems.append(f"XA transaction {name}: prepared and lost"
                            + (", its row is there" if is_there else ""))
        elif state == ONE_PHASE and not is_prepared:
            continue  # either way
        elif not is_prepared and is_there != (state in (COMMITTING, COMMITTED)):
            problems.append(f"XA transaction {name}: {state}, its row "
                            + ("is there" if is_there else "is not there"))
    return problems
