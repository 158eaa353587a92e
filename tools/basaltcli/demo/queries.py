"""What is asked and changed, in both engines.

Every ORDER BY makes its result deterministic. Where rows are grouped by a column whose collation
takes different bytes for equal, MIN(BINARY ...) chooses among them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from pymysql.converters import escape_string

from basaltcli.demo.packages import PackageIndex

_LOOKUPS = 2000
_COMMITS = 300
_CLOSURE_ROOTS = ("gnome", "default-jdk", "mariadb-server", "build-essential")
_NEEDS = "('Pre-Depends', 'Depends')"


@dataclass(frozen=True)
class Query:
    """A measured piece of work: one statement, or many small ones of which each counts."""

    title: str
    statements: tuple[str, ...]


def _one(title: str, sql: str) -> Query:
    return Query(title, (sql,))


def reads(index: PackageIndex) -> list[Query]:
    """Queries that change nothing."""
    chance = random.Random(7)
    some = chance.choices(index.packages, k=_LOOKUPS)
    hashes = [package.sha256 for package in some if package.sha256]
    # Without hashes in the lists the lookups still run; they find nothing.
    return [
        Query("package by primary key", tuple(
            f"SELECT name, version, HEX(sha256), description FROM package WHERE id = {package.id}"
            for package in some)),
        Query("package by name (unique key)", tuple(
            "SELECT id, version, maintainer, homepage FROM package "
            f"WHERE name = '{escape_string(package.name)}' ORDER BY id" for package in some)),
        Query("file by SHA-256 (unique key)", tuple(
            f"SELECT filename, download_size FROM package WHERE sha256 = x'{sha256}'"
            for sha256 in hashes or ["00" * 32])),
        Query("dependencies of a package (join)", tuple(
            "SELECT d.kind, d.position, d.alternative, d.target, p.version, p.installed_size "
            "FROM dependency d LEFT JOIN package p ON p.name = d.target "
            f"WHERE d.package_id = {package.id} "
            "ORDER BY d.kind, d.position, d.alternative, p.id" for package in some[:500])),
        _closure(index),
        *_REPORTS,
    ]


def _closure(index: PackageIndex) -> Query:
    names = {package.name for package in index.packages}
    root = next((name for name in _CLOSURE_ROOTS if name in names), index.packages[0].name)
    return _one(f"all that {root} needs (recursive)", f"""
        WITH RECURSIVE needed (name) AS (
          SELECT name FROM package WHERE name = '{escape_string(root)}'
          UNION
          SELECT d.target FROM needed n
          JOIN package p ON p.name = n.name
          JOIN dependency d ON d.package_id = p.id AND d.kind IN {_NEEDS})
        SELECT n.name, p.version, p.architecture, p.installed_size
        FROM needed n LEFT JOIN package p ON p.name = n.name ORDER BY n.name, p.id""")


_REPORTS = (
    _one("who needs libc6 (reverse join)", f"""
        SELECT p.name, p.version, p.section, d.operator, d.version
        FROM dependency d JOIN package p ON p.id = d.package_id
        WHERE d.target = 'libc6' AND d.kind IN {_NEEDS}
        ORDER BY p.id, d.kind, d.position, d.alternative"""),
    _one("names beginning with lib (index only)", """
        SELECT COUNT(*), COUNT(DISTINCT name), MIN(version), MAX(version)
        FROM package WHERE name LIKE 'lib%'"""),
    _one("names beginning with python3- (rows)", """
        SELECT name, version, maintainer, description
        FROM package WHERE name LIKE 'python3-%' ORDER BY name, version, architecture"""),
    _one("the last 500 names before m (backwards)", """
        SELECT name, version, description FROM package WHERE name < 'm'
        ORDER BY name DESC, version DESC, architecture DESC LIMIT 500"""),
    _one("big libraries (index range)", """
        SELECT name, version, installed_size FROM package
        WHERE section = 'libs' AND installed_size BETWEEN 5000 AND 100000
        ORDER BY installed_size DESC, id LIMIT 1000"""),
    _one("sizes by section", """
        SELECT MIN(BINARY section), COUNT(*), SUM(installed_size), AVG(installed_size),
          MAX(download_size)
        FROM package GROUP BY section ORDER BY section"""),
    _one("top 20 maintainers", """
        SELECT MIN(BINARY maintainer), COUNT(*) AS packages, SUM(download_size)
        FROM package GROUP BY maintainer ORDER BY packages DESC, maintainer LIMIT 20"""),
    _one("top 20 targets (whole index)", """
        SELECT target, COUNT(*) AS wanted FROM dependency
        GROUP BY target ORDER BY wanted DESC, target LIMIT 20"""),
    _one("sources with most packages (join)", f"""
        SELECT p.source, COUNT(DISTINCT p.id) AS packages, COUNT(*) AS needs
        FROM package p JOIN dependency d ON d.package_id = p.id
        WHERE p.source IS NOT NULL AND d.kind IN {_NEEDS}
        GROUP BY p.source ORDER BY packages DESC, p.source LIMIT 50"""),
    _one("needs that nothing provides (anti-join)", f"""
        SELECT d.target, COUNT(*) AS wanted FROM dependency d
        WHERE d.kind IN {_NEEDS}
          AND NOT EXISTS (SELECT 1 FROM package p WHERE p.name = d.target)
          AND NOT EXISTS (SELECT 1 FROM dependency v
                          WHERE v.target = d.target AND v.kind = 'Provides')
        GROUP BY d.target ORDER BY wanted DESC, d.target"""),
    _one("descriptions with 'database' (full scan)", """
        SELECT name, version, description FROM package
        WHERE description LIKE '%database%' ORDER BY id"""),
    _one("checksum of all packages (full scan)", """
        SELECT COUNT(*), SUM(download_size), BIT_XOR(CRC32(CONCAT_WS('|', name, version, suite,
          source, maintainer, homepage, installed_size, filename, HEX(sha256), description)))
        FROM package"""),
    _one("checksum of all dependencies (full scan)", """
        SELECT COUNT(*), BIT_XOR(CRC32(CONCAT_WS('|', package_id, kind, position, alternative,
          target, qualifier, operator, version))) FROM dependency"""),
)


def writes(index: PackageIndex) -> list[Query]:
    """Changes; they run once, in this order."""
    chance = random.Random(11)
    some = chance.sample(index.packages, k=min(_COMMITS, len(index.packages)))
    return [
        Query("commit of one changed row", tuple(
            f"UPDATE package SET download_size = download_size + 1 WHERE id = {package.id}"
            for package in some)),
        _one("update: sizes of a section (index)", """
            UPDATE package SET installed_size = installed_size + 1
            WHERE section IN ('libs', 'python', 'perl')"""),
        _one("update: maintainers (index)", """
            UPDATE package SET maintainer = CONCAT(maintainer, ' (team)')
            WHERE maintainer LIKE 'Debian%'"""),
        _one("update: by a join", """
            UPDATE package p JOIN dependency d ON d.package_id = p.id
            SET p.priority = 'needs-libc' WHERE d.target = 'libc6'"""),
        _one("delete: one kind of dependency", "DELETE FROM dependency WHERE kind = 'Suggests'"),
        _one("delete: a range of packages", """
            DELETE FROM package WHERE name LIKE 'golang-%' OR name LIKE 'libg%'"""),
        _one("delete: of packages that are gone", """
            DELETE d FROM dependency d LEFT JOIN package p ON p.id = d.package_id
            WHERE p.id IS NULL"""),
        _one("insert or update", """
            INSERT INTO package (name, version, architecture, suite, section, priority, maintainer,
                                 download_size, filename, description)
            SELECT name, IF(id % 2, version, CONCAT(version, '+copy')), architecture, 'copy',
                   section, priority, maintainer, 0, filename, description
            FROM package WHERE section = 'net' ORDER BY id
            ON DUPLICATE KEY UPDATE suite = 'updated', homepage = VALUES(filename)"""),
        _one("insert of what is there, ignored", """
            INSERT IGNORE INTO dependency
            SELECT package_id, kind, position, alternative, 'nothing', NULL, NULL, NULL
            FROM dependency WHERE package_id <= 2000
            ORDER BY package_id, kind, position, alternative"""),
        _one("replace", """
            REPLACE INTO dependency
            SELECT package_id, kind, position, alternative, CONCAT(target, '-new'), qualifier,
                   operator, version
            FROM dependency WHERE kind = 'Recommends'
            ORDER BY package_id, kind, position, alternative"""),
        Query("delete all, rolled back", (
            "BEGIN", "DELETE FROM dependency", "UPDATE package SET section = 'none'",
            "SELECT COUNT(*) FROM dependency", "ROLLBACK")),
    ]
