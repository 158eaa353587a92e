#include "table/gap_locker.h"

#include <cstdint>

namespace basalt::table {
namespace {

// Pending inserts that a scan waits for before it locks the range against further ones: others may
// insert there for ever.
constexpr std::size_t kWaitsWithoutGapMax = 10;

}  // namespace

void GapLocker::begin(const IndexIterator& iterator) {
  edge_ = iterator.near_end();
  locked_end_.clear();
}

Status GapLocker::lock_up_to(IndexIterator& iterator, const LockingRead& read, bool has_condition) {
  const bool is_forward = iterator.direction() == Direction::kForward;
  for (bool is_fresh = false;; is_fresh = true) {
    BASALT_TRY(iterator.status());
    const bool is_on_key = iterator.is_valid();
    bound_ = is_on_key ? iterator.key() : std::string_view(iterator.far_end());
    // The entry's own key belongs to what is locked, but not to what others may be inserting.
    const std::size_t key_size = bound_.size();
    if (is_on_key) bound_.push_back('\0');
    const std::string_view behind = bound_;
    const std::string_view before = behind.substr(0, key_size);
    const std::string_view far = is_forward ? behind : before;
    Gap gap;
    gap.lower = is_forward ? std::string_view(edge_) : before;
    gap.upper = is_forward ? behind : std::string_view(edge_);
    if (gap.lower >= gap.upper) return Status::ok();
    // What others are making of the entry itself is waited for with its row's lock; but here if
    // there is a condition, which may reject the entry as it is, and then nobody locks the row.
    const bool leaves_out_key = is_on_key && !(has_condition && read.locks_gaps);
    gap.awaited_lower = is_forward || !leaves_out_key ? gap.lower : behind;
    gap.awaited_upper = is_forward && leaves_out_key ? before : gap.upper;
    const bool was_locked =
        !locked_end_.empty() && (is_forward ? far <= locked_end_ : far >= locked_end_);
    bool is_complete = true;
    if (!was_locked) BASALT_TRY(lock(gap, iterator, read, is_fresh, is_complete));
    if (is_complete) {
      edge_ = far;
      return Status::ok();
    }
    if (read.locks_gaps) locked_end_ = far;
    iterator.reopen_beyond(edge_);
  }
}

// The order matters. Once the range is locked nothing new comes; then what is open is looked at,
// then what was committed too late for the iterator (txn::InsertRegistry), which then is not
// complete. What is open already is waited for before the range is locked: its transaction may want
// to insert more there. Without gap locks, at READ COMMITTED, what is being inserted is waited for
// all the same, and commits are looked for once with every entry: a row that others have moved, and
// that is still ahead of the scan, must be met.
Status GapLocker::lock(const Gap& gap, IndexIterator& iterator, const LockingRead& read,
                       bool is_fresh, bool& is_complete) {
  txn::Transaction& transaction = iterator.transaction();
  bool waited = false;
  const bool waits = read.on_locked == OnLockedRow::kWait;
  if (read.locks_gaps) {
    if (waits) {
      BASALT_TRY(await_pending_inserts(gap, kWaitsWithoutGapMax, iterator, read, waited));
    }
    transaction.lock_gap(gap.lower, gap.upper);
  }
  if (waits) BASALT_TRY(await_pending_inserts(gap, SIZE_MAX, iterator, read, waited));
  is_complete = !((waited || read.locks_gaps || !is_fresh) &&
                  transaction.may_lack_inserts(gap.lower, iterator.sequence()));
  return Status::ok();
}

// Waits until no other transaction is inserting keys into the gap, or for so many of them.
Status GapLocker::await_pending_inserts(const Gap& gap, std::size_t most, IndexIterator& iterator,
                                        const LockingRead& read, bool& waited) {
  txn::Transaction& transaction = iterator.transaction();
  const std::size_t index_number = iterator.index_number();
  for (; most > 0 && gap.awaited_lower < gap.awaited_upper; --most) {
    if (!transaction.find_pending_insert(iterator.family(), gap.awaited_lower, gap.awaited_upper,
                                         pending_key_, pending_value_)) {
      break;
    }
    waited = true;
    if (index_number != 0) {
      BASALT_TRY(table_.secondary(index_number)
                     .primary_key_of(pending_key_, pending_value_, pending_row_));
    }
    const std::string& row = index_number == 0 ? pending_key_ : pending_row_;
    bool is_new = false;
    BASALT_TRY(transaction.lock(row, read.mode, read.wait, &is_new));
    if (is_new) transaction.unlock(row);
  }
  return Status::ok();
}

}  // namespace basalt::table
