"""mariadb-dump, mydumper and myloader: what they dump under load is one state, and loads.

Usage: ./basalt python tests/tools/dumps.py

Clients move money between accounts meanwhile, so that any other state has wrong sums. All tables of
the migration's tests go through each tool, too, and must come back with the same rows.
The last line is "N passed, N failed".
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from basaltcli.server import Server
from tests.support import checks, workspace
from tests.support.workspace import Workspace
from tests.tools import _bank
from tests.tools._packages import Tools

_TABLES = """
CREATE TABLE texts (id BIGINT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(50), b BLOB, c DATETIME(6),
  d DECIMAL(20,5), e ENUM('x', 'y'), f VARCHAR(20) CHARACTER SET latin1, g INT AS (d * 2) STORED,
  h INT AS (d * 3) VIRTUAL, KEY (a), KEY (h)) ENGINE={engine};
INSERT INTO texts (a, b, c, d, e, f) VALUES ('😀 ''\\\\', X'00275C0AFF', NOW(6), -1.5, 'y', 'é'),
  (NULL, NULL, NULL, NULL, NULL, NULL), ('NULL', '', '2020-01-01', 0, 'x', '');
INSERT INTO texts (a, d) SELECT CONCAT('row ', seq), seq / 3 FROM seq_1_to_20000;
CREATE TABLE keyless (a INT) ENGINE={engine};
INSERT INTO keyless VALUES (1), (1), (NULL);
CREATE TABLE nothing (a INT PRIMARY KEY) ENGINE={engine};
CREATE TABLE parted (id INT PRIMARY KEY, v INT) ENGINE={engine} PARTITION BY HASH (id) PARTITIONS 4;
INSERT INTO parted SELECT seq, seq FROM seq_1_to_1000;
CREATE VIEW seen AS SELECT id, a FROM texts WHERE id < 5;
"""


class Scene:
    """A server under load, and the tools."""

    def __init__(self, work: Workspace) -> None:
        self.directory = work.directory
        self.tools = Tools(work.release)
        print(self.tools.version("mydumper"), flush=True)
        self.server = work.server("data", options=("--log-bin=binlog", "--server-id=1"))
        self.server.start()
        _bank.create(self.server)
        self.server.client("CREATE DATABASE plain")
        self.server.client("SET NAMES utf8mb4;" + _TABLES.replace("{engine}", "ROCKSDB"), "plain")
        self.clients = 1

    def load(self) -> _bank.Clients:
        """Clients with numbers of their own."""
        self.clients += 2
        return _bank.Clients(self.server, first=self.clients)

    def rows(self, database: str) -> dict[str, list[tuple[object, ...]]]:
        return {name: sorted(self.server.query(f"SELECT * FROM {database}.{name}"), key=repr)
                for name in ("texts", "keyless", "nothing", "parted", "seen")}


def check_mariadb_dump(scene: Scene) -> list[str]:
    """--single-transaction: one state, of the position that it tells."""
    server, tools = scene.server, scene.tools
    words = ["mariadb-dump", "--no-defaults", f"--socket={server.socket}", "--user=root",
             "--single-transaction", "--master-data=2", "--gtid"]
    file = scene.directory / "dump.sql"
    with scene.load() as clients:
        tools.run([*words, f"--result-file={file}", "bank"])
    problems = [] if clients.moves and not clients.errors else [f"load: {clients.errors}"]
    server.client(f"CREATE DATABASE copy; USE copy;\nsource {file}\n")
    problems += _bank.problems(server, "copy")
    if not server.query("SELECT 1 FROM copy.moves LIMIT 1"):
        problems.append("nothing was moved before the dump")
    tools.run([*words, f"--result-file={file}", "plain"])
    server.client(f"CREATE DATABASE back; USE back;\nsource {file}\n")
    if scene.rows("back") != scene.rows("plain"):
        problems.append("plain tables came back with other rows")
    server.client("DROP DATABASE copy; DROP DATABASE back")
    return problems


def check_mydumper(scene: Scene) -> list[str]:
    """mydumper under load, myloader into the engine and into InnoDB, and from there back."""
    server, tools = scene.server, scene.tools
    here = ["--socket", str(server.socket), "--user", "root", "--threads", "4"]
    problems: list[str] = []
    directory = scene.directory / "dump"
    for option, unlocks in ((["--trx-consistency-only"], "Transactions started, unlocking tables"),
                            ([], "Non-InnoDB dump complete, unlocking tables")):
        with scene.load() as clients:
            text = tools.run(["mydumper", *here, "--database", "bank", *option, "--rows", "100",
                              "--verbose", "3", "--outputdir", directory])
        problems += clients.errors
        if unlocks not in text:
            problems.append(f"{option}: not said: {unlocks}: {text}")
        if "GTID:0-1-" not in (directory / "metadata").read_text().replace(" ", ""):
            problems.append("no position: " + (directory / "metadata").read_text())
        tools.run(["myloader", *here, "--directory", directory, "--database", "copy"])
        problems += _bank.problems(server, "copy")
        server.query("DROP DATABASE copy")
        shutil.rmtree(directory)
    return problems + _both_ways(scene, here, directory)


def _both_ways(scene: Scene, here: list[str], directory: Path) -> list[str]:
    """From the engine to InnoDB and back: the same rows."""
    server, tools = scene.server, scene.tools
    wanted, source = scene.rows("plain"), "plain"
    for engine, target in (("InnoDB", "there"), ("ROCKSDB", "again")):
        tools.run(["mydumper", *here, "--database", source, "--trx-consistency-only",
                   "--build-empty-files", "--outputdir", directory])
        for schema in directory.glob("*-schema.sql"):
            schema.write_text(schema.read_text().replace(
                "ENGINE=ROCKSDB", f"ENGINE={engine}").replace("ENGINE=InnoDB", f"ENGINE={engine}"))
        tools.run(["myloader", *here, "--directory", directory, "--database", target])
        shutil.rmtree(directory)
        engines = {row[0] for row in server.query(
            "SELECT DISTINCT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND "
            "TABLE_TYPE = 'BASE TABLE'", [target])}
        if engines != {engine}:
            return [f"{target} is in {engines}"]
        if scene.rows(target) != wanted:
            return [f"{table}: other rows in {engine}" for table, rows in scene.rows(target).items()
                    if rows != wanted[table]]
        source = target
    return []


def check_error_log(scene: Scene) -> list[str]:
    """The engine has found nothing wrong."""
    return checks.engine_errors(scene.server) + checks.check_tables(scene.server)


_CHECKS = (check_mariadb_dump, check_mydumper, check_error_log)


if __name__ == "__main__":
    sys.exit(workspace.check("dumps", __doc__, _CHECKS, Scene))
