#pragma once
#include <memory>

#include <rocksdb/cache.h>
#include <rocksdb/options.h>

#include "index_stats/index_collector.h"
#include "kv/options.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::block_cache {
class BlockCache;
}  // namespace basalt::block_cache

namespace basalt::kv {

// Bytes of the cache for such sizes, all of which are chosen: what memtables do not take of theirs
// is for blocks, too.
std::uint64_t cache_capacity(const DatabaseOptions& options);
// `machine_bytes`: the machine's memory, up to which the cache may be made larger later.
std::shared_ptr<block_cache::BlockCache> make_block_cache(const DatabaseOptions& options,
                                                          std::uint64_t machine_bytes);

// Asserts what is relied on and nobody may set: docs/rocksdb.md.
void check_relied_on(const rdb::DBOptions& options);
// The RocksDB options that express ours. Each deviation from RocksDB's defaults gives its reason
// where it is set.
// `cache`: what make_block_cache() has made; blocks and memtables share its memory.
rdb::DBOptions make_db_options(const DatabaseOptions& options,
                               const std::shared_ptr<rdb::Cache>& cache);
rdb::ColumnFamilyOptions make_table_family_options(
    const DatabaseOptions& options, const std::shared_ptr<rdb::Cache>& cache,
    std::shared_ptr<index_stats::KeyStructureSlot> key_parts);
// The dictionary: tiny, read at start, written by DDL; and the binary log's position, which every
// commit overwrites.
rdb::ColumnFamilyOptions make_system_family_options(const DatabaseOptions& options);

}  // namespace basalt::kv
