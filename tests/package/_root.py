"""A Debian 12 root of its own, in which packages are installed and mariadbd is started by hand.

To be used in a mount and PID namespace of its own, enter_namespaces(): what is mounted and started
goes with it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from basaltcli import process
from basaltcli.errors import BasaltError
from basaltcli.private_apt import derived_sources

_INSIDE = "BASALT_PACKAGE_NAMESPACES"
_START_SECONDS = 120
# As Debian's mariadb.service has it: ProtectSystem=full, ProtectHome, UMask, LimitNOFILE, User.
UNIT_LINES = ("User=mysql", "ProtectSystem=full", "ProtectHome=true", "LimitNOFILE=32768",
              "UMask=007")
_UNIT = """
for d in usr boot etc; do mount --bind "$0/$d" "$0/$d"; mount -o remount,bind,ro "$0/$d"; done
for d in home root; do mount -t tmpfs -o mode=0 tmpfs "$0/$d"; done
umask 007
ulimit -n 32768 2>/dev/null || true  # a container may allow fewer
exec chroot --userspec=mysql:mysql "$0" /usr/sbin/mariadbd "$@"
"""


def enter_namespaces() -> None:
    """Starts this program again where its mounts and processes end with it."""
    if os.environ.get(_INSIDE):
        return
    if os.geteuid() != 0:
        raise BasaltError("a Debian root can only be made by root",
                          "run the command as root or with sudo")
    os.environ[_INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                          sys.executable, *sys.argv])


class Root:
    """The root's directory; `archives` keeps downloads from run to run."""

    def __init__(self, directory: Path, archives: Path) -> None:
        self.directory = directory
        self._archives = archives
        self._log = directory.with_suffix(".log")
        self._mounts: list[Path] = []
        self._server: subprocess.Popen[bytes] | None = None
        self.server_log = directory.with_name("mariadbd.log")

    def make(self) -> None:
        """debootstrap's smallest Debian 12, with the machine's archives and proxies."""
        self._archives.mkdir(parents=True, exist_ok=True)
        process.run(["debootstrap", "--variant=minbase", "--include=ca-certificates",
                     f"--cache-dir={self._archives}", "bookworm", self.directory], log=self._log,
                    failure="debootstrap cannot make a Debian root",
                    remedy="check the network and the proxy (http_proxy)")
        apt = self.directory / "etc" / "apt"
        (apt / "sources.list").unlink(missing_ok=True)
        for name, text in derived_sources(Path("/etc/apt")).items():
            (apt / "sources.list.d" / name).write_text(text)
        acquire = process.capture(["apt-config", "dump", "--format", '%F "%v";%n', "Acquire"]) or ""
        lines = [line for line in acquire.splitlines() if not line.endswith(' "";')]
        lines += ['APT::Install-Recommends "0";', 'DPkg::Options:: "--force-unsafe-io";',
                  'APT::Sandbox::User "root";']
        (apt / "apt.conf.d" / "00test").write_text("\n".join(lines) + "\n")
        # Debian's way to say that no service is started by packages.
        policy = self.directory / "usr" / "sbin" / "policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        self._mount("-t", "proc", "proc", "proc")
        self._mount("-t", "sysfs", "sysfs", "sys")
        self._mount("--bind", str(self._archives), "var/cache/apt/archives")
        self.must("apt-get", "update", "-q")

    def _mount(self, *words: str) -> None:
        place = self.path(words[-1])
        subprocess.run(["mount", *words[:-1], place], check=True)
        self._mounts.append(place)

    def remove(self) -> None:
        """The mounts go first, so that nothing outside of it is removed."""
        while self._mounts:
            subprocess.run(["umount", self._mounts.pop()], check=True)
        shutil.rmtree(self.directory)

    def run(self, *command: str) -> tuple[int, str]:
        """A command in the root: its exit code, and all that it printed."""
        done = subprocess.run(
            ["chroot", self.directory, *command], check=False, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=process.environment({"DEBIAN_FRONTEND": "noninteractive", "HOME": "/root",
                                     "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}))
        with self._log.open("a") as log:
            log.write(f"$ {' '.join(command)}\n{done.stdout}[{done.returncode}]\n")
        return done.returncode, done.stdout

    def must(self, *command: str) -> str:
        """The same of a command that has to succeed."""
        code, text = self.run(*command)
        if code != 0:
            raise AssertionError(f"{' '.join(command)}: exit code {code}\n{text[-2000:]}")
        return text

    def apt(self, *arguments: str) -> str:
        return self.must("apt-get", "-y", "-q", *arguments)

    def state(self, package: str) -> str:
        """What dpkg says of a package: "ii 1:10.11.18-0+deb12u1"; empty if it knows none."""
        code, text = self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}", package)
        return " ".join(text.split()) if code == 0 else ""

    def path(self, name: str) -> Path:
        """A file of the root by its name in it."""
        return self.directory / name.lstrip("/")

    def hashes(self, name: str) -> dict[str, str]:
        """Of each file of a directory, its bytes' hash."""
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(self.path(name).iterdir()) if path.is_file()}

    # ---- the server

    def start(self, *options: str) -> bool:
        """Starts mariadbd as its unit does; whether it answers. Its log is that of this start."""
        run = self.path("/run/mysqld")
        run.mkdir(exist_ok=True)
        shutil.chown(run, *_owner(self.path("/var/lib/mysql")))
        with self.server_log.open("wb") as log:
            self._server = subprocess.Popen(
                ["unshare", "--mount", "sh", "-euc", _UNIT, self.directory, "--skip-networking",
                 *options], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._server.poll() is None:
            if self.run("mariadb-admin", "ping")[0] == 0:
                return True
            time.sleep(0.2)
        self.stop()
        return False

    def query(self, sql: str) -> str:
        return self.must("mariadb", "-BN", "-e", sql).strip()

    def stop(self) -> None:
        """An orderly end."""
        if self._server is None:
            return
        if self._server.poll() is None:
            self._server.terminate()
            self._server.wait(_START_SECONDS)
        self._server = None

    def log_text(self) -> str:
        return self.server_log.read_text(errors="replace")


def other_versions(root: Root, package: str, version: str) -> Sequence[str]:
    """Versions of a package on offer in the root but `version`, newest first."""
    found: list[str] = []
    for line in root.run("apt-cache", "madison", package)[1].splitlines():
        fields = [field.strip() for field in line.split("|")]
        is_package = len(fields) == 3 and fields[2].endswith("Packages")
        if is_package and fields[1] not in [*found, version]:
            found.append(fields[1])
    return found


def _owner(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_uid, status.st_gid
