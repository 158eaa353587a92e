"""Steps that are done once: a lock between concurrent runs, and results that appear whole."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from basaltcli import ui


@contextmanager
def exclusive(path: Path, what: str) -> Iterator[None]:
    """Holds a lock file; waits, and says so, while another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            ui.info(f"Another ./basalt works on {what}; waiting for it to finish ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """An empty directory to fill; it becomes `target` only when the block ends well."""
    temporary = target.with_name(target.name + ".partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    yield temporary
    if target.exists():
        shutil.rmtree(target)
    temporary.rename(target)
