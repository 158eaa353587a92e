#pragma once
#include <memory>

#include <rocksdb/options.h>

#include "kv/index_collector.h"
#include "kv/options.h"
#include "kv/rocksdb_fwd.h"

namespace basalt::kv {

// The RocksDB options that express ours. Each deviation from RocksDB's defaults gives its reason
// where it is set.
rdb::DBOptions make_db_options(const DatabaseOptions& options);
rdb::ColumnFamilyOptions make_table_family_options(const DatabaseOptions& options,
                                                 std::shared_ptr<KeyPartsSlot> key_parts);
// The dictionary: tiny, read at start, written by DDL; and the binary log's position, which every
// commit overwrites.
rdb::ColumnFamilyOptions make_system_family_options(const DatabaseOptions& options);

}  // namespace basalt::kv
