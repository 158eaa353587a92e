"""LinkBench: a social graph in three tables, and the mix of operations that Facebook measured.

Written from the published description of its tables, distributions and operations; where the
program's effective values differ from the documented ones, the effective ones are used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lab.workload import Client, Damage, Load, Target, Workload
from workloads.linkbench import checks, graph

SCRIPT = Path(__file__).with_name("linkbench.lua")
MIXES = ("2011", "2017")
_TEXT = "CHARACTER SET latin1 COLLATE latin1_bin"
_LOADERS_MAX = 8


class LinkBench(Workload):
    """`ids` nodes (LinkBench's maxid1 is one more), and about 4.3 links from each.

    `mix` is that of 2011, which the published studies used, or of 2017, with more reads of nodes
    and larger payloads. `partitions` is the number of partitions of the table of links, 0 for
    none. `index_comment` goes with the index that lists a node's links: engines that keep indexes
    in column families take it from there.
    """

    name: ClassVar[str] = "linkbench"

    def __init__(self, ids: int = 2_000_000, mix: str = "2011", partitions: int = 0,
                 seed: int = 1, index_comment: str = "") -> None:
        if mix not in MIXES:
            raise ValueError(f"the mix is one of {', '.join(MIXES)}, not {mix}")
        self.ids = ids
        self.mix = mix
        self.partitions = partitions
        self.seed = seed
        self.index_comment = index_comment

    def identity(self) -> Mapping[str, Any]:
        return {"ids": self.ids, "mix": self.mix, "partitions": self.partitions,
                "seed": self.seed, "index_comment": self.index_comment}

    def expected_rows(self) -> int:
        return self.ids + self.loaded_links() * 2

    def prepare(self, target: Target) -> None:
        for statement in self._tables(target.table_options):
            target.query(statement)
        threads = min(_LOADERS_MAX, os.cpu_count() or 1)
        target.sysbench(self._client("load", threads, self.seed), "prepare")

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        return Load((self._client("requests", threads, seed),), seconds=seconds)

    def check(self, target: Target) -> list[str]:
        return checks.findings(target, self.ids)

    def damages(self) -> Sequence[Damage]:
        return checks.DAMAGES

    def loaded_links(self) -> int:
        """How many links prepare() makes; runs hide links and add some, but remove none."""
        return graph.loaded_links(self.ids)

    def _client(self, label: str, threads: int, seed: int) -> Client:
        return Client(label, SCRIPT, threads, {"ids": self.ids, "mix": self.mix}, seed,
                      unit="operation")

    def _tables(self, table_options: str) -> list[str]:
        partitions = ""
        if self.partitions:
            partitions = f"PARTITION BY KEY (id1) PARTITIONS {self.partitions}"
        comment = f"COMMENT '{self.index_comment}'" if self.index_comment else ""
        return [
            f"""CREATE TABLE linktable (
                id1 BIGINT UNSIGNED NOT NULL DEFAULT 0,
                id2 BIGINT UNSIGNED NOT NULL DEFAULT 0,
                link_type BIGINT UNSIGNED NOT NULL DEFAULT 0,
                visibility TINYINT NOT NULL DEFAULT 0,
                data VARCHAR(255) {_TEXT} NOT NULL DEFAULT '',
                time BIGINT UNSIGNED NOT NULL DEFAULT 0,
                version INT UNSIGNED NOT NULL DEFAULT 0,
                PRIMARY KEY (link_type, id1, id2),
                KEY id1_type (id1, link_type, visibility, time, id2, version, data) {comment}
                ) {table_options} {partitions}""",
            f"""CREATE TABLE counttable (
                id BIGINT UNSIGNED NOT NULL DEFAULT 0,
                link_type BIGINT UNSIGNED NOT NULL DEFAULT 0,
                count INT UNSIGNED NOT NULL DEFAULT 0,
                time BIGINT UNSIGNED NOT NULL DEFAULT 0,
                version BIGINT UNSIGNED NOT NULL DEFAULT 0,
                PRIMARY KEY (id, link_type)
                ) {table_options}""",
            f"""CREATE TABLE nodetable (
                id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
                type INT UNSIGNED NOT NULL,
                version BIGINT UNSIGNED NOT NULL,
                time INT UNSIGNED NOT NULL,
                data MEDIUMTEXT {_TEXT} NOT NULL,
                PRIMARY KEY (id)
                ) {table_options}"""]
