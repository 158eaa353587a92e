"""Directed graphs with kinds of edges: components and shortest paths."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Graph(Generic[Node]):
    """Edges between two nodes may be of several kinds; each has a text that tells its reason."""

    def __init__(self) -> None:
        self._edges: dict[Node, dict[Node, dict[str, str]]] = defaultdict(dict)

    def add(self, start: Node, end: Node, kind: str, why: str) -> None:
        """Adds an edge; one of the same kind between the same nodes stays as it is."""
        if start != end:
            self._edges[start].setdefault(end, {}).setdefault(kind, why)

    def edges(self, kind: str) -> Iterator[tuple[Node, Node]]:
        for start, ends in self._edges.items():
            for end, kinds in ends.items():
                if kind in kinds:
                    yield start, end

    def successors(self, start: Node) -> Collection[Node]:
        return self._edges[start].keys() if start in self._edges else ()

    def why(self, start: Node, end: Node, kind: str) -> str:
        return self._edges[start][end][kind]

    def kinds(self, start: Node, end: Node) -> Collection[str]:
        return self._edges[start][end].keys()

    def components(self, kinds: Collection[str]) -> list[list[Node]]:
        """Strongly connected components of more than one node, by edges of these kinds."""
        wanted = set(kinds)
        index: dict[Node, int] = {}
        low: dict[Node, int] = {}
        stack: list[Node] = []
        on_stack: set[Node] = set()
        found: list[list[Node]] = []
        for root in list(self._edges):
            if root in index:
                continue
            # Tarjan's algorithm, with a stack of its own instead of recursion.
            work = [(root, self._next(root, wanted))]
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
            while work:
                node, successors = work[-1]
                for successor in successors:
                    if successor not in index:
                        index[successor] = low[successor] = len(index)
                        stack.append(successor)
                        on_stack.add(successor)
                        work.append((successor, self._next(successor, wanted)))
                        break
                    if successor in on_stack:
                        low[node] = min(low[node], index[successor])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == index[node]:
                        at = _last(stack, node)
                        component, stack[at:] = stack[at:], []
                        on_stack.difference_update(component)
                        if len(component) > 1:
                            found.append(component)
        return found

    def path(self, start: Node, end: Node, kinds: Collection[str],
             may_visit: Callable[[Node], bool]) -> list[Node] | None:
        """A shortest path from start to end by edges of these kinds, both included."""
        wanted = set(kinds)
        before: dict[Node, Node] = {start: start}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            if node == end:
                path = [end]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            for successor in self._next(node, wanted):
                if successor not in before and may_visit(successor):
                    before[successor] = node
                    queue.append(successor)
        return None

    def _next(self, node: Node, wanted: set[str]) -> Iterator[Node]:
        return (end for end, kinds in self._edges.get(node, {}).items()
                if not wanted.isdisjoint(kinds))


def _last(stack: list[Node], node: Node) -> int:
    at = len(stack) - 1
    while stack[at] != node:
        at -= 1
    return at
