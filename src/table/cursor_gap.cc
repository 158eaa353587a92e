#include <cstdint>
#include <utility>

#include "table/cursor.h"

namespace basalt::table {
namespace {

// Pending inserts that a scan waits for before it locks the range against further ones: others may
// insert there for ever.
constexpr std::size_t kWaitsWithoutGapMax = 10;

}  // namespace

// Deals with the keys between what the scan has seen and the entry it is on, or the end of its
// range: others may not insert there any more, and what they are inserting is waited for. Moves the
// iterator to an entry that has appeared there.
//
// The order matters. Once the range is locked nothing new comes; then what is open is looked at,
// then what was committed too late for the iterator (txn::InsertRegistry). What is open already is
// waited for before the range is locked: its transaction may want to insert more there. Without gap
// locks, at READ COMMITTED, what is being inserted is waited for all the same.
//
// What others are making of the entry itself is waited for with its row's lock; but here if there
// is a filter, which may reject the entry as it is, and then nobody locks the row.
Status Cursor::lock_gap(Direction direction) {
  const bool is_forward = direction == Direction::kForward;
  while (true) {
    BASALT_TRY(iterator_->status());
    const bool is_on_key = iterator_->is_valid();
    if (is_on_key) {
      gap_bound_ = iterator_->key();
    } else {
      gap_bound_ = is_forward ? range_.upper : range_.lower;
    }
    // The entry's own key belongs to what is locked, but not to what others may be inserting.
    const std::size_t key_size = gap_bound_.size();
    if (is_on_key) gap_bound_.push_back('\0');
    const std::string_view behind = gap_bound_;
    const std::string_view before = behind.substr(0, key_size);
    const std::string_view far = is_forward ? behind : before;
    const std::string_view lower = is_forward ? std::string_view(gap_edge_) : before;
    const std::string_view upper = is_forward ? behind : std::string_view(gap_edge_);
    if (lower >= upper) return Status::ok();
    const bool was_locked = !gap_end_.empty() && (is_forward ? far <= gap_end_ : far >= gap_end_);
    if (!was_locked) {
      bool waited = false;
      const bool waits = !settings_.skip_locked && !is_semi_consistent_;
      const bool leaves_out_key = is_on_key && !(filter_ != nullptr && settings_.locks_gaps);
      const std::string_view inner_lower = is_forward || !leaves_out_key ? lower : behind;
      const std::string_view inner_upper = is_forward && leaves_out_key ? before : upper;
      if (settings_.locks_gaps) {
        if (waits) {
          BASALT_TRY(await_pending_inserts(inner_lower, inner_upper, kWaitsWithoutGapMax, waited));
        }
        transaction_->lock_gap(lower, upper);
      }
      if (waits) BASALT_TRY(await_pending_inserts(inner_lower, inner_upper, SIZE_MAX, waited));
      if ((waited || settings_.locks_gaps) &&
          transaction_->may_lack_inserts(lower, iterator_sequence_)) {
        if (settings_.locks_gaps) gap_end_ = far;
        reopen_beyond_gap(direction);
        continue;
      }
    }
    gap_edge_ = far;
    return Status::ok();
  }
}

// Waits until no other transaction is inserting keys into [lower, upper), or for so many of them.
Status Cursor::await_pending_inserts(std::string_view lower, std::string_view upper,
                                     std::size_t most, bool& waited) {
  const kv::FamilyId family = table_.family(index_number_);
  for (; most > 0 && lower < upper; --most) {
    if (!transaction_->find_pending_insert(family, lower, upper, pending_key_, pending_value_)) {
      break;
    }
    waited = true;
    current_primary_key_ = pending_key_;
    if (index_number_ != 0) {
      BASALT_TRY(table_.secondary(index_number_)
                     .primary_key_of(pending_key_, pending_value_, current_primary_key_));
    }
    primary_key_known_ = false;
    bool is_new = false;
    BASALT_TRY(transaction_->lock(current_primary_key_, *settings_.lock, settings_.wait, &is_new));
    if (is_new) transaction_->unlock(current_primary_key_);
  }
  return Status::ok();
}

// Makes the iterator anew, for what lies beyond gap_edge_.
void Cursor::reopen_beyond_gap(Direction direction) {
  KeyRange rest = range_;
  (direction == Direction::kForward ? rest.lower : rest.upper) = gap_edge_;
  std::swap(range_, rest);
  open_iterator();
  std::swap(range_, rest);
  if (direction == Direction::kForward) {
    iterator_->seek_to_first();
  } else {
    iterator_->seek_to_last();
  }
}

}  // namespace basalt::table
