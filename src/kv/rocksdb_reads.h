#pragma once
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "kv/database.h"
#include "rdb/slice.h"

// For layers that may see RocksDB: our reads expressed in its types.
namespace basalt::kv {

// The bounds a RocksDB iterator points to; lives as long as the iterator. RocksDB allows them to
// change before a seek.
struct IteratorBounds {
  explicit IteratorBounds(const KeyRange& bounds) { set(bounds); }
  IteratorBounds(const IteratorBounds&) = delete;
  IteratorBounds& operator=(const IteratorBounds&) = delete;

  void set(const KeyRange& bounds) {
    range = bounds;
    lower = rdb::slice_of(range.lower);
    upper = rdb::slice_of(range.upper);
  }

  KeyRange range;
  rdb::Slice lower;
  rdb::Slice upper;
};

// Where RocksDB puts what it read of several keys. The vectors may be longer than `count`: memory
// that earlier reads needed.
struct PinnedValues::Slots {
  std::size_t count = 0;
  std::vector<rdb::Slice> keys;
  std::vector<rdb::PinnableSlice> values;
  std::vector<rdb::Status> statuses;
};

// The same range; its bounds point into `range`.
inline rdb::Range range_of(const KeyRange& range) {
  return {rdb::slice_of(range.lower), rdb::slice_of(range.upper)};
}

// The bytes of all data blocks of some files.
struct DataBytes {
  std::uint64_t stored = 0;
  std::uint64_t raw = 0;  // of keys and values
};
DataBytes data_bytes(const rdb::TablePropertiesCollection& files);

// The options of a read of several keys, which stops at a bound of memory.
// Counts a read of one key, or of several.
inline void note_get(const ReadView& view, std::uint64_t bytes) {
  if (view.counts == nullptr) return;
  ++view.counts->gets;
  view.counts->get_bytes += bytes;
}
void note_get_many(const ReadView& view, const PinnedValues& values);

rdb::ReadOptions make_read_options_of_many(const ReadView& view);

// How much an iterator is to read with one request where a block is missing; 0: one block.
std::uint64_t readahead_bytes(const ReadView& view);

// `bounds` may be null: unbounded.
rdb::ReadOptions make_read_options(const ReadView& view, const IteratorBounds* bounds);

}  // namespace basalt::kv
