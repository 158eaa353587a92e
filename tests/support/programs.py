"""Programs that are kept in files: one statement a line; a line that is set in goes on with it."""

from __future__ import annotations

from pathlib import Path


def statements(path: Path, comment: str) -> list[str]:
    """A file's statements, without lines that begin with the mark of a comment."""
    found: list[str] = []
    for line in path.read_text().splitlines():
        if line.startswith("  ") and found:
            found[-1] += " " + line.strip()
        elif line and not line.startswith(comment):
            found.append(line)
    return found
