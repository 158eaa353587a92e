#pragma once
#include <string>

#include "base/status.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::rdb {

// RocksDB's status in our vocabulary; its text, which names file and cause, is kept.
Status from_rocksdb(const rdb::Status& status);

// The text of an error, which names file and cause.
std::string text_of(const rdb::Status& status);
// Whether an error only says that the file has met one before, which was reported or will be: by
// another thread that writes or syncs the WAL. RocksDB takes it for fatal.
bool is_secondary_error(const rdb::Status& status);
// Whether the cause is that a device or a quota is full.
bool is_no_space(const rdb::Status& status);

}  // namespace basalt::rdb
