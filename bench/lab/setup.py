"""What is measured: an engine with its settings, under limits, in a durability class.

The tuned settings are those that the published studies used, scaled to the limit: an engine that is
given less than it can use is not a rival. Basalt has none: it chooses for itself.
"""

from __future__ import annotations

import dataclasses
import enum

from lab.throttle import IoLimits

MIB = 1 << 20
GIB = 1 << 30


class Engine(enum.Enum):
    """An engine under test; each is loaded into a server of its own."""

    INNODB = "innodb"
    MYROCKS = "myrocks"
    BASALT = "basalt"

    @property
    def sql_name(self) -> str:
        return "InnoDB" if self is Engine.INNODB else "ROCKSDB"


@dataclasses.dataclass(frozen=True)
class Durability:
    """When a commit is on the disk. `log` is innodb_flush_log_at_trx_commit and its like."""

    name: str
    sync_binlog: int
    log: int
    has_binlog: bool = True


D1 = Durability("D1: binary log and log synced at every commit", 1, 1)
D2 = Durability("D2: log synced at every commit, binary log every 1000", 1000, 1)
D3 = Durability("D3: both written at every commit, synced now and then", 0, 2)


@dataclasses.dataclass(frozen=True)
class Limits:
    """What the server gets. `memory` is in bytes and covers the page cache; None is no limit."""

    memory: int | None = None
    disk: IoLimits = IoLimits()


@dataclasses.dataclass(frozen=True)
class Setup:
    """An engine and how it is set.

    `data_options` shape the stored data and hold while loading too, so that setups which differ in
    them have templates of their own; `options` hold while measuring. With `is_tuned=False` the
    engine keeps its defaults.
    """

    name: str
    title: str
    engine: Engine
    table_options: str = ""
    data_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    is_tuned: bool = True

    def variant(self, name: str, title: str, **changes: object) -> Setup:
        """This setup with other settings, under another name."""
        return dataclasses.replace(self, name=name, title=title, **changes)


INNODB = Setup("innodb", "InnoDB", Engine.INNODB)
MYROCKS = Setup("myrocks", "stock MyRocks", Engine.MYROCKS)
BASALT = Setup("basalt", "Basalt", Engine.BASALT)
SETUPS = (INNODB, MYROCKS, BASALT)

# What mariadbd needs beside its caches, measured with 16 clients.
_SERVER_MEMORY = 150 * MIB
_UNLIMITED_CACHE = 2 * GIB
# Private servers of this project have smaller ones.
_INNODB_DEFAULTS = ("--innodb-buffer-pool-size=128M", "--innodb-log-file-size=96M")
# InnoDB refuses to believe in slower disks.
_IO_CAPACITY_MIN = 100


def server_options(setup: Setup, limits: Limits, durability: Durability) -> list[str]:
    """The options of mariadbd for a measured server."""
    options = [*common_options(), *_durability_options(setup.engine, durability)]
    if setup.is_tuned:
        options += _tuned(setup.engine, limits)
    elif setup.engine is Engine.INNODB:
        options += _INNODB_DEFAULTS
    return [*options, *setup.data_options, *setup.options]


def loading_options(setup: Setup) -> list[str]:
    """The options of mariadbd while a template is filled: nothing is synced, memory is ample."""
    tuned = _tuned(setup.engine, Limits(memory=3 * GIB))
    relaxed = Durability("loading", 0, 0 if setup.engine is Engine.INNODB else 2, has_binlog=False)
    return [*common_options(), *_durability_options(setup.engine, relaxed), *tuned,
            *setup.data_options]


def common_options() -> list[str]:
    """What is the same for every engine."""
    return ["--character-set-server=latin1", "--collation-server=latin1_bin",
            "--transaction-isolation=READ-COMMITTED", "--performance-schema=OFF",
            "--query-cache-type=0", "--table-open-cache=4000", "--max-connections=500",
            "--max-prepared-stmt-count=1000000", "--skip-log-warnings", "--local-infile=1"]


def _durability_options(engine: Engine, durability: Durability) -> list[str]:
    prefix = "innodb" if engine is Engine.INNODB else "rocksdb"
    options = [f"--{prefix}-flush-log-at-trx-commit={durability.log}"]
    if engine is not Engine.INNODB:
        # InnoDB is there for the server's own tables only.
        options += ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M",
                    "--innodb-doublewrite=OFF"]
    if durability.has_binlog:
        options += ["--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-image=MINIMAL",
                    f"--sync-binlog={durability.sync_binlog}", "--server-id=1",
                    "--max-binlog-size=1G"]
    return options


def _tuned(engine: Engine, limits: Limits) -> list[str]:
    if engine is Engine.INNODB:
        return _tuned_innodb(limits)
    return _tuned_myrocks(limits) if engine is Engine.MYROCKS else []


def _tuned_innodb(limits: Limits) -> list[str]:
    """The settings of the insert benchmark's author for MariaDB 10.11, scaled to the limits."""
    pool = _UNLIMITED_CACHE
    if limits.memory:
        pool = min(limits.memory * 3 // 4, limits.memory - _SERVER_MEMORY)
    iops = limits.disk.write_iops or 20000
    return [f"--innodb-buffer-pool-size={pool // MIB}M", "--innodb-flush-method=O_DIRECT",
            "--innodb-log-file-size=1G", "--innodb-flush-neighbors=0",
            f"--innodb-io-capacity={max(_IO_CAPACITY_MIN, iops // 2)}",
            f"--innodb-io-capacity-max={max(_IO_CAPACITY_MIN, iops)}",
            "--innodb-buffer-pool-load-at-startup=OFF", "--innodb-buffer-pool-dump-at-shutdown=OFF",
            "--innodb-adaptive-hash-index=OFF", "--innodb-max-dirty-pages-pct=90",
            "--innodb-max-dirty-pages-pct-lwm=10", "--innodb-lru-scan-depth=1024",
            "--innodb-purge-threads=4", "--innodb-doublewrite=ON"]


def _tuned_myrocks(limits: Limits) -> list[str]:
    """Study S3's settings: buffered reads, a block cache of an eighth, four buffers of 32 MB.

    In less than a gigabyte the buffers are smaller: with 128 MB of them and 448 MB for everything
    the kernel ends the server in the insert benchmark.
    Deadlocks are found and waits last as long as in InnoDB; by default its clients would sit out a
    deadlock for a second.
    """
    cache = limits.memory // 8 if limits.memory else _UNLIMITED_CACHE // 2
    buffer = min(limits.memory // 32, 32 * MIB) if limits.memory else 32 * MIB
    return [f"--rocksdb-block-cache-size={cache // MIB}M", "--rocksdb-max-open-files=-1",
            "--rocksdb-deadlock-detect=ON", "--rocksdb-lock-wait-timeout=50",
            "--rocksdb-max-background-jobs=2", "--rocksdb-max-subcompactions=1",
            "--rocksdb-max-total-wal-size=1G", "--rocksdb-compaction-readahead-size=2m",
            "--rocksdb-bytes-per-sync=1m", "--rocksdb-wal-bytes-per-sync=1m",
            myrocks_families("kLZ4Compression", "kLZ4Compression", buffer)]


def myrocks_families(compression: str, bottommost: str, buffer: int) -> str:
    """The option of stock MyRocks that sets its column families.

    Compressions are RocksDB's names; `buffer` is the size of one of the four write buffers.
    """
    return ("--rocksdb-default-cf-options="
            f"write_buffer_size={buffer // MIB}m;max_write_buffer_number=4;"
            "target_file_size_base=32m;"
            "max_bytes_for_level_base=256m;level0_file_num_compaction_trigger=4;"
            "level0_slowdown_writes_trigger=20;level0_stop_writes_trigger=30;"
            f"compression={compression};bottommost_compression={bottommost};"
            "level_compaction_dynamic_level_bytes=true;optimize_filters_for_hits=true;"
            "compaction_pri=kMinOverlappingRatio;"
            "block_based_table_factory={cache_index_and_filter_blocks=1;block_size=16384;"
            "filter_policy=bloomfilter:10:false;whole_key_filtering=1}")
