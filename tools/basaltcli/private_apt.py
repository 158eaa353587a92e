"""An apt of our own: the machine's Debian archives, plus sources, without touching /etc/apt.

Everything it writes is in one directory of the cache. It is used to download package files that
are then unpacked into a private prefix, never to install.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from basaltcli import process
from basaltcli.errors import BasaltError

_ETC = Path("/etc/apt")
_ONE_LINE = re.compile(r"^deb\s+(?P<options>\[[^]]*\]\s+)?(?P<uri>\S+)\s+"
                       r"(?P<suite>bookworm\S*)\s+(?P<components>.+)$")


@dataclass(frozen=True)
class PrivateApt:
    """The directory of a private apt; call update() before anything else."""

    directory: Path

    def update(self) -> None:
        """Writes the configuration and fetches the package and source lists."""
        for name in ("parts", "lists/partial", "archives/partial"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        (self.directory / "status").touch()
        (self.directory / "sources.list").unlink(missing_ok=True)
        sources = self.directory / "sources.d"
        sources.mkdir(exist_ok=True)
        for old in sources.iterdir():
            old.unlink()
        for name, text in derived_sources(_ETC).items():
            (sources / name).write_text(text)
        self._write_configuration()
        self.run("update", "--error-on=any",
                 failure="the Debian package and source lists cannot be fetched",
                 remedy="check the network and the proxy; the archives asked are those of "
                        "/etc/apt/sources.list*")

    def versions(self, package: str) -> list[str]:
        """Versions on offer, newest first."""
        text = process.capture(["apt-cache", "madison", package], env=self._env()) or ""
        found: list[str] = []
        for line in text.splitlines():
            fields = [field.strip() for field in line.split("|")]
            if len(fields) == 3 and fields[2].endswith("Packages") and fields[1] not in found:
                found.append(fields[1])
        return found

    def run(self, *arguments: str, failure: str, remedy: str = "", cwd: Path | None = None) -> None:
        """apt-get with this configuration."""
        process.run(["apt-get", "-q", *arguments], log=process.log_file(f"apt-{arguments[0]}"),
                    failure=failure, remedy=remedy, cwd=cwd, env=self._env())

    def remove(self) -> None:
        """Removes the lists, which are large and soon out of date."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _env(self) -> dict[str, str]:
        return {"APT_CONFIG": str(self.directory / "apt.conf")}

    def _write_configuration(self) -> None:
        """The machine's Acquire settings (proxies, timeouts), our directories, none of its hooks.

        apt reads /etc/apt/apt.conf.d after $APT_CONFIG, so that directory is replaced and the one
        section of it that matters for downloading is copied.
        """
        here = self.directory
        acquire = process.capture(["apt-config", "dump", "--format", '%F "%v";%n', "Acquire"]) or ""
        lines = [line for line in acquire.splitlines() if not line.endswith(' "";')]
        lines += [
            f'Dir::Etc::main "{here}/none";',
            f'Dir::Etc::parts "{here}/parts";',
            f'Dir::Etc::sourcelist "{here}/sources.list";',
            f'Dir::Etc::sourceparts "{here}/sources.d";',
            f'Dir::State::lists "{here}/lists";',
            f'Dir::State::status "{here}/status";',
            f'Dir::State::extended_states "{here}/extended_states";',
            f'Dir::Cache "{here}";',
            f'Dir::Cache::archives "{here}/archives";',
            'Acquire::Retries "2";',
        ]
        if os.geteuid() == 0:
            # Root's cache is not readable for apt's download user.
            lines.append('APT::Sandbox::User "root";')
        path = here / "apt.conf"
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n")


def derived_sources(etc: Path) -> dict[str, str]:
    """The bookworm archives configured under `etc`, each with binaries and sources.

    Returns file names and contents for a sources.list.d directory.
    """
    lists: list[str] = []
    stanzas: list[str] = []
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        text = path.read_text(errors="replace")
        if path.suffix == ".sources":
            stanzas += filter(None, map(_stanza_with_sources, re.split(r"\n\s*\n", text)))
        elif path.suffix == ".list":
            lists += _lines_with_sources(text)
    if not lists and not stanzas:
        raise BasaltError("no Debian bookworm archive is configured in /etc/apt",
                          "add Debian's archive to /etc/apt/sources.list")
    return {"debian.list": "\n".join(lists) + "\n", "debian.sources": "\n\n".join(stanzas) + "\n"}


def _lines_with_sources(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#")[0].strip())
        if match and _is_debian(match["uri"], match["components"]):
            rest = line.split("#")[0].strip().removeprefix("deb").strip()
            lines += [f"deb {rest}", f"deb-src {rest}"]
    return lines


def _stanza_with_sources(text: str) -> str | None:
    """A deb822 stanza cut down to its bookworm suites, with sources; None if nothing is left."""
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t") and name:
            fields[name] += "\n" + line
        elif ":" in line:
            name, value = line.split(":", 1)
            name = name.strip().title()
            fields[name] = value.strip()
    suites = [suite for suite in fields.get("Suites", "").split() if suite.startswith("bookworm")]
    is_usable = (suites and "deb" in fields.get("Types", "").split()
                 and fields.get("Enabled", "yes").lower() not in ("no", "false", "0", "off")
                 and _is_debian(fields.get("Uris", ""), fields.get("Components", "")))
    if not is_usable:
        return None
    fields.update({"Types": "deb deb-src", "Suites": " ".join(suites)})
    return "\n".join(f"{name}: {value}" for name, value in fields.items())


def _is_debian(uris: str, components: str) -> bool:
    """Debian's archive or a mirror of it, rather than a vendor's repository for bookworm."""
    return "main" in components.split() and not uris.startswith("cdrom:") and "debian" in uris
