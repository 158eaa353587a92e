"""The machine's Debian package index, as apt has it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from basaltcli import process, ui
from basaltcli.errors import BasaltError

KINDS = ("Pre-Depends", "Depends", "Recommends", "Suggests", "Enhances", "Breaks", "Conflicts",
         "Replaces", "Provides")
_APT_HELPER = "/usr/lib/apt/apt-helper"
# python3:any (>= 3.9.1) [amd64]
_RELATION = re.compile(r"^\s*(?P<name>[^\s:(\[]+)(?::(?P<qualifier>[^\s(\[]+))?\s*"
                       r"(?:\(\s*(?P<operator>[<>=]+)\s*(?P<version>[^)\s]+)\s*\))?")
# A small index grows from these along dependencies, so that joins and closures find something.
_SEEDS = ("build-essential", "python3", "openssh-server", "mariadb-server", "git")
SMALL_SIZE = 3000


@dataclass(frozen=True, slots=True)
class Package:
    """One version of a package."""

    id: int
    name: str
    version: str
    architecture: str
    suite: str
    source: str | None
    section: str
    priority: str
    maintainer: str
    homepage: str | None
    installed_size: int | None
    download_size: int
    filename: str
    sha256: str | None
    description: str


@dataclass(frozen=True, slots=True)
class Dependency:
    """One alternative of one relation of a package."""

    package_id: int
    kind: str
    position: int
    alternative: int
    target: str
    qualifier: str | None
    operator: str | None
    version: str | None


@dataclass(frozen=True)
class PackageIndex:
    """All packages, and all that they depend on, in the order of their ids."""

    packages: list[Package]
    dependencies: list[Dependency]


def read(is_small: bool) -> PackageIndex:
    """Reads apt's lists, fetching them first where there are none."""
    lists = _lists()
    if not lists:
        _update_lists()
        lists = _lists()
    if not lists:
        raise BasaltError("apt has no package lists, even after apt-get update",
                          "check that /etc/apt/sources.list* names a Debian archive")
    stanzas: dict[tuple[str, str, str], dict[str, str]] = {}
    with ui.progress("Reading apt's package lists") as bar:
        for number, (suite, file) in enumerate(lists):
            bar.update(number, len(lists))
            for stanza in _stanzas(file):
                # A version may be in several suites; one of them is enough.
                key = (stanza["Package"], stanza["Version"], stanza.get("Architecture", ""))
                stanzas.setdefault(key, stanza | {"Suite": suite})
    chosen = sorted(stanzas)
    if is_small:
        chosen = _neighbourhood(chosen, stanzas)
    packages: list[Package] = []
    dependencies: list[Dependency] = []
    for number, key in enumerate(chosen, 1):
        packages.append(_package(number, stanzas[key]))
        dependencies += _dependencies(number, stanzas[key])
    return PackageIndex(packages, dependencies)


def _lists() -> list[tuple[str, str]]:
    """Suite and file of every list of binary packages that apt has fetched."""
    text = process.capture(["apt-get", "indextargets", "--format",
                            "$(CODENAME) $(FILENAME)", "Created-By: Packages"]) or ""
    found = [(suite, file) for suite, _, file in (line.partition(" ") for line in
                                                  text.splitlines())]
    return [(suite, file) for suite, file in found if os.path.exists(file)]


def _update_lists() -> None:
    prefix: list[str] = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            raise BasaltError("apt has no package lists on this machine; the demo's data is there",
                              "run once as root: apt-get update")
        prefix = ["sudo"]
    with ui.progress("Fetching the Debian package lists (apt-get update)"):
        process.run([*prefix, "apt-get", "-q", "update"], log=process.log_file("demo-apt-update"),
                    failure="the Debian package lists cannot be fetched",
                    remedy="check the network, the proxy (http_proxy) and /etc/apt/sources.list*")


def _stanzas(file: str) -> Iterator[dict[str, str]]:
    """The packages of one list; apt-helper undoes whatever compression it has."""
    done = subprocess.run([_APT_HELPER, "cat-file", file], capture_output=True, check=False)
    if done.returncode != 0:
        raise BasaltError(f"apt's list {file} cannot be read: {done.stderr.decode().strip()}",
                          "run as root: apt-get update")
    for text in done.stdout.decode(errors="replace").split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in text.split("\n"):
            if line[:1] in (" ", "\t"):
                if name:
                    fields[name] += "\n" + line
                continue
            name, colon, value = line.partition(":")
            if colon:
                fields[name] = value.strip()
        if "Package" in fields and "Version" in fields:
            yield fields


def _package(number: int, stanza: dict[str, str]) -> Package:
    size = stanza.get("Installed-Size", "")
    source = stanza.get("Source")
    sha256 = stanza.get("SHA256")
    return Package(
        id=number, name=stanza["Package"], version=stanza["Version"],
        architecture=stanza.get("Architecture", ""), suite=stanza["Suite"],
        source=source.split(" ")[0] if source else None,
        section=stanza.get("Section", ""), priority=stanza.get("Priority", ""),
        maintainer=stanza.get("Maintainer", "")[:255], homepage=stanza.get("Homepage"),
        installed_size=int(size) if size.isdigit() else None,
        download_size=int(stanza.get("Size", "0")), filename=stanza.get("Filename", ""),
        sha256=sha256 if sha256 and re.fullmatch("[0-9a-f]{64}", sha256) else None,
        description=stanza.get("Description", ""))


def _dependencies(number: int, stanza: dict[str, str]) -> Iterator[Dependency]:
    for kind in KINDS:
        if kind not in stanza:
            continue
        for position, relation in enumerate(stanza[kind].split(","), 1):
            for alternative, text in enumerate(relation.split("|"), 1):
                match = _RELATION.match(text)
                if match:
                    yield Dependency(number, kind, position, alternative, match["name"],
                                     match["qualifier"], match["operator"], match["version"])


def _neighbourhood(keys: list[tuple[str, str, str]],
                   stanzas: dict[tuple[str, str, str], dict[str, str]],
                   ) -> list[tuple[str, str, str]]:
    """SMALL_SIZE packages that depend on each other, or fewer if there are not as many."""
    by_name: dict[str, list[tuple[str, str, str]]] = {}
    for key in keys:
        by_name.setdefault(key[0], []).append(key)
    seen = dict.fromkeys((*_SEEDS, *by_name))  # in this order
    queue = deque(seen)
    visited: set[str] = set()
    chosen: list[tuple[str, str, str]] = []
    while queue and len(chosen) < SMALL_SIZE:
        name = queue.popleft()
        if name in visited:
            continue
        visited.add(name)
        for key in by_name.get(name, ()):
            chosen.append(key)
            targets = [dependency.target for dependency in _dependencies(0, stanzas[key])]
            queue.extendleft(target for target in targets if target not in visited)
    return sorted(chosen)
