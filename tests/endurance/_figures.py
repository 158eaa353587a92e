"""What a run has come to so far: kept in a file, so that a run that is interrupted goes on.

The file is replaced as a whole, so it is there and complete whenever the run may end.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self


@dataclass
class Figures:
    """Sums over all calls that went on with the same data."""

    seed: int
    options: dict[str, Any]
    load_seconds: float = 0.0
    wall_seconds: float = 0.0
    resumes: int = 0
    # Transactions, statements, errors, definitions by kind, kills, restarts: by name.
    counts: Counter[str] = field(default_factory=Counter)
    checkpoints: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    # (bytes, rows) after each compaction of everything, by server.
    compacted: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    incarnations: dict[str, int] = field(default_factory=dict)
    log_read: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """The figures of a file; None if there is none."""
        if not path.exists():
            return None
        values = json.loads(path.read_text())
        values["counts"] = Counter(values["counts"])
        return cls(**values)

    def save(self, path: Path) -> None:
        """Replaces the file."""
        fresh = path.with_suffix(".new")
        with fresh.open("w") as file:
            json.dump({**vars(self), "counts": dict(self.counts)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)

    def total(self, prefix: str) -> int:
        """Sum of all counts whose names begin so."""
        return sum(count for name, count in self.counts.items() if name.startswith(prefix))


def table(figures: Figures) -> list[tuple[str, str]]:
    """The report's lines: what, and how much."""
    counts = figures.counts
    lines = [("seed", str(figures.seed)),
             ("load", _hours(figures.load_seconds)),
             ("wall clock", _hours(figures.wall_seconds)),
             ("interrupted and resumed", str(figures.resumes)),
             ("transactions acknowledged", f"{figures.total('transactions '):,}"),
             ("statements", f"{counts['statements']:,}")]
    lines += [(name, f"{count:,}") for name, count in sorted(counts.items())
              if name.startswith(("transactions ", "XA ", "event ", "killed "))]
    lines += [("definitions", f"{figures.total('definition '):,}")]
    lines += [(name, f"{count:,}") for name, count in sorted(counts.items())
              if name.startswith(("definition ", "errors "))]
    lines += [("checkpoints", str(len(figures.checkpoints))),
              ("checkpoints with problems",
               str(sum(bool(each["problems"]) for each in figures.checkpoints))),
              ("problems", str(len(figures.problems)))]
    return lines


def markdown(figures: Figures) -> str:
    """The report as a page's tables."""
    lines = ["| what | figure |", "|---|--:|"]
    lines += [f"| {name} | {value} |" for name, value in table(figures)]
    lines += ["", "| checkpoint, hours of load | server | resident, MiB | open files | threads "
              "| files of tables, MiB | indexes, MiB | logs, MiB |",
              "|---|---|--:|--:|--:|--:|--:|--:|"]
    for each in figures.checkpoints:
        for server, found in each.get("servers", {}).items():
            lines.append(
                f"| {each['load_seconds'] / 3600:.2f} | {server} | {_mib(found['resident'])} "
                f"| {found['files']} | {found['threads']} | {_mib(found['tables'])} "
                f"| {_mib(found['live'])} | {_mib(found['logs'])} |")
    return "\n".join(lines) + "\n"


def _hours(seconds: float) -> str:
    return f"{int(seconds) // 3600}:{int(seconds) % 3600 // 60:02}:{int(seconds) % 60:02}"


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f}"
