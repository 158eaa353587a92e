"""mariadb-ldb and mariadb-sst-dump on the files of a real server.

Usage: ./basalt python tests/tools/stored_files.py [--flavour FLAVOUR]

The keys of a table are listed by its name: from a stopped server's files and WALs, prepared
transactions in them, and from a server that runs. No file of a stopped server changes.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

from basaltcli import layout
from tests.support import workspace
from tests.support.workspace import Tally, Workspace

_ROWS = 100


def _hashes(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in directory.iterdir() if path.is_file()}


class StoredFiles:
    """The programs of one build, and the directory that they look into."""

    def __init__(self, work: Workspace) -> None:
        self._flavour = work.settings.flavour
        self._server = work.server("data", options=["--log-bin=binlog"])
        self._files = self._server.datadir / "#rocksdb"
        self.passed = 0
        self.failed = 0

    def expect(self, title: str, found: object, expected: object) -> None:
        is_good = found == expected
        print(f"{'passed' if is_good else 'FAILED'}  {title}", flush=True)
        if not is_good:
            print(f"        {str(found)[:600]}\n        in the place of {str(expected)[:600]}")
        self.passed += is_good
        self.failed += not is_good

    def printed(self, program: str, *words: str) -> list[str]:
        """The lines that a program prints; its error if it fails."""
        done = subprocess.run([layout.program_file(self._flavour, program), *words], check=False,
                              text=True, capture_output=True)
        return done.stdout.splitlines() if done.returncode == 0 else [done.stderr]

    def keys(self, table: str, index: str) -> list[str]:
        return self.printed("mariadb-ldb", f"--db={self._files}", "keys", f"--table={table}",
                            f"--index={index}")

    def prepare(self) -> None:
        """Rows in files, in the WAL, and a prepared transaction that has not been decided."""
        self._server.start()
        self._server.client("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, "
                            "amount INT NOT NULL, KEY by_amount (amount)) ENGINE=ROCKSDB; "
                            "CREATE TABLE shop.parts (id INT PRIMARY KEY) ENGINE=ROCKSDB "
                            "PARTITION BY HASH (id) PARTITIONS 2")
        self._server.client("INSERT INTO shop.orders SELECT seq, 7 "
                            f"FROM test.seq_1_to_{_ROWS - 1}; "
                            "INSERT INTO shop.parts VALUES (1), (2); "
                            "SET GLOBAL rocksdb_force_flush_memtable_now=ON")
        self._server.client(f"INSERT INTO shop.orders VALUES ({_ROWS}, 7); "
                            "XA START 'later'; INSERT INTO shop.orders VALUES (1000, 7); "
                            "XA END 'later'; XA PREPARE 'later'")

    def run(self) -> None:
        self.prepare()
        rows = [f"shop/orders.PRIMARY {0x80000000 + i:08X}" for i in range(1, _ROWS + 1)]
        self.expect("keys of a server that runs", self.keys("shop/orders", "PRIMARY"), rows)
        self._server.kill()
        before = _hashes(self._files)
        self.expect("keys of a stopped server, in files and in the WAL",
                    self.keys("shop/orders", "PRIMARY"), rows)
        self.expect("as many in the secondary index",
                    len(self.keys("shop/orders", "by_amount")), _ROWS)
        self.expect("of a partition by its name", self.keys("shop/parts#P#p1", "PRIMARY"),
                    ["shop/parts#P#p1.PRIMARY 80000001"])
        found: dict[str, int] = {}
        for path in self._files.glob("*.sst"):
            for line in self.printed("mariadb-sst-dump", "--command=indexes", f"--file={path}"):
                entries, _, name = line.split(" ", 2)
                found[name] = found.get(name, 0) + int(entries)
        self.expect("the files have all that was flushed", found.get("shop/orders.PRIMARY"),
                    _ROWS - 1)
        self.expect("no file has changed", _hashes(self._files), before)


def _run(work: Workspace, _: argparse.Namespace) -> Tally:
    test = StoredFiles(work)
    test.run()
    return Tally(test.passed, test.failed)


def main() -> int:
    return workspace.main("stored-files", workspace.parser(__doc__).parse_args(), _run)


if __name__ == "__main__":
    sys.exit(main())
