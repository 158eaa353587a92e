#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/key_range.h"
#include "base/status.h"
#include "kv/iterator_pool.h"
#include "kv/move_counts.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::kv {

// Moves over keys in order. Not positioned after construction.
//
// Steps ahead A run of moves forward is made several at a time, the more the longer it gets, and
//             the entries are copied: between two moves the reader deals with a row, and by then
//             the processor's caches have lost RocksDB's code and data. Nobody can tell, because
//             the entries are those of one point in the history. Not with Entries::kMayMove.
// Threads     Belongs to one at a time.
class Iterator {
 public:
  // Where keys and values are until the next move: in the same place, or, if a transaction's own
  // changes are among them, wherever its next write puts them. Those of kStay have different keys.
  enum class Entries : std::uint8_t { kStay, kMayMove };

  // Takes ownership of `iterator`; `range` must be the object its bounds point to. The moves are
  // counted in `events` and, if it is not null, `reader`, which outlive it.
  Iterator(std::unique_ptr<rdb::Iterator> iterator, std::unique_ptr<IteratorBounds> bounds,
           Entries entries, EventCounters& events, ReadCounts* reader);
  // The same with Entries::kStay; afterwards the parts go to `pool`. Both bounds are set.
  Iterator(IteratorParts parts, IteratorPool& pool, EventCounters& events, ReadCounts* reader);
  ~Iterator();
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;

  // Changes the bounds, both of which must have been set before. The iterator is then nowhere
  // until it seeks.
  void set_range(const KeyRange& range);
  void seek(std::string_view key);               // first key >= key
  void seek_for_previous(std::string_view key);  // last key <= key
  void seek_to_first();
  void seek_to_last();
  void next();
  void previous();
  // False at either end and after an error; status() tells which.
  bool is_valid() const { return entries_ == Entries::kStay ? is_valid_ : is_valid_now(); }
  // Valid until the next move; with Entries::kMayMove also no longer than to the next write.
  std::string_view key() const { return entries_ == Entries::kStay ? key_ : key_now(); }
  std::string_view value() const { return entries_ == Entries::kStay ? value_ : value_now(); }
  Status status() const;
  // Whether it is not valid because of ReadView::skipped_max. Then status() is an error.
  bool gave_up() const;

 private:
  void begin_run();
  void fill_batch();
  void note_seek();
  // After a move: asks once what a scan asks several times a row.
  void note_entry();
  std::uint64_t entry_bytes() const { return key().size() + value().size(); }
  bool is_valid_now() const;
  std::string_view key_now() const;
  std::string_view value_now() const;

  Entries entries_;
  bool is_valid_ = false;
  bool is_ahead_ = false;  // a copy is shown, and RocksDB is on the entry after all of them
  // A run begins with a seek or a step back. These are its moves, as far as they matter, and how
  // many to make ahead next.
  std::uint8_t moves_forward_ = 0;
  std::size_t batch_entries_ = 0;
  std::string_view key_;
  std::string_view value_;
  IteratorParts parts_;  // `ahead` is made when it is needed first
  IteratorPool* pool_ = nullptr;
  MoveCounts moves_;
};

}  // namespace basalt::kv
