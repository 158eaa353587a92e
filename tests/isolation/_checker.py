"""Finds anomalies in a history, as Elle does: from what was read alone.

A list in the end tells the order of all versions of it; a read of it is a prefix, so it tells what
the reader saw and what it did not see yet. A set that only grows tells the same without an order.
This gives a graph of dependencies between transactions:

    ww  both added to a list, one behind the other
    wr  one read what the other added
    rw  one read a version without what the other added: it comes before
    rt  one had been acknowledged before the other began (real time)

A cycle is an anomaly, and its edges tell which. Adya's names: G0 (ww alone), G1c (ww and wr),
G-single (one rw), G-nonadjacent (several, never one behind the other), G2-item and G2 (several; G2
if a range was read). What was read from one snapshot is a point in the order of commits: a cycle of
which all rw begin in such points is "snapshot skew", as is a long fork: one sees this and not that,
the other that and not this. Apart from cycles there are:
what was read and must not have been (G1a, G1b, stale, fuzzy), what is missing in the end, and
changes of what another had locked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from tests.isolation._graph import Graph
from tests.isolation._history import (Append, Fate, History, Key, Read, Transaction, Value,
                                      described, is_set)

# A transaction's number, or ("snapshot", number, n) for what it read from its n-th snapshot.
Node = int | tuple[str, int, int]

_AT_ALL_LEVELS = frozenset((
    "G0", "G1a", "G1b", "G1c", "dirty read", "order", "duplicate", "lost write", "half", "vanished",
    "internal", "stale read", "locked change", "snapshot skew"))
_AT_REPEATABLE_READ = _AT_ALL_LEVELS | {"fuzzy read"}
_AT_SNAPSHOT_ISOLATION = _AT_REPEATABLE_READ | {"lost update", "G-single", "G-nonadjacent"}
# What must not happen at a level.
FORBIDDEN = {
    "RU": _AT_ALL_LEVELS, "RC": _AT_ALL_LEVELS, "RR": _AT_REPEATABLE_READ,
    "SI": _AT_SNAPSHOT_ISOLATION, "SER": _AT_SNAPSHOT_ISOLATION | {"G2-item", "G2"},
}
_STATEMENT_SNAPSHOT_LEVELS = ("RU", "RC")
_WRITE_READ = ("ww", "wr", "rt")
_ANTI = ("rw", "rw by range")
_ALL = (*_WRITE_READ, *_ANTI)


@dataclass
class Anomaly:
    """One finding: its kind, and what shows it."""

    kind: str
    text: str
    transactions: list[Transaction] = field(default_factory=list)

    def report(self) -> str:
        return "\n".join([f"{self.kind}: {self.text}", *described(self.transactions)])


def forbidden(level: str, anomalies: Iterable[Anomaly]) -> list[Anomaly]:
    """Those that must not happen at the level."""
    return [each for each in anomalies if each.kind in FORBIDDEN[level]]


def check(history: History) -> list[Anomaly]:
    """All anomalies of a history, allowed or not."""
    return _Checker(history).run()


class _Checker:
    def __init__(self, history: History) -> None:
        self._level = history.level
        self._final = history.final
        self._transactions = history.transactions
        self._by_number = {each.number: each for each in history.transactions}
        self._writer: dict[Value, tuple[Transaction, Append]] = {
            each.value: (transaction, each) for transaction in history.transactions
            for each in transaction.appends}
        self._values: dict[Key, list[Value]] = defaultdict(list)
        for value, (_, append) in self._writer.items():
            self._values[append.key].append(value)
        self._found: list[Anomaly] = []
        self._in_the_end = {value for values in history.final.values() for value in values}
        self._is_committed = {each.number: self._committed(each) for each in history.transactions}

    def run(self) -> list[Anomaly]:
        self._check_final()
        for transaction in self._transactions:
            self._check_reads(transaction)
            self._check_own(transaction)
            self._check_repeated(transaction)
        self._check_stale()
        self._check_locked()
        self._check_lost_updates()
        self._check_cycles()
        return self._found

    def _add(self, kind: str, text: str, *transactions: Transaction) -> None:
        self._found.append(Anomaly(kind, text, list(transactions)))

    def _committed(self, transaction: Transaction) -> bool:
        if transaction.fate is not Fate.UNKNOWN:
            return transaction.fate is Fate.COMMITTED
        return any(each.value in self._in_the_end for each in transaction.appends)

    def _is_good(self, value: Value) -> bool:
        """Whether a value was committed."""
        if value not in self._writer:
            return False
        transaction, append = self._writer[value]
        return self._is_committed[transaction.number] and not append.is_undone

    # The objects in the end.

    def _check_final(self) -> None:
        for key, values in self._final.items():
            twice = [value for value, count in Counter(values).items() if count > 1]
            if twice:
                self._add("duplicate", f"{key} has {twice} more than once in the end")
            for value in values:
                if not self._is_good(value) or self._writer[value][1].key != key:
                    writers = [self._writer[value][0]] if value in self._writer else []
                    self._add("G1a", f"{key} has {value} in the end, which was never committed "
                              "there", *writers)
        for transaction in self._transactions:
            if not self._is_committed[transaction.number]:
                continue
            missing = [each for each in transaction.appends
                       if not each.is_undone and each.value not in self._in_the_end]
            if missing:
                kind = "half" if transaction.fate is Fate.UNKNOWN else "lost write"
                what = ", ".join(f"{each.value} of {each.key}" for each in missing)
                self._add(kind, f"missing in the end: {what}", transaction)

    # Reads, each for itself.

    def _check_reads(self, transaction: Transaction) -> None:
        for read in transaction.reads:
            for key, values in read.found.items():
                others = [value for value in values if value not in self._writer
                          or self._writer[value][0] is not transaction]
                self._check_uncommitted(transaction, read, key, others)
                self._check_intermediate(transaction, read, key, others)
                if not is_set(key):
                    self._check_order(transaction, key, values, others)

    def _check_uncommitted(self, reader: Transaction, read: Read, key: Key,
                           others: Sequence[Value]) -> None:
        for value in others:
            writer = self._writer[value][0] if value in self._writer else None
            if writer is not None and self._is_good(value):
                if read.ended < writer.held_until:
                    self._add("dirty read", f"{reader} read {value} of {key} before its commit "
                              "was asked for", reader, writer)
                continue
            text = f"{reader} read {value} of {key}, which was never committed"
            if writer is None:
                self._add("G1a", text + ", nor written", reader)
            elif writer.fate is Fate.UNKNOWN:
                self._add("vanished", text, reader, writer)
            else:
                self._add("G1a", text, reader, writer)

    def _check_intermediate(self, reader: Transaction, read: Read, key: Key,
                            others: Sequence[Value]) -> None:
        """A part of what one transaction added to one object must not be seen."""
        # Row by row, a locking scan without gap locks may miss the first and meet the second.
        if is_set(key) and read.is_locking and self._level in _STATEMENT_SNAPSHOT_LEVELS:
            return
        seen = set(others)
        for writer in {self._writer[value][0].number for value in others if self._is_good(value)}:
            missing = [each.value for each in self._by_number[writer].appends
                       if each.key == key and not each.is_undone and each.value not in seen]
            if missing:
                self._add("G1b", f"{reader} read {key} with a part of what T{writer} added, not "
                          f"{missing}", reader, self._by_number[writer])

    def _check_order(self, reader: Transaction, key: Key, values: Sequence[Value],
                     others: Sequence[Value]) -> None:
        final = self._final.get(key, ())
        prefix = values if self._is_committed[reader.number] and not any(
            each.is_undone for each in reader.appends) else others
        if tuple(prefix) != final[:len(prefix)] and all(map(self._is_good, prefix)):
            self._add("order", f"{reader} read {key} as {list(values)}, in the end it is "
                      f"{list(final)}", reader)

    # Reads of one transaction, together.

    def _check_own(self, transaction: Transaction) -> None:
        """After an own change the object has it, and a list has it at its end."""
        own: dict[Key, list[Value]] = defaultdict(list)
        for each in transaction.operations:
            if isinstance(each, Append):
                if not each.is_undone:
                    own[each.key].append(each.value)
                continue
            for key, values in each.found.items():
                expected = own.get(key, [])
                if is_set(key):
                    is_right = set(expected) <= set(values)
                else:
                    is_right = list(values[len(values) - len(expected):]) == expected
                if not is_right:
                    self._add("internal", f"{transaction} read {key} as {list(values)} after "
                              f"adding {expected}", transaction)

    def _check_repeated(self, transaction: Transaction) -> None:
        """What one snapshot shows does not change, nor does what is locked."""
        if self._level in _STATEMENT_SNAPSHOT_LEVELS:
            return
        for is_locking in (False, True):
            seen: dict[Key, tuple[Value, ...]] = {}
            changed: set[Key] = set()
            for each in transaction.operations:
                if isinstance(each, Append):
                    changed.add(each.key)
                elif each.is_locking == is_locking:
                    for key, values in each.found.items():
                        others = tuple(value for value in values if value not in self._writer
                                       or self._writer[value][0] is not transaction)
                        if is_set(key):
                            others = tuple(sorted(others))
                        elif key in changed and not is_locking:
                            continue  # the newest version, by the own change
                        if seen.setdefault(key, others) != others:
                            self._add("fuzzy read", f"{transaction} read {key} as "
                                      f"{list(seen[key])} and then as {list(others)}", transaction)

    # Reads and time.

    def _check_stale(self) -> None:
        """What was acknowledged before a snapshot, or a locking read, is seen."""
        acknowledged: dict[Key, list[tuple[float, Value]]] = defaultdict(list)
        for value, (writer, append) in self._writer.items():
            if writer.fate is Fate.COMMITTED and not append.is_undone:
                acknowledged[append.key].append((writer.ended, value))
        for pairs in acknowledged.values():
            pairs.sort()
        for transaction in self._transactions:
            for read in transaction.reads:
                since = self._snapshot_time(transaction, read)
                for key, values in read.found.items():
                    pairs = acknowledged.get(key, [])
                    before = [value for _, value in pairs[:bisect_left(pairs, (since, -1))]]
                    missing = set(before) - set(values)
                    if missing:
                        writers = [self._writer[value][0] for value in sorted(missing)[:3]]
                        self._add("stale read", f"{transaction} read {key} without "
                                  f"{sorted(missing)}, acknowledged before", transaction, *writers)

    def _snapshot_time(self, transaction: Transaction, read: Read) -> float:
        if read.is_locking or self._level in _STATEMENT_SNAPSHOT_LEVELS:
            return read.started
        if transaction.has_early_snapshot or self._level == "SI":
            return transaction.began
        return next(each.started for each in transaction.reads if not each.is_locking)

    def _check_locked(self) -> None:
        """What a locking read has seen is not changed by others while the lock is held."""
        has_gaps = self._level not in _STATEMENT_SNAPSHOT_LEVELS
        for transaction in self._transactions:
            for read in transaction.reads:
                if not read.is_locking:
                    continue
                for key, values in read.found.items():
                    # Without gap locks only rows are locked, and those that were there.
                    if has_gaps or values and not is_set(key):
                        self._check_locked_object(transaction, key, set(values))

    def _check_locked_object(self, holder: Transaction, key: Key, seen: set[Value]) -> None:
        for value in self._values[key]:
            writer, append = self._writer[value]
            if (value not in seen and writer is not holder and self._is_good(value)
                    and append.ended < holder.held_until):
                self._add("locked change", f"{writer} added {value} to {key}, which {holder} had "
                          "locked", holder, writer)

    # Transactions against each other.

    def _check_lost_updates(self) -> None:
        """Two read the same version of a list, and both added to it."""
        readers: dict[tuple[Key, tuple[Value, ...]], list[Transaction]] = defaultdict(list)
        for transaction in self._transactions:
            if not self._is_committed[transaction.number]:
                continue
            last: dict[Key, tuple[Value, ...]] = {}
            changed: set[Key] = set()
            for each in transaction.operations:
                if isinstance(each, Read):
                    last.update({key: values for key, values in each.found.items()
                                 if not is_set(key) and key not in changed})
                elif not each.is_undone and each.key not in changed:
                    changed.add(each.key)
                    if each.key in last:
                        readers[each.key, last[each.key]].append(transaction)
        for (key, values), transactions in readers.items():
            if len(transactions) > 1:
                self._add("lost update", f"{key} was read as {list(values)} and changed by "
                          + ", ".join(map(str, transactions)), *transactions)

    def _check_cycles(self) -> None:
        graph = self._graph()
        self._report_cycles(graph, "G0", ("ww", "rt"), "ww")
        self._report_cycles(graph, "G1c", _WRITE_READ, "wr")
        self._report_anti_dependencies(graph)

    def _report_cycles(self, graph: Graph[Node], kind: str, kinds: Sequence[str],
                       needed: str) -> None:
        """One cycle of each component that has an edge of the needed kind."""
        for component in graph.components(kinds):
            members = set(component)
            for start, end in graph.edges(needed):
                if start in members and end in members:
                    path = graph.path(end, start, kinds, members.__contains__)
                    if path is not None:
                        self._report(graph, kind, [start, *path], kinds, needed)
                        break

    def _report_anti_dependencies(self, graph: Graph[Node]) -> None:
        reported: set[Node] = set()
        skewed: set[Node] = set()
        for anti in _ANTI:
            for start, end in list(graph.edges(anti)):
                path = self._path_back(graph, start, end)
                if path is not None:
                    kind = "G-single" if isinstance(start, int) else "snapshot skew"
                    self._report(graph, kind, [start, *path], _WRITE_READ, anti)
                    reported.update(path)
                    skewed.update(path if kind == "snapshot skew" else ())
        reported |= self._report_snapshots(graph, skewed)
        self._report_nonadjacent(graph, reported)
        for component in graph.components(_ALL):
            if reported.isdisjoint(component):
                self._report_several(graph, component)

    def _report_snapshots(self, graph: Graph[Node], skewed: Collection[Node]) -> set[Node]:
        """Cycles with several anti-dependencies, all of which begin in snapshots.

        Returns what is in them; `skewed` is what is in a cycle with a single one.
        """
        found: set[Node] = set()
        points: Graph[Node] = Graph()
        for kind in _ALL:
            for start, end in graph.edges(kind):
                if kind in _WRITE_READ or not isinstance(start, int):
                    points.add(start, end, kind, graph.why(start, end, kind))
        for component in points.components(_ALL):
            members = set(component)
            step = next(((start, end, kind) for kind in _ANTI for start, end in points.edges(kind)
                         if start in members and end in members), None)
            # Without one it is G0 or G1c.
            if step is None or not members.isdisjoint(skewed):
                continue
            start, end, anti = step
            path = points.path(end, start, _ALL, members.__contains__)
            if path is not None:
                self._report(points, "snapshot skew", [start, *path], _ALL, anti)
                found |= members
        return found

    def _report_nonadjacent(self, graph: Graph[Node], reported: set[Node]) -> None:
        """Cycles of transactions with several anti-dependencies, none of them behind another."""
        # A node is a transaction, and whether an anti-dependency has led to it.
        walks: Graph[tuple[Node, bool]] = Graph()
        for kind in _ALL:
            for start, end in graph.edges(kind):
                if isinstance(start, int) and isinstance(end, int):
                    walks.add((start, False), (end, kind in _ANTI), kind, "")
                    if kind in _WRITE_READ:
                        walks.add((start, True), (end, False), kind, "")
        for component in walks.components(_ALL):
            members = set(component)
            step = next(((start, end, kind) for kind in _ANTI for start, end in walks.edges(kind)
                         if start in members and end in members), None)
            if step is None or not reported.isdisjoint(node for node, _ in members):
                continue
            start, end, anti = step
            path = walks.path(end, start, _ALL, members.__contains__)
            if path is not None:
                cycle = [start[0], *(node for node, _ in path)]
                self._report(graph, "G-nonadjacent", cycle, _ALL, anti)
                reported.update(cycle)

    def _path_back(self, graph: Graph[Node], start: Node, end: Node) -> list[Node] | None:
        """A path from the end to the start of an anti-dependency, without another."""
        # Nothing that began after the reader was done can have come before it.
        done = self._transaction(start).ended
        if self._transaction(end).began > done:
            return None
        return graph.path(end, start, _WRITE_READ,
                          lambda node: self._transaction(node).began <= done)

    def _report_several(self, graph: Graph[Node], component: Sequence[Node]) -> None:
        """A cycle of a component that has none with a single anti-dependency, if it has any."""
        # Snapshots of one transaction are no transactions: two of them prove nothing.
        members = {each for each in component if isinstance(each, int)}
        for start in members:
            for end in graph.successors(start):
                anti = next((each for each in _ANTI if each in graph.kinds(start, end)), "")
                if not anti or end not in members:
                    continue
                path = graph.path(end, start, _ALL, members.__contains__)
                if path is None:
                    continue
                is_range = anti != "rw" or any(
                    "rw by range" in graph.kinds(*pair)
                    and {"rw", *_WRITE_READ}.isdisjoint(graph.kinds(*pair))
                    for pair in zip(path, path[1:], strict=False))
                self._report(graph, "G2" if is_range else "G2-item", [start, *path], _ALL, anti)
                return

    def _transaction(self, node: Node) -> Transaction:
        return self._by_number[node if isinstance(node, int) else node[1]]

    def _report(self, graph: Graph[Node], kind: str, cycle: list[Node], kinds: Sequence[str],
                first: str) -> None:
        steps = []
        for number, (start, end) in enumerate(zip(cycle, cycle[1:], strict=False)):
            edge = first if number == 0 else next(each for each in kinds
                                                  if each in graph.kinds(start, end))
            steps.append(f"  {_name(start)} -{edge}-> {_name(end)}: {graph.why(start, end, edge)}")
        members = {each.number: each for each in map(self._transaction, cycle)}
        self._add(kind, f"a cycle of {len(cycle) - 1}\n" + "\n".join(steps), *members.values())

    # The graph.

    def _graph(self) -> Graph[Node]:
        graph: Graph[Node] = Graph()
        for key, values in self._final.items():
            if not is_set(key):
                self._add_write_edges(graph, key, values)
        for transaction in self._transactions:
            if self._is_committed[transaction.number]:
                for read in transaction.reads:
                    self._add_read_edges(graph, transaction.number, read, set())
            self._add_snapshots(graph, transaction)
        self._add_time_edges(graph)
        return graph

    def _add_write_edges(self, graph: Graph[Node], key: Key, values: Sequence[Value]) -> None:
        for one, two in zip(values, values[1:], strict=False):
            if one in self._writer and two in self._writer:
                graph.add(self._writer[one][0].number, self._writer[two][0].number, "ww",
                          f"{two} follows {one} in {key}")

    def _add_read_edges(self, graph: Graph[Node], node: Node, read: Read,
                        without: set[Key]) -> None:
        number = node if isinstance(node, int) else node[1]
        for key, values in read.found.items():
            if key in without:
                continue
            is_range = read.is_range or is_set(key)
            seen = values if is_set(key) else values[-1:]
            for value in seen:
                if self._is_good(value) and self._writer[value][0].number != number:
                    graph.add(self._writer[value][0].number, node, "wr", f"{value} of {key}")
            for value in self._unseen(key, values):
                if self._writer[value][0].number != number:
                    graph.add(node, self._writer[value][0].number,
                              "rw by range" if is_range else "rw",
                              f"read {key} as {list(values)}, without {value}")

    def _unseen(self, key: Key, values: Sequence[Value]) -> list[Value]:
        """What was added after what was read; of a list, the next."""
        if is_set(key):
            return [value for value in self._values[key]
                    if value not in values and self._is_good(value)]
        final = self._final.get(key, ())
        return [value for value in final[len(values):len(values) + 1] if value in self._writer]

    def _add_snapshots(self, graph: Graph[Node], transaction: Transaction) -> None:
        """What was read from one snapshot is a reader of its own, whatever else was done."""
        changed: set[Key] = set()
        is_one = self._level not in _STATEMENT_SNAPSHOT_LEVELS
        for number, each in enumerate(transaction.operations):
            if isinstance(each, Append):
                changed.add(each.key)
            elif not each.is_locking:
                node = ("snapshot", transaction.number, 0 if is_one else number)
                self._add_read_edges(graph, node, each, changed)

    def _add_time_edges(self, graph: Graph[Node]) -> None:
        """Edges from the last acknowledged ones; earlier ones follow from them."""
        events: list[tuple[float, int, Transaction]] = []
        for transaction in self._transactions:
            if self._is_committed[transaction.number]:
                events.append((transaction.began, 1, transaction))
                if transaction.fate is Fate.COMMITTED:
                    events.append((transaction.ended, 0, transaction))
        events.sort(key=lambda event: (event[0], -event[1], event[2].number))
        latest: dict[int, Transaction] = {}
        before: dict[int, set[int]] = {}
        for _, is_begin, transaction in events:
            if is_begin:
                before[transaction.number] = set(latest)
                for number in latest:
                    graph.add(number, transaction.number, "rt", "acknowledged before it began")
            else:
                for number in before[transaction.number]:
                    latest.pop(number, None)
                latest[transaction.number] = transaction


def _name(node: Node) -> str:
    return f"T{node}" if isinstance(node, int) else f"a snapshot of T{node[1]}"
