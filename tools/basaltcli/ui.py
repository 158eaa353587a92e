"""What the user sees: step titles, progress bars, durations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import SpinnerColumn, TimeRemainingColumn

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """A duration as people say it: 0.4 s, 12 s, 3 min 05 s."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def info(text: str) -> None:
    """One line of news."""
    console.print(text, markup=False)


def error(message: str, remedy: str = "") -> None:
    """An error and its remedy, on standard error."""
    errors.print("[bold red]error:[/] ", end="")
    errors.print(message, markup=False)
    if remedy:
        errors.print("[bold]what to do:[/] ", end="")
        errors.print(remedy, markup=False)


class Bar:
    """A progress bar on a terminal; elsewhere (a log file, CI) a line for every tenth."""

    def __init__(self, title: str, progress: Progress | None) -> None:
        self.title = title
        self._progress = progress
        self._task = progress.add_task(title, total=None) if progress else None
        self._started = time.monotonic()
        self._tenths = 0

    def update(self, done: int, total: int) -> None:
        """Says that `done` of `total` parts are finished."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, total=total)
            return
        tenths = done * 10 // total if total else 0
        if tenths > self._tenths:
            self._tenths = tenths
            elapsed = duration(time.monotonic() - self._started)
            info(f"  {self.title}: {done} of {total} after {elapsed}")


@contextmanager
def progress(title: str, note: str = "") -> Iterator[Bar]:
    """Shows a step while it runs, and how long it took when it is done."""
    started = time.monotonic()
    if note:
        info(f"{title} ({note})")
    if console.is_terminal:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(),
                   MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bars:
            yield Bar(title, bars)
    else:
        if not note:
            info(f"{title} ...")
        yield Bar(title, None)
    console.print(f"[green]done[/] {title} [dim]({duration(time.monotonic() - started)})[/]")
