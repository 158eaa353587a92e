#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "table/index_iterator.h"
#include "table/read_settings.h"
#include "table/table.h"

namespace basalt::table {

// Deals with the keys between the entries of a scan that locks: others may not insert there any
// more, and what they are inserting is waited for.
//
// Life cycle  begin() with every IndexIterator::start(), then lock_up_to() at every entry and at
//             the end of the range.
// Threads     Belongs to one cursor.
class GapLocker {
 public:
  explicit GapLocker(const Table& table) : table_(table) {}

  // The scan has begun at the near end of its range.
  void begin(const IndexIterator& iterator);
  // Deals with the keys between what the scan has seen and the entry it is on, or the end of its
  // range, as `read` says. `has_condition`: the entry may be rejected as it is. Moves the iterator
  // to an entry that has appeared there.
  Status lock_up_to(IndexIterator& iterator, const LockingRead& read, bool has_condition);

 private:
  // A piece of the index that the scan is about to pass over.
  struct Gap {
    std::string_view lower;
    std::string_view upper;
    // The part of it in which inserts by others are waited for.
    std::string_view awaited_lower;
    std::string_view awaited_upper;
  };

  // `is_complete`: the iterator shows what the gap has; for a read without gap locks it is only
  // asked if `is_fresh` is false: the iterator was not made anew for this entry.
  Status lock(const Gap& gap, IndexIterator& iterator, const LockingRead& read, bool is_fresh,
              bool& is_complete);
  Status await_pending_inserts(const Gap& gap, std::size_t most, IndexIterator& iterator,
                               const LockingRead& read, bool& waited);

  const Table& table_;
  // The scan has dealt with all keys between where it began and here: the lower bound of what comes
  // next, or going backward the upper one.
  std::string edge_;
  // What lies between edge_ and here was locked before the iterator was made; empty: nothing.
  std::string locked_end_;
  std::string bound_;
  std::string pending_key_;
  std::string pending_value_;
  std::string pending_row_;
};

}  // namespace basalt::table
