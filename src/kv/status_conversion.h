#pragma once
#include "base/status.h"
#include "kv/rocksdb_fwd.h"

namespace basalt::kv {

// RocksDB's status in our vocabulary; its text, which names file and cause, is kept.
Status from_rocksdb(const rdb::Status& status);

}  // namespace basalt::kv
