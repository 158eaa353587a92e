#pragma once
#include <memory>

#include "rdb/rocksdb_fwd.h"

namespace basalt::memtable {

// Makes memtables that keep their entries in a MemtableTree. Only for column families whose keys
// are in the order of their bytes.
std::shared_ptr<rdb::MemTableRepFactory> make_tree_memtable_factory();

}  // namespace basalt::memtable
