"""Copies of test suites with our engine in the place of another.

A rewriting is the same everywhere: in test files, in what they source, in combinations, options and
expected results. So a case asks our engine what it asked the other one, and expects what it
expected of it; nothing else of an expectation is ever changed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

ENGINE = "ROCKSDB"
# The name of our combinations, in results' file names and in $MTR_COMBINATION_*.
COMBINATION = "rocksdb"

_TEXT = {".test", ".inc", ".result", ".rdiff", ".opt", ".cnf", ".combinations", ".sql"}
_OF_A_CASE = {".test", ".result", ".rdiff"}
# Settings of InnoDB that have a counterpart here, and tables of information_schema.
_SETTINGS = re.compile(
    rb"innodb(?=([-_])(?:lock\1wait\1timeout|deadlock\1detect|snapshot\1isolation"
    rb"|sys\1foreign(?:\1cols)?)\b)",
    re.IGNORECASE)
# A name that the server makes of an engine's.
_POSITION_TABLE = re.compile(rb"(gtid_slave_pos_)(innodb)\b", re.IGNORECASE)
# An option of ours, which may be one that we do not have (yet).
_OUR_OPTION = re.compile(rb"--(?=(?:(?:skip|enable|disable)[-_])?rocksdb[-_])", re.IGNORECASE)
_COMBINATION_VARIABLE = re.compile(rb"\$MTR_COMBINATION_INNODB\b")


def _named_after_us(match: re.Match[bytes]) -> bytes:
    return match[1] + (ENGINE.lower() if match[2].islower() else ENGINE).encode()


class Rewriter:
    """Puts our engine in the place of `engines` (InnoDB, MyISAM).

    In suites that are made for an engine of our name, options may be of variables that we do not
    have: a server that gets one starts and warns.
    """

    def __init__(self, engines: Iterable[str], is_for_our_name: bool = False) -> None:
        self._is_for_our_name = is_for_our_name
        names = "|".join(map(re.escape, engines)) or "(?!)"
        # Parts of longer names are left: have_innodb.inc, innodb_page_size, suite/innodb, --innodb.
        self._name = re.compile(rf"(?<![\w/.$@-])(?:{names})(?![\w/-]|\.\w)".encode(),
                                re.IGNORECASE)

    def text(self, text: bytes) -> bytes:
        """A test, an included file or an expected result."""
        text = _SETTINGS.sub(b"rocksdb", text)
        text = _COMBINATION_VARIABLE.sub(b"$MTR_COMBINATION_" + COMBINATION.upper().encode(), text)
        text = _POSITION_TABLE.sub(_named_after_us, text)
        if self._is_for_our_name:
            text = _OUR_OPTION.sub(b"--loose-", text)
        return self._name.sub(ENGINE.encode(), text)

    def combinations(self, text: str) -> str:
        """A file of combinations: those of InnoDB become ours, those of other engines go.

        Groups that choose no engine stay as they are.
        """
        text = _SETTINGS.sub(b"rocksdb", text.encode()).decode()
        groups = re.split(r"(?m)^(?=\[)", text)
        kept = [groups[0]]
        for group in groups[1:]:
            engine = re.search(r"(?im)^\s*default[-_]storage[-_]engine\s*=\s*(\w+)", group)
            if engine is not None and engine[1].lower() != "innodb":
                continue
            group = re.sub(r"(?i)^\[innodb\]", f"[{COMBINATION}]", group)
            if engine is not None:
                group = group.replace(engine[0], engine[0].replace(engine[1], ENGINE))
            kept.append(group)
        return "".join(kept)

    def file_name(self, name: str) -> str:
        """Results of one combination have its name behind a comma: alter,innodb.rdiff."""
        return re.sub(r",innodb(?=[,.])", f",{COMBINATION}", name)

    def copy(self, source: Path, target: Path, leave_out: Sequence[str] = (),
             only: Mapping[str, Sequence[str]] | None = None) -> None:
        """Copies a suite; `leave_out` are patterns of the names of cases (*_myisam), which come
        with neither their tests nor their results.

        `only` has the files that want two engines, by their names without endings: there ours takes
        the place of those given alone.
        """
        special = {name: Rewriter(engines) for name, engines in (only or {}).items()}
        for path in sorted(source.rglob("*")):
            if path.is_dir():
                continue
            name = path.name.partition(".")[0].partition(",")[0]
            if path.suffix in _OF_A_CASE and any(fnmatch(name, each) for each in leave_out):
                continue
            copied = target / path.relative_to(source).with_name(self.file_name(path.name))
            copied.parent.mkdir(parents=True, exist_ok=True)
            special.get(name, self)._copy_file(path, copied)

    def _copy_file(self, source: Path, target: Path) -> None:
        if source.suffix == ".combinations" or source.name == "combinations":
            target.write_text(self.combinations(source.read_text()))
        elif source.suffix in _TEXT:
            target.write_bytes(self.text(source.read_bytes()))
        else:
            shutil.copy(source, target)
