"""What the user sees while it runs: one line for each step, on standard output."""

from __future__ import annotations

import threading
import time

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_lock = threading.Lock()


def say(text: str) -> None:
    """One line; whole, whichever thread says it."""
    with _lock:
        print(text, flush=True)


def size(count: float) -> str:
    """Bytes in a unit that people read."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count /= 1024
        unit += 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


class Ticker:
    """Says something now and then, at most once in `seconds`."""

    def __init__(self, seconds: float = 10.0) -> None:
        self._seconds = seconds
        self._next = time.monotonic() + seconds

    def say(self, text: str) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            say(text)
