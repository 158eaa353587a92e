"""Where things are: the checkout, its build output, and the cache shared by all checkouts."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
FLAVOURS = ("release", "dev", "asan", "tsan")
PLUGIN_NAME = "ha_rocksdb.so"
# Programs that read the engine's files.
PROGRAM_NAMES = ("mariadb-ldb", "mariadb-sst-dump")
# In a build directory.
PLUGIN_FOLDER = "plugin"
PROGRAM_FOLDER = "programs"


def cache_dir() -> Path:
    """The cache: $BASALT_CACHE, or basalt/ in the user's cache directory."""
    own = os.environ.get("BASALT_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(Path.home(), ".cache")
    return Path(base) / "basalt"


def cache_entries() -> list[Path]:
    """What this tool has put into the cache; nothing else in that directory is ours to remove."""
    patterns = ("apt", "cargo*", "download", "lock", "log", "rocksdb-*", "server-*", "server.json")
    cache = cache_dir()
    return sorted({path for pattern in patterns for path in cache.glob(pattern)})


def build_dir(flavour: str) -> Path:
    """CMake's build directory of one flavour."""
    return BUILD / flavour


def plugin_dir(flavour: str) -> Path:
    """What mariadbd gets as --plugin-dir: our plugin and links to the server's own plugins."""
    return build_dir(flavour) / PLUGIN_FOLDER


def plugin_file(flavour: str) -> Path:
    """The engine, as CMake builds it."""
    return plugin_dir(flavour) / PLUGIN_NAME


def program_file(flavour: str, name: str) -> Path:
    """One of PROGRAM_NAMES, as CMake builds it."""
    return build_dir(flavour) / PROGRAM_FOLDER / name


def server_dir() -> Path:
    """Where `./basalt server` keeps its data directory by default."""
    return BUILD / "server"
