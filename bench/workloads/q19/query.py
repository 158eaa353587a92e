"""The query, how it is run with its plan pinned, and what the server's counters say about it."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import numpy as np

from lab.workload import Target
from workloads.q19 import names
from workloads.q19.generate import Column, Generator, Lines, Parts

# Rows that the server asked for, pages and blocks that the engine read for them.
_COUNTERS = re.compile(
    r"Handler_(read_\w+|icp_\w+)|Select_\w+|Created_tmp_disk_tables"
    r"|Innodb_(buffer_pool_reads|buffer_pool_read_requests|data_reads?|pages_read)"
    r"|Rocksdb_(block_cache_(data_|index_|filter_)?(miss|hit)|block_cache_bytes_\w+|bytes_read"
    r"|iter_bytes_read|number_(keys_read|db_seek|db_next)|queries_\w+|rows_read"
    r"|block_reads?|block_read_bytes)", re.IGNORECASE)

# Batched reads would order the row lookups, and a row id filter would use the other index: both
# change what is counted. Statistics of the server's own tables would be counted as reads.
_PINNED = ("join_cache_level = 2, use_stat_tables = NEVER, optimizer_switch = 'mrr=off,"
           "mrr_sort_keys=off,rowid_filter=off,index_condition_pushdown={icp}'")


@dataclasses.dataclass(frozen=True)
class Branch:
    """One of the three alternatives of the query."""

    brand: str
    containers: tuple[str, ...]
    size_max: int
    quantity: tuple[int, int]

    def sql(self) -> str:
        containers = ", ".join(f"'{name}'" for name in self.containers)
        return (f"(p_partkey = l_partkey AND p_brand = '{self.brand}'"
                f" AND p_container IN ({containers})"
                f" AND p_size BETWEEN 1 AND {self.size_max}"
                f" AND l_quantity BETWEEN {self.quantity[0]} AND {self.quantity[1]}"
                " AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')")

    def is_part(self, parts: Parts) -> Column:
        """Which parts are of this branch."""
        containers = [names.CONTAINERS.index(name) for name in self.containers]
        return ((parts.brand == names.BRANDS.index(self.brand))
                & np.isin(parts.container, containers) & (parts.size <= self.size_max))

    def is_line(self, lines: Lines) -> Column:
        """Which lines would be counted if their part is of this branch; no mode is 'AIR REG'."""
        low, high = self.quantity
        return ((lines.quantity >= low) & (lines.quantity <= high)
                & (lines.mode == names.MODES.index("AIR"))
                & (lines.instruction == names.INSTRUCTIONS.index("DELIVER IN PERSON")))


BRANCHES = (
    Branch("Brand#45", ("SM CASE", "SM BOX", "SM PACK", "SM PKG"), 5, (1, 11)),
    Branch("Brand#24", ("MED BAG", "MED BOX", "MED PKG", "MED PACK"), 10, (14, 24)),
    Branch("Brand#53", ("LG CASE", "LG BOX", "LG PACK", "LG PKG"), 15, (28, 38)))


@dataclasses.dataclass(frozen=True)
class Counts:
    """What the query must read: in expectation, or of generated rows."""

    parts: float  # rows of the scan of part
    qualifying_parts: float  # lookups in the index
    entries: float  # entries of the index read, each tried with the pushed condition
    matches: float  # entries that pass, whose rows are read

    def handler(self, icp: bool) -> dict[str, float]:
        """The same by the names of the server's counters."""
        return {"Handler_read_rnd_next": self.parts, "Handler_read_key": self.qualifying_parts,
                "Handler_read_next": self.matches if icp else self.entries,
                "Handler_icp_attempts": self.entries if icp else 0,
                "Handler_icp_match": self.matches if icp else 0}


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the generated rows say."""

    revenue: Decimal
    counts: Counts
    matched: tuple[tuple[int, int, int], ...]  # order, line number and part of a few


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One run of the query. `plan` are EXPLAIN's rows, `counters` the growth of the counters."""

    value: Decimal
    seconds: float
    plan: tuple[tuple[object, ...], ...]
    counters: Mapping[str, int]

    def index(self, table: str = "lineitem") -> str:
        """The index that the plan reads a table by, "" for a scan."""
        return next((str(row[5] or "") for row in self.plan if row[2] == table), "")

    def uses_icp(self) -> bool:
        """Whether the plan says so."""
        return any("Using index condition" in str(row[-1]) for row in self.plan)


def expected(scale: float) -> Counts:
    """The counts that the column rules imply on average."""
    return Counts(200_000 * scale, 480 * scale, 14_400 * scale, 113 * scale)


def answer(generator: Generator) -> Answer:
    """The counts and the result of the query, computed from the rows without a server."""
    parts = generator.all_parts()
    branch_of = np.full(generator.part_count + 1, -1)
    for number, branch in enumerate(BRANCHES):
        branch_of[parts.key[branch.is_part(parts)]] = number
    entries = matches = revenue = 0
    matched: list[tuple[int, int, int]] = []
    for lines in generator.all_lines():
        branches = branch_of[lines.part]
        entries += int((branches >= 0).sum())
        for number, branch in enumerate(BRANCHES):
            rows = np.flatnonzero((branches == number) & branch.is_line(lines))
            matches += len(rows)
            revenue += int((lines.price[rows] * (100 - lines.discount[rows])).sum())
            if len(matched) < 5:
                matched += zip(lines.order[rows].tolist(), lines.number[rows].tolist(),
                               lines.part[rows].tolist(), strict=True)
    counts = Counts(generator.part_count, int((branch_of >= 0).sum()), entries, matches)
    return Answer(Decimal(revenue) / 10_000, counts, tuple(matched))


def statement(icp: bool = True, force: bool = True, prefix: str = "") -> str:
    """The query with its plan pinned; `force` prescribes the index of the article.

    `prefix` is what comes before SELECT.
    """
    hint = " FORCE INDEX (i_l_partkey)" if force else ""
    pinned = _PINNED.format(icp="on" if icp else "off")
    return (f"SET STATEMENT {pinned} FOR {prefix}"
            f"SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem{hint}, part"
            " WHERE " + " OR ".join(branch.sql() for branch in BRANCHES))


def run(target: Target, icp: bool = True, force: bool = True) -> Outcome:
    """Runs the query once; nobody else may use the server meanwhile.

    The tables are opened before, so that what is counted and timed is the query's own reading.
    """
    target.query("SELECT 1 FROM lineitem, part LIMIT 0")
    before, own = _counters(target), _counters(target)
    started = time.monotonic()
    rows = target.query(statement(icp, force))
    seconds = time.monotonic() - started
    after = _counters(target)
    # Reading the counters counts as well, each time alike.
    growth = {name: after[name] - own[name] - (own[name] - before[name])
              if name.startswith(("Handler", "Select", "Created")) else after[name] - own[name]
              for name in after}
    plan = tuple(target.query(statement(icp, force, "EXPLAIN ")))
    return Outcome(rows[0][0] or Decimal(0), seconds, plan, growth)


def _counters(target: Target) -> dict[str, int]:
    """The server's counters, and what its process has read, as Linux counts it."""
    found = {name: int(value) for name, value in target.query("SHOW GLOBAL STATUS")
             if _COUNTERS.fullmatch(name)}
    (pid_file,), = target.query("SELECT @@pid_file")
    pid = Path(pid_file).read_text().strip()
    process = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return {**found, "device_read_bytes": int(process["read_bytes"])}
