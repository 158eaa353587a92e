"""The engine as a Debian package, for the release of the server that it was built for.

debhelper makes it from packaging/debian: stripping, dependencies on libraries, configuration files
and checksums are then what Debian's tools make of them, and not ours to get right. There is no
source package: the plugin needs the headers of one server release and a patched RocksDB, so that
what is packed is what `./basalt build` has compiled.
"""

from __future__ import annotations

import datetime
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from basaltcli import build, debian, layout, process, ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease

NAME = "mariadb-plugin-basalt"
PACKAGES = ("debhelper", "dpkg-dev", "lintian")
_RECIPE = layout.ROOT / "packaging" / "debian"
_MIGRATE = layout.ROOT / "tools" / "basalt_migrate"
_ENGINE_VERSION = re.compile(r'"(\d+\.\d+)",\n\s+MariaDB_PLUGIN_MATURITY')


@dataclass(frozen=True)
class Origin:
    """What a package is made of."""

    commit: str  # abbreviated; "unknown" outside of a repository
    time: datetime.datetime
    is_modified: bool  # whether files differ from the commit


def make(flavour: str = "release", refresh: bool = False) -> Path:
    """Builds the engine and its package; returns the file. Errors of lintian are errors."""
    release = build.build(flavour, refresh)
    debian.ensure(PACKAGES)
    directory = layout.BUILD / "package"
    shutil.rmtree(directory, ignore_errors=True)
    tree = directory / "tree"
    origin = _origin()
    version = package_version(engine_version(), origin, release.version)
    _lay_out(tree, flavour, release, origin, version)
    log = process.log_file("package")
    with ui.progress(f"Packing {NAME} {version}"):
        process.run(["dpkg-buildpackage", "--build=binary", "--unsigned-changes"], log=log,
                    cwd=tree, failure="the package cannot be built",
                    env={"MARIADB_VERSION": f"1:{release.version}",
                         "SOURCE_DATE_EPOCH": str(int(origin.time.timestamp()))})
    file = directory / f"{NAME}_{version}_amd64.deb"
    if not file.exists():
        raise BasaltError(f"dpkg-buildpackage has not made {file.name}", f"its output is in {log}")
    with ui.progress("Checking it with lintian"):
        process.run(["lintian", "--fail-on", "error", file], log=log,
                    failure="lintian finds errors in the package")
    shutil.rmtree(tree)
    return file


def engine_version() -> str:
    """The version that the plugin tells the server."""
    source = layout.ROOT / "src" / "server" / "plugin.cc"
    match = _ENGINE_VERSION.search(source.read_text())
    if match is None:
        raise BasaltError(f"{source} has no version of the engine",
                          "restore the file from the repository")
    return match[1]


def package_version(engine: str, origin: Origin, server: str) -> str:
    """A version that grows with the engine's, then with the commit, then with the server's.

    '0.1+202611260215~10.11.18.0+deb12u1'
    """
    modified = "+modified" if origin.is_modified else ""
    return f"{engine}+{origin.time:%Y%m%d%H%M}{modified}~{server.replace('-', '.')}"


def changelog(origin: Origin, version: str, server: str) -> str:
    """debian/changelog: what dpkg takes the version from."""
    modified = ", with changes that are not committed" if origin.is_modified else ""
    return (f"{NAME} ({version}) bookworm; urgency=medium\n\n"
            f"  * Built for MariaDB {server}.\n"
            f"  * Built from commit {origin.commit}{modified}.\n\n"
            f" -- {_maintainer()}  {origin.time:%a, %d %b %Y %H:%M:%S} +0000\n")


def _maintainer() -> str:
    match = re.search(r"^Maintainer: (.+)$", (_RECIPE / "control").read_text(), re.MULTILINE)
    assert match is not None, "debian/control names its maintainer"
    return match[1]


def _origin() -> Origin:
    here = ["git", "-C", layout.ROOT]
    line = process.capture([*here, "log", "-1", "--format=%h %ct"])
    if line is None:
        return Origin("unknown", datetime.datetime.now(datetime.timezone.utc), False)
    commit, seconds = line.split()
    changes = process.capture([*here, "status", "--porcelain", "--untracked-files=no"])
    time = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    return Origin(commit, time, bool(changes))


def _lay_out(tree: Path, flavour: str, release: ServerRelease, origin: Origin,
             version: str) -> None:
    """What dpkg-buildpackage is started in: debian/ and the files that it packs."""
    shutil.copytree(_RECIPE, tree / "debian")
    (tree / "debian" / "changelog").write_text(changelog(origin, version, release.version))
    files = tree / "files"
    files.mkdir()
    shutil.copy(layout.plugin_file(flavour), files)
    for name in layout.PROGRAM_NAMES:
        shutil.copy(layout.program_file(flavour, name), files)
    shutil.copytree(_MIGRATE, files / _MIGRATE.name,
                    ignore=shutil.ignore_patterns("*.1", "__pycache__"))
    shutil.copy(_MIGRATE / "basalt-migrate.1", files)
