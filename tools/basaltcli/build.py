"""Everything from an empty machine to the plugin."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from basaltcli import debian, layout, locking, machine, process, rocksdb, server_release, ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease


@dataclass(frozen=True)
class Provisions:
    """What the checkout is built against."""

    release: ServerRelease
    rocksdb: Path


def provision(refresh: bool = False,
              library: Callable[[], Path] = rocksdb.ensure) -> Provisions:
    """Finds or makes everything that is shared by all checkouts, and RocksDB by `library`."""
    machine.check_cpu()
    debian.check_release()
    machine.check_memory()
    cache = layout.cache_dir()
    _make_directory(cache)
    is_warm = server_release.current() is not None and any(cache.glob("rocksdb-*/lib"))
    machine.check_disk(cache, machine.WARM_BUILD_DISK if is_warm else machine.COLD_BUILD_DISK,
                       "building")
    with locking.exclusive(cache / "lock", f"the cache {cache}"):
        debian.ensure((*debian.BUILD_PACKAGES, *debian.SERVER_PACKAGES))
        return Provisions(server_release.ensure(refresh), library())


def build(flavour: str, refresh: bool = False, with_tests: bool = False) -> ServerRelease:
    """Provisions, configures and compiles; returns the server that the plugin belongs to.

    Without tests only the plugin is made: that is half the work, and all that users need.
    """
    provisions = provision(refresh, lambda: rocksdb.ensure(rocksdb.variant(flavour)))
    build_in(layout.build_dir(flavour), flavour, provisions, with_tests=with_tests)
    return provisions.release


def build_in(directory: Path, flavour: str, provisions: Provisions, *, with_tests: bool = False,
             cmake_options: Sequence[str] = ()) -> None:
    """Configures and compiles in a directory of its own; the engine is then in its plugin/."""
    _make_directory(directory)
    machine.check_disk(directory, machine.WARM_BUILD_DISK, "building")
    log = directory / "build.log"
    log.write_text("")
    release = provisions.release
    source = _server_source(release)
    targets = [] if with_tests or not source else ["ha_rocksdb", *layout.PROGRAM_NAMES]
    with locking.exclusive(directory / "lock", f"build/{directory.name}"), \
            ui.progress(f"Building Basalt, flavour {flavour}") as bar:
        process.run(["cmake", "-G", "Ninja", "-S", layout.ROOT, "-B", directory,
                     "-DCMAKE_C_COMPILER=/usr/bin/gcc", "-DCMAKE_CXX_COMPILER=/usr/bin/g++",
                     f"-DBASALT_FLAVOUR={flavour}",
                     f"-DBASALT_ROCKSDB_ROOT={provisions.rocksdb}",
                     f"-DBASALT_SERVER_SOURCE={source}",
                     f"-DBASALT_SERVER_HEADERS={release.headers}", *cmake_options],
                    log=log, failure="CMake cannot configure the build")
        process.run(["ninja", "-C", directory, "-j", str(machine.jobs()), *targets], log=log,
                    failure="Basalt does not compile", bar=bar)
        _link_server_plugins(directory / layout.PLUGIN_FOLDER, release)


def _server_source(release: ServerRelease) -> str:
    """The server's source tree; empty, so that CMake leaves the plugin out, without src/server."""
    has_plugin = (layout.ROOT / "src" / "server" / "CMakeLists.txt").exists()
    return str(release.source) if has_plugin else ""


def _link_server_plugins(directory: Path, release: ServerRelease) -> None:
    """Links the server's own plugins beside ours, so that one --plugin-dir has them all."""
    directory.mkdir(parents=True, exist_ok=True)
    for plugin in release.plugins.iterdir():
        link = directory / plugin.name
        if plugin.name == layout.PLUGIN_NAME or (link.is_symlink() and link.readlink() == plugin):
            continue
        link.unlink(missing_ok=True)
        link.symlink_to(plugin)


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BasaltError(f"{path} cannot be created: {error.strerror}",
                          "make its parent writable for you, or set BASALT_CACHE=DIRECTORY"
                          ) from error
    if not os.access(path, os.W_OK):
        raise BasaltError(f"{path} is not writable for you",
                          "change its owner (was it made by root?), or set BASALT_CACHE=DIRECTORY")
