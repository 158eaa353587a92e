"""Checks that names in the documents exist in the code.

Usage: ./basalt python tools/doc_names.py [ROOT]

Looks at what stands in backticks in every Markdown page but docs/results, and at the commands and
the `Class::member` names in code blocks. Looked for are:

  paths            src/base/status.h, status.h, internal/shard.h, src/wal, tests/crash/*.py
  tests            Suite.Case, Suite.*, Suite.Beginning..., ...Case, basalt.case
  names in code    CamelCase, snake_case, function(), Class::member, folder::Class, kConstant
  names at run     variables rocksdb_x and Rocksdb_x, tables ROCKSDB_X, failpoints a.b.c
  commands         ./basalt with its commands, options and test steps; --option

On a page of docs/internals a file without a folder is one of the page's own folder in src.

A comment in the code does not count: what only a comment speaks of does not exist. Names that are
not ours are listed in tools/doc_names.toml by their origin. A page that speaks of an old name on
purpose says so in a line `<!-- old names: OldClass, old_function() -->`. An exemption that is no
longer needed is a finding as well. Prints one line per finding, exit code 1 if there is any.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from basaltcli.upstream.command import upstream
from program.cli import basalt
from tidy import files, run_check

_ALLOWED = "tools/doc_names.toml"
_CODE = ("src/", "tests/", "tools/", "bench/", "cmake/", ".ci/", "basalt", "CMakeLists.txt")
_SETTING = re.compile(r"^BASALT_\w*SETTING\((\w+)", re.MULTILINE)
_SUFFIXES = {".cc", ".h", ".c", ".def", ".in", ".py", ".test", ".inc", ".opt", ".cnf", ".toml",
             ".cmake", ".txt", ".sh", ".lua", ".patch", ".combinations", ".sql", ""}
_FILE = re.compile(r"\.(?:cc|h|c|def|py|toml|test|inc|md|cmake|lua|patch|rdiff|suppressions"
                   r"|tar\.xz)$")
_WORD = re.compile(r"[A-Za-z_]\w*")
_CASE = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
_OLD = re.compile(r"<!-- old names: (.*?) -->", re.DOTALL)
_CXX_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_CLASS = re.compile(r"\b(?:class|struct|enum class|enum|using)\s+(?:alignas\([^)]*\)\s*)?"
                    r"([A-Za-z]\w+)(?=\s*(?:final\b|:[^:]|\{|=))")
_STEP = re.compile(r'^    Step\("([\w-]+)"', re.MULTILINE)


@dataclass
class Code:
    """What the tree has: files, and what is said in them outside comments."""

    paths: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    words: dict[str, set[str]] = field(default_factory=dict)  # by file
    all_words: set[str] = field(default_factory=set)
    text: str = ""
    classes: dict[str, set[str]] = field(default_factory=dict)  # the files that define each
    cases: set[str] = field(default_factory=set)  # Suite.Case

    def layers(self) -> set[str]:
        return {path.split("/")[1] for path in self.folders if path.count("/") == 1
                and path.startswith("src/")}

    def words_of(self, folder: str) -> set[str]:
        return set().union(*(words for path, words in self.words.items()
                             if path.startswith(folder)))


def read_code(root: Path) -> Code:
    """Reads the tree under `root`, but not its pages, and nothing that other programs wrote."""
    code = Code()
    texts = []
    for path in files(root):
        name = path.relative_to(root).as_posix()
        code.paths.add(name)
        code.folders.update(parent.as_posix() for parent in Path(name).parents)
        if not name.startswith(_CODE) or path.suffix not in _SUFFIXES or name == _ALLOWED:
            continue
        if name.endswith(("tools/doc_names.py", "tools/doc_names_test.py", "_guide.toml")):
            continue
        text = _without_comments(path, path.read_text(errors="replace"))
        texts.append(text)
        words = set(_WORD.findall(text)) | {path.name.split(".")[0]}
        if path.suffix == ".def":  # the system variables that are made of settings
            words |= {f"rocksdb_{setting}" for setting in _SETTING.findall(text)}
        if path.name.endswith(("_bench.cc", "_test.cc")):  # the program that is made of it
            words.add(f"{name.split('/')[1]}_{path.stem.rsplit('_', 1)[1]}")
        code.words[name] = words
        code.all_words |= words
        if name.startswith("src/"):
            code.cases.update(f"{suite}.{case}" for suite, case in _CASE.findall(text))
            for defined in _CLASS.findall(text):
                code.classes.setdefault(defined, set()).add(name)
    code.text = "\n".join(texts)
    return code


def _without_comments(path: Path, text: str) -> str:
    if path.suffix in (".cc", ".h", ".c", ".def"):
        return _CXX_TOKEN.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    if path.suffix == ".py":
        return _python_without_comments(text)
    if path.suffix in (".test", ".inc"):
        return re.sub(r"^\s*(?:#|-- ).*$", "", text, flags=re.MULTILINE)
    if path.suffix == ".patch":
        return re.sub(r"^-.*$", "", text, flags=re.MULTILINE)
    return text


def _python_without_comments(text: str) -> str:
    """Names and strings of a Python file, without its comments and docstrings."""
    kept: list[str] = []
    begins = True  # a statement begins here, so a string is a docstring
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                begins = True
            elif token.type not in (tokenize.COMMENT, tokenize.NL):
                if token.type != tokenize.STRING or not begins:
                    kept.append(token.string)
                begins = False
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return text
    return "\n".join(kept)


@dataclass(frozen=True)
class Commands:
    """`./basalt` as the command line library knows it."""

    root: Any  # click's group
    steps: frozenset[str]

    def problem(self, words: list[str]) -> str | None:
        """What is wrong with the words behind `./basalt`."""
        command = self.root
        options = _options(command)
        previous = ""
        for word in words:
            word = word.strip(",;|)")
            if word in ("--", "#", "&&") or word.startswith(("#", ">")):
                break
            name, _, value = word.partition("=")
            if name.startswith("--"):
                if name not in options:
                    return f"has no option {name} here"
            elif previous == "--only" and "test" in words and name.islower():
                if name not in self.steps:
                    return f"has no test step {name}"
            elif getattr(command, "commands", None) and not previous.startswith("--"):
                if word not in command.commands:
                    return f"has no command {word}" if word.islower() else None
                command = command.commands[word]
                if command.name == "python":
                    break  # what follows is a program's own
                options |= _options(command)
            elif command.name == "test" and word == "upstream":
                command = self.root.upstream
                options = _options(command)
            previous = name if not value else ""
        return None


def _options(command: Any) -> set[str]:
    return {option for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}


def real_commands(root: Path) -> Commands:
    """The commands of the tool in this checkout."""
    basalt.upstream = upstream
    steps = _STEP.findall((root / "tools/program/testing.py").read_text())
    return Commands(basalt, frozenset(steps))


@dataclass
class Page:
    """One Markdown page: its spans with their lines."""

    name: str
    text: str

    def folder(self) -> str | None:
        """The folder of src that a page of docs/internals tells of."""
        match = re.fullmatch(r"docs/internals/(\w+)\.md", self.name)
        return f"src/{match[1]}" if match else None

    def old_names(self) -> set[str]:
        return {name.strip() for match in _OLD.finditer(self.text)
                for name in match[1].split(",")}

    def spans(self) -> Iterator[tuple[int, bool, str]]:
        """Line, whether in a code block, the span or the line of code."""
        block: list[str] = []
        first = 1
        is_code = False
        for number, line in enumerate([*self.text.split("\n"), ""], 1):
            is_fence = re.match(r"^\s*(```|~~~)", line)
            if is_code and not is_fence:
                yield number, True, line.strip()
            elif is_fence or not line.strip() or line.startswith(("|", "#")):
                yield from _spans("\n".join(block), first)
                block, first = [], number + 1
                if is_fence:
                    is_code = not is_code
                else:
                    yield from _spans(line, number)
            else:
                block.append(line)


def _spans(text: str, first: int) -> Iterator[tuple[int, bool, str]]:
    for match in re.finditer(r"`([^`]+)`", text):
        yield first + text.count("\n", 0, match.start()), False, " ".join(match[1].split())


class Checker:
    """Judges the names of pages by the code."""

    def __init__(self, code: Code, commands: Commands, allowed: set[str]) -> None:
        self.code = code
        self.commands = commands
        self.allowed = allowed
        self.used: set[str] = set()
        self.layers = code.layers()
        self.variables = {f"rocksdb_{name}" for name in
                          re.findall(r"MYSQL_(?:SYS|THD)VAR_\w+\(\s*(\w+)", code.text)}
        self.variables |= {f"Rocksdb_{name}" for name in
                           re.findall(r"BASALT_FIGURE\(\s*(\w+)", code.text)}
        self.options = set(re.findall(r"--[a-z][\w-]*", code.text))

    def findings(self, page: Page) -> Iterator[str]:
        old = page.old_names()
        used_old: set[str] = set()
        for line, is_code, span in page.spans():
            for name, problem in self._problems(page, is_code, span):
                if name in old:
                    used_old.add(name)
                elif name in self.allowed:
                    self.used.add(name)
                else:
                    yield f"{page.name}:{line}: {name}: {problem}"
        yield from (f"{page.name}: old name {name} needs no exemption"
                    for name in sorted(old - used_old))

    def _problems(self, page: Page, is_code: bool, span: str) -> Iterator[tuple[str, str]]:
        if span.startswith("./basalt"):
            words = span.split()
            problem = None
            if words[0] == "./basalt":
                problem = self.commands.problem(words[1:])
            if problem:
                yield span, problem
        elif is_code:
            for name in re.findall(r"\b[A-Z]\w+::\w+", span):
                yield from self._checked(name, self._qualified(name))
        elif " " in span:
            for name in re.findall(r"\b(?:src|tests|tools|bench|docs)/[\w./-]+", span):
                yield from self._checked(name, self._path(page, name))
            for name in re.findall(r"\brocksdb_\w+(?![\w.])|\bROCKSDB_\w+", span):
                yield from self._checked(name, self._at_run(name))
            for name in re.findall(r"\b[A-Z]\w+::\w+", span):
                yield from self._checked(name, self._qualified(name))
        else:
            yield from self._checked(span, self._single(page, span))

    def _checked(self, name: str, problem: str | None) -> Iterator[tuple[str, str]]:
        if problem:
            yield name, problem

    def _single(self, page: Page, span: str) -> str | None:
        """A span without spaces: by its form, the first that fits."""
        span = span.replace("...", "…")
        name = span.removesuffix("()")
        if span.startswith("--"):
            option = re.match(r"--[\w-]*", span)[0]
            return None if option in ("--", *self.options) else "no program here has this option"
        if re.match(r"(?:~?/|\$|\.\.?/|build/|-|\[)", span):
            return None
        if "/" in span and "." not in span.split("/")[0] and re.fullmatch(r"[\w.*<>/#-]+", span) \
                or _FILE.search(span):
            return self._path(page, span)
        if "=" in span:
            return self._at_run(span.split("=")[0])
        if re.fullmatch(r"basalt(_rpl)?\.\w+", span):
            suite, case = span.split(".")
            is_there = f"tests/mtr/{suite}/t/{case}.test" in self.code.paths
            return None if is_there else "there is no such SQL test"
        if re.match(r"…[A-Z]\w", span) or re.match(r"[A-Z]\w+\.(?:[A-Z]\w|\*|…)", span):
            return self._test(page, span)
        if re.fullmatch(r"[a-z]\w*(\.[a-z][\w-]*)+", span):
            return None if span in self.code.text else "the code has no such text"
        if re.match(r"(?:rocksdb|Rocksdb|ROCKSDB)_", name):
            return self._at_run(name)
        if "::" in name:
            return self._qualified(name)
        return self._word(name, is_call=name != span)

    def _path(self, page: Page, span: str) -> str | None:
        pattern = re.sub(r"<[^>]*>", "*", span).rstrip("/")
        first = pattern.split("/")[0]
        if "/" in pattern and first in ("src", "tests", "tools", "bench", "docs", "cmake"):
            places = [pattern]
        elif "/" in pattern and not _FILE.search(pattern) and not span.endswith("/"):
            if first not in self.layers:
                return None  # a name with a slash that is no path of ours
            places = [f"src/{pattern}.*", f"src/{pattern}"]
        elif page.folder() and first not in self.layers and page.folder() in self.code.folders:
            places = [f"{page.folder()}/{pattern}", f"{page.folder()}/*/{pattern}",
                      f"tests/*/{pattern}"]
        else:
            places = [pattern, f"*/{pattern}"]
        everything = self.code.paths | self.code.folders
        if any(place in everything for place in places):
            return None
        globs = [place.replace("**/", "*") for place in places]
        if any(fnmatchcase(path, glob) for glob in globs for path in everything):
            return None
        where = f" in {page.folder()}" if places[0].startswith(f"{page.folder()}/") else ""
        return f"there is no such file{where}"

    def _test(self, page: Page, span: str) -> str | None:
        """Suite.Case, Suite.*, Suite.Beginning…, or …Case of a suite that the page names."""
        pattern = span.split("/")[0]
        if pattern.startswith("…"):
            case = pattern[1:].replace("…", "*")
            suites = set(re.findall(r"`([A-Z]\w+)\.(?=[A-Z*…])", page.text)) or {"*"}
            patterns = [f"{suite}.{case}" for suite in suites]
        else:
            patterns = [pattern.replace("…", "*")]
        if any(fnmatchcase(case, glob) for glob in patterns for case in self.code.cases):
            return None
        return "there is no such unit test"

    def _at_run(self, name: str) -> str | None:
        """A name that users meet, or another one that begins like these."""
        if not re.match(r"(?:rocksdb|Rocksdb|ROCKSDB)_", name):
            return None
        if name in self.variables:
            return None
        is_user = name.startswith(("Rocksdb_", "ROCKSDB_"))
        words = self.code.words_of("src/server/") if is_user else self.code.all_words
        if "*" in name:
            is_there = any(fnmatchcase(word, name) for word in words | self.variables)
        else:
            is_there = name in words or name in self.code.folders
        return None if is_there else "there is no such variable, table or name"

    def _qualified(self, name: str) -> str | None:
        """folder::Class is defined in that folder, Class::member is where the class is defined."""
        parts = [part for part in name.split("::") if part != "basalt"]
        parts[-1] = parts[-1].removesuffix("()")
        if parts[0] == "rdb":  # our name for RocksDB's namespace
            return self._word(parts[1], is_call=True)
        if parts[0] in self.layers:
            folder = f"src/{parts[0]}/"
            homes = self.code.classes.get(parts[1], set())
            is_there = any(home.startswith(folder) for home in homes) if homes else \
                parts[1] in self.code.words_of(folder)
            return None if is_there else f"{folder} has no {parts[1]}"
        homes = self.code.classes.get(parts[0]) or self.code.words.keys()
        if any(self.code.words[home].issuperset(parts) for home in homes):
            return None
        return "no file that could define it has these names together"

    def _word(self, name: str, is_call: bool) -> str | None:
        """An identifier that looks like one of code; ordinary words are left alone."""
        name = name.removeprefix("~")
        is_name = re.fullmatch(r"[A-Za-z_][\w*…]*", name) and (
            is_call or "_" in name.strip("_") or name.endswith("_") and len(name) > 1
            or re.search(r"[a-z][A-Z]", name) or re.fullmatch(r"[A-Z][a-z]\w+", name))
        if not is_name or name in self.code.all_words:
            return None
        glob = name.replace("…", "*")
        if glob.strip("*_") and "*" in glob and any(fnmatchcase(word, glob)
                                                    for word in self.code.all_words):
            return None
        return "the code has no such name"


def pages(root: Path) -> Iterator[Page]:
    """The pages that are looked at."""
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".md" and not name.startswith("docs/results/"):
            yield Page(name, path.read_text())


def findings(root: Path, commands: Commands) -> Iterator[str]:
    """One line per name that does not exist, and per exemption that is not needed."""
    lists = tomllib.loads((root / _ALLOWED).read_text())
    allowed = {name for section in lists.values() for name in section["names"]}
    checker = Checker(read_code(root), commands, allowed)
    for page in pages(root):
        yield from checker.findings(page)
    yield from (f"{_ALLOWED}: {name} needs no exemption"
                for name in sorted(allowed - checker.used))


if __name__ == "__main__":
    sys.exit(run_check(sys.argv[1:], lambda root: findings(root, real_commands(root))))
