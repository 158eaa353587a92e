#include <string>
#include <utility>

#include "table/cursor.h"

// What becomes of an index entry between the moment a cursor meets it and the one its row is read.
namespace basalt::table {

// Locks the row of the entry that the iterator is on; `entry_value` becomes what the entry holds
// now. While we waited the row may have left the entry, a unique value may have gone to another
// row, which is locked then, or the filter may have come to reject the entry: unless `qualified` is
// kFound there is nothing here, and nothing is left locked.
Status Cursor::lock_row_of_entry(std::uint8_t* record, RowLock& outcome,
                                 std::string_view& entry_value, Qualified& qualified) {
  qualified = Qualified::kPass;
  const bool must_wait = must_wait_;
  bool is_first_owner = true;
  bool current = false;
  while (!current) {
    must_wait_ = must_wait;
    BASALT_TRY(lock_row(outcome));
    if (outcome == RowLock::kSkipped) return Status::ok();
    if (is_first_owner && outcome == RowLock::kHeld &&
        transaction_->is_unchanged_since(current_primary_key_, iterator_sequence_)) {
      qualified = Qualified::kFound;
      return Status::ok();
    }
    is_first_owner = false;
    std::string owner;
    BASALT_TRY(find_owner(iterator_->key(), owner));
    current = owner == current_primary_key_;
    if (!current) release_row_lock();
    if (owner.empty()) return Status::ok();
    current_primary_key_ = std::move(owner);
  }
  entry_value = entry_value_.view();
  qualified = Qualified::kFound;
  if (filter_ != nullptr) {
    BASALT_TRY(check_filter(iterator_->key(), entry_value, record, qualified));
  }
  if (qualified != Qualified::kFound) release_row_lock();
  return Status::ok();
}

// The row of an entry as it is now, the value of which is entry_value_; empty: it is gone.
Status Cursor::find_owner(std::string_view key, std::string& owner) {
  bool exists = false;
  BASALT_TRY(transaction_->get(table_.family(index_number_), key, {}, entry_value_, exists));
  if (!exists) return Status::ok();
  const codec::SecondaryCodec& codec = table_.secondary(index_number_);
  // Other entries have the row's key in their own.
  if (codec.is_unique()) return codec.primary_key_of(key, entry_value_.view(), owner);
  owner = current_primary_key_;
  return Status::ok();
}

// An entry has led to current_primary_key_, where the cursor's view has no row. Its iterator may
// show another state of the index than the view does: both are read again, in one.
Status Cursor::entry_without_row(std::string_view entry_key) {
  const std::string index = "index '" + table_.index(index_number_).name + "'";
  const kv::ReadView seen = view();
  bool has_entry = false;
  bool has_row = false;
  BASALT_TRY(
      transaction_->get(table_.family(index_number_), entry_key, seen, entry_value_, has_entry));
  BASALT_TRY(transaction_->get(table_.family(0), current_primary_key_, seen, row_, has_row));
  std::string owner;
  if (has_entry) {
    BASALT_TRY(
        table_.secondary(index_number_).primary_key_of(entry_key, entry_value_.view(), owner));
  }
  if (!has_row && owner == current_primary_key_) {
    return Status(ErrorCode::kCorruption, "an entry of " + index + " has no row; run CHECK TABLE");
  }
  return Status(
      ErrorCode::kInconsistentRead,
      "a scan of " + index +
          " gave an entry without a row, but read again at one "
          "snapshot the two agree: either the statement's snapshot changed while it ran, "
          "which is a defect of the engine to be reported, or the index is damaged, which "
          "CHECK TABLE would tell; the statement may be repeated");
}

}  // namespace basalt::table
