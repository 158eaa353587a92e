#include "table/locking_reader.h"

#include <string>
#include <utility>

namespace basalt::table {

void LockingReader::open(const LockingRead& read) {
  read_ = read;
  took_lock_ = false;
}

void LockingReader::step() {
  // Where newer rows are refused, those that others have removed are to be met, too.
  if (stale_rows_ < read_.stale_rows_max || read_.rejects_newer) [[likely]] {
    iterator_.step(iterator_.direction());
    return;
  }
  stale_rows_ = 0;
  iterator_.step_anew();
}

Status LockingReader::qualify(Peeking peeking, std::uint8_t* record, Qualified& qualified) {
  qualified = Qualified::kPass;
  return iterator_.index_number() == 0 ? qualify_row(peeking, record, qualified)
                                       : qualify_entry(peeking, record, qualified);
}

Status LockingReader::qualify_row(Peeking peeking, std::uint8_t* record, Qualified& qualified) {
  fetcher_.set_primary_key(iterator_.key());
  RowLock outcome = RowLock::kHeld;
  BASALT_TRY(lock_row(peeking, outcome));
  if (outcome == RowLock::kSkipped) return Status::ok();
  if (outcome == RowLock::kHeld && is_as_iterator_shows()) {
    if (is_expired(iterator_.value())) return Status::ok();
    qualified = Qualified::kFound;
    return fetcher_.read_here(iterator_, record);
  }
  bool found = false;
  BASALT_TRY(read_locked(record, found));
  if (found) qualified = outcome == RowLock::kPeeked ? Qualified::kPeeked : Qualified::kFound;
  return Status::ok();
}

Status LockingReader::qualify_entry(Peeking peeking, std::uint8_t* record, Qualified& qualified) {
  const std::string_view key = iterator_.key();
  std::string_view value = iterator_.value();
  if (condition_.is_set()) {
    BASALT_TRY(condition_.check(key, value, record, qualified));
    if (qualified != Qualified::kFound) return Status::ok();
  }
  BASALT_TRY(fetcher_.set_primary_key_of(key, value));
  RowLock outcome = RowLock::kHeld;
  BASALT_TRY(lock_row_of_entry(peeking, record, outcome, value, qualified));
  if (qualified != Qualified::kFound) return Status::ok();
  if (is_expired(value)) {
    qualified = Qualified::kPass;
    return Status::ok();
  }
  bool found = false;
  BASALT_TRY(read_locked(record, found));
  if (found) {
    if (outcome == RowLock::kPeeked) qualified = Qualified::kPeeked;
    return fetcher_.add_entry_columns(key, value, record);
  }
  qualified = Qualified::kPass;
  // The lock of a row is the lock of its entries.
  if (outcome != RowLock::kHeld) return Status::ok();
  return fetcher_.entry_without_row(iterator_.transaction(), key, {});
}

// Whether the current row, which is locked, is certainly as the iterator shows it.
bool LockingReader::is_as_iterator_shows() {
  const txn::Transaction& transaction = iterator_.transaction();
  const std::string& row = fetcher_.primary_key();
  if (transaction.is_unchanged_since(row, iterator_.sequence())) return true;
  // Else it is of no use to make the iterator anew: the transaction has changed the row itself, or
  // others have changes open that may be of this row.
  if (transaction.is_unchanged_since(row, transaction.newest_sequence())) ++stale_rows_;
  return false;
}

// Whether the row or entry that was locked is expired: then it is given back, unless it is to stay
// so, and another transaction, which began before it expired, could still change it.
bool LockingReader::is_expired(std::string_view value) {
  if (!table_.is_expired(iterator_.transaction(), value)) return false;
  if (!read_.locks_gaps) release_row_lock();
  return true;
}

// Locks the current row. kSkipped, kPeeked: another transaction holds it and we do not wait.
Status LockingReader::lock_row(Peeking peeking, RowLock& outcome) {
  const bool skips = read_.on_locked == OnLockedRow::kSkip;
  const bool peeks = read_.on_locked == OnLockedRow::kPeek && peeking == Peeking::kAllowed;
  lock::WaitPolicy policy = read_.wait;
  if (skips || peeks) policy.may_wait = false;
  outcome = RowLock::kHeld;
  Status status =
      iterator_.transaction().lock(fetcher_.primary_key(), read_.mode, policy, &took_lock_);
  if (status.is(ErrorCode::kLockTimeout) && (skips || peeks)) {
    outcome = skips ? RowLock::kSkipped : RowLock::kPeeked;
    return Status::ok();
  }
  BASALT_TRY(std::move(status));
  return read_.rejects_newer ? check_not_newer() : Status::ok();
}

// The row is locked: nobody changes it between the two reads.
Status LockingReader::check_not_newer() {
  bool is_newer = false;
  BASALT_TRY(iterator_.transaction().is_newer_than_snapshot(table_.family(0),
                                                            fetcher_.primary_key(), is_newer));
  return is_newer ? Status::of(ErrorCode::kSnapshotConflict) : Status::ok();
}

// Locks the row of the entry that the iterator is on; `entry_value` becomes what the entry holds
// now. While we waited the row may have left the entry, a unique value may have gone to another
// row, which is locked then, or the condition may have come to reject the entry: unless `qualified`
// is kFound there is nothing here, and nothing is left locked.
Status LockingReader::lock_row_of_entry(Peeking peeking, std::uint8_t* record, RowLock& outcome,
                                        std::string_view& entry_value, Qualified& qualified) {
  qualified = Qualified::kPass;
  txn::Transaction& transaction = iterator_.transaction();
  bool is_first_owner = true;
  bool is_current = false;
  while (!is_current) {
    BASALT_TRY(lock_row(peeking, outcome));
    if (outcome == RowLock::kSkipped) return Status::ok();
    if (is_first_owner && outcome == RowLock::kHeld && is_as_iterator_shows()) {
      qualified = Qualified::kFound;
      return Status::ok();
    }
    is_first_owner = false;
    std::string owner;
    BASALT_TRY(fetcher_.find_owner(transaction, iterator_.key(), owner));
    is_current = owner == fetcher_.primary_key();
    if (!is_current) release_row_lock();
    if (owner.empty()) return Status::ok();
    fetcher_.take_primary_key(std::move(owner));
  }
  entry_value = fetcher_.entry_value();
  BASALT_TRY(condition_.check(iterator_.key(), entry_value, record, qualified));
  if (qualified != Qualified::kFound) release_row_lock();
  return Status::ok();
}

Status LockingReader::read_row(std::uint8_t* record, bool& found) {
  found = false;
  RowLock outcome = RowLock::kHeld;
  BASALT_TRY(lock_row(Peeking::kForbidden, outcome));
  if (outcome == RowLock::kSkipped) return Status::ok();
  return read_locked(record, found);
}

Status LockingReader::read_locked(std::uint8_t* record, bool& found) {
  BASALT_TRY(fetcher_.read(iterator_.transaction(), {}, record, found));
  // A lock on a row that is gone guards nothing, unless what was not there is to stay so.
  if (!found && !read_.locks_gaps) release_row_lock();
  return Status::ok();
}

Status LockingReader::find_unique(std::string_view key, std::uint8_t* record, bool& found) {
  BASALT_TRY(get_locked_entry(key, record, found));
  if (!found) return Status::ok();
  // Also if it was asked before: the entry may have changed while we waited.
  if (condition_.is_set()) {
    BASALT_TRY(condition_.accepts(key, fetcher_.entry_value(), record, found));
    if (!found && !read_.locks_gaps) release_row_lock();
    if (!found) return Status::ok();
  }
  BASALT_TRY(read_locked(record, found));
  if (!found) return fetcher_.entry_without_row(iterator_.transaction(), key, {});
  return fetcher_.add_entry_columns(key, fetcher_.entry_value(), record);
}

// Reads the entry of a unique value and locks its row, which becomes the current one. What was
// looked for stays as it is if gaps are locked: a missing value is locked, and the row of an entry
// before the condition rejects it, since the value might go to another row.
Status LockingReader::get_locked_entry(std::string_view key, std::uint8_t* record, bool& found) {
  txn::Transaction& transaction = iterator_.transaction();
  bool is_value_locked = !read_.locks_gaps;
  while (true) {
    BASALT_TRY(fetcher_.get_entry(transaction, key, {}, found));
    if (!found && !is_value_locked) {
      // Whoever inserts the value locks it first.
      BASALT_TRY(lock_missing_value(key, is_value_locked));
      if (is_value_locked) continue;
    }
    if (!found) return Status::ok();
    if (!read_.locks_gaps && condition_.is_set()) {
      BASALT_TRY(condition_.accepts(key, fetcher_.entry_value(), record, found));
      if (!found) return Status::ok();
    }
    BASALT_TRY(fetcher_.set_primary_key_of(key, fetcher_.entry_value()));
    RowLock outcome = RowLock::kHeld;
    BASALT_TRY(lock_row(Peeking::kForbidden, outcome));
    if (outcome == RowLock::kSkipped) {
      found = false;
      return Status::ok();
    }
    std::string owner;
    BASALT_TRY(fetcher_.find_owner(transaction, key, owner));
    if (owner == fetcher_.primary_key()) return Status::ok();
    // The value moved to another row, or away, while we waited: look again.
    release_row_lock();
  }
}

// `locked` stays false if another transaction holds the value and we do not wait.
Status LockingReader::lock_missing_value(std::string_view key, bool& locked) {
  const bool skips = read_.on_locked == OnLockedRow::kSkip;
  lock::WaitPolicy policy = read_.wait;
  if (skips) policy.may_wait = false;
  Status status = iterator_.transaction().lock(key, read_.mode, policy);
  locked = status.is_ok();
  return skips && status.is(ErrorCode::kLockTimeout) ? Status::ok() : std::move(status);
}

void LockingReader::release_row_lock() {
  if (!took_lock_) return;
  took_lock_ = false;
  iterator_.transaction().unlock(fetcher_.primary_key());
}

}  // namespace basalt::table
