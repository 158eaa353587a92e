"""Libraries that are put between a server and its calls of the system, by LD_PRELOAD."""

from __future__ import annotations

from pathlib import Path

from basaltcli import process


def built(source: Path, directory: Path) -> Path:
    """The library of one C file, in a directory; compiled if it is not there yet."""
    library = directory / f"{source.stem.removeprefix('_')}.so"
    if not library.exists():
        process.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source, "-ldl"],
                    log=library.with_suffix(".build.log"),
                    failure=f"{source.name} cannot be compiled")
    return library
