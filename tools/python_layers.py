"""Checks that Python modules import only what tools/layers.toml allows, and never in a circle.

Every import counts: those inside functions, and those that only type checkers see. A folder is the
first two of a path, so that `bench/lab` is one with `bench/lab/report`.
"""

from __future__ import annotations

import ast
import fnmatch
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from layer_rules import circle, rule_errors
from tidy import files

# Where the names of modules begin: what ./basalt puts into PYTHONPATH, and the folder that pytest
# adds to it. The checkout itself is last.
_ROOTS = (("bench", "tests"), ("bench",), ("tools",), ())


@dataclass(frozen=True)
class Rules:
    """The tables for Python in tools/layers.toml, as read; folders may be patterns."""

    allow: dict[str, list[str]]
    foreign: dict[str, list[str]]

    @staticmethod
    def read(path: Path) -> Rules:
        data = tomllib.loads(path.read_text())
        return Rules(data["python"], data["python_foreign"])

    def seen_by(self, folder: str) -> list[str] | None:
        """The folders that this one may import from; None if nothing is declared for it."""
        if folder in self.allow:
            return self.allow[folder]
        return next((seen for pattern, seen in self.allow.items()
                     if fnmatch.fnmatch(folder, pattern)), None)


class Checker:
    """The imports of all Python modules below a folder, and the violations in them."""

    def __init__(self, root: Path, rules: Rules) -> None:
        self.rules = rules
        trees = {path.relative_to(root): ast.parse(path.read_text())
                 for path in files(root) if path.suffix == ".py"}
        self.trees = {str(path): tree for path, tree in trees.items()}
        self.modules = {_module_name(path): str(path) for path in trees}
        self.packages = {name.partition(".")[0] for name in self.modules}

    def violations(self) -> Iterator[str]:
        """One sentence per violation."""
        yield from rule_errors(self.rules.allow)
        sees: dict[str, list[str]] = {}
        for file, tree in self.trees.items():
            imports = list(self._imports(tree))
            sees[file] = [self.modules[name] for name in imports if name in self.modules]
            seen = self.rules.seen_by(_folder(file))
            if seen is None:
                yield f"{file}: folder {_folder(file)} is not declared in layers.toml"
                continue
            for name in imports:
                problem = (self._own_problem(file, name, seen)
                           if name.partition(".")[0] in self.packages
                           else self._foreign_problem(file, name))
                if problem:
                    yield f"{file}: {problem}"
            if _uses_sys_path(tree):
                yield f"{file}: uses sys.path; ./basalt alone says where packages are"
        names = circle(sees)
        if names:
            yield f"{names[0]}: imports itself: {' -> '.join(names)}"

    def _imports(self, tree: ast.Module) -> Iterator[str]:
        """Names of imported modules; a relative one begins with a dot."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                source = "." * node.level + (node.module or "")
                inside = [f"{source}.{alias.name}" for alias in node.names]
                # What is no module is a name in the one that is imported from.
                yield from dict.fromkeys(name if name in self.modules else source
                                         for name in inside)

    def _own_problem(self, file: str, name: str, seen: Iterable[str]) -> str | None:
        if name not in self.modules:
            return f"{name} does not exist"
        here, there = _folder(file), _folder(self.modules[name])
        if there != here and there not in seen:
            return f"{here} may not import {name}"
        return None

    def _foreign_problem(self, file: str, name: str) -> str | None:
        package = name.partition(".")[0]
        if not package:
            return f"{name} must be imported by its full name"
        if package in sys.stdlib_module_names:
            return None
        folders = self.rules.foreign.get(package)
        if folders is None:
            return f"{name} is no full name of a module of ours, and not in layers.toml"
        if any(fnmatch.fnmatch(_folder(file), folder) for folder in folders):
            return None
        return f"{package} belongs behind {', '.join(folders)}"


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    root = next(root for root in _ROOTS if parts[:len(root)] == root)
    return ".".join(parts[len(root):]).removesuffix(".__init__")


def _folder(file: str) -> str:
    return "/".join(Path(file).parent.parts[:2])


def _uses_sys_path(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "path"
               and isinstance(node.value, ast.Name) and node.value.id == "sys"
               for node in ast.walk(tree))
