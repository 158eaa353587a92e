"""The engine's settings as src/server/settings.def has them; do the user guide and a server agree?

The system variables and ROCKSDB_SETTINGS are compiled from that table. The guide's table of
variables is written by hand, for it says more; what both say is compared here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from basaltcli import layout

TABLE = layout.ROOT / "src" / "server" / "settings.def"
GUIDE = layout.ROOT / "docs" / "user-guide.md"

_ENTRY = re.compile(
    r'BASALT_(?P<chosen>CHOSEN_)?SETTING\((?P<name>\w+), (?P<kind>\w+), (?P<scope>Global|Session),'
    r' (?P<change>\w+)(?:\(\w+\))?,\s+(?P<default>"[^"]*"|[^,]+),'
    r'\s+(?P<limits>\w+|between\([^)]*\)),\s+(?P<text>"[^"]*"(?:\s+"[^"]*")*)[,)]')
_NO_LIMIT = 2**64 - 1
_ROW = re.compile(r"^\| (.*?) \| (.*) \|$")


# Of information_schema.SYSTEM_VARIABLES, what the table says.
COLUMNS = ("VARIABLE_NAME", "VARIABLE_SCOPE", "READ_ONLY", "DEFAULT_VALUE", "NUMERIC_MIN_VALUE",
           "NUMERIC_MAX_VALUE", "NUMERIC_BLOCK_SIZE", "VARIABLE_COMMENT")


class TableError(Exception):
    """A line of the table that is not understood."""


@dataclass(frozen=True)
class Setting:
    """An entry of the table, in words of information_schema.SYSTEM_VARIABLES."""

    name: str
    scope: str  # GLOBAL or SESSION
    is_dynamic: bool
    is_command: bool  # to set it is to do something
    default: str
    limits: tuple[int, int, int] | None  # least, most, of what it is a multiple
    text: str
    is_chosen: bool  # by the engine, where nothing is given


    def columns(self) -> tuple[str | None, ...]:
        """COLUMNS, as a server is to have them."""
        limits = [str(limit) for limit in self.limits] if self.limits else [None] * 3
        return (self.name.upper(), self.scope, "NO" if self.is_dynamic else "YES", self.default,
                *limits, self.text)


def read(table: str) -> list[Setting]:
    """All settings, in their order. TableError if an entry has not its form."""
    starts = [match.start() for match in re.finditer(r"^BASALT_", table, re.MULTILINE)]
    if not starts:
        raise TableError(f"{TABLE.name}: there is no entry")
    found: list[Setting] = []
    for start in starts:
        match = _ENTRY.match(table, start)
        if match is None:
            line = table[start:].splitlines()[0]
            raise TableError(f"{TABLE.name}: this entry is not understood: {line}")
        found.append(_setting(match))
    return found


def _setting(entry: re.Match[str]) -> Setting:
    return Setting(
        name=f"rocksdb_{entry['name']}", scope=entry["scope"].upper(),
        is_dynamic=entry["change"] != "kAtStart",
        is_command=entry["change"] in ("command", "sql_command"),
        default=_default(entry["default"]), limits=_limits(entry["limits"]),
        text="".join(re.findall(r'"([^"]*)"', entry["text"])), is_chosen=bool(entry["chosen"]))


def _default(value: str) -> str:
    if value.startswith('"'):
        return value.strip('"')
    return {"true": "ON", "false": "OFF"}.get(value) or str(_number(value))


def _limits(limits: str) -> tuple[int, int, int] | None:
    if not limits.startswith("between("):
        return None
    least, most, *of_what = map(_number, limits[len("between("):-1].split(", "))
    return least, most, of_what[0] if of_what else 0


def _number(value: str) -> int:
    return _NO_LIMIT if value == "kNoLimit" else math.prod(map(int, value.split(" * ")))


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
