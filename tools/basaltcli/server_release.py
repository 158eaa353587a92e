"""MariaDB under a private prefix: choosing a release, its programs, source and headers.

What is made, in $CACHE/server-<version>/:

  prefix/         the unpacked Debian packages; programs are in usr/bin and usr/sbin
  stock-myrocks/  Debian's own RocksDB engine, unpacked apart, for comparisons
  source/         the release's source tree, for the headers of sql/ and include/
  headers/        headers that the server's build generates
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from basaltcli import layout, locking, process, ui
from basaltcli.errors import BasaltError
from basaltcli.private_apt import PrivateApt

SERIES = "10.11"
PACKAGES = (
    "libmariadb-dev", "libmariadb3", "libmariadbd-dev", "mariadb-backup", "mariadb-client",
    "mariadb-client-core", "mariadb-common", "mariadb-plugin-provider-lz4", "mariadb-server",
    "mariadb-server-core", "mariadb-test", "mariadb-test-data")
STOCK_ENGINE = "mariadb-plugin-rocksdb"
# Debian's own versions only: 1:10.11.18-0+deb12u1.
_VERSION = re.compile(rf"^1:{re.escape(SERIES)}\.\d+-\d+\+deb12u\d+$")
# A third of a gigabyte of the source tree that no header comes from.
_UNNEEDED_SOURCE = ("mysql-test", "extra", "sql-bench", "storage/columnstore", "storage/mroonga",
                    "storage/rocksdb", "storage/connect")


@dataclass(frozen=True)
class ServerRelease:
    """One unpacked release."""

    directory: Path

    @property
    def version(self) -> str:
        """The Debian version without its epoch: 10.11.18-0+deb12u1."""
        return self.directory.name.removeprefix("server-")

    @property
    def usr(self) -> Path:
        """The server's --basedir."""
        return self.directory / "prefix" / "usr"

    @property
    def source(self) -> Path:
        return self.directory / "source"

    @property
    def headers(self) -> Path:
        return self.directory / "headers"

    @property
    def plugins(self) -> Path:
        return self.usr / "lib" / "mysql" / "plugin"

    @property
    def stock_engine(self) -> Path:
        """Debian's own ha_rocksdb.so; it may be missing."""
        return (self.directory / "stock-myrocks" / "usr" / "lib" / "mysql" / "plugin"
                / layout.PLUGIN_NAME)

    def program(self, name: str) -> Path:
        """A program of the release, such as mariadbd or mariadb-dump."""
        for folder in ("sbin", "bin"):
            path = self.usr / folder / name
            if path.exists():
                return path
        raise BasaltError(f"{name} is not part of MariaDB {self.version}")


def current() -> ServerRelease | None:
    """The release chosen by an earlier run, if it is complete."""
    try:
        name = json.loads(_choice_file().read_text())["directory"]
    except (OSError, ValueError, KeyError):
        return None
    directory = layout.cache_dir() / name
    return ServerRelease(directory) if directory.is_dir() else None


def ensure(refresh: bool = False) -> ServerRelease:
    """The current release; without one, or to `refresh` it, the newest that can be had."""
    release = current()
    if release is not None and not refresh:
        return release
    apt = PrivateApt(layout.cache_dir() / "apt")
    with ui.progress("Fetching Debian's package and source lists"):
        apt.update()
    release = _newest(apt)
    apt.remove()
    choice = _choice_file()
    partial = choice.with_suffix(".partial")
    partial.write_text(json.dumps({"directory": release.directory.name}) + "\n")
    partial.rename(choice)
    return release


def _choice_file() -> Path:
    return layout.cache_dir() / "server.json"


def _newest(apt: PrivateApt) -> ServerRelease:
    """Tries the releases on offer, newest first."""
    versions = [version for version in apt.versions("mariadb-server-core")
                if _VERSION.match(version)]
    if not versions:
        raise BasaltError(f"no MariaDB {SERIES} of Debian 12 is in the archives of /etc/apt",
                          "add Debian's archive (bookworm main) to /etc/apt/sources.list")
    failures: list[str] = []
    for version in versions:
        target = layout.cache_dir() / f"server-{version.split(':', 1)[1]}"
        if target.is_dir():
            return ServerRelease(target)
        try:
            downloads = _download(apt, version)
        except BasaltError as error:
            reason = _reason(error.message)
            failures.append(f"  {version}: {reason}")
            ui.info(f"MariaDB {version} cannot be had completely: {reason}")
            continue
        _unpack(downloads, target)
        shutil.rmtree(downloads)
        return ServerRelease(target)
    raise BasaltError(
        f"no release of MariaDB {SERIES} has both its packages and its source in the archives; "
        "tried:\n" + "\n".join(failures),
        "check the network; if an archive is being updated, try again in a few hours")


def _reason(message: str) -> str:
    """The line of apt's output that says what is wrong."""
    lines = message.splitlines()
    return next((line for line in lines if line.startswith("E: ")), lines[0])


def _download(apt: PrivateApt, version: str) -> Path:
    """Downloads source and packages; files of an interrupted run are used again."""
    short = version.split(":", 1)[1]
    downloads = layout.cache_dir() / "download" / f"server-{short}"
    downloads.mkdir(parents=True, exist_ok=True)
    with ui.progress(f"Downloading the source of MariaDB {short}", "about 115 MB"):
        apt.run("source", "--download-only", "--only-source", f"mariadb={version}", cwd=downloads,
                failure=f"the source of MariaDB {short} cannot be downloaded")
    with ui.progress(f"Downloading the packages of MariaDB {short}", "about 60 MB"):
        names = [f"{name}={version}" for name in (*PACKAGES, STOCK_ENGINE)]
        apt.run("download", *names, cwd=downloads,
                failure=f"the packages of MariaDB {short} cannot be downloaded")
    return downloads


def _unpack(downloads: Path, target: Path) -> None:
    """Makes the release's directory; it appears only when it is complete."""
    log = process.log_file("unpack-server")
    failure = f"MariaDB cannot be unpacked from {downloads}"
    with ui.progress(f"Unpacking MariaDB into {target}"), locking.appearing(target) as directory:
        for package in sorted(downloads.glob("*.deb")):
            is_stock = package.name.startswith(STOCK_ENGINE + "_")
            prefix = directory / ("stock-myrocks" if is_stock else "prefix")
            process.run(["dpkg-deb", "-x", package, prefix], log=log, failure=failure)
        description = next(downloads.glob("*.dsc"))
        process.run(["dpkg-source", "--no-copy", "-x", description.name, directory / "source"],
                    log=log, failure=failure, cwd=downloads)
        for name in _UNNEEDED_SOURCE:
            shutil.rmtree(directory / "source" / name, ignore_errors=True)
        _make_headers(directory)


def _make_headers(directory: Path) -> None:
    """Collects the headers that are made by the server's build, for exactly this release."""
    headers = directory / "headers"
    headers.mkdir()
    packaged = directory / "prefix" / "usr" / "include" / "mariadb" / "server"
    for name in ("my_config.h", "mysql_version.h", "mysqld_error.h"):
        shutil.copy(packaged / name, headers / name)
    # Debian builds without DTrace; the server's CMake then copies this file under its new name.
    shutil.copy(directory / "source" / "include" / "probes_mysql_nodtrace.h.in",
                headers / "probes_mysql_nodtrace.h")
    version = (headers / "mysql_version.h").read_text()
    source = (directory / "source" / "VERSION").read_text()
    patch = re.search(r"MYSQL_VERSION_PATCH=(\d+)", source)
    if patch is None or f'"{SERIES}.{patch[1]}-' not in version:
        raise BasaltError("the server's headers and its source are of different releases",
                          "remove the directory download/ of the cache and try again")
