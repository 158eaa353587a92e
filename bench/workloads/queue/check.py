"""What the queue must be, however much was put and taken.

Each producer numbers its rows, and the oldest are taken first: so those that are left have numbers
without a gap, also after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence

from lab.workload import Damage, Target

# What queue.lua writes into the row of a number.
BODY = "REPEAT(LPAD(number, 10, '0'), 10)"


def findings(target: Target, rows: int) -> list[str]:
    """What is wrong with a queue that had `rows` rows at first, a sentence each."""
    count, wrong = target.query(
        f"SELECT COUNT(*), COALESCE(SUM(body <> {BODY}), 0) FROM queue")[0]
    found = []
    # A load, or one that was killed, changes it by a small part.
    if not rows / 2 <= count <= rows * 2:
        found.append(f"queue: it has {count} rows, and clients keep it at about {rows}")
    if wrong:
        found.append(f"queue: {wrong} rows have a body that is not the one of their number")
    for producer, left, distinct, least, greatest in target.query(
            "SELECT producer, COUNT(*), COUNT(DISTINCT number), MIN(number), MAX(number)"
            " FROM queue GROUP BY producer"):
        if not left == distinct == greatest - least + 1:
            found.append(f"queue: of the rows {least} to {greatest} of producer {producer} "
                         f"{distinct} are there, in {left} copies")
    return found


def damages() -> Sequence[Damage]:
    """One for each finding, for a queue of at least 100 rows."""
    again = ("INSERT INTO queue (name, producer, number, body)"
             " SELECT name, {}, number, body FROM queue").format
    return [
        Damage(["DELETE FROM queue WHERE id > 40"], "and clients keep it"),
        Damage([again("producer + 10"), again("producer + 20")], "and clients keep it"),
        Damage(["UPDATE queue SET body = REVERSE(body) WHERE number = 77"], "of their number"),
        Damage(["DELETE FROM queue WHERE number = 77"], "of producer 0"),
        Damage([again("producer") + " WHERE number = 77"], "of producer 0"),
    ]
