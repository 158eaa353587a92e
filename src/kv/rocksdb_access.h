#pragma once
#include <rocksdb/options.h>
#include <rocksdb/slice.h>

#include <string_view>

#include "kv/database.h"

// For layers that may see RocksDB: our reads expressed in its types.
namespace basalt::kv {

inline rdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// The bounds a RocksDB iterator points to; lives as long as the iterator.
struct IteratorBounds {
  explicit IteratorBounds(KeyRange bounds)
      : range(std::move(bounds)), lower(slice_of(range.lower)), upper(slice_of(range.upper)) {}
  IteratorBounds(const IteratorBounds&) = delete;
  IteratorBounds& operator=(const IteratorBounds&) = delete;

  KeyRange range;
  rdb::Slice lower;
  rdb::Slice upper;
};

// `bounds` may be null: unbounded.
rdb::ReadOptions make_read_options(const ReadView& view, const IteratorBounds* bounds);

}  // namespace basalt::kv
