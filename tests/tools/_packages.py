"""Debian's packages of tools, unpacked and not installed: no MariaDB library comes with them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from basaltcli import debian, layout, locking, process
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease

# Unpacked, as they need libmariadb3, which the release in the cache has.
_UNPACKED = ("libdbd-mysql-perl", "mydumper", "percona-toolkit")
_INSTALLED = ("libdbi-perl", "libglib2.0-0", "libpcre3", "libterm-readkey-perl", "rsync")
_PERL = "usr/lib/x86_64-linux-gnu/perl5/5.36"


class Tools:
    """Programs of those packages and of the server's release, ready to be run."""

    def __init__(self, release: ServerRelease) -> None:
        debian.ensure(_INSTALLED)
        self._release = release
        self._root = layout.BUILD / "tool-packages"
        with locking.exclusive(layout.BUILD / "tool-packages.lock", "the packages of tools"):
            if not self._root.is_dir():
                self._unpack()

    def _unpack(self) -> None:
        failure = f"Debian's packages {', '.join(_UNPACKED)} cannot be had"
        log = process.log_file("tool-packages")
        with locking.appearing(self._root) as directory:
            process.run(["apt-get", "-q", "download", *_UNPACKED], log=log, cwd=directory,
                        failure=failure, remedy="apt-get update")
            for package in sorted(directory.glob("*.deb")):
                process.run(["dpkg-deb", "-x", package, directory], log=log, failure=failure)
                package.unlink()

    def version(self, program: str) -> str:
        """What a program says that it is."""
        return self.run([program, "--version"]).strip()

    def path(self, program: str) -> Path:
        """Where a program is."""
        found = self._root / "usr" / "bin" / program
        return found if found.exists() else self._release.program(program)

    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": f"{self._release.usr}/lib/x86_64-linux-gnu",
                "PERL5LIB": str(self._root / _PERL), "LC_ALL": "C.UTF-8"}

    def run(self, words: Sequence[str | Path], *, codes: Sequence[int] = (0,),
            text: str | None = None) -> str:
        """Runs a program with its arguments; its output, both kinds. `text` is its input."""
        done = subprocess.run([self.path(str(words[0])), *words[1:]], env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", input=text, check=False)
        if done.returncode not in codes:
            raise BasaltError(f"{words[0]} ended with {done.returncode}: {done.stdout[-3000:]}")
        return done.stdout
