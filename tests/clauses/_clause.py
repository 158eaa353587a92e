"""What a clause of a definition comes to: the words in which _clauses_*.py say it.

Statements are given as one text with semicolons. They run in a database of their own that has

    t   (a INT PRIMARY KEY, b INT, c VARCHAR(20), KEY b (b)), rows 1 to 3
    p   (a INT PRIMARY KEY, b INT), partitions p0 below 10 and p1 below 20, rows 1 and 11

The last statement holds the clause and is the one that is judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """What is to become of the judged statement."""

    WORKS = "works"
    REFUSED = "refused"
    WARNED = "warned"
    IDLE = "accepted without effect, as InnoDB does"


@dataclass(frozen=True)
class Clause:
    """One alternative of a rule of the grammar, and what the engine makes of it."""

    alternative: str
    sql: str
    outcome: Outcome
    # WORKS: queries whose answers InnoDB gives too, with these statements. The engine's name in an
    # answer does not count.
    proof: str = ""
    # REFUSED, WARNED: the number of the error or warning.
    code: int = 0
    # IDLE: the word by which the user guide lists it.
    word: str = ""


def works(alternative: str, sql: str, proof: str = "SHOW CREATE TABLE n") -> Clause:
    """It does what it does in InnoDB, without a warning that InnoDB does not give."""
    return Clause(alternative, sql, Outcome.WORKS, proof=proof)


def refused(code: int, alternative: str, sql: str) -> Clause:
    """Error `code`; everything is as before."""
    return Clause(alternative, sql, Outcome.REFUSED, code=code)


def warned(code: int, alternative: str, sql: str) -> Clause:
    """Done, with warning `code`."""
    return Clause(alternative, sql, Outcome.WARNED, code=code)


def idle(word: str, alternative: str, sql: str) -> Clause:
    """No error, no warning, no effect: in InnoDB too; the user guide has `word` in its list."""
    return Clause(alternative, sql, Outcome.IDLE, word=word)
