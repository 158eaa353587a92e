"""percona-toolkit: pt-online-schema-change under load, pt-table-sync over a replica.

Usage: ./basalt python tests/tools/toolkit.py

Tables are altered, and taken over from InnoDB, while clients move money; a replica with another row
is found, one without is not. pt-table-checksum refuses. The last line is "N passed, N failed".
"""

from __future__ import annotations

import sys

from tests.support import checks, replication, workspace
from tests.support.replication import REPLICA_OPTIONS, SOURCE_OPTIONS, Link
from tests.support.workspace import Workspace
from tests.tools import _bank
from tests.tools._packages import Tools


class Scene:
    """A server, and a replica of it."""

    def __init__(self, work: Workspace) -> None:
        self.tools = Tools(work.release)
        print(self.tools.version("pt-online-schema-change"), flush=True)
        self.source = work.server("source", options=(
            *SOURCE_OPTIONS, *replication.server_id(1, "MIXED")))
        self.replica = work.server("replica", options=(
            *REPLICA_OPTIONS, *replication.server_id(2, "MIXED")))
        self.replica.port = replication.free_port()
        self.link = Link(self.source, self.replica)
        self.source.start()
        self.replica.start()
        self.link.begin()
        _bank.create(self.source)
        self.source.client(
            "USE bank; CREATE TABLE big (id INT PRIMARY KEY, v VARCHAR(100)) ENGINE=ROCKSDB;"
            "INSERT INTO big SELECT seq, MD5(seq) FROM seq_1_to_20000")


def alter(scene: Scene, database: str, clause: str) -> list[str]:
    """Alters `moves` while clients write to it, and compares source, replica and sums."""
    with _bank.Clients(scene.source, database) as clients:
        text = scene.tools.run([
            "pt-online-schema-change", "--execute", "--alter", clause, "--chunk-size=50",
            "--recursion-method=none", "--nocheck-replication-filters",
            "--max-load=Threads_running=500", "--critical-load=Threads_running=900",
            f"S={scene.source.socket},u=root,D={database},t=moves"])
    problems = [] if "Successfully altered" in text else [text]
    problems += clients.errors + _bank.problems(scene.source, database)
    if not clients.moves:
        problems.append("nothing was moved meanwhile")
    problems += scene.link.catch_up() or _bank.problems(scene.replica, database)
    for server in (scene.source, scene.replica):
        if "ENGINE=ROCKSDB" not in server.query(f"SHOW CREATE TABLE {database}.moves")[0][1]:
            problems.append("the new table is in another engine")
    return problems + scene.link.compare([database])


def check_online_schema_change(scene: Scene) -> list[str]:
    """Rows that are written meanwhile are in the new table, on the replica, too."""
    problems = alter(scene, "bank", "ADD COLUMN added INT NOT NULL DEFAULT 5, ADD KEY (added)")
    for server in (scene.source, scene.replica):
        if server.query("SELECT COUNT(*) FROM bank.moves WHERE added <> 5")[0][0]:
            problems.append("rows without the new column's default")
    return problems


def check_online_engine_change(scene: Scene) -> list[str]:
    """An InnoDB table becomes one of the engine while clients write to it."""
    _bank.create(scene.source, "others", "InnoDB")
    return alter(scene, "others", "ENGINE=ROCKSDB")


def check_table_checksum(scene: Scene) -> list[str]:
    """It refuses every engine of the name ROCKSDB, as it knows MyRocks, before it does anything."""
    text = scene.tools.run(["pt-table-checksum", f"--socket={scene.source.socket}", "--user=root",
                            "--databases=bank"], codes=(64,))
    return [] if "RocksDB storage engine is not supported" in text else [text]


def check_table_sync(scene: Scene) -> list[str]:
    """In its place: prints nothing where there is no difference; then what a row needs."""
    words = ["pt-table-sync", "--print", "--no-check-slave", "--databases=bank", "--verbose",
             f"S={scene.source.socket},u=root", f"S={scene.replica.socket},u=root"]
    problems = scene.link.catch_up()
    text = scene.tools.run(words)
    compared = [line.split() for line in text.splitlines() if " bank." in line]
    if len(compared) != 4 or any(row[1:5] != ["0", "0", "0", "0"] for row in compared):
        problems.append(f"equal servers: {text}")
    scene.replica.client("SET sql_log_bin = 0; UPDATE bank.big SET v = 'other' WHERE id = 777")
    text = scene.tools.run(words, codes=(2,))
    changes = [line for line in text.splitlines() if line.startswith("UPDATE `bank`.`big` ")]
    if len(changes) != 1 or "`id`='777'" not in changes[0]:
        problems.append(f"a row differs in bank.big: {text}")
    scene.replica.client("SET sql_log_bin = 0; UPDATE bank.big SET v = MD5(777) WHERE id = 777")
    return problems


def check_error_log(scene: Scene) -> list[str]:
    """The engine has found nothing wrong."""
    return checks.engine_errors(scene.source) + checks.engine_errors(scene.replica)


_CHECKS = (check_online_schema_change, check_online_engine_change, check_table_checksum,
           check_table_sync, check_error_log)


if __name__ == "__main__":
    sys.exit(workspace.check("toolkit", __doc__, _CHECKS, Scene))
