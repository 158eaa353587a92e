#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "table/entry_condition.h"
#include "table/gap_locker.h"
#include "table/index_iterator.h"
#include "table/read_settings.h"
#include "table/row_fetcher.h"

namespace basalt::table {

// From entries to rows, for reads that lock: the row is locked and then read as it was last
// committed, or by the transaction itself.
//
// Threads     Belongs to one cursor, whose parts it works with.
class LockingReader {
 public:
  // Whether a row that others have locked may be peeked at, as LockingRead::on_locked says, or is
  // waited for: it has been peeked at before, or was asked for by its key.
  enum class Peeking : std::uint8_t { kAllowed, kForbidden };

  LockingReader(const Table& table, IndexIterator& iterator, RowFetcher& fetcher,
                const EntryCondition& condition)
      : table_(table),
        iterator_(iterator),
        fetcher_(fetcher),
        condition_(condition),
        gaps_(table) {}

  void open(const LockingRead& read);
  void set_on_locked(OnLockedRow on_locked) { read_.on_locked = on_locked; }
  OnLockedRow on_locked() const { return read_.on_locked; }

  // The iterator has been started.
  void begin_range() {
    gaps_.begin(iterator_);
    stale_rows_ = 0;
  }
  // Moves on to the next entry of the range; by an iterator made anew where this one has become so
  // old that rows are read once more for it.
  void step();
  // GapLocker::lock_up_to().
  Status lock_gap() { return gaps_.lock_up_to(iterator_, read_, condition_.is_set()); }

  // Decides about the entry that the iterator is on; its row is locked and unpacked if it is found.
  Status qualify(Peeking peeking, std::uint8_t* record, Qualified& qualified);
  // Locks and reads the row with the fetcher's primary key.
  Status read_row(std::uint8_t* record, bool& found);
  // The row whose unique value, of the open secondary index, is `key`.
  Status find_unique(std::string_view key, std::uint8_t* record, bool& found);

  // Gives back the lock of the row that the cursor is on, if this read took it.
  void release_row_lock();
  // The cursor goes to another row, and the lock stays.
  void keep_row_lock() { took_lock_ = false; }

 private:
  enum class RowLock : std::uint8_t { kHeld, kSkipped, kPeeked };

  Status qualify_row(Peeking peeking, std::uint8_t* record, Qualified& qualified);
  Status qualify_entry(Peeking peeking, std::uint8_t* record, Qualified& qualified);
  bool is_as_iterator_shows();
  bool is_expired(std::string_view value);
  Status lock_row(Peeking peeking, RowLock& outcome);
  Status lock_row_of_entry(Peeking peeking, std::uint8_t* record, RowLock& outcome,
                           std::string_view& entry_value, Qualified& qualified);
  Status get_locked_entry(std::string_view key, std::uint8_t* record, bool& found);
  Status lock_missing_value(std::string_view key, bool& locked);
  Status check_not_newer();
  Status read_locked(std::uint8_t* record, bool& found);

  const Table& table_;
  IndexIterator& iterator_;
  RowFetcher& fetcher_;
  const EntryCondition& condition_;
  LockingRead read_;
  GapLocker gaps_;
  bool took_lock_ = false;
  std::uint32_t stale_rows_ = 0;  // for which an iterator made then would have done
};

}  // namespace basalt::table
