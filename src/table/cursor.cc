#include "table/cursor.h"

#include <utility>

#include "base/assert.h"
#include "codec/search_bounds.h"

namespace basalt::table {
namespace {

constexpr std::uint32_t kMovesBetweenChecks = 128;

}  // namespace

Cursor::Cursor(const Table& table)
    : table_(table),
      iterator_(table),
      fetcher_(table),
      condition_(table),
      nonlocking_(table, iterator_, fetcher_, condition_),
      locking_(table, iterator_, fetcher_, condition_) {}

// ---- life cycle

void Cursor::open(txn::Transaction& transaction, std::size_t index_number,
                  const ReadSettings& settings, const codec::ColumnSet& wanted, bool may_skip_row) {
  close();
  forget_row();
  iterator_.open(transaction, index_number, settings);
  if (const auto* const locking = std::get_if<LockingRead>(&settings)) locking_.open(*locking);
  may_skip_row_ = may_skip_row;
  defers_rows_ = false;
  set_wanted(wanted);
}

void Cursor::set_wanted(const codec::ColumnSet& wanted) {
  const RowAccess access = iterator_.locks() ? RowAccess::kAlways
                           : may_skip_row_   ? RowAccess::kEntryOnly
                                             : RowAccess::kIfNeeded;
  fetcher_.plan(iterator_.index_number(), access, wanted);
  may_defer_rows_ = !iterator_.locks() && nonlocking_.may_defer_rows();
}

void Cursor::set_semi_consistent(bool on) {
  if (locking_.on_locked() == OnLockedRow::kSkip) return;
  locking_.set_on_locked(on ? OnLockedRow::kPeek : OnLockedRow::kWait);
}

void Cursor::park() {
  if (readahead_.is_on_row()) {
    set_point(readahead_.entry_key());
  } else if (const auto key = iterator_.entry_key()) {
    primary_key();
    set_point(*key);
  } else if (iterator_.has_iterator() || iterator_.must_resume()) {
    set_point(iterator_.far_end());
    point_ = Point::kBeforeEntry;
  }
  forget_position();
  iterator_.end_scan();
  iterator_.drop();
}

void Cursor::close() {
  iterator_.close();
  condition_.clear();
}

void Cursor::release() {
  close();
  iterator_.drop();
  forget_row();
}

void Cursor::forget_row() {
  forget_position();
  fetcher_.release();
  locking_.keep_row_lock();
}

// What was read ahead, or is to be done before the iterator moves on, is of no use any more.
void Cursor::forget_position() {
  readahead_.drop();
  next_move_ = NextMove::kStep;
}

std::string_view Cursor::point() const {
  return point_ == Point::kAtRow ? std::string_view(fetcher_.primary_key()) : point_entry_;
}

void Cursor::set_point(std::string_view entry_key) {
  point_ = Point::kAtEntry;
  point_entry_ = entry_key;
}

Status Cursor::check_interruption() {
  if (++moves_ % kMovesBetweenChecks != 0 || interruption_ == nullptr) return Status::ok();
  return interruption_->is_raised() ? Status::of(ErrorCode::kInterrupted) : Status::ok();
}

// ---- positioning

// Begins at the near end of `range`, cut to what moves are confined to.
void Cursor::start(KeyRange range, Direction direction) {
  fetcher_.forget_primary_key();
  readahead_.restart();
  next_move_ = NextMove::kStep;
  iterator_.start(std::move(range), direction);
  if (iterator_.locks()) locking_.begin_range();
}

// At an end of the iterator's range, goes on beyond it, or turns there; false where moves are
// confined.
bool Cursor::widen(Direction direction) {
  // Whatever way the scan goes on, it has come to the far end.
  const std::string& end = iterator_.far_end();
  const KeyRange& confines = iterator_.confines();
  if (direction == Direction::kForward) {
    if (end >= confines.upper) return false;
    start({end, confines.upper}, direction);
  } else {
    if (end <= confines.lower) return false;
    start({confines.lower, end}, direction);
  }
  return true;
}

// Begins behind all entries that begin with `key`, or before them, within `limits`.
void Cursor::go_on_beyond(std::string_view key, Direction direction, const KeyRange& limits) {
  std::string bound(key);
  if (direction == Direction::kForward) {
    codec::make_successor(bound);
    start({std::move(bound), limits.upper}, direction);
  } else {
    start({limits.lower, std::move(bound)}, direction);
  }
}

void Cursor::go_on_beyond(std::string_view key, Direction direction) {
  go_on_beyond(key, direction, iterator_.confines());
}

// Begins with the first entry at `key` or behind it, going backward at it or before it.
void Cursor::go_on_from(std::string_view key, Direction direction, const KeyRange& limits) {
  std::string bound(key);
  if (direction == Direction::kForward) {
    start({std::move(bound), limits.upper}, direction);
  } else {
    bound.push_back('\0');
    start({limits.lower, std::move(bound)}, direction);
  }
}

// Begins between two entries, from where only a move that may leave the range comes to one.
void Cursor::go_on_between(std::string_view key, Direction direction) {
  std::string bound(key);
  start({bound, bound}, direction);
}

// Where a move may look at all. A scan that stays in its prefix locks nothing behind it.
KeyRange Cursor::limits_of(Beyond beyond) const {
  KeyRange limits = iterator_.confines();
  if (beyond != Beyond::kStayInPrefix) return limits;
  std::string successor(prefix_);
  if (codec::make_successor(successor) && successor < limits.upper) {
    limits.upper = std::move(successor);
  }
  return limits;
}

// Goes on where the scan had to give up its iterator.
void Cursor::resume(Direction direction, Beyond beyond) {
  const std::string key = iterator_.resumption();
  if (key.empty()) {
    go_on_between(iterator_.far_end(), direction);
  } else if (next_move_ == NextMove::kQualifyEntry ||
             (next_move_ == NextMove::kRepeatRow && direction == iterator_.direction())) {
    go_on_from(key, direction, limits_of(beyond));
  } else {
    go_on_beyond(key, direction, limits_of(beyond));
  }
}

// Moves from the entry that the iterator is on to the next one.
void Cursor::step(Direction direction) {
  next_move_ = NextMove::kStep;
  if (!iterator_.can_step(direction)) {
    go_on_beyond(iterator_.key(), direction);
  } else if (iterator_.locks()) {
    locking_.step();
  } else {
    iterator_.step(direction);
  }
}

Status Cursor::seek(SeekMode mode, std::string_view prefix, std::uint8_t* record, bool& found) {
  prefix_ = prefix;
  std::string successor(prefix);
  const bool has_successor = codec::make_successor(successor);
  BASALT_ASSERT(has_successor);  // index ids never reach 0xFFFFFFFF
  const KeyRange& whole = table_.whole_range(iterator_.index_number());
  Direction direction = Direction::kForward;
  KeyRange range;
  switch (mode) {
    case SeekMode::kFirstWithPrefix: range = {prefix_, std::move(successor)}; break;
    case SeekMode::kFirstAtOrAfter: range = {prefix_, whole.upper}; break;
    case SeekMode::kFirstAfter: range = {std::move(successor), whole.upper}; break;
    case SeekMode::kLastWithPrefix:
      direction = Direction::kBackward;
      range = {prefix_, std::move(successor)};
      break;
    case SeekMode::kLastAtOrBefore:
      direction = Direction::kBackward;
      range = {whole.lower, std::move(successor)};
      break;
    case SeekMode::kLastBefore:
      direction = Direction::kBackward;
      range = {whole.lower, prefix_};
      break;
  }
  start(std::move(range), direction);
  return qualify(direction, Beyond::kStay, Peeking::kAllowed, record, found);
}

Status Cursor::seek_first(std::uint8_t* record, bool& found) {
  prefix_.clear();
  start(iterator_.confines(), Direction::kForward);
  return qualify(Direction::kForward, Beyond::kStay, Peeking::kAllowed, record, found);
}

Status Cursor::seek_last(std::uint8_t* record, bool& found) {
  prefix_.clear();
  start(iterator_.confines(), Direction::kBackward);
  return qualify(Direction::kBackward, Beyond::kStay, Peeking::kAllowed, record, found);
}

Status Cursor::next(std::uint8_t* record, bool& found) {
  if (!is_plain_scan()) return move(Direction::kForward, Beyond::kWiden, record, found);
  iterator_.step_forward();
  if (!iterator_.is_valid()) {
    return qualify(Direction::kForward, Beyond::kWiden, Peeking::kAllowed, record, found);
  }
  found = false;
  BASALT_TRY(check_interruption());
  fetcher_.forget_primary_key();
  BASALT_TRY(fetcher_.read_here(iterator_, record));
  found = true;
  return Status::ok();
}

// Whether the next row is simply the next entry, as in most scans: of the rows themselves, forward,
// without locks.
bool Cursor::is_plain_scan() const {
  return iterator_.index_number() == 0 && !iterator_.locks() && iterator_.is_valid() &&
         iterator_.direction() == Direction::kForward && iterator_.hides_nothing();
}

Status Cursor::previous(std::uint8_t* record, bool& found) {
  return move(Direction::kBackward, Beyond::kWiden, record, found);
}

Status Cursor::next_with_prefix(std::uint8_t* record, bool& found) {
  return move(Direction::kForward, Beyond::kStayInPrefix, record, found);
}

Status Cursor::move(Direction direction, Beyond beyond, std::uint8_t* record, bool& found) {
  found = false;
  if (next_move_ == NextMove::kStep && readahead_.is_idle() && iterator_.is_valid()) [[likely]] {
    step(direction);
    return qualify(direction, beyond, Peeking::kAllowed, record, found);
  }
  const bool turns = direction != iterator_.direction();
  const bool repeats_row = next_move_ == NextMove::kRepeatRow && !turns;
  if (readahead_.is_on_row() && turns) {
    go_on_beyond(readahead_.entry_key(), direction);
  } else if (readahead_.has_next()) {
    if (beyond == Beyond::kStayInPrefix && !readahead_.next_entry_key().starts_with(prefix_)) {
      return Status::ok();
    }
    return next_of(readahead_.take_from_batch(), record, found);
  } else if (iterator_.must_resume()) {
    resume(direction, beyond);
  } else if (next_move_ == NextMove::kQualifyEntry || (repeats_row && iterator_.has_iterator())) {
    next_move_ = NextMove::kStep;
  } else if (!iterator_.has_iterator()) {
    // Parked, or after a point read.
    if (point_ == Point::kNowhere || beyond == Beyond::kStayInPrefix) return Status::ok();
    if (point_ == Point::kBeforeEntry) {
      go_on_between(point(), direction);
    } else {
      go_on_beyond(point(), direction);
    }
  } else if (iterator_.is_valid()) {
    step(direction);  // the row was peeked at, and the scan turns
  }
  return qualify(direction, beyond, repeats_row ? Peeking::kForbidden : Peeking::kAllowed, record,
                 found);
}

// ---- from an entry to a row

bool Cursor::is_on_entry(Beyond beyond) const {
  return iterator_.is_valid() &&
         (beyond != Beyond::kStayInPrefix || iterator_.key().starts_with(prefix_));
}

// Goes on in `direction` until an entry's row is accepted or there are no more entries: in the
// iterator's range, or with kWiden wherever moves are not confined. `peeking` is about the entry
// that the iterator is on.
Status Cursor::qualify(Direction direction, Beyond beyond, Peeking peeking, std::uint8_t* record,
                       bool& found) {
  found = false;
  while (true) {
    if (iterator_.locks()) BASALT_TRY(locking_.lock_gap());
    while (is_on_entry(beyond)) {
      BASALT_TRY(check_interruption());
      Qualified qualified = Qualified::kPass;
      BASALT_TRY(qualify_entry(peeking, record, qualified));
      if (qualified == Qualified::kFound && !defers_rows_ && reads_ahead()) {
        return read_ahead(direction, beyond, record, found);
      }
      found = qualified == Qualified::kFound || qualified == Qualified::kPeeked;
      if (found) readahead_.note_row();
      if (qualified == Qualified::kPeeked) next_move_ = NextMove::kRepeatRow;
      if (qualified != Qualified::kPass) return Status::ok();
      peeking = Peeking::kAllowed;
      step(direction);
      if (iterator_.locks()) BASALT_TRY(locking_.lock_gap());
    }
    BASALT_TRY(iterator_.status());
    if (iterator_.is_valid()) return Status::ok();
    if (beyond != Beyond::kWiden || !widen(direction)) {
      iterator_.note_end();
      // Who turns here begins with the last row, wherever that was read.
      if (beyond == Beyond::kWiden) readahead_.leave_row();
      return Status::ok();
    }
  }
}

Status Cursor::qualify_entry(Peeking peeking, std::uint8_t* record, Qualified& qualified) {
  fetcher_.forget_primary_key();
  readahead_.leave_row();
  if (iterator_.locks()) locking_.keep_row_lock();
  if (iterator_.is_hidden()) {
    qualified = Qualified::kPass;
    return Status::ok();
  }
  // The filter asks for the key at once, others perhaps when the value has gone.
  if (iterator_.index_number() != 0 && iterator_.own_values_move()) {
    BASALT_TRY(fetcher_.set_primary_key_of(iterator_.key(), iterator_.value()));
  }
  if (iterator_.locks()) return locking_.qualify(peeking, record, qualified);
  return nonlocking_.qualify(defers_rows_ || reads_ahead(), record, qualified);
}

// Accepts entries from the current one on, which is qualified, then reads their rows.
Status Cursor::read_ahead(Direction direction, Beyond beyond, std::uint8_t* record, bool& found) {
  readahead_.begin();
  Qualified qualified = Qualified::kFound;
  while (true) {
    if (qualified == Qualified::kFound) {
      readahead_.add(fetcher_.primary_key(), iterator_.key());
      if (readahead_.is_full()) break;
    }
    step(direction);
    next_move_ = NextMove::kQualifyEntry;
    if (!is_on_entry(beyond)) break;
    BASALT_TRY(check_interruption());
    BASALT_TRY(qualify_entry(Peeking::kAllowed, record, qualified));
    // Asked again when its turn comes, the filter ends the range again.
    if (qualified == Qualified::kEnd) break;
    next_move_ = NextMove::kStep;
  }
  return next_of(readahead_.take_from_batch(), record, found);
}

void Cursor::add_to(RowBatch& batch, void* range) {
  batch.add(primary_key(), iterator_.is_valid() ? iterator_.key() : point(), range);
}

Status Cursor::next_of(RowBatch& batch, std::uint8_t* record, bool& found) {
  BASALT_DEBUG_ASSERT(!iterator_.locks() || batch.is_empty());
  return fetcher_.read_next_of(batch, iterator_.transaction(), iterator_.view(), record, found);
}

// ---- single rows

// The row with the fetcher's primary key.
Status Cursor::read_row(std::uint8_t* record, bool& found) {
  locking_.keep_row_lock();
  return iterator_.locks() ? locking_.read_row(record, found) : nonlocking_.read_row(record, found);
}

Status Cursor::find_row(std::string_view primary_key, std::uint8_t* record, bool& found) {
  fetcher_.set_primary_key(primary_key);
  return read_row(record, found);
}

Status Cursor::find_unique(std::string_view key, std::uint8_t* record, bool& found) {
  iterator_.lay_aside();
  forget_position();
  if (iterator_.reads_unique_behind_own_changes()) {
    const std::string prefix(key);
    return seek(SeekMode::kFirstWithPrefix, prefix, record, found);
  }
  if (iterator_.index_number() == 0) {
    point_ = Point::kAtRow;
    return find_row(key, record, found);
  }
  set_point(key);
  fetcher_.forget_primary_key();
  locking_.keep_row_lock();
  return iterator_.locks() ? locking_.find_unique(key, record, found)
                           : nonlocking_.find_unique(key, defers_rows_, record, found);
}

const std::string& Cursor::primary_key() {
  if (fetcher_.knows_primary_key()) return fetcher_.primary_key();
  if (const auto key = iterator_.entry_key()) {
    if (iterator_.index_number() == 0) {
      fetcher_.set_primary_key(*key);
    } else if (iterator_.has_iterator() && !iterator_.own_values_move()) {
      fetcher_.set_primary_key_of(*key, iterator_.value())
          .ignore("the entry was decoded when the cursor came here");
    }  // else the cursor is on no row: of own entries the key is known since it came
  } else if (point_ == Point::kAtEntry && iterator_.index_number() != 0) {
    // A point lookup in a unique index that did not visit the row.
    fetcher_.set_primary_key_of(point_entry_, fetcher_.entry_value())
        .ignore("the entry was decoded by the lookup");
  }
  return fetcher_.primary_key();
}

}  // namespace basalt::table
