#!/usr/bin/python3
"""Checks that the folders of src/ include, and Python imports, only what tools/layers.toml allows.

That table is the one source: without arguments, what CMakeLists.txt links and ARCHITECTURE.md tells
of it is compared with it, too, and Python is checked (python_layers.py).

Usage: tools/check_layers.py [SRC [LAYERS_TOML]]

Prints one line per violation and ends with exit code 1 if there is any. The build's link checks
(cmake/modules.cmake) find undeclared dependencies of compiled code; this finds those of headers.
"""

from __future__ import annotations

import fnmatch
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import python_layers
from layer_rules import rule_errors

_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MODULE = re.compile(r"basalt_module\((\w+)([^)]*)\)")
_MAP_ROW = re.compile(r"^\| \[src/(\w+)\]\([^)]*\) \|[^|]*\|([^|]*)\|$", re.MULTILINE)
_SUFFIXES = {".h", ".hh", ".cc", ".def", ".inc"}


@dataclass(frozen=True)
class Rules:
    """tools/layers.toml, as read."""

    allow: dict[str, list[str]]
    foreign: dict[str, list[str]]
    never_reached: dict[str, list[str]]
    families: dict[str, list[str]]
    system: list[str]

    @staticmethod
    def read(path: Path) -> Rules:
        data = tomllib.loads(path.read_text())
        return Rules(data["allow"], data.get("foreign", {}), data.get("never_reached", {}),
                     data.get("families", {}), data.get("system", {}).get("headers", []))

    def family(self, header: str) -> str | None:
        """The family that a foreign header belongs to."""
        for name in self.foreign:
            patterns = self.families.get(name, [name + "*"])
            if any(fnmatch.fnmatch(header, pattern) for pattern in patterns):
                return name
        return None

    def is_system(self, header: str) -> bool:
        is_cpp = "." not in header and "/" not in header
        return is_cpp or any(fnmatch.fnmatch(header, pattern) for pattern in self.system)


class Checker:
    """The includes of a source tree, and the violations in them."""

    def __init__(self, src: Path, rules: Rules) -> None:
        self.rules = rules
        self.includes = {
            str(path.relative_to(src)): _includes(path)
            for path in sorted(src.rglob("*")) if path.suffix in _SUFFIXES}

    def violations(self) -> Iterator[str]:
        """One sentence per violation."""
        yield from rule_errors(self.rules.allow)
        for file, headers in self.includes.items():
            folder = _folder(file)
            if folder not in self.rules.allow:
                yield f"{file}: folder {folder} is not declared in layers.toml"
                continue
            for header in headers:
                problem = (self._own_problem(file, header) if self._is_own(header)
                           else self._foreign_problem(file, header))
                if problem:
                    yield f"{file}: {problem}"
            yield from self._reached(file)

    def _is_own(self, header: str) -> bool:
        return header in self.includes or _folder(header) in self.rules.allow

    def _own_problem(self, file: str, header: str) -> str | None:
        here, there = _folder(file), _folder(header)
        if header not in self.includes:
            return f"{header} does not exist"
        if here == there:
            return None
        if "internal" in Path(header).parts:
            return f"{header} is private to {there}"
        if there not in self.rules.allow[here]:
            return f"{here} may not include {header}"
        return None

    def _foreign_problem(self, file: str, header: str) -> str | None:
        family = self.rules.family(header)
        if family is not None:
            places = self.rules.foreign[family]
            is_allowed = any(place == _folder(file) or fnmatch.fnmatch(file, place)
                             for place in places)
            return None if is_allowed else f"{header} belongs behind {', '.join(places)}"
        if self.rules.is_system(header):
            return None
        if str(Path(file).parent / header) in self.includes:
            return f"{header} must be included by its path from src/"
        return f"{header} belongs to no family of layers.toml"

    def _reached(self, file: str) -> Iterator[str]:
        """Forbidden headers that a file sees through our own ones."""
        forbidden = self.rules.never_reached.get(_folder(file), [])
        if not forbidden:
            return
        queue: list[tuple[str, list[str]]] = [(file, [])]
        seen = {file}
        while queue:
            current, path = queue.pop(0)
            for header in self.includes[current]:
                if header in self.includes:
                    if header not in seen:
                        seen.add(header)
                        queue.append((header, [*path, header]))
                elif path and header not in seen and self.rules.family(header) in forbidden:
                    seen.add(header)
                    yield f"{file}: reaches {header} through {', '.join(path)}"


def differences(rules: Rules, folders: set[str], cmake: str,
                architecture: str) -> Iterator[str]:
    """Where the folders of src/, CMakeLists.txt and ARCHITECTURE.md are not as the rules say."""
    for folder in sorted(set(rules.allow) - folders):
        yield f"layers.toml: there is no folder src/{folder}"
    for name, text in _MODULE.findall(cmake):
        depends, _, foreign = text.partition("FOREIGN")
        yield from _compared(f"CMakeLists.txt: {name}", depends.split()[1:], rules.allow.get(name))
        has_rocksdb = "basalt_rocksdb" in foreign
        if has_rocksdb != (name in rules.foreign.get("rocksdb/", [])):
            verb = "links" if has_rocksdb else "does not link"
            yield f"CMakeLists.txt: {name} {verb} RocksDB, unlike in layers.toml"
    told = dict(_MAP_ROW.findall(architecture))
    for folder in sorted(folders - set(told)):
        yield f"ARCHITECTURE.md: src/{folder} is not in the map"
    for folder, sees in told.items():
        yield from _compared(f"ARCHITECTURE.md: {folder}", sees.split(), rules.allow.get(folder))


def _compared(where: str, sees: list[str], allowed: list[str] | None) -> Iterator[str]:
    if allowed is None:
        yield f"{where} is not in layers.toml"
    elif sees != allowed:
        yield f"{where} sees {' '.join(sees) or 'nothing'}, in layers.toml " \
              f"{' '.join(allowed) or 'nothing'}"


def _includes(path: Path) -> list[str]:
    """Headers that a file includes, in order; those in comments left out."""
    text = _COMMENT.sub("", path.read_text(errors="replace"))
    return [quoted or angled for quoted, angled in _INCLUDE.findall(text)]


def _folder(file: str) -> str:
    return file.split("/", 1)[0]


def main(arguments: list[str]) -> int:
    root = Path(__file__).resolve().parent.parent
    src = Path(arguments[0]) if arguments else root / "src"
    rules = Path(arguments[1]) if len(arguments) > 1 else root / "tools" / "layers.toml"
    read = Rules.read(rules)
    violations = list(Checker(src, read).violations())
    if not arguments:
        folders = {path.name for path in src.iterdir() if path.is_dir()}
        violations += differences(read, folders, (root / "CMakeLists.txt").read_text(),
                                  (root / "ARCHITECTURE.md").read_text())
        violations += python_layers.Checker(root, python_layers.Rules.read(rules)).violations()
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
