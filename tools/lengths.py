#!/usr/bin/python3
"""Limits how long functions, classes and files may be, and how few assertions a folder may have:
tools/lengths.toml.

Usage: tools/lengths.py [ROOT]

Prints one line per finding and ends with exit code 1 if there is any. C++ is taken apart by its
braces, Python by its parser; both are told in lines, comments and signature included. A name that
the table exempts may be as long as told there, and not longer. Assertions are counted in what is no
test, each line that has one.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tidy import files, run_check

_CPP = {".cc", ".h"}
# Comments, strings and characters; what is left of them are their line breaks.
_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|'
                       r"'(?:\\.|[^'\\\n])'", re.DOTALL)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_TYPE = re.compile(r"(?<!enum )\b(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*)?(\w+)")
_FUNCTION = re.compile(r"((?:[\w~]+::)*(?:operator\s*\S+?|~?\w+))\s*\(")
_ASSERTION = re.compile(r"^.*\b(?:BASALT_(?:DEBUG_)?ASSERT\(|BASALT_UNREACHABLE\(|static_assert\(|"
                        r"assert_held\()", re.MULTILINE)
_TEST_SOURCE = re.compile(r"_(?:test|bench)\.cc$|(?:^|/)test_\w+\.h$")
_TEST = re.compile(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)")


@dataclass(frozen=True)
class Piece:
    """A function, class or file."""

    kind: str
    name: str
    line: int
    lines: int


def pieces(path: Path, text: str) -> Iterator[Piece]:
    """All that has a length in a source file; nothing in files of other kinds."""
    if path.suffix in _CPP:
        yield Piece("file", "", 1, text.count("\n"))
        yield from _cpp_pieces(text)
    elif path.suffix == ".py":
        yield Piece("file", "", 1, text.count("\n"))
        yield from _python_pieces(text)


def _python_pieces(text: str) -> Iterator[Piece]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            yield Piece(kind, node.name, node.lineno, (node.end_lineno or 0) - node.lineno + 1)


def _cpp_pieces(text: str) -> Iterator[Piece]:
    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    code = _PREPROCESSOR.sub(blank, _NOT_CODE.sub(blank, text))
    # What is open: its kind, name and where it began; and where the text before a brace begins.
    blocks: list[tuple[str, str, int]] = []
    begin = 0
    round_brackets = 0
    for match in re.finditer(r"[{}();]", code):
        sign = match[0]
        at = match.start()
        if sign in "()":
            round_brackets += 1 if sign == "(" else -1
        elif sign == "{":
            outer = blocks[-1][0] if blocks else "namespace"
            blocks.append(_block(code[begin:at], outer, begin, round_brackets > 0))
            begin = match.end()
        elif sign == "}":
            if blocks:
                kind, name, first = blocks.pop()
                if kind in ("function", "class"):
                    line = code.count("\n", 0, first) + 1
                    yield Piece(kind, name, line, code.count("\n", first, at) + 1)
            begin = match.end()
        elif round_brackets == 0:
            begin = match.end()


def _block(before: str, outer: str, begin: int, is_argument: bool) -> tuple[str, str, int]:
    """What a brace opens, by the text before it."""
    first = begin + len(before) - len(before.lstrip())
    if outer in ("function", "block") or is_argument:
        return "block", "", first
    if re.search(r"\bnamespace\b|\bextern\s*$", before):
        return "namespace", "", first
    plain = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", before))
    named = _TYPE.search(plain)
    called = _FUNCTION.search(plain)
    if named and (called is None or named.start() < called.start()):
        return "class", named[1], first
    if test := _TEST.search(before):
        return "function", f"{test[1]}.{test[2]}", first
    if called and "enum" not in plain.split():
        return "function", called[1], first
    return "block", "", first


@dataclass(frozen=True)
class Limits:
    """tools/lengths.toml, as read."""

    limits: dict[str, int]
    exempt: dict[str, int]  # by `file`, or `file: name`: the most lines it may have
    assertions: dict[str, int] = field(default_factory=dict)  # a folder: at least, in 1,000 lines

    @staticmethod
    def read(path: Path) -> Limits:
        data = tomllib.loads(path.read_text())
        return Limits(data["limits"], data.get("exempt", {}), data.get("assertions", {}))


def findings(limits: Limits, sources: dict[str, str]) -> Iterator[str]:
    """One line for each piece that is too long, and for each exemption that nobody needs."""
    needed: dict[str, int] = {}
    for name, text in sources.items():
        for piece in pieces(Path(name), text):
            most = limits.limits[piece.kind]
            if piece.lines <= most:
                continue
            key = f"{name}: {piece.name}" if piece.name else name
            needed[key] = max(piece.lines, needed.get(key, 0))
            most = limits.exempt.get(key, most)
            if piece.lines > most:
                what = f"{piece.kind} {piece.name}".rstrip()
                yield f"{name}:{piece.line}: the {what} has {piece.lines} lines, at most {most}"
    for key, most in limits.exempt.items():
        if key not in needed:
            yield f"lengths.toml: {key} is within the limit and needs no exemption"
        elif needed[key] < 0.9 * most:
            yield f"lengths.toml: {key} has {needed[key]} lines by now, let it have no more"


def sparse(limits: Limits, sources: dict[str, str]) -> Iterator[str]:
    """One line for each folder that has fewer assertions than it is to have."""
    for folder, least in limits.assertions.items():
        code = [text for name, text in sources.items()
                if name.startswith(f"{folder}/") and Path(name).suffix in _CPP
                and not _TEST_SOURCE.search(name)]
        lines = sum(text.count("\n") for text in code)
        found = sum(len(_ASSERTION.findall(text)) for text in code)
        if 1000 * found < least * lines:
            yield (f"{folder}: {found} assertions in {lines} lines, at least {least} in 1,000: "
                   "assert what must hold where a mistake would first be seen")


def check(root: Path) -> Iterator[str]:
    """Every piece that is longer, and folder that asserts less, than the limits say."""
    sources = {str(path.relative_to(root)): path.read_text(errors="replace")
               for path in files(root) if path.suffix in {*_CPP, ".py"}}
    limits = Limits.read(root / "tools" / "lengths.toml")
    yield from findings(limits, sources)
    yield from sparse(limits, sources)


if __name__ == "__main__":
    sys.exit(run_check(sys.argv[1:], check))
