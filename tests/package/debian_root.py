"""The Debian package in a fresh Debian 12: installing, upgrading, removing, purging it.

Usage (as root): ./basalt python tests/package/debian_root.py PACKAGE.deb [--keep]

debootstrap makes the root, in build/package-test; packages come from the machine's archives.
mariadbd is started by hand there, on a socket, with the limits of Debian's unit. Cases:

  - installed by the command of the README on a machine without MariaDB: the engine is there, FORCE
  - the tools read the files of the stopped server by names of tables
  - removed: the server starts without the engine, the data stays; installed again: so are the rows
  - purged: the configuration file goes, the data stays
  - over MyRocks without data: its place is taken, its configuration file too
  - over MyRocks with data: the server does not start, the text names the remedy, nothing is
    changed; MyRocks installed again has its rows
  - a server of another patch release: apt keeps the server back; with one that was installed all
    the same it does not start, and the text names both releases
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from basaltcli import debian, layout, package, server_release
from basaltcli.errors import BasaltError
from tests.package._root import UNIT_LINES, Root, enter_namespaces, other_versions

_PACKAGES = ("debootstrap", "mount", "util-linux")
_STOCK = server_release.STOCK_ENGINE
_FILES = "/var/lib/mysql/#rocksdb"
_CONFIGURATION = "/etc/mysql/mariadb.conf.d/rocksdb.cnf"
_SERVER_PACKAGES = ("mariadb-server", "mariadb-server-core", "mariadb-client",
                    "mariadb-client-core")


def _expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise AssertionError(what)


def _expect_words(text: str, *words: str) -> None:
    for word in words:
        _expect(word in text, f"no '{word}' in:\n{text[-3000:]}")


class PackageTest:
    """The cases, in their order: each begins with what the one before it has left."""

    def __init__(self, root: Root, deb: Path, version: str) -> None:
        self._root = root
        self._version = version
        shutil.copy(deb, root.path("/tmp/"))
        self._deb = f"/tmp/{deb.name}"

    def cases(self) -> list[Callable[[], None]]:
        return [self.installed_on_a_fresh_machine, self.tools_read_by_name,
                self.unit_and_profile_fit, self.removed_and_installed_again,
                self.purged_and_installed_again, self.over_myrocks_without_data,
                self.over_myrocks_with_data, self.another_patch_release]

    def _pinned(self, *names: str) -> list[str]:
        return [f"{name}={self._version}" for name in names]

    def _install(self) -> str:
        return self._root.apt("install", self._deb, *self._pinned(*_SERVER_PACKAGES))

    def _install_stock(self) -> None:
        self._root.apt("install", *self._pinned(_STOCK))

    def _start(self, *options: str) -> None:
        _expect(self._root.start(*options), "the server does not start:\n"
                + self._root.log_text()[-3000:])

    def _expect_ours(self) -> None:
        about = self._root.query("SELECT PLUGIN_STATUS, LOAD_OPTION, PLUGIN_DESCRIPTION FROM "
                                 "information_schema.PLUGINS WHERE PLUGIN_NAME = 'ROCKSDB'")
        _expect_words(about, "ACTIVE", "FORCE", "Basalt")

    def _expect_rows(self) -> None:
        rows = self._root.query("SELECT GROUP_CONCAT(id, note ORDER BY id) FROM shop.orders")
        _expect(rows == "1one,2two", f"the rows are {rows}")

    def _make_rows(self) -> None:
        self._root.query("CREATE DATABASE IF NOT EXISTS shop; DROP TABLE IF EXISTS shop.orders; "
                         "CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(20), "
                         "KEY by_note (note)) ENGINE=ROCKSDB; "
                         "INSERT INTO shop.orders VALUES (1, 'one'), (2, 'two')")

    def _begin_anew(self) -> None:
        """No engine, no data of one."""
        self._root.query("DROP DATABASE shop")
        self._root.stop()
        self._root.apt("purge", package.NAME)
        shutil.rmtree(self._root.path(_FILES))

    # ---- the cases

    def installed_on_a_fresh_machine(self) -> None:
        self._install()
        _expect(self._root.state(package.NAME).startswith("ii "), "not installed")
        for name in _SERVER_PACKAGES:
            _expect(self._root.state(name) == f"ii {self._version}",
                    f"{name} is {self._root.state(name)}")
        self._start()
        self._expect_ours()
        self._make_rows()
        self._root.stop()
        self._start()
        self._expect_rows()
        self._root.stop()

    def tools_read_by_name(self) -> None:
        directory = f"--db={_FILES}"
        before = self._root.hashes(_FILES)
        for program in ("mariadb-ldb", "mysql_ldb"):
            text = self._root.must(program, directory, "keys", "--table=shop/orders")
            _expect(text == "shop/orders.PRIMARY 80000001\nshop/orders.PRIMARY 80000002\n"
                    + "".join(line + "\n" for line in text.splitlines()
                              if line.startswith("shop/orders.by_note ")), f"keys:\n{text}")
            _expect(text.count("by_note") == 2, f"keys:\n{text}")
        files = sorted(name for name in before if name.endswith(".sst"))
        for name in files:
            self._root.must("mariadb-sst-dump", "--command=indexes", f"--file={_FILES}/{name}")
        _expect(self._root.hashes(_FILES) == before, "the tools have changed files")
        _expect_words(self._root.must("basalt-migrate", "--help"), "myrocks")
        for page in ("mariadb-ldb", "mysql_ldb", "mariadb-sst-dump", "basalt-migrate"):
            # debootstrap's smallest root has no manual pages: dpkg leaves them out or installs them
            _expect_words(self._root.must("dpkg", "-L", package.NAME), f"/man1/{page}.1.gz")

    def unit_and_profile_fit(self) -> None:
        unit = self._root.path("/lib/systemd/system/mariadb.service").read_text()
        _expect_words(unit, *UNIT_LINES)
        profile = self._root.path("/etc/apparmor.d/usr.sbin.mariadbd").read_text()
        rules = [line for line in profile.splitlines() if line.split("#")[0].strip()]
        _expect(not rules, f"Debian's profile confines the server now: {rules[:5]}")

    def removed_and_installed_again(self) -> None:
        before = self._root.hashes(_FILES)
        self._root.apt("remove", package.NAME)
        self._start()
        _expect(self._root.query("SELECT COUNT(*) FROM information_schema.ENGINES "
                                 "WHERE ENGINE = 'ROCKSDB'") == "0", "the engine is still there")
        self._root.stop()
        _expect(self._root.hashes(_FILES) == before, "removing it has changed data")
        self._install()
        self._start()
        self._expect_ours()
        self._expect_rows()
        self._root.stop()

    def purged_and_installed_again(self) -> None:
        before = self._root.hashes(_FILES)
        self._root.apt("purge", package.NAME)
        _expect(not self._root.path(_CONFIGURATION).exists(), "the configuration file is there")
        _expect(self._root.state(package.NAME).startswith("un") or
                not self._root.state(package.NAME), self._root.state(package.NAME))
        _expect(self._root.hashes(_FILES) == before, "purging it has changed data")
        self._start()
        self._root.stop()
        self._install()
        self._start()
        self._expect_ours()
        self._expect_rows()

    def over_myrocks_without_data(self) -> None:
        self._begin_anew()
        self._install_stock()
        stock = self._root.path(_CONFIGURATION).read_text()
        self._install()
        _expect(not self._root.state(_STOCK).startswith("ii"), "MyRocks is still installed")
        ours = self._root.path(_CONFIGURATION).read_text()
        _expect(ours != stock and "FORCE" in ours, f"{_CONFIGURATION}:\n{ours}")
        self._start()
        self._expect_ours()
        _expect("already installed" not in self._root.log_text(), self._root.log_text()[-3000:])
        self._make_rows()
        self._root.run("dpkg", "--purge", _STOCK)
        _expect(self._root.path(_CONFIGURATION).exists(), "purging MyRocks took our configuration")

    def over_myrocks_with_data(self) -> None:
        self._begin_anew()
        self._install_stock()
        self._start()
        self._make_rows()
        self._root.stop()
        before = self._root.hashes(_FILES)
        said = self._install()
        _expect_words(said, "tables of MyRocks", "README.Debian")
        _expect(not self._root.start(), "the server starts on MyRocks' files")
        _expect_words(self._root.log_text(), "holds tables of MyRocks", "basalt-migrate", _STOCK)
        _expect(self._root.hashes(_FILES) == before, "files of MyRocks have changed")
        self._start("--rocksdb-datadir=/var/lib/mysql/basalt")
        self._expect_ours()
        self._root.stop()
        _expect(self._root.hashes(_FILES) == before, "files of MyRocks have changed")
        self._install_stock()
        _expect(not self._root.state(package.NAME).startswith("ii"), "ours is still installed")
        self._start()
        self._expect_rows()

    def another_patch_release(self) -> None:
        self._begin_anew_of_stock()
        self._install()
        self._start()
        self._make_rows()
        self._root.stop()
        before = self._root.hashes(_FILES)
        others = other_versions(self._root, "mariadb-server-core", self._version)
        if not others:
            print("        no other release of the server is in the archives: not tried")
            return
        self._root.must("apt-mark", "hold", package.NAME)
        for kind in ("upgrade", "full-upgrade"):
            simulated = self._root.must("apt-get", "-s", kind)
            _expect("Inst mariadb-server-core" not in simulated, f"{kind} takes the server along")
            _expect(f"Remv {package.NAME}" not in simulated, f"{kind} removes the package")
        self._root.must("apt-mark", "unhold", package.NAME)
        self._root.must("sh", "-c", f"cd /tmp && apt-get download mariadb-server-core={others[0]}"
                        " && dpkg --force-depends -i mariadb-server-core_*.deb")
        _expect(not self._root.start(), "the server starts")
        _expect_words(self._root.log_text(), "was built for MariaDB",
                      self._version.removeprefix("1:").split("-")[0],
                      others[0].removeprefix("1:").split("-")[0], "./basalt package --refresh")
        _expect(self._root.hashes(_FILES) == before, "files have changed")
        print(f"        tried with {others[0]}")
        self._root.must("sh", "-c", "cd /tmp && apt-get download "
                        f"mariadb-server-core={self._version} && dpkg --force-downgrade -i "
                        f"mariadb-server-core_{self._version.replace(':', '%3a')}_*.deb")
        self._start()
        self._expect_rows()
        self._root.stop()

    def _begin_anew_of_stock(self) -> None:
        self._root.query("DROP DATABASE shop")
        self._root.stop()
        self._root.apt("purge", _STOCK)
        shutil.rmtree(self._root.path(_FILES))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("deb", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep the root when all passed, too")
    arguments = parser.parse_args()
    enter_namespaces()
    release = server_release.current()
    if release is None:
        raise BasaltError("there is no server release in the cache", "run ./basalt build")
    debian.ensure(_PACKAGES)
    directory = layout.BUILD / "package-test"
    shutil.rmtree(directory / "root", ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    root = Root(directory / "root", directory / "archives")
    root.make()
    test = PackageTest(root, arguments.deb, f"1:{release.version}")
    passed = failed = 0
    for case in test.cases():
        title = case.__name__.replace("_", " ")
        try:
            case()
            passed += 1
            print(f"passed  {title}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"FAILED  {title}\n        {error}", flush=True)
            break
    root.stop()
    if failed:
        print(f"the root and its log are kept: {root.directory}")
    elif not arguments.keep:
        root.remove()
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BasaltError as problem:
        sys.exit(f"error: {problem.message}\nwhat to do: {problem.remedy}")
