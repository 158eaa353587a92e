"""The engine's settings as src/server/settings.def has them; do the documents and a server agree?

The system variables and ROCKSDB_SETTINGS are compiled from that table. The user guide's table of
variables is written by hand, for it says more; what both say is compared here. Of settings that
people know from MyRocks, docs/settings.md has tables that are made from the table of settings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from basaltcli import layout

TABLE = layout.ROOT / "src" / "server" / "settings.def"
GUIDE = layout.ROOT / "docs" / "user-guide.md"
PAGE = layout.ROOT / "docs" / "settings.md"

_ENTRY = re.compile(
    r'BASALT_(?P<macro>|CHOSEN_|ROCKSDB_|UNUSED_)SETTING\((?P<name>\w+), (?P<kind>\w+),'
    r' (?P<scope>Global|Session),\s+(?P<change>\w+)(?:\(\w+\))?,'
    r'\s+(?P<default>"[^"]*"|[^,]+),\s+(?P<limits>\w+|between\([^)]*\)),'
    r'\s+(?P<text>"[^"]*"(?:\s+"[^"]*")*)(?P<rest>[,)](?:\s+\w+,\s+"(?P<option>\w+)"\))?)')
_INCLUDED = re.compile(r'^#include "server/(settings/\w+\.def)"$', re.MULTILINE)
_NUMBERS = {"kNoLimit": 2**64 - 1, "kSignedMax": 2**63 - 1, "kIntMax": 2**31 - 1,
            "kUnsignedMax": 2**32 - 1}
_ROW = re.compile(r"^\| (.*?) \| (.*) \|$")
# Files of the table whose settings the user guide has, those of others being in docs/settings.md.
_OF_GUIDE = "own.def"

# The columns of information_schema.SYSTEM_VARIABLES that the table has.
COLUMNS = ("VARIABLE_NAME", "VARIABLE_SCOPE", "READ_ONLY", "DEFAULT_VALUE", "NUMERIC_MIN_VALUE",
           "NUMERIC_MAX_VALUE", "NUMERIC_BLOCK_SIZE", "VARIABLE_COMMENT")


class TableError(Exception):
    """A line of the table that is not understood."""


class Use(Enum):
    """Who does what with a setting."""

    OBEYED = ""
    CHOSEN = "CHOSEN_"  # by the engine, where nothing is given
    ROCKSDB = "ROCKSDB_"  # handed on
    NONE = "UNUSED_"


@dataclass(frozen=True)
class Setting:
    """An entry of the table, in words of information_schema.SYSTEM_VARIABLES."""

    name: str
    scope: str  # GLOBAL or SESSION
    is_dynamic: bool
    is_command: bool  # to set it is to do something
    default: str | None
    limits: tuple[str, str, str | None] | None  # least, most, of what it is a multiple
    text: str
    use: Use
    option: str | None = None  # RocksDB's name
    is_in_guide: bool = True

    @property
    def is_chosen(self) -> bool:
        return self.use is Use.CHOSEN

    def columns(self) -> tuple[str | None, ...]:
        """COLUMNS, as a server is to have them."""
        return (self.name.upper(), self.scope, "NO" if self.is_dynamic else "YES", self.default,
                *(self.limits or (None, None, None)),
                f"No effect: {self.text}" if self.use is Use.NONE else self.text)


def load() -> list[Setting]:
    """All settings, in their order. TableError if an entry has not its form."""
    found: list[Setting] = []
    for part in _INCLUDED.findall(TABLE.read_text()):
        settings = read((TABLE.parent / part).read_text(), is_in_guide=part.endswith(_OF_GUIDE))
        found += settings
    return found


def read(table: str, *, is_in_guide: bool = True) -> list[Setting]:
    """The settings of a file, in their order. TableError if an entry has not its form."""
    starts = [match.start() for match in re.finditer(r"^BASALT_", table, re.MULTILINE)]
    if not starts:
        raise TableError(f"{TABLE.name}: there is no entry")
    found: list[Setting] = []
    for start in starts:
        match = _ENTRY.match(table, start)
        if match is None:
            line = table[start:].splitlines()[0]
            raise TableError(f"{TABLE.name}: this entry is not understood: {line}")
        found.append(_setting(match, is_in_guide))
    return found


def _setting(entry: re.Match[str], is_in_guide: bool) -> Setting:
    return Setting(
        name=f"rocksdb_{entry['name']}", scope=entry["scope"].upper(),
        is_dynamic=entry["change"] not in ("kAtStart", "kShown"),
        is_command=entry["change"] in ("command", "sql_command"),
        default=_default(entry["kind"], entry["default"]),
        limits=_limits(entry["kind"], entry["limits"]),
        text="".join(re.findall(r'"([^"]*)"', entry["text"])), use=Use(entry["macro"]),
        option=entry["option"], is_in_guide=is_in_guide)


def _default(kind: str, value: str) -> str | None:
    if value.startswith('"'):
        return value.strip('"')
    if kind == "Real":
        return f"{float(value):f}"
    # The server takes no text for an empty one where SET may change it.
    nothing = "" if kind == "Text" else None
    return {"true": "ON", "false": "OFF", "nullptr": nothing}.get(value, value) \
        if kind in ("Switch", "Path", "Text") else str(_number(value))


def _limits(kind: str, limits: str) -> tuple[str, str, str | None] | None:
    if not limits.startswith("between("):
        return None
    least, most, *of_what = (str(_number(limit))
                             for limit in limits[len("between("):-1].split(", "))
    if kind == "Real":
        return least, most, None
    return least, most, of_what[0] if of_what else "0"


def _number(value: str) -> int:
    return _NUMBERS.get(value) or math.prod(map(int, value.split(" * ")))


def guide_rows(guide: str, prefix: str) -> dict[str, list[str]]:
    """Rows of the guide's tables whose first cell names variables, by name: the other cells."""
    found: dict[str, list[str]] = {}
    for line in guide.splitlines():
        match = _ROW.match(line)
        for name in re.findall(rf"`({prefix}\w+)`", match[1]) if match else []:
            found[name] = match[2].split(" | ")
    return found


def guide_problems(guide: str, settings: Sequence[Setting]) -> Iterator[str]:
    """One sentence for each difference of the guide's table of variables from the settings."""
    rows = guide_rows(guide, "rocksdb_")
    settings = [setting for setting in settings if setting.is_in_guide]
    names = {setting.name for setting in settings}
    yield from (f"there is no variable {name}" for name in rows if name not in names)
    for setting in settings:
        if setting.name not in rows:
            yield f"the guide has no variable {setting.name}"
            continue
        words = rows[setting.name][0].split(", ")
        if setting.is_dynamic != ("dynamic" in words):
            yield f"{setting.name} is {'' if setting.is_dynamic else 'not '}dynamic"
        if (setting.scope == "SESSION") != ("per session" in words):
            yield f"{setting.name} has the scope {setting.scope}"
        # A command has no value that anybody would ask for.
        has_default = words[0] not in ("dynamic", "per session")
        if has_default or not setting.is_command:
            if words[0].strip("`") != setting.default:
                yield f"{setting.name} is {setting.default} by default, not {words[0]}"


def server_problems(rows: Iterable[Sequence[str | None]],
                    settings: Sequence[Setting]) -> Iterator[str]:
    """One sentence for each difference of a server's variables, COLUMNS each, from the settings."""
    actual = {row[0]: row for row in rows}
    wanted = {setting.name.upper(): setting.columns() for setting in settings}
    yield from (f"the table has no {name}" for name in actual if name not in wanted)
    for name, columns in wanted.items():
        if name not in actual:
            yield f"the server has no {name}"
            continue
        for column, have, want in zip(COLUMNS, actual[name], columns):
            if have != want:
                yield f"{name}: {column} is {have}, in the table {want}"


# ---- docs/settings.md

_USES = {Use.OBEYED: "obeyed", Use.ROCKSDB: "RocksDB", Use.NONE: "unused"}


def page_rows(settings: Sequence[Setting], use: Use) -> list[str]:
    """The rows of the page's table of the settings with that use, outside of the guide."""
    found = []
    for setting in sorted(settings, key=lambda each: each.name):
        if setting.is_in_guide or setting.use is not use:
            continue
        value = [f"`{setting.default}`" if setting.default else "",
                 "dynamic" if setting.is_dynamic else "",
                 "per session" if setting.scope == "SESSION" else ""]
        found.append(f"| `{setting.name}` | {', '.join(filter(None, value))} | {setting.text} |")
    return found


def updated_page(page: str, settings: Sequence[Setting]) -> str:
    """The page with its tables as the settings have them. Each is behind a mark."""
    for use, mark in _USES.items():
        rows = "\n".join(page_rows(settings, use))
        page, count = re.subn(rf"(<!-- made from settings\.def: {mark} -->\n\n.*\n\|---.*\n)"
                              r"(?:\|.*\n)*",
                              lambda match, rows=rows: f"{match[1]}{rows}\n", page)
        if count != 1:
            raise TableError(f"{PAGE.name}: there is no mark for the table of what is {mark}")
    return page
