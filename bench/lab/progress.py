"""How far a run is: a bar on a terminal, a line per trial elsewhere; both with the time left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich import progress as rich_progress

from basaltcli import ui


class Progress:
    """Follows trials whose lengths were guessed; the guesses are corrected by what was seen."""

    def __init__(self, guesses: Sequence[float]) -> None:
        self._guesses = list(guesses)
        self._next = 0
        self._seen = 0.0
        self._guessed = 0.0
        self._started = 0.0
        self._name = ""
        self._bar: rich_progress.Progress | None = None
        self._task: rich_progress.TaskID | None = None

    def __enter__(self) -> Self:
        if ui.console.is_terminal:
            columns = (rich_progress.SpinnerColumn(), rich_progress.BarColumn(),
                       rich_progress.MofNCompleteColumn(),
                       rich_progress.TextColumn("{task.description}"))
            self._bar = rich_progress.Progress(*columns, console=ui.console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=len(self._guesses))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def skip(self) -> None:
        """The next trial is done already."""
        self._advance()

    def begin(self, name: str) -> None:
        """The next trial begins."""
        self._started = time.monotonic()
        self._name = name
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"{name}; {ui.duration(self.left())} left")

    def end(self, news: str) -> None:
        """The trial that began last has ended."""
        elapsed = time.monotonic() - self._started
        self._seen += elapsed
        self._guessed += self._guesses[self._next]
        self._advance()
        ui.info(f"  [{self._next} of {len(self._guesses)}] {self._name}: {news} "
                f"({ui.duration(elapsed)}, {ui.duration(self.left())} left)")

    def left(self) -> float:
        """Seconds until all is done, as far as one can tell."""
        factor = self._seen / self._guessed if self._guessed else 1.0
        return sum(self._guesses[self._next:]) * factor

    def _advance(self) -> None:
        self._next += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._next)
