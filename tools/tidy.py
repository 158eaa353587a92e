#!/usr/bin/python3
"""Format checks that need no compiler: lines, spaces, Markdown titles and links.

Usage: tools/tidy.py [ROOT]

Looks at every file that git tracks or would track. Prints one line per finding and ends with exit
code 1 if there is any. Layout of C++ code itself is clang-format's business (.clang-format).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

LINE_MAX = 100
# Lines of these may be as long as they are: tables, SQL that is echoed into results, data.
# Patches have the lines of what they change.
_LONG_LINES = {".md", ".test", ".inc", ".opt", ".svg", ".html", ".j2", ".json", ".csv", ".patch"}
# Written by other programs, byte for byte.
_UNCHECKED = {".result", ".reject", ".rdiff", ".lock", ".png", ".svg", ".gz", ".zst", ".sst"}
_LINK = re.compile(r"(?<!\!)\[[^\]\[]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|\!\[[^\]]*\]\(([^)\s]+)\)")
# What git leaves in a file where it could not merge.
_CONFLICT = re.compile(r"(<{7}|>{7}) |={7}$")
_FENCE = re.compile(r"^\s*(```|~~~)")


def findings(root: Path) -> Iterator[str]:
    """One line per finding in the files of a checkout."""
    for path in files(root):
        name = str(path.relative_to(root))
        if path.suffix in _UNCHECKED:
            continue
        data = path.read_bytes()
        if b"\0" in data[:8000]:
            continue
        try:
            text = data.decode()
        except UnicodeDecodeError:
            yield f"{name}: not UTF-8"
            continue
        for problem in _text_problems(path, text):
            yield f"{name}:{problem}"
        if path.suffix == ".md":
            for problem in _page_problems(root, path, text):
                yield f"{name}:{problem}"


def files(root: Path) -> list[Path]:
    """Files that belong to the checkout: known to git, or new and not ignored."""
    done = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False)
    if done.returncode == 0:
        names = {name.decode() for name in done.stdout.split(b"\0") if name}
        paths = [root / name for name in names]
    else:  # a source archive without git
        paths = [path for path in root.rglob("*") if root / "build" not in path.parents]
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def _text_problems(path: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line and path.name != "Makefile":
            yield f"{number}: tab"
        if line.endswith("\r"):
            yield f"{number}: carriage return"
        elif line.endswith((" ", "\t")):
            yield f"{number}: space at the end of the line"
        if _CONFLICT.match(line):
            yield f"{number}: mark of a merge conflict"
        if len(line) > LINE_MAX and path.suffix not in _LONG_LINES:
            yield f"{number}: {len(line)} characters, at most {LINE_MAX}"
    if text and not text.endswith("\n"):
        yield " no newline at the end"
    if text.endswith("\n\n"):
        yield " empty line at the end"


def _page_problems(root: Path, path: Path, text: str) -> Iterator[str]:
    """A page has one title, and its relative links lead somewhere."""
    titles = 0
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if _FENCE.match(line):
            is_code = not is_code
            continue
        if is_code:
            continue
        titles += line.startswith("# ")
        for match in _LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            target = match[1] or match[2]
            problem = _link_problem(root, path, target)
            if problem:
                yield f"{number}: {problem}"
    if titles != 1:
        yield f" {titles} titles (lines beginning with '# '), a page has one"


def _link_problem(root: Path, path: Path, target: str) -> str | None:
    if re.match(r"^[a-z][a-z0-9+.-]*:", target):
        return None
    file, _, anchor = target.partition("#")
    base = root if file.startswith("/") else path.parent
    destination = base / unquote(file).lstrip("/") if file else path
    if not destination.exists():
        return f"link to {target}, which does not exist"
    if anchor and destination.suffix == ".md" and anchor not in _anchors(destination.read_text()):
        return f"link to {target}: the page has no such heading"
    return None


def _anchors(text: str) -> set[str]:
    """The names that headings get on common Markdown viewers."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def run_check(arguments: list[str], check: Callable[[Path], Iterable[str]]) -> int:
    """What a tool that takes [ROOT] prints of what `check` finds there, and its exit code."""
    root = Path(arguments[0]).absolute() if arguments else Path(__file__).resolve().parent.parent
    found = list(check(root))
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(run_check(sys.argv[1:], findings))
