"""One case: random tables and statements on both engines, and the shrinking of what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tests.differential import _differences
from tests.differential._compare import Difference, difference
from tests.differential._pair import Answer, Overrun, Pair, ServerGone
from tests.differential._schema import Table
from tests.differential._server import Collations
from tests.differential._shrink import shrink
from tests.differential._statement import Comparison, Create, Rows, Statement

_TABLE_ATTEMPTS = 20
CRASH = "the server ended"
OVERRUN = "a statement does not end"


class Abandoned(Exception):
    """The engines differ in a way that is right, and cannot go on together."""


@dataclass
class Failure:
    """A difference, the statements up to it, and the answers."""

    difference: Difference
    statements: list[Statement]
    answers: str = ""

    @property
    def script(self) -> str:
        """The statements, to be run on both engines."""
        return "".join(f"{statement.sql};\n" for statement in self.statements)


@dataclass
class Counts:
    """What was run, over all cases."""

    statements: int = 0
    cases: int = 0
    abandoned: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)


class Generator(Protocol):
    """Draws the statements of one case. Ask for the next only when the last has been answered."""

    def settings(self) -> list[Statement]:
        """The session's settings, for the whole case."""

    def table_count(self) -> int:
        """How many tables the case has."""

    def table(self, number: int) -> Table:
        """A table to create; give it to `keep` when both engines have it."""

    def keep(self, table: Table) -> list[Statement]:
        """Makes a table one of the case's; gives the statements that fill it."""

    def statements(self, count: int) -> Iterator[Statement]:
        """The case's statements, with comparisons of everything among them and at the end."""


MakeGenerator = Callable[[int, Collations, Collection[str]], Generator]


class Runner:
    """Runs cases on a pair of connections."""

    def __init__(self, pair: Pair, collations: Collations, features: Collection[str],
                 counts: Counts, make_generator: MakeGenerator) -> None:
        self._make_generator = make_generator
        self._pair = pair
        self._collations = collations
        self._features = features
        self._counts = counts
        self._done: list[Statement] = []

    def run(self, seed: int, length: int) -> Failure | None:
        """A case; None when the engines agree."""
        self._done = []
        self._counts.cases += 1
        generator = self._make_generator(seed, self._collations, self._features)
        self._pair.reset()
        try:
            for statement in generator.settings():
                self._step(statement)
            for number in range(1, generator.table_count() + 1):
                self._table(generator, number)
            for statement in generator.statements(length):
                self._step(statement)
        except Abandoned as reason:
            self._counts.abandoned[str(reason)] += 1
        except _Found as found:
            return Failure(found.difference, list(self._done), found.answers)
        return None

    def shrink(self, failure: Failure, seconds: float) -> Failure:
        """A smaller failure of the same kind."""
        smallest = failure

        def shows(statements: Sequence[Statement]) -> bool:
            nonlocal smallest
            found = self.replay(statements)
            if found is None or found.difference.kind != failure.difference.kind:
                return False
            smallest = found
            return True

        shrink(failure.statements, shows, seconds)
        return smallest

    def replay(self, statements: Sequence[Statement]) -> Failure | None:
        """Statements on fresh databases."""
        self._done = []
        try:
            self._pair.reset()
            for statement in statements:
                # The generator's model is of no use here, and would not fit.
                self._step(replace(statement, accepted=_nothing))
        except Abandoned:
            return None
        except _Found as found:
            return Failure(found.difference, list(self._done), found.answers)
        except ServerGone:
            return None
        return None

    def _table(self, generator: Generator, number: int) -> None:
        """Draws tables until both engines take one, and fills it."""
        for _ in range(_TABLE_ATTEMPTS):
            table = generator.table(number)
            create = table.create()
            if self._create(create):
                for statement in generator.keep(table):
                    self._step(statement)
                return
        raise Abandoned("no table that both engines take")

    def _create(self, create: Create) -> bool:
        theirs, ours = self._answers(create)
        if theirs.error == 0 and ours.error == _differences.NOT_SUPPORTED_YET:
            self._counts.refused[ours.message] += 1
        elif _differences.known(create, theirs, ours) is None:
            self._judge(create, theirs, ours)
        if theirs.error == 0 and ours.error == 0:
            return True
        if theirs.error != ours.error:
            # One side warns that there is no such table.
            self._step(Statement(f"DROP TABLE IF EXISTS {create.table}",
                                 Comparison(Rows.NOTHING)))
        return False

    def _step(self, statement: Statement) -> None:
        theirs, ours = self._answers(statement)
        is_read_committed = any(setting.is_setting and "READ COMMITTED" in setting.sql
                                for setting in self._done)
        try:
            self._judge(statement, theirs, ours)
        except _Found:
            known = _differences.known(statement, theirs, ours, is_read_committed)
            if known is None:
                raise
            if known.ends_case:
                raise Abandoned(known.reason) from None
        if theirs.error == 0:
            statement.accepted()

    def _answers(self, statement: Statement) -> tuple[Answer, Answer]:
        self._done.append(statement)
        self._counts.statements += 1
        self._counts.kinds[statement.sql.split(None, 1)[0]] += 1
        try:
            theirs, ours = self._pair.run(statement.sql)
        except ServerGone as gone:
            # Reading its log and starting it again is the caller's business.
            raise _Found(Difference(CRASH, str(gone)), "") from gone
        except Overrun as overrun:
            raise _Found(Difference(OVERRUN, str(overrun)), "") from overrun
        self._counts.errors[theirs.error] += 1
        return theirs, ours

    def _judge(self, statement: Statement, theirs: Answer, ours: Answer) -> None:
        found = difference(self._pair, statement, theirs, ours)
        if found is not None:
            raise _Found(found, f"InnoDB: {_shown(theirs)}\nROCKSDB: {_shown(ours)}")


def _nothing() -> None:
    pass


class _Found(Exception):
    """A difference."""

    def __init__(self, found: Difference, answers: str) -> None:
        super().__init__(found.kind)
        self.difference = found
        self.answers = answers


def _shown(answer: Answer) -> str:
    if answer.error:
        return f"error {answer.error}: {answer.message}"
    lines = [f"{len(answer.rows)} rows, {answer.affected} affected, "
             f"{len(answer.warnings)} warnings {answer.info}"]
    lines += [f"  {row}"[:600] for row in answer.rows[:20]]
    lines += [f"  {warning}" for warning in answer.warnings[:10]]
    return "\n".join(lines)
