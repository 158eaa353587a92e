#include "kv/rocksdb_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "block_cache/adaptive_compression.h"
#include "block_cache/block_cache.h"
#include "block_cache/block_sizes.h"
#include "kv/early_compaction.h"
#include "memtable/tree_memtable_rep.h"

namespace basalt::kv {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

rdb::BlockBasedTableOptions make_table_options() {
  rdb::BlockBasedTableOptions table;
  // Small blocks: a block decompressed for one row costs more than the row.
  table.block_size = block_cache::kBlockBytes;
  // Version 6: offset-dependent checksums; still readable back to RocksDB 8.6.
  table.format_version = 6;
  table.checksum = rdb::kXXH3;
  // A Ribbon filter is 30 % smaller, of one hundredth of the data, but to build it took 3 % of all
  // processor time under a load of writes, and 20 bytes of memory a key.
  table.filter_policy.reset(rdb::NewBloomFilterPolicy(10));
  // What is in memory while files are written, and for each that is open, makes blocks give way.
  for (const rdb::CacheEntryRole role :
       {rdb::CacheEntryRole::kFilterConstruction, rdb::CacheEntryRole::kBlockBasedTableReader,
        rdb::CacheEntryRole::kFileMetadata}) {
    table.cache_usage_options.options_overrides[role].charged =
        rdb::CacheEntryRoleOptions::Decision::kEnabled;
  }
  // Filters and indexes count against the cache's bound instead of growing with the data.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  return table;
}

}  // namespace

std::uint64_t cache_capacity(const DatabaseOptions& options) {
  // No machine has as much, and the sum is below what counts as infinite.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  return std::min(options.block_cache_bytes, kMost) +
         std::min(options.memtables_total_bytes, kMost);
}

std::shared_ptr<block_cache::BlockCache> make_block_cache(const DatabaseOptions& options,
                                                          std::uint64_t machine_bytes) {
  // As many entries as a quarter of the memory has room for at 450 bytes each take all of it at
  // 1,800 bytes, which is about what compressed blocks have.
  return std::make_shared<block_cache::BlockCache>(cache_capacity(options), machine_bytes / 4);
}

rdb::DBOptions make_db_options(const DatabaseOptions& options,
                               const std::shared_ptr<rdb::Cache>& cache) {
  rdb::DBOptions db;
  db.create_if_missing = options.create_if_missing;
  db.create_missing_column_families = true;
  // A torn end of the WAL after a crash is normal: replay up to it.
  db.wal_recovery_mode = rdb::WALRecoveryMode::kPointInTimeRecovery;
  db.track_and_verify_wals_in_manifest = true;
  // After an error an administrator decides when to go on: wal/health.h.
  db.max_bgerror_resume_count = 0;
  db.max_total_wal_size = options.max_total_wal_bytes;
  db.write_buffer_manager =
      std::make_shared<rdb::WriteBufferManager>(options.memtables_total_bytes, cache);
  db.max_background_jobs = options.background_jobs;
  // Unlinking files and freeing memtables happens in the background, not in a query.
  db.avoid_unnecessary_blocking_io = true;
  db.max_open_files = -1;
  db.bytes_per_sync = kMiB;
  db.wal_bytes_per_sync = kMiB / 2;
  db.max_manifest_file_size = 4 * kMiB;
  // Each file of level 0 and each level that a compaction reads has such a buffer.
  db.compaction_readahead_size = std::clamp(options.memtable_bytes / 32, kMiB / 4, 2 * kMiB);
  db.use_direct_reads = options.direct_io == DirectIo::kOn;
  db.use_direct_io_for_flush_and_compaction = options.direct_io == DirectIo::kOn;
  if (options.rate_limit_bytes != 0) {
    db.rate_limiter.reset(
        rdb::NewGenericRateLimiter(static_cast<std::int64_t>(options.rate_limit_bytes)));
  }
  db.keep_log_file_num = 4;
  db.max_log_file_size = 16 * kMiB;
  // What is counted is asked for; RocksDB need not keep what it was every ten minutes.
  db.stats_persist_period_sec = 0;
  // What flushes and compactions are doing: SHOW ENGINE STATUS.
  db.enable_thread_tracking = true;
  return db;
}

void check_relied_on(const rdb::DBOptions& options) {
  // There must be one queue of writers: the leader of a write group appends and syncs before the
  // next group begins. Otherwise nobody could tell what a failed write has left in the WAL.
  BASALT_ASSERT(!options.two_write_queues);
  BASALT_ASSERT(!options.enable_pipelined_write);
  BASALT_ASSERT(!options.unordered_write);
  BASALT_ASSERT(!options.manual_wal_flush);
  // wal/wal_check.h knows no records of recycled files.
  BASALT_ASSERT(options.recycle_log_file_num == 0);
  // wal::ManifestFile takes a file that is opened for a new one, which nobody reads yet.
  BASALT_ASSERT(!options.reuse_manifest_on_open);
  // RocksDB does not resume by itself.
  BASALT_ASSERT(options.max_bgerror_resume_count == 0);
}

rdb::ColumnFamilyOptions make_table_family_options(
    const DatabaseOptions& options, const std::shared_ptr<rdb::Cache>& cache,
    std::shared_ptr<index_stats::KeyStructureSlot> key_parts) {
  rdb::ColumnFamilyOptions family;
  rdb::BlockBasedTableOptions table = make_table_options();
  table.block_cache = cache;
  // What is written past the page cache would be in no memory otherwise.
  if (options.direct_io == DirectIo::kOn) {
    table.prepopulate_block_cache =
        rdb::BlockBasedTableOptions::PrepopulateBlockCache::kFlushAndCompaction;
  }
  family.table_factory.reset(rdb::NewBlockBasedTableFactory(table));

  family.memtable_factory = memtable::make_tree_memtable_factory();
  family.write_buffer_size = options.memtable_bytes;
  // More than three: writers are slowed before they are stopped.
  family.max_write_buffer_number = 4;
  // Our own lock manager never validates against flushed memtables: keep none.
  family.max_write_buffer_size_to_maintain = 1;
  // Most lookups of missing keys (duplicate checks) end at this filter.
  family.memtable_prefix_bloom_size_ratio = 0.02;
  family.memtable_whole_key_filtering = true;
  // Rows of one index entry are often neighbours.
  family.memtable_batch_lookup_optimization = true;

  family.level_compaction_dynamic_level_bytes = true;
  family.max_bytes_for_level_base = 4 * options.memtable_bytes;
  // Until a file is full, the hashes of its keys, 8 bytes each, wait for its filter, and its first
  // blocks for its dictionary.
  family.target_file_size_base = std::clamp(options.memtable_bytes, 8 * kMiB, 64 * kMiB);
  family.level0_file_num_compaction_trigger = 4;
  family.level0_slowdown_writes_trigger = 20;
  family.level0_stop_writes_trigger = 36;

  // Blocks of files that are gone make room at once.
  family.uncache_aggressiveness = 1000;

  family.compression = rdb::kLZ4Compression;
  family.bottommost_compression = rdb::kZSTD;
  family.bottommost_compression_opts.enabled = true;
  family.bottommost_compression_opts.level = 1;
  // The dictionary is made of what a file begins with, since all of the file would wait in memory.
  // ZSTD's trainer takes as long as half of the compaction does, and gains 0 to 3 %: decision 0016.
  family.bottommost_compression_opts.max_dict_bytes = 16 * 1024;
  family.bottommost_compression_opts.zstd_max_train_bytes = 400 * 1024;
  family.bottommost_compression_opts.use_zstd_dict_trainer = false;
  family.bottommost_compression_opts.max_dict_buffer_bytes = 4 * kMiB;
  family.compression_manager = block_cache::make_adaptive_compression_manager();

  family.table_properties_collector_factories.push_back(make_early_compaction());
  // What the optimizer is told, at no reads of its own.
  family.table_properties_collector_factories.push_back(
      index_stats::make_index_collector_factory(std::move(key_parts)));
  return family;
}

rdb::ColumnFamilyOptions make_system_family_options(const DatabaseOptions&) {
  rdb::ColumnFamilyOptions family;
  rdb::BlockBasedTableOptions table = make_table_options();
  table.block_cache = rdb::NewLRUCache(4 * kMiB);
  family.table_factory.reset(rdb::NewBlockBasedTableFactory(table));
  // Every commit of the binary log stores its position here. A memtable that is full while the one
  // thread for flushes is busy with tables must stop nobody: it is allocated as it fills, so there
  // may be several, and writers are slowed before the last.
  family.write_buffer_size = 16 * kMiB;
  family.max_write_buffer_number = 6;
  family.max_write_buffer_size_to_maintain = 1;
  family.compression = rdb::kNoCompression;
  return family;
}

}  // namespace basalt::kv
