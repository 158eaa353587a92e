"""What holds in LinkBench's tables whatever its operations have done, and what breaks it."""

from __future__ import annotations

import enum
from functools import partial

from lab.workload import Damage, Target, found_by
from workloads.linkbench import graph

LINK_TYPES = (123456789, 123456790)
NODE_TYPE = 2048
# Bytes of payloads, as ranges of a regular expression on bytes.
_NOT_LINK_BYTES = r"[^\\x20-\\x64]"
_NOT_NODE_BYTES = r"[^\\x32-\\xdc]"
_TYPES = f"({LINK_TYPES[0]}, {LINK_TYPES[1]})"
_VISIBLE = """(SELECT id1, link_type, COUNT(*) AS links FROM linktable FORCE INDEX (PRIMARY)
               WHERE visibility = 1 GROUP BY link_type, id1) AS visible"""


class Finding(enum.StrEnum):
    """The sentences of the check, after a number of rows."""

    UNCOUNTED = "nodes' visible links have another count, or none, in counttable"
    LINKLESS = "counts in counttable have no visible links"
    STRAY_LINKS = "links in linktable have ids, a type or a visibility that no operation gives"
    LINK_BYTES = "links in linktable have data that no operation gives"
    STRAY_COUNTS = "rows of counttable have an id or a type that no operation gives"
    STRAY_NODES = "nodes in nodetable have an id, a type or a version that no operation gives"
    NODE_BYTES = "nodes in nodetable have data that no operation gives"
    FEW_LINKS = "fewer than it was loaded with, and none is ever removed"
    NO_INDEX = "linktable has no index id1_type"
    INDEX_DIFFERS = "linktable's index id1_type differs from its primary key"


def findings(target: Target, ids: int) -> list[str]:
    """What is wrong with the tables of a graph of so many nodes."""
    def counted(condition: str, sentence: str) -> list[str]:
        number = int(target.query(f"SELECT COUNT(*) FROM {condition}")[0][0])
        return [f"{number} {sentence}"] if number else []
    return found_by([*(partial(counted, *each) for each in _counts(ids)),
                     partial(_index_findings, target, ids)])


def _counts(ids: int) -> list[tuple[str, str]]:
    """Rows that must not be, and what they are."""
    # The most links a node may have, times the range that ids of new links are drawn from.
    reach = 20 * int(graph.degrees(ids)[0] // 2 + 1)
    return [
        (f"""{_VISIBLE} LEFT JOIN counttable
             ON counttable.id = visible.id1 AND counttable.link_type = visible.link_type
             WHERE counttable.count IS NULL OR counttable.count <> visible.links""",
         Finding.UNCOUNTED),
        (f"""counttable LEFT JOIN {_VISIBLE}
             ON counttable.id = visible.id1 AND counttable.link_type = visible.link_type
             WHERE counttable.count <> 0 AND visible.links IS NULL""", Finding.LINKLESS),
        (f"""linktable FORCE INDEX (PRIMARY)
             WHERE id1 NOT BETWEEN 1 AND {ids} OR id2 NOT BETWEEN id1 AND id1 + {reach - 1}
             OR link_type NOT IN {_TYPES} OR visibility NOT IN (0, 1)""", Finding.STRAY_LINKS),
        (f"""linktable FORCE INDEX (PRIMARY)
             WHERE CAST(data AS BINARY) RLIKE '{_NOT_LINK_BYTES}' OR LENGTH(data) > 254""",
         Finding.LINK_BYTES),
        (f"counttable WHERE id NOT BETWEEN 1 AND {ids} OR link_type NOT IN {_TYPES}",
         Finding.STRAY_COUNTS),
        (f"nodetable WHERE id < 1 OR type <> {NODE_TYPE} OR version < 1", Finding.STRAY_NODES),
        (f"nodetable WHERE CAST(data AS BINARY) RLIKE '{_NOT_NODE_BYTES}'", Finding.NODE_BYTES),
    ]


def _index_findings(target: Target, ids: int) -> list[str]:
    """Whether the primary key holds all links, and id1_type the same as the primary key."""
    by_key = _contents(target, "PRIMARY")
    found = []
    loaded = graph.loaded_links(ids)
    if by_key[0] < loaded:
        found.append(f"linktable has {by_key[0]} links, {loaded - by_key[0]} {Finding.FEW_LINKS}")
    if not target.query("SHOW INDEX FROM linktable WHERE Key_name = 'id1_type'"):
        return [*found, Finding.NO_INDEX]
    by_index = _contents(target, "id1_type")
    if by_index != by_key:
        found.append(f"{Finding.INDEX_DIFFERS}: {by_index[0]} links with checksum {by_index[1]}, "
                     f"not {by_key[0]} with {by_key[1]}")
    return found


def _contents(target: Target, index: str) -> tuple[int, int]:
    """Number and checksum of the links, read from one index alone."""
    row = target.query(
        "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id1, id2, link_type, visibility, time, "
        f"version, data))) FROM linktable FORCE INDEX ({index})")[0]
    return int(row[0]), int(row[1] or 0)


DAMAGES = (
    Damage(["DELETE FROM counttable WHERE count > 0 LIMIT 1"], Finding.UNCOUNTED),
    Damage(["UPDATE counttable SET count = count + 1 WHERE count > 0 LIMIT 1"], Finding.UNCOUNTED),
    Damage(["DELETE FROM linktable WHERE id1 % 7 = 3"], Finding.LINKLESS),
    Damage(["UPDATE linktable SET id2 = id2 + 1000000000 LIMIT 1"], Finding.STRAY_LINKS),
    Damage(["UPDATE linktable SET id1 = 0 ORDER BY link_type, id1, id2 LIMIT 1"],
           Finding.STRAY_LINKS),
    Damage(["UPDATE linktable SET link_type = 7 LIMIT 1"], Finding.STRAY_LINKS),
    Damage(["UPDATE linktable SET visibility = 2 LIMIT 1"], Finding.STRAY_LINKS),
    Damage([r"UPDATE linktable SET data = CONCAT(data, '\n') WHERE LENGTH(data) < 254 LIMIT 1"],
           Finding.LINK_BYTES),
    Damage(["UPDATE linktable SET data = REPEAT('a', 255) LIMIT 1"], Finding.LINK_BYTES),
    Damage(["INSERT INTO counttable VALUES (0, 123456789, 0, 0, 0)"], Finding.STRAY_COUNTS),
    Damage(["UPDATE counttable SET link_type = 7 LIMIT 1"], Finding.STRAY_COUNTS),
    Damage(["UPDATE nodetable SET id = 0 LIMIT 1"], Finding.STRAY_NODES),
    Damage(["UPDATE nodetable SET type = 2047 LIMIT 1"], Finding.STRAY_NODES),
    Damage(["UPDATE nodetable SET version = 0 LIMIT 1"], Finding.STRAY_NODES),
    Damage(["UPDATE nodetable SET data = CONCAT(data, ' ') LIMIT 1"], Finding.NODE_BYTES),
    Damage(["DELETE FROM linktable WHERE id1 % 2 = 0", "DELETE FROM counttable WHERE id % 2 = 0"],
           Finding.FEW_LINKS),
    Damage(["ALTER TABLE linktable DROP INDEX id1_type"], Finding.NO_INDEX),
)
