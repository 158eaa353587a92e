#pragma once
#include <string>

#include "base/status.h"
#include "kv/rocksdb_fwd.h"

namespace basalt::kv {

// RocksDB's status in our vocabulary; its text, which names file and cause, is kept.
Status from_rocksdb(const rdb::Status& status);

// The text of an error, which names file and cause.
std::string text_of(const rdb::Status& status);
// Whether the cause is that a device or a quota is full.
bool is_no_space(const rdb::Status& status);

}  // namespace basalt::kv
