#pragma once
#include <rocksdb/slice.h>

#include <string_view>

#include "rdb/rocksdb_fwd.h"

// Bytes in RocksDB's words and in those of C++; neither owns them.
namespace basalt::rdb {

inline Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view_of(const Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace basalt::rdb
