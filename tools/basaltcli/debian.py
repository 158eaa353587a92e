"""Debian packages installed on the machine: compilers, libraries, Perl. Never a MariaDB."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from basaltcli import process, ui
from basaltcli.errors import BasaltError

BUILD_PACKAGES = (
    "ca-certificates", "cmake", "dpkg-dev", "g++", "libbenchmark-dev", "libgtest-dev",
    "liblz4-dev", "libxxhash-dev", "libzstd-dev", "ninja-build", "python3-pymysql", "xz-utils",
    "zlib1g-dev")
# Shared libraries of mariadbd, its clients, its stock engine and mariadb-backup, and what
# mariadb-install-db and mariadb-test-run.pl call.
SERVER_PACKAGES = (
    "gawk", "hostname", "libaio1", "libcrypt1", "libdbi-perl", "libedit2", "libncurses6",
    "libnuma1", "libpam0g", "libpcre2-8-0", "libpcre2-posix3", "libsnappy1v5", "libssl3",
    "libsystemd0", "libtinfo6", "liburing2", "lsof", "patch", "perl", "procps", "zlib1g")


def installed(names: Iterable[str]) -> set[str]:
    """Those of `names` that are installed and configured."""
    # dpkg-query fails when it does not know one of the names; asking for everything does not.
    text = process.capture(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n"]) or ""
    known = {line.split()[0] for line in text.splitlines() if line.endswith(" installed")}
    return known & set(names)


def ensure(names: Iterable[str]) -> None:
    """Installs what is missing of `names`; removes nothing, and upgrades nothing needlessly."""
    wanted = set(names)
    missing = sorted(wanted - installed(wanted))
    if not missing:
        return
    apt = [*_as_root(missing), "apt-get", "-q"]
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    log = process.log_file("apt-install")
    by_hand = f"apt-get install {' '.join(missing)}"
    install = [*apt, "install", "-y", "--no-install-recommends", "--no-remove",
               "-o", "DPkg::Lock::Timeout=300", *missing]
    with ui.progress(f"Installing Debian packages: {' '.join(missing)}"):
        try:
            process.run(install, log=log, env=quiet, failure="apt-get install failed")
            return
        except BasaltError:
            ui.info("  not installable at once; updating the package lists")
        process.run([*apt, "update"], log=log, env=quiet,
                    failure="the Debian package lists cannot be updated",
                    remedy="check the network, the proxy (http_proxy) and /etc/apt/sources.list*")
        process.run(install, log=log, env=quiet,
                    failure="Debian packages cannot be installed",
                    remedy=f"check the network and the proxy, then try it by hand: {by_hand}")


def _as_root(missing: list[str]) -> list[str]:
    """The prefix that makes a command run as root."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        raise BasaltError(
            f"Debian packages are missing and you may not install them: {' '.join(missing)}",
            f"run once as root: apt-get update && apt-get install {' '.join(missing)}")
    # Its own environment is passed on by `env`, because sudo drops most variables.
    return ["sudo", "env", "DEBIAN_FRONTEND=noninteractive"]


def check_release() -> None:
    """Fails on anything but Debian 12."""
    text = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    fields = {name: value.strip('"') for name, value in fields.items()}
    if (fields.get("ID"), fields.get("VERSION_ID")) != ("debian", "12"):
        raise BasaltError(f"this machine runs {fields.get('PRETTY_NAME', 'an unknown system')}, "
                          "not Debian 12 (bookworm)",
                          "use a Debian 12 machine, virtual machine or container")
