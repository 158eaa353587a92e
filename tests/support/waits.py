"""Who waits for a lock, as the server tells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

# The server's states of a session that waits for another, row locks left out.
_BLOCKED_STATES = ("User lock", "Waiting for ")


def all_wait(ask: Callable[[str], Sequence[tuple[object, ...]]], sessions: Collection[int]) -> bool:
    """Whether these sessions wait: for rows, for metadata locks, or in GET_LOCK.

    `ask` gives a query's rows. Of row locks the server only tells how many are waited for, so that
    sessions that are not asked for must not wait for any.
    """
    states = {int(str(row[0])): str(row[1])
              for row in ask("SELECT ID, STATE FROM information_schema.PROCESSLIST")}
    others = [each for each in sessions if not states.get(each, "").startswith(_BLOCKED_STATES)]
    if not others:
        return True
    waiting = ask("SHOW GLOBAL STATUS LIKE 'Rocksdb_row_lock_current_waits'")
    return int(str(waiting[0][1])) >= len(others)
