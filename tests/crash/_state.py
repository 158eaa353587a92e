"""All that a client can see in a database, in a form that can be compared."""

from __future__ import annotations

import re
from typing import Any

from basaltcli.server import Server

# Values skipped in a crash are allowed.
_COUNTER = re.compile(r" AUTO_INCREMENT=\d+")

State = dict[str, Any]


def state_of(server: Server, database: str) -> State:
    """Definition and sorted rows of every table, and the names of prepared transactions."""
    state: State = {"prepared": sorted(str(row[3]) for row in server.query("XA RECOVER"))}
    names = server.query("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
                         "%s ORDER BY 1", [database])
    for (name,) in names:
        table = f"`{database}`.`{name}`"
        definition = server.query(f"SHOW CREATE TABLE {table}")[0][1]
        rows = sorted(server.query(f"SELECT * FROM {table}"), key=repr)
        state[name] = (_COUNTER.sub("", definition), rows)
    return state


def describe(state: State) -> str:
    """One line: tables, how many rows, a number that stands for their contents."""
    parts = [f"{name}: {len(value[1])} rows, #{abs(hash(repr(value))) % 10000:04}"
             for name, value in state.items() if name != "prepared"]
    if state["prepared"]:
        parts.append(f"prepared: {', '.join(state['prepared'])}")
    return "; ".join(parts) or "nothing"
