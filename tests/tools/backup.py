"""mariadb-backup: a full backup, two incremental ones, each shipped to a store, and the restore.

Usage: ./basalt python tests/tools/backup.py

The store gets each backup by the two rsync commands of docs/tools.md: sorted files that an earlier
backup has, by name and checksum, are links to it there, and are not copied again. Then the whole
chain is prepared from the store and restored in another place. Clients move money while the first
two backups are made; the last has exactly what the server has, also a large XA transaction that is
prepared, and is committed in both.
The last line is "N passed, N failed".
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from basaltcli.errors import BasaltError
from tests.support import checks, workspace
from tests.support.workspace import Workspace
from tests.tools import _bank
from tests.tools._packages import Tools

_ENGINE = "#rocksdb"
_ROWS = 60_000
_ATTEMPTS = 4
# Its rows are in files of its own.
_PREPARE = """USE bank; SET rocksdb_write_batch_spill_bytes = 100000; XA START 'large';
UPDATE big SET v = REVERSE(v) WHERE id % 10 = 0; XA END 'large'; XA PREPARE 'large'"""
_LOST_LOG = "Was only able to copy log"
_TRANSFERRED = re.compile(r"Total transferred file size: ([\d,]+) bytes")


class Chain:
    """A server, the place beside its data where backups are made, and the store."""

    def __init__(self, work: Workspace) -> None:
        self.work = work
        self.tools = Tools(work.release)
        self.server = work.server("data", options=("--log-bin=binlog", "--server-id=1"))
        self.server.start()
        _bank.create(self.server)
        _bank.create(self.server, "other", "InnoDB")
        self.server.client(
            "USE bank; CREATE TABLE big (id INT PRIMARY KEY, v VARCHAR(300)) ENGINE=ROCKSDB; "
            f"INSERT INTO big SELECT seq, RPAD(MD5(seq), 300, MD5(-seq)) FROM "
            f"seq_1_to_{_ROWS}; SET GLOBAL rocksdb_force_flush_memtable_now = ON")
        self.here = work.directory / "backups"
        self.store = work.directory / "store"
        for directory in (self.here, self.store):
            directory.mkdir()

    def back_up(self, name: str, previous: str | None) -> None:
        """Makes one backup beside the data, all of it or what has changed since the previous.

        On a busy machine mariadb-backup may not see the end of InnoDB's log in the five seconds
        that it gives itself, and fails: then it is called again.
        """
        base = [f"--incremental-basedir={self.here / previous}"] if previous else []
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                self.tools.run(["mariadb-backup", "--no-defaults", "--backup", "--user=root",
                                f"--socket={self.server.socket}",
                                f"--datadir={self.server.datadir}",
                                f"--target-dir={self.here / name}", *base])
                return
            except BasaltError as error:
                if _LOST_LOG not in str(error) or attempts_left == 0:
                    raise
            print(f"{name}: again, {_LOST_LOG.lower()}", flush=True)
            shutil.rmtree(self.here / name)

    def ship(self, name: str, previous: str | None) -> tuple[int, int]:
        """To the store; bytes of sorted files that were copied, and that are in the backup."""
        source, target = self.here / name / _ENGINE, self.store / name / _ENGINE
        target.mkdir(parents=True)
        link = [f"--link-dest={self.store / previous / _ENGINE}"] if previous else []
        text = self.tools.run(["/usr/bin/rsync", "-a", "--checksum", "--stats", *link,
                               "--include=*.sst", "--exclude=*", f"{source}/", f"{target}/"])
        self.tools.run(["/usr/bin/rsync", "-a", f"{self.here / name}/", f"{self.store / name}/"])
        for path in (self.here / name).iterdir():  # all that the next backup needs of this one
            if path.name != "xtrabackup_checkpoints":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        found = _TRANSFERRED.search(text)
        assert found is not None
        return (int(found[1].replace(",", "")),
                sum(path.stat().st_size for path in target.glob("*.sst")))


def check_chain(chain: Chain) -> list[str]:
    """Three backups; of the last two only new files reach the store."""
    problems: list[str] = []
    previous: str | None = None
    for number, name in enumerate(("full", "first", "second")):
        if number < 2:
            with _bank.Clients(chain.server, first=10 * number + 1) as clients, \
                    _bank.Clients(chain.server, "other", first=10 * number + 1):
                chain.back_up(name, previous)
            problems += clients.errors
        else:
            chain.server.client(_PREPARE)
            chain.back_up(name, previous)
        linked = sum(path.stat().st_nlink > 1
                     for path in (chain.here / name / _ENGINE).glob("*.sst"))
        copied, whole = chain.ship(name, previous)
        print(f"{name}: {whole} bytes of sorted files, {copied} copied to the store; {linked} "
              "files share their space with the server's", flush=True)
        if not linked:
            problems.append(f"{name}: no file of the backup is a link")
        if previous and copied * 4 > whole:
            problems.append(f"{name}: {copied} of {whole} bytes were copied again")
        previous = name
    return problems


def check_restore(chain: Chain) -> list[str]:
    """The chain from the store, prepared and copied back, is the server at the last backup."""
    full = chain.store / "full"
    chain.tools.run(["mariadb-backup", "--no-defaults", "--prepare", f"--target-dir={full}"])
    for name in ("first", "second"):
        chain.tools.run(["mariadb-backup", "--no-defaults", "--prepare", f"--target-dir={full}",
                         f"--incremental-dir={chain.store / name}"])
    restored = chain.work.server("restored", options=("--log-bin=binlog", "--server-id=2"))
    marks = [path for path in restored.datadir.iterdir() if path.name.startswith("basalt-")]
    kept = [(path.name, path.read_bytes()) for path in marks]
    shutil.rmtree(restored.datadir)
    restored.datadir.mkdir()
    chain.tools.run(["mariadb-backup", "--no-defaults", "--copy-back", f"--target-dir={full}",
                     f"--datadir={restored.datadir}"])
    for mark, data in kept:
        (restored.datadir / mark).write_bytes(data)
    restored.start()
    position = (Path(full) / "xtrabackup_binlog_info").read_text().split()
    there = chain.server.query("SHOW MASTER STATUS")[0][:2]
    for server in (chain.server, restored):
        server.client("XA COMMIT 'large'")
    problems = [f"{database}: {line}" for database in ("bank", "other")
                for line in _bank.problems(restored, database)]
    problems += checks.check_tables(restored)
    for table in ("bank.a", "bank.b", "bank.moves", "bank.big", "other.a", "other.b",
                  "other.moves"):
        rows = [server.query(f"SELECT * FROM {table} ORDER BY 1, 2")
                for server in (chain.server, restored)]
        problems += [f"{table}: {line}" for line in
                     checks.difference(rows[0], rows[1], ("the server", "the restored one"))]
    if (position[0], int(position[1])) != there:
        problems.append(f"the backup tells {position}, the server is at {there}")
    return problems + checks.engine_errors(restored)


_CHECKS = (check_chain, check_restore)


if __name__ == "__main__":
    sys.exit(workspace.check("backup", __doc__, _CHECKS, Chain))
