"""basalt-migrate myrocks: a stock MyRocks server is taken over, and replication goes on from there.

Usage: ./basalt python tests/migrate/myrocks.py [--rows N]

Debian's own MyRocks and this engine in a server each. The program is run dry, killed when it has
copied some tables, and run again while clients write: it keeps the tables that are still the same,
and copies the others. Then the new server follows the old one, and both must have the same rows at
last. A falsified copy must be noticed. The last line is "N passed, N failed".
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import threading

import pymysql
from pymysql.constants import ER

from basalt_migrate import stream
from basalt_migrate.connection import Address, run
from basalt_migrate.takeover import Options, Takeover
from basaltcli.server import Server
from tests.migrate import _tables
from tests.migrate._tables import DATABASE
from tests.support import checks, replication, workspace
from tests.support.replication import Link
from tests.support.workspace import Tally, Workspace

_COMMENTS = """
CREATE TABLE commented (id INT PRIMARY KEY COMMENT 'cfname=cf_rows', k INT,
  KEY k (k) COMMENT 'rev:cf_k') ENGINE=ROCKSDB COMMENT='ttl_duration=100000000;';
INSERT INTO commented VALUES (1, 1), (2, 2);
CREATE TABLE parent (id INT PRIMARY KEY) ENGINE=InnoDB;
CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT to_parent FOREIGN KEY (p)
  REFERENCES parent (id)) ENGINE=InnoDB;
INSERT INTO parent VALUES (1);
INSERT INTO child VALUES (1, 1);
CREATE TABLE searched (t TEXT, FULLTEXT (t)) ENGINE=InnoDB;
INSERT INTO searched VALUES ('some words');
"""
_NEVER_MIND = " AUTO_INCREMENT="


class Writers:
    """Clients that insert into one table until they are told to stop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,), daemon=True)
                         for number in range(2)]

    def __enter__(self) -> None:
        self._server.query(f"CREATE TABLE {DATABASE}.written (client INT, number INT, "
                           "PRIMARY KEY (client, number)) ENGINE=ROCKSDB")
        for thread in self._threads:
            thread.start()
        _tables.await_rows(self._server, f"SELECT 1 FROM {DATABASE}.written WHERE number > 5")

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _write(self, client: int) -> None:
        number = 0
        with self._server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            while not self._stopping.is_set():
                number += 1
                cursor.execute("INSERT INTO written VALUES (%s, %s)", [client, number])
                try:
                    cursor.execute("UPDATE keyless SET x = %s WHERE x = 'b' OR x LIKE 'w%%'",
                                   [f"w{number}"])
                except pymysql.err.OperationalError as error:  # MyRocks: "snapshot conflict"
                    if error.args[0] != ER.LOCK_DEADLOCK:
                        raise


class Scene:
    """Both servers; the source with its tables."""

    def __init__(self, work: Workspace, rows: int) -> None:
        self.source = work.server("source", options=(
            "--log-bin=binlog", "--character-set-server=utf8mb4", *replication.server_id(1)))
        self.source.plugin_dir = work.release.stock_engine.parent
        self.source.flavour = "release"
        self.source.environment = {}
        self.target = work.server("target", options=(
            *replication.REPLICA_OPTIONS, *replication.server_id(2)))
        self.link = Link(self.source, self.target)
        self.source.start()
        self.target.start()
        _tables.create(self.source, "ROCKSDB", rows)
        self.source.client(_COMMENTS, DATABASE)
        self.source.query("CREATE TABLE shop.plain (a INT) ENGINE=MyISAM")
        # Without name resolution mariadb-dump does not see the account of the machine's name.
        self.source.client("DELETE FROM mysql.global_priv WHERE Host NOT IN ('localhost', "
                           "'127.0.0.1', '::1'); FLUSH PRIVILEGES")
        self.source.client("CREATE USER follower@127.0.0.1 IDENTIFIED BY 'it''s \\\\ secret';"
                           "GRANT REPLICATION SLAVE ON *.* TO follower@127.0.0.1")
        # Over the network with a password; no privilege that docs/migration.md does not name.
        self.source.client(
            "CREATE USER mover@127.0.0.1 IDENTIFIED BY 'moves'; GRANT SELECT, RELOAD, PROCESS, "
            "SHOW VIEW, TRIGGER, EVENT, BINLOG MONITOR ON *.* TO mover@127.0.0.1")
        self.mover = work.directory / "mover.cnf"
        self.mover.write_text("[client]\nhost=127.0.0.1\nuser=mover\npassword=moves\n"
                              f"port={self.source.port}\n")
        self.account = work.directory / "account.cnf"
        self.account.write_text("[client]\nhost=127.0.0.1\nuser=follower\n"
                                f"password=it's \\ secret\nport={self.source.port}\n")

    def options(self, *more: str) -> list[str]:
        return ["myrocks", f"--source-defaults-file={self.mover}",
                f"--target-socket={self.target.socket}", "--target-user=root", *more]


def check_refusals(scene: Scene) -> list[str]:
    """Nothing is done in a dry run, and nothing to tables that somebody else has made."""
    problems: list[str] = []
    code, text = _tables.run(scene.target, *scene.options("--dry-run"))
    if code != 0 or "shop.big" not in text or "left out: shop.plain: MyISAM" not in text:
        problems.append(f"dry run: exit code {code}: {text}")
    if scene.target.query("SHOW DATABASES LIKE 'shop'"):
        problems.append("the dry run made a schema")
    scene.target.client("CREATE DATABASE shop; CREATE TABLE shop.nothing (mine INT);"
                        "CREATE SEQUENCE shop.numbers")
    code, text = _tables.run(scene.target, *scene.options())
    if code != 2 or "binary log has transactions of its own" not in text:
        problems.append(f"a target with a log: exit code {code}: {text}")
    scene.target.query("RESET MASTER")
    code, text = _tables.run(scene.target, *scene.options())
    if code != 2 or "the target has tables of these names: shop.nothing, shop.numbers" not in text:
        problems.append(f"a table of the user: exit code {code}: {text}")
    scene.target.client("SET sql_log_bin = 0; DROP DATABASE shop")
    code, text = _tables.run(scene.target, *scene.options(
        "--only=shop", "--replication-defaults", str(scene.account)))
    if code != 2 or "replication needs all tables" not in text:
        problems.append(f"some tables and replication: exit code {code}: {text}")
    code, text = _tables.run(scene.target, *scene.options("--free-space", "1000000"))
    if code != 2 or "the disk would not hold it" not in text:
        problems.append(f"without space: exit code {code}: {text}")
    return problems


def check_kill_and_resume(scene: Scene) -> list[str]:
    """What was copied is kept if it is still the same, while clients write."""
    said = _tables.kill_at(_tables.start(scene.target, *scene.options("--workers=1")),
                           f"{DATABASE}.types: ")
    problems = [] if f"{DATABASE}.big: 20" in said else [f"nothing was copied: {said}"]
    scene.source.query(f"UPDATE {DATABASE}.types SET a = 1 WHERE d = 1")
    with Writers(scene.source):
        code, text = _tables.run(scene.target, *scene.options(
            "--replication-defaults", str(scene.account), "--accounts"))
    if code != 1 or "rows, there already, verified" not in text:
        problems.append(f"the second run: exit code {code}: {text}")
    if f"{DATABASE}.types: was copied by an earlier run and has changed since" not in text:
        problems.append(f"the changed table is not named: {text}")
    return problems


def check_replication(scene: Scene) -> list[str]:
    """The target comes to the source's last transaction, with the same rows and definitions."""
    scene.source.query(f"CALL {DATABASE}.adds()")
    scene.source.query(f"DELETE FROM {DATABASE}.big WHERE id % 3 = 0")
    problems = scene.link.catch_up()
    source, target = (_tables.contents(server) for server in (scene.source, scene.target))
    del source["plain"]
    problems += _tables.difference(source, target)
    for name in source:
        quoted = f"{DATABASE}.`" + name.replace("`", "``") + "`"
        definitions = [str(server.query(f"SHOW CREATE TABLE {quoted}")[0][1])
                       for server in (scene.source, scene.target)]
        if definitions[0] != definitions[1] and _NEVER_MIND not in definitions[0]:
            problems.append(f"{definitions[0]} became {definitions[1]}")
    if not source["written"]:
        problems.append("nothing was written meanwhile")
    return problems + _tables.problems(scene.target)


def check_what_belongs_to_them(scene: Scene) -> list[str]:
    """Counters, triggers, views, sequences, routines, accounts go on; events wait."""
    scene.target.query("STOP SLAVE")
    newest = scene.source.query(f"SELECT MAX(id) FROM {DATABASE}.counted")[0][0]
    scene.target.query(f"CALL {DATABASE}.adds()")
    problems: list[str] = []
    for sql, wanted in (
            ("SELECT id, x FROM {}.counted ORDER BY id DESC LIMIT 1",
             (newest + 1, "by procedure!")),
            ("SELECT COUNT(*), MIN(x) FROM {}.a_of_view", (9, "ROW 1")),
            ("SELECT {}.twice(21)", (42,)),
            ("SELECT NEXTVAL({}.numbers)", (1010,)),
            ("SELECT STATUS FROM information_schema.EVENTS WHERE '{}' = EVENT_SCHEMA",
             ("SLAVESIDE_DISABLED",)),
            ("SELECT COUNT(*) FROM mysql.user WHERE User = 'follower' AND '{}' <> ''", (1,))):
        found = scene.target.query(sql.format(DATABASE))[0]
        if found != wanted:
            problems.append(f"{sql}: {found} instead of {wanted}")
    if scene.target.query("SHOW DATABASES LIKE 'basalt_migrate'"):
        problems.append("the schema basalt_migrate is still there")
    return problems


def check_falsified_copy(scene: Scene) -> list[str]:
    """A row that differs makes the run fail; the next one copies the table again."""
    scene.target.client(f"SET sql_log_bin = 0; DROP DATABASE {DATABASE}; RESET SLAVE ALL; "
                        "RESET MASTER; SET GLOBAL gtid_slave_pos=''")
    addresses = [Address(name, socket=str(server.socket), user="root") for name, server in
                 (("source", scene.source), ("target", scene.target))]
    _tables.use_clients(scene.target)
    original = stream.copy_rows

    def falsified(source, target, table, progress):  # type: ignore[no-untyped-def]
        rows = original(source, target, table, progress)
        run(target, f"UPDATE {table.quoted} SET v = v + 1 WHERE id = 5")
        return rows

    problems: list[str] = []
    for copy, wanted, code in ((falsified, "the copy differs", 1), (original, "1000 rows, ver", 0)):
        stream.copy_rows = copy
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            found = Takeover(*addresses, Options(only=[f"{DATABASE}.parted"])).run()
        if wanted not in said.getvalue() or found != code:
            problems.append(f"not said: {wanted}; exit code {found}: {said.getvalue()}")
    if "SET GLOBAL gtid_slave_pos = '0-1-" not in said.getvalue():
        problems.append(f"the position is not told: {said.getvalue()}")
    return problems


def check_wide_row(scene: Scene) -> list[str]:
    """A row that is too wide for a packet is an error with its remedy."""
    scene.source.client("CREATE TABLE wide (b LONGBLOB) ENGINE=ROCKSDB;"
                        "INSERT INTO wide VALUES (REPEAT('x', 9000000))", DATABASE)
    wide = scene.options("--only", f"{DATABASE}.wide")
    code, text = _tables.run(scene.target, *wide)
    problems: list[str] = []
    if code != 1 or "does not fit into max_allowed_packet" not in text:
        problems.append(f"a wide row: exit code {code}: {text}")
    for server in (scene.source, scene.target):
        server.query("SET GLOBAL max_allowed_packet = 1073741824")
    code, text = _tables.run(scene.target, *wide)
    if code != 0 or "1 rows, verified" not in text:
        problems.append(f"with larger packets: exit code {code}: {text}")
    return problems


def check_error_log(scene: Scene) -> list[str]:
    """The engine has found nothing wrong."""
    return checks.engine_errors(scene.target)


_CHECKS = (check_refusals, check_kill_and_resume, check_replication, check_what_belongs_to_them,
           check_falsified_copy, check_wide_row, check_error_log)


def run_all(work: Workspace, arguments: argparse.Namespace) -> Tally:
    scene = Scene(work, arguments.rows)
    return workspace.run_checks(_CHECKS, scene)


def parse() -> argparse.Namespace:
    parser = workspace.parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="of the largest table")
    return parser.parse_args()


if __name__ == "__main__":
    chosen = parse()
    from basaltcli import server_release
    release = server_release.ensure()
    if not release.stock_engine.exists():
        sys.exit(workspace.skip("Debian's mariadb-plugin-rocksdb was not unpacked"))
    sys.exit(workspace.main("migrate", chosen, run_all))
