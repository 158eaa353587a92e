"""What an engine's own cache did not have and what it holds; the system's page cache is apart."""

from __future__ import annotations

from collections.abc import Mapping

from lab.server import MeasuredServer
from lab.setup import Engine


def pages_missed(engine: Engine, counters: Mapping[str, int]) -> int | None:
    """Pages or data blocks that were asked for and had to be read; None if that is not counted.

    Every server has InnoDB, for its own tables.
    """
    return counters.get("Innodb_buffer_pool_reads" if engine is Engine.INNODB
                        else "Rocksdb_block_cache_data_miss")


def cache_use(server: MeasuredServer) -> tuple[float, float] | None:
    """Bytes held and bytes there is room for, None when the engine does not tell."""
    if server.setup.engine is Engine.INNODB:
        status = dict(server.query(
            "SHOW GLOBAL STATUS WHERE Variable_name IN "
            "('Innodb_buffer_pool_pages_total', 'Innodb_buffer_pool_pages_free')"))
        total, free = (int(status[f"Innodb_buffer_pool_pages_{name}"])
                       for name in ("total", "free"))
        page = int(server.variable("innodb_page_size") or 0)
        return (total - free) * page, total * page
    if server.setup.engine is Engine.MYROCKS:
        (used,), = server.query("SELECT VALUE FROM information_schema.ROCKSDB_DBSTATS"
                                " WHERE STAT_TYPE = 'DB_BLOCK_CACHE_USAGE'")
        return used, int(server.variable("rocksdb_block_cache_size") or 0)
    return None
