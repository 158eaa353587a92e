#pragma once
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "kv/database.h"

// For layers that may see RocksDB: our reads expressed in its types.
namespace basalt::kv {

inline rdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view_of(const rdb::Slice& slice) { return {slice.data(), slice.size()}; }

// The bounds a RocksDB iterator points to; lives as long as the iterator. RocksDB allows them to
// change before a seek.
struct IteratorBounds {
  explicit IteratorBounds(const KeyRange& bounds) { set(bounds); }
  IteratorBounds(const IteratorBounds&) = delete;
  IteratorBounds& operator=(const IteratorBounds&) = delete;

  void set(const KeyRange& bounds) {
    range = bounds;
    lower = slice_of(range.lower);
    upper = slice_of(range.upper);
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

class GuardedFile;

// To exist while a call of RocksDB writes to its log: what the call has appended is taken back when
// it fails, so that no later start can find it. RocksDB lets one thread write for several that
// wait; all of them fail together. One thread at a time.
class LogWrite {
 public:
  LogWrite();
  ~LogWrite();
  LogWrite(const LogWrite&) = delete;
  LogWrite& operator=(const LogWrite&) = delete;

  // For the log's file: it is about to be appended to; its size before.
  void note_append(GuardedFile& file, std::uint64_t size);
  // A write has failed in this thread.
  static void undo_current();

 private:
  LogWrite* const outer_;
  GuardedFile* file_ = nullptr;
  std::uint64_t begin_ = 0;
};

// The options of a read of several keys, which stops at a bound of memory.
rdb::ReadOptions make_read_options_of_many(const ReadView& view);

// How much an iterator is to read with one request where a block is missing; 0: one block.
std::uint64_t readahead_bytes(const ReadView& view);

// `bounds` may be null: unbounded.
rdb::ReadOptions make_read_options(const ReadView& view, const IteratorBounds* bounds);

}  // namespace basalt::kv
