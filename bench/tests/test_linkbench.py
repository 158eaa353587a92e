"""LinkBench's data, operations and check, on tiny graphs."""

from __future__ import annotations

import dataclasses
import os
import re
import statistics
import subprocess
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import TinyServer
from lab.workload import Client
from scipy import stats
from workloads.linkbench import SCRIPT, LinkBench, graph
from workloads.linkbench.checks import Finding

ServerOf = Callable[[str], TinyServer]
TINY = LinkBench(ids=300)
SMALL = LinkBench(ids=4000)
# The shares of operations that the published mixes have.
MIX_2011 = {"add_link": 8.9886601, "delete_link": 2.9907664, "update_link": 8.0122125,
            "count_links": 4.8863567, "get_link": 0.5261142, "get_links_list": 50.7119145,
            "get_node": 12.9326683, "add_node": 2.5732789, "update_node": 7.366437,
            "delete_node": 1.0115914}
MIX_2017 = {"add_link": 5.35038, "delete_link": 0.98401, "update_link": 4.75589,
            "count_links": 4.27898, "get_link": 12.14725, "get_links_list": 22.57039,
            "get_node": 43.9869, "add_node": 2.61198, "update_node": 3.06256,
            "delete_node": 0.25166}


@dataclasses.dataclass
class _With:
    """A target whose tables have other options, or whose answers are changed on the way."""

    target: TinyServer
    table_options: str
    change: Callable[[str, list[tuple[Any, ...]]], list[tuple[Any, ...]]] = lambda sql, rows: rows

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.change(sql, self.target.query(sql))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)


@pytest.fixture
def innodb(server_of: ServerOf) -> TinyServer:
    target = server_of("innodb")
    target.empty()
    return target


def _run(target: TinyServer, workload: LinkBench, *, events: int, threads: int = 1, seed: int = 1,
         options: tuple[str, ...] = ()) -> str:
    client = workload.load(threads, 0, seed).clients[0]
    return target.output_of(client, events=events, options=options)


def _contents(target: TinyServer) -> list[tuple[Any, ...]]:
    """Checksums of the tables without their times."""
    columns = {"linktable": "id1, id2, link_type, visibility, version, data",
               "counttable": "id, link_type, count, version",
               "nodetable": "id, type, version, data"}
    return [target.query(f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', {listed}))) FROM {table}")[0]
            for table, listed in columns.items()]


def _operations(file: Path) -> Counter[str]:
    """How often each operation was done, from a file of the recorder."""
    done: Counter[str] = Counter()
    for line in file.read_text().splitlines():
        operation, bound, count = line.split()
        if bound != "max":
            done[operation] += int(count)
    return done


def test_check_finds_nothing_after_loading_and_after_running(target: TinyServer) -> None:
    SMALL.prepare(target)
    assert SMALL.check(target) == []
    _run(target, SMALL, events=6000, threads=4)
    assert SMALL.check(target) == []


def test_check_finds_nothing_in_partitioned_tables(target: TinyServer) -> None:
    partitioned = LinkBench(ids=1000, mix="2017", partitions=4)
    partitioned.prepare(target)
    _run(target, partitioned, events=2000, threads=2)
    assert partitioned.check(target) == []
    parts = target.query("SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE "
                         "TABLE_SCHEMA = 'bench' AND TABLE_NAME = 'linktable'")
    assert parts == [(4,)]


def test_the_index_of_lists_gets_its_comment(server_of: ServerOf) -> None:
    target = server_of("myrocks")
    target.empty()
    reverse = LinkBench(ids=300, index_comment="rev:linkbench_lists")
    reverse.prepare(target)
    assert reverse.check(target) == []
    families = target.query("SELECT DISTINCT CF FROM information_schema.ROCKSDB_DDL "
                            "WHERE INDEX_NAME = 'id1_type'")
    assert families == [("rev:linkbench_lists",)]


def test_tables_have_the_options_of_the_target(innodb: TinyServer) -> None:
    compressed = _With(innodb, "ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8")
    TINY.prepare(compressed)
    formats = innodb.query("SELECT DISTINCT ROW_FORMAT FROM information_schema.TABLES "
                           "WHERE TABLE_SCHEMA = 'bench'")
    assert formats == [("Compressed",)]
    assert TINY.check(compressed) == []


def test_check_finds_every_damage(target: TinyServer) -> None:
    for damage in TINY.damages():
        target.empty()
        TINY.prepare(target)
        for statement in damage.sql:
            target.query(statement)
        found = TINY.check(target)
        assert any(damage.found_as in sentence for sentence in found), (damage, found)


def test_every_sentence_of_the_check_has_a_damage() -> None:
    damaged = {damage.found_as for damage in TINY.damages()}
    # No statement makes an index differ from its table: the test below has the difference made up.
    assert damaged == set(Finding) - {Finding.INDEX_DIFFERS}


@pytest.mark.parametrize("column", [0, 1])
def test_check_finds_an_index_with_other_contents(innodb: TinyServer, column: int) -> None:
    TINY.prepare(innodb)

    def one_more(sql: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        if "CRC32" not in sql or "(id1_type)" not in sql:
            return rows
        changed = list(rows[0])
        changed[column] += 1
        return [tuple(changed)]

    found = TINY.check(_With(innodb, innodb.table_options, one_more))
    assert len(found) == 1
    assert Finding.INDEX_DIFFERS in found[0]


@pytest.mark.parametrize("index", ["PRIMARY", "id1_type"])
def test_the_check_reads_each_index_by_itself(innodb: TinyServer, index: str) -> None:
    SMALL.prepare(innodb)
    plan = innodb.query(f"EXPLAIN SELECT COUNT(*), SUM(CRC32(data)) FROM linktable "
                        f"FORCE INDEX ({index})")[0]
    assert plan[5] == ("id1_type" if index == "id1_type" else None)


def test_any_number_of_threads_loads_the_same_data(innodb: TinyServer) -> None:
    made = []
    for threads in (1, 3):
        innodb.empty()
        for statement in SMALL._tables(innodb.table_options):
            innodb.query(statement)
        innodb.sysbench(SMALL._client("load", threads, 1), "prepare")
        made.append((_contents(innodb), innodb.query("SELECT SUM(CRC32(time)) FROM linktable")))
    assert made[0] == made[1]


def test_another_seed_gives_the_same_graph_other_data(innodb: TinyServer) -> None:
    made = []
    for seed in (1, 2):
        innodb.empty()
        LinkBench(ids=300, seed=seed).prepare(innodb)
        made.append(_contents(innodb))
    assert [count for count, _ in made[0]] == [count for count, _ in made[1]]
    assert made[0][0] != made[1][0] and made[0][2] != made[1][2]
    assert made[0][1] == made[1][1]


def test_a_run_of_one_thread_is_repeatable_by_its_seed(innodb: TinyServer) -> None:
    ended = []
    for seed in (5, 5, 6):
        innodb.empty()
        TINY.prepare(innodb)
        _run(innodb, TINY, events=1000, seed=seed)
        ended.append(_contents(innodb))
    assert ended[0] == ended[1]
    assert ended[0] != ended[2]


@pytest.mark.parametrize(("mix", "shares"), [("2011", MIX_2011), ("2017", MIX_2017)])
def test_operations_are_done_in_the_shares_of_the_mix(
        innodb: TinyServer, tmp_path: Path, mix: str, shares: dict[str, float]) -> None:
    workload = LinkBench(ids=1000, mix=mix)
    workload.prepare(innodb)
    file = tmp_path / "operations"
    _run(innodb, workload, events=8000, options=(f"--ops-file={file}",))
    done = _operations(file)
    assert set(done) == set(shares)
    assert sum(done.values()) == 8000
    total = sum(shares.values())
    expected = [8000 * shares[name] / total for name in shares]
    assert stats.chisquare([done[name] for name in shares], expected).pvalue > 0.001


def _lock_waits(innodb: TinyServer) -> int:
    return int(innodb.query("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")[0][1])


def test_an_operation_that_waits_too_long_for_a_lock_is_done_again(
        innodb: TinyServer, tmp_path: Path) -> None:
    TINY.prepare(innodb)
    _run(innodb, TINY, events=200)
    undisturbed = _contents(innodb)
    innodb.empty()
    TINY.prepare(innodb)
    file = tmp_path / "operations"
    innodb.query("SET GLOBAL innodb_lock_wait_timeout = 1")
    before = _lock_waits(innodb)
    with innodb.server.connect(database="bench", autocommit=False) as locking:
        locking.cursor().execute("UPDATE counttable SET time = time + 1")

        def release_at_the_third_wait() -> None:
            while _lock_waits(innodb) < before + 3:
                time.sleep(0.02)
            locking.rollback()

        releasing = threading.Thread(target=release_at_the_third_wait, daemon=True)
        releasing.start()
        _run(innodb, TINY, events=200, options=(f"--ops-file={file}",))
        releasing.join()
    innodb.query("SET GLOBAL innodb_lock_wait_timeout = DEFAULT")
    done = _operations(file)
    failed = {name: count for name, count in done.items() if name.endswith(".failed")}
    assert len(failed) == 1, "it is the same operation each time"
    # On a slow machine the third wait may be over before the lock is given up.
    again, = failed.values()
    assert again >= 2
    assert sum(done.values()) == 200 + again
    assert _contents(innodb) == undisturbed


def test_operations_hide_links_show_them_again_and_change_nodes(innodb: TinyServer) -> None:
    TINY.prepare(innodb)
    loaded, counts = TINY.loaded_links(), innodb.query("SELECT COUNT(*) FROM counttable")[0][0]
    _run(innodb, TINY, events=6000)
    links, hidden = innodb.query("SELECT COUNT(*), SUM(visibility = 0) FROM linktable")[0]
    assert links > loaded and hidden > 0
    # A count's version tells how often it was changed after it was made.
    changes, counted, rows = innodb.query(
        "SELECT SUM(version), SUM(count), COUNT(*) FROM counttable")[0]
    assert counted == links - hidden
    shown_again = (changes + rows - counts - (links - loaded) - hidden) / 2
    assert shown_again > 0 and shown_again % 1 == 0
    added, updated = innodb.query("SELECT SUM(id > 300), SUM(version > 1) FROM nodetable")[0]
    assert added > 0 and updated > 0
    assert innodb.query("SELECT COUNT(*) FROM nodetable WHERE id <= 300")[0][0] < 300


def test_loaded_links_are_as_many_as_the_distribution_says(innodb: TinyServer) -> None:
    SMALL.prepare(innodb)
    assert innodb.query("SELECT COUNT(*) FROM linktable") == [(SMALL.loaded_links(),)]
    degrees = graph.degrees(3_000_000)
    assert abs(degrees.mean() - 4.10) < 0.03
    assert abs(graph.loaded_links(3_000_000) / 3e6 - 4.37) < 0.03
    for degree, percent in ((0, 45.33), (1, 77.46), (10, 98.33), (1000, 99.951)):
        assert abs((degrees <= degree).mean() * 100 - percent) < 0.001


@pytest.mark.parametrize(("table", "median", "compressed"),
                         [("linktable", 8, 0.30), ("nodetable", 128, 0.60)])
def test_payloads_are_as_long_and_as_compressible_as_published(
        innodb: TinyServer, table: str, median: int, compressed: float) -> None:
    SMALL.prepare(innodb)
    payloads = [row[0] for row in innodb.query(f"SELECT CAST(data AS BINARY) FROM {table}")]
    assert abs(statistics.median(map(len, payloads)) - median) <= 0.06 * median
    data = b"".join(payloads)
    assert abs(len(zlib.compress(data)) / len(data) - compressed) < 0.05


def test_draws_follow_the_published_distributions() -> None:
    here = Path(__file__).parent
    path = f"{here.parent}/workloads/lua/?.lua;{SCRIPT.parent}/?.lua;;"
    output = subprocess.run(
        ["sysbench", here / "linkbench_draws.lua", "--events=1", "run"], text=True,
        env={**os.environ, "LUA_PATH": path}, check=True, capture_output=True).stdout
    drawn = {name: float(value) for name, value in re.findall(r"^(\w[\w.]*) ([\d.-]+)$", output,
                                                             re.MULTILINE)}
    for shape in (0.606, 0.625, 0.8):
        weights = [rank ** -shape for rank in range(1, 5001)]
        for name, expected in (("first", weights[0]), ("second", weights[1]),
                               ("tenth", sum(weights[:500]))):
            share = expected / sum(weights)
            # Gray's method approximates all ranks but the first two.
            assert drawn[f"zipf_{name}_{shape}"] == pytest.approx(
                share, abs=5 * (share / 200000) ** 0.5 + 0.01 * (name == "tenth"))
    assert drawn["permutation_images"] == drawn["permutation_inverted"] == 5000
    assert abs(drawn["permutation_correlation"]) < 4 / 5000 ** 0.5
    assert abs(drawn["second_type"] - 0.5) < 0.005
    assert drawn["batch_mean"] == pytest.approx(1 + 1 / 0.382, rel=0.01)
    assert drawn["batch_longest"] <= 127
    assert drawn["other_ends"] == 2
    for name, median in (("link_2011", 8), ("node_2011", 128), ("link_2017", 23),
                         ("node_2017", 168)):
        assert drawn[f"median_{name}"] == pytest.approx(median, rel=0.06)


def test_an_unknown_mix_is_refused(innodb: TinyServer) -> None:
    with pytest.raises(ValueError, match="2011, 2017"):
        LinkBench(mix="2012")
    client = Client("unknown", SCRIPT, 1, {"ids": 300, "mix": "2012"})
    with pytest.raises(Exception, match="--mix is 2011 or 2017"):
        innodb.sysbench(client, events=1)
