"""What threads of a test's clients have in common: they go on until told, or the server ends."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence

import pymysql
from pymysql.constants import CR, ER

# What a client meets when the server ends.
ENDS = (CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_CONN_HOST_ERROR,
        CR.CR_CONNECTION_ERROR, ER.SERVER_SHUTDOWN, 0)


def is_end(error: Exception, ends: Sequence[int] = ENDS) -> bool:
    """Whether the server has ended, as it does in these tests."""
    return isinstance(error, OSError) or (bool(error.args) and error.args[0] in ends)


def run_until(stops: threading.Event, body: Callable[[random.Random], None], chance: random.Random,
              errors: list[str], ends: Sequence[int] = ENDS) -> None:
    """Calls `body` again and again. What it raises ends that, and is an error unless an end."""
    name = getattr(body, "__name__", "client")
    try:
        while not stops.is_set():
            body(chance)
    except (pymysql.err.Error, OSError) as error:
        if not is_end(error, ends):
            errors.append(f"{name}: {type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001: a thread has nobody to raise it to
        errors.append(f"{name}: {type(error).__name__}: {error}")
