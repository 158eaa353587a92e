#include "table/index_iterator.h"

#include <algorithm>
#include <utility>

#include "txn/empty_ranges.h"

namespace basalt::table {

void IndexIterator::open(txn::Transaction& transaction, std::size_t index_number,
                         const ReadSettings& settings) {
  lay_aside();
  transaction_ = &transaction;
  index_number_ = index_number;
  const auto* const locking = std::get_if<LockingRead>(&settings);
  locks_ = locking != nullptr;
  new_own_keys_ = locks_ ? locking->new_own_keys : NewOwnKeys::kPassed;
  const auto* const consistent = std::get_if<ConsistentRead>(&settings);
  is_consistent_ = consistent != nullptr;
  needs_snapshot_ = is_consistent_ && consistent->needs_snapshot;
  expired_before_ = locks_ ? 0 : table_.expired_before(transaction);
  confine({}, {}, 0);
}

void IndexIterator::go_on_in(txn::Transaction& transaction) {
  transaction_ = &transaction;
  if (!locks_) expired_before_ = table_.expired_before(transaction);
}

bool IndexIterator::is_expired() const {
  if (row_time(iterator_->value()) >= expired_before_) return false;
  transaction_->expiry().note_hidden();
  return true;
}

void IndexIterator::end_scan() {
  if (is_listed()) transaction_->scans().remove(*this);
  boundary_.clear();
  resumption_.reset();
}

void IndexIterator::close() {
  end_scan();
  transaction_ = nullptr;
}

void IndexIterator::lay_aside() {
  resumption_.reset();
  boundary_.set_at_end(false);
  if (!iterator_) return;
  spare_.reset();
  if (shown_) spare_.swap(iterator_);
  iterator_.reset();
}

void IndexIterator::drop() {
  iterator_.reset();
  spare_.reset();
}

kv::ReadView IndexIterator::view() const {
  kv::ReadView seen;
  if (is_consistent_) {
    seen = transaction_->consistent_view(needs_snapshot_);
  } else {
    seen.fill_cache = transaction_->fills_cache();
  }
  seen.counts = &read_counts_;
  return seen;
}

void IndexIterator::confine(std::string_view lower, std::string_view upper,
                            std::uint64_t expected_bytes) {
  expected_bytes_ = expected_bytes;
  is_confined_ = !lower.empty() || !upper.empty();
  if (!is_confined_) return;
  const KeyRange& whole = table_.whole_range(index_number_);
  confines_.lower = lower.empty() ? std::string_view(whole.lower) : lower;
  confines_.upper = upper.empty() ? std::string_view(whole.upper) : upper;
}

// A read of what is newest has no place in its statement's order: it sees whatever there is.
void IndexIterator::note_new_key(std::string_view key) {
  if (!is_consistent_ && !locks_) return;
  if (new_own_keys_ == NewOwnKeys::kMet) return;
  const bool is_in_range = range_.lower <= key && key < range_.upper;
  if (new_own_keys_ == NewOwnKeys::kPassedInRange && !is_in_range) return;
  boundary_.note_new_key(key, table_.index(index_number_).id);
}

// The iterator points into what goes.
void IndexIterator::leave_own_changes() {
  if (!iterator_ || !shows_own_changes_) return;
  resumption_.emplace(iterator_->is_valid() ? iterator_->key() : std::string_view());
  iterator_.reset();
}

void IndexIterator::start(KeyRange range, Direction direction) {
  if (is_confined_) {
    if (range.lower < confines_.lower) range.lower = confines_.lower;
    if (range.upper > confines_.upper) range.upper = confines_.upper;
  }
  // RocksDB leaves iterators with crossed bounds undefined.
  if (range.upper < range.lower) range.upper = range.lower;
  range_ = std::move(range);
  direction_ = direction;
  resumption_.reset();
  boundary_.set_at_end(false);
  transaction_->scans().add(*this);
  make_iterator(range_);
  go_to_near_end(range_);
}

void IndexIterator::reopen_beyond(std::string_view edge) {
  KeyRange rest = range_;
  (direction_ == Direction::kForward ? rest.lower : rest.upper) = edge;
  make_iterator(rest);
  go_to_near_end(rest);
}

void IndexIterator::step_anew() {
  BASALT_DEBUG_ASSERT(is_valid());
  std::string edge(iterator_->key());
  if (direction_ == Direction::kForward) edge.push_back('\0');
  reopen_beyond(edge);
}

// Of the range that the iterator was made for.
void IndexIterator::go_to_near_end(const KeyRange& range) {
  if (direction_ == Direction::kBackward) {
    iterator_->seek_to_last();
  } else if (!table_.has_expiry() && transaction_->empty_ranges().may_know(range.lower)) {
    // Where a compaction takes what is expired a row can be gone that a prepared transaction has
    // changed, and will put again, unannounced.
    go_to_first_entry(range);
  } else {
    iterator_->seek_to_first();
  }
}

// Past what is left of entries that were removed at the beginning. Own entries are none there:
// inserts tell of themselves before they are in the batch.
void IndexIterator::go_to_first_entry(const KeyRange& range) {
  using Clock = txn::EmptyRanges::Clock;
  txn::EmptyRanges& empty_ranges = transaction_->empty_ranges();
  const Clock::time_point begin = Clock::now();
  if (empty_ranges.find_end(range.lower, sequence_, empty_until_)) {
    iterator_->seek(std::min(empty_until_, range.upper));
  } else {
    iterator_->seek_to_first();
  }
  if (txn::EmptyRanges::is_slow(Clock::now() - begin)) empty_ranges.learn(family(), range);
}

void IndexIterator::make_iterator(const KeyRange& range) {
  kv::ReadView seen = view();
  if (direction_ == Direction::kForward) seen.expected_bytes = expected_bytes_;
  if (!iterator_) iterator_.swap(spare_);
  if (iterator_ && may_reuse(seen, range)) {
    iterator_->set_range(range);
    return;
  }
  sequence_ =
      seen.snapshot != nullptr ? seen.snapshot->sequence() : transaction_->newest_sequence();
  shown_.reset();
  shows_own_changes_ = false;
  if (reads_unique_behind_own_changes() &&
      transaction_->may_have_changed(range.lower, range.upper)) {
    const codec::SecondaryCodec& codec = table_.secondary(index_number_);
    const auto same_row = [&codec](std::string_view key, std::string_view left,
                                   std::string_view right) {
      std::string left_row;
      std::string right_row;
      return codec.primary_key_of(key, left, left_row).is_ok() &&
             codec.primary_key_of(key, right, right_row).is_ok() && left_row == right_row;
    };
    iterator_.emplace(transaction_->new_union_iterator(family(), seen, range, same_row));
    return;
  }
  iterator_.emplace(transaction_->new_iterator(family(), seen, range));
  shows_own_changes_ = transaction_->may_have_changed(range.lower, range.upper);
  if (seen.snapshot == nullptr || shows_own_changes_) return;
  shown_ = Shown{seen.snapshot->sequence(), family()};
}

// Whether the iterator shows just what one made now would.
bool IndexIterator::may_reuse(const kv::ReadView& seen, const KeyRange& range) const {
  return shown_ && seen.snapshot != nullptr && seen.snapshot->sequence() == shown_->snapshot &&
         shown_->family == family() && !transaction_->may_have_changed(range.lower, range.upper);
}

bool IndexIterator::reads_unique_behind_own_changes() const {
  return index_number_ != 0 && reads_behind_own_changes() &&
         table_.secondary(index_number_).is_unique();
}

std::optional<std::string_view> IndexIterator::entry_key() const {
  if (iterator_) return iterator_->is_valid() ? std::optional(iterator_->key()) : std::nullopt;
  if (!resumption_ || resumption_->empty()) return std::nullopt;
  return *resumption_;
}

}  // namespace basalt::table
