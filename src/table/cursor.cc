#include "table/cursor.h"

#include <algorithm>

#include "base/bytes.h"
#include "codec/search_bounds.h"

namespace basalt::table {
namespace {

constexpr std::uint32_t kMovesBetweenChecks = 128;
// Fewer rows than this are read one by one: together they would not be cheaper.
constexpr std::size_t kRowsTogetherMin = 4;

bool has_blob_columns(const codec::TableLayout& layout) {
  return std::any_of(layout.columns.begin(), layout.columns.end(),
                     [](const auto& column) { return column.kind == codec::ColumnKind::kBlob; });
}

codec::ColumnSet columns_not_stored(const codec::TableLayout& layout) {
  codec::ColumnSet columns(layout.columns.size());
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (!layout.columns[i].stored) columns.set(i);
  }
  return columns;
}

}  // namespace

Cursor::Cursor(const Table& table)
    : table_(table),
      has_blobs_(has_blob_columns(table.layout())),
      not_stored_(columns_not_stored(table.layout())) {}

Cursor::~Cursor() { end_scan(); }

void Cursor::open(txn::Transaction& transaction, std::size_t index_number,
                  const ReadSettings& settings, const codec::ColumnSet& wanted, bool may_skip_row) {
  close();
  lay_iterator_aside();
  forget_row();
  transaction_ = &transaction;
  index_number_ = index_number;
  settings_ = settings;
  may_skip_row_ = may_skip_row;
  defers_rows_ = false;
  set_wanted(wanted);
  lift_confinement();
}

void Cursor::set_wanted(const codec::ColumnSet& wanted) {
  // Statement by statement a connection mostly reads the same.
  const bool locks = settings_.lock.has_value();
  if (has_plans_ && planned_.index_number == index_number_ && planned_.locks == locks &&
      planned_.may_skip_row == may_skip_row_ && planned_.wanted == wanted) {
    return;
  }
  planned_.index_number = index_number_;
  planned_.locks = locks;
  planned_.may_skip_row = may_skip_row_;
  planned_.wanted = wanted;
  has_plans_ = true;
  row_plan_ = table_.primary().plan(wanted);
  visits_row_ = true;
  if (index_number_ == 0) return;
  const codec::SecondaryCodec& codec = table_.secondary(index_number_);
  visits_row_ = settings_.lock.has_value() || !(may_skip_row_ || codec.gives_all(wanted));
  if (!visits_row_) {
    entry_plan_ = codec.plan(wanted);
    return;
  }
  codec::ColumnSet from_entry = not_stored_;
  from_entry.keep(wanted);
  entry_plan_ = codec.plan(from_entry);
}

void Cursor::park() {
  if (is_in_batch_) {
    prefix_ = ahead_.entry_key();
  } else if (iterator_ && iterator_->is_valid()) {
    prefix_ = iterator_->key();
    primary_key();
  } else if (resumption_) {
    prefix_ = resumption_->key;
  } else {
    end_scan();
    return;
  }
  stop_reading_ahead();
  end_scan();
  iterator_.reset();
  spare_iterator_.reset();
}

// From here on the transaction's writes do not matter to the scan, and it may go before the cursor.
void Cursor::end_scan() {
  if (is_listed()) transaction_->remove_scan(*this);
  new_keys_.clear();
  resumption_.reset();
}

// Nothing is ahead of a scan that has come to its end.
void Cursor::note_new_key(std::string_view key) {
  const bool is_at_end = iterator_ && !iterator_->is_valid() && !ahead_.has_next();
  if (is_at_end || settings_.reads_newest) return;
  if (load_be32(key.data()) == table_.index(index_number_).id) new_keys_.emplace(key);
}

// The iterator points into what goes.
void Cursor::leave_own_changes() {
  if (!iterator_ || !iterator_is_in_batch_) return;
  resumption_.emplace();
  resumption_->is_at_end = !iterator_->is_valid();
  if (iterator_->is_valid()) {
    primary_key();
    resumption_->key = iterator_->key();
  }
  iterator_.reset();
}

void Cursor::close() {
  end_scan();
  transaction_ = nullptr;
  filter_ = nullptr;
  is_semi_consistent_ = false;
}

void Cursor::release() {
  close();
  iterator_.reset();
  spare_iterator_.reset();
  forget_row();
}

void Cursor::forget_row() {
  stop_reading_ahead();
  row_.reset();
  entry_value_.reset();
  primary_key_known_ = false;
  took_lock_ = false;
  repeats_row_ = false;
  must_wait_ = false;
}

void Cursor::set_filter(EntryFilter* filter, const codec::ColumnSet& columns) {
  BASALT_ASSERT(index_number_ != 0);
  filter_ = filter;
  if (filter != nullptr) filter_plan_ = table_.secondary(index_number_).plan(columns);
}

void Cursor::confine(std::string_view lower, std::string_view upper, std::uint64_t expected_bytes) {
  lift_confinement();
  expected_bytes_ = expected_bytes;
  if (!lower.empty()) hard_range_.lower = lower;
  if (!upper.empty()) hard_range_.upper = upper;
}

kv::ReadView Cursor::view() {
  if (!settings_.is_consistent()) return {};
  return transaction_->consistent_view(settings_.needs_snapshot);
}

Status Cursor::check_interruption() {
  if (++moves_ % kMovesBetweenChecks != 0 || interruption_ == nullptr) return Status::ok();
  return interruption_->is_raised() ? Status::of(ErrorCode::kInterrupted) : Status::ok();
}

// ---- positioning

// Begins at the near end of `range`, cut to the hard range.
void Cursor::start(KeyRange range, Direction direction) {
  if (range.lower < hard_range_.lower) range.lower = hard_range_.lower;
  if (range.upper > hard_range_.upper) range.upper = hard_range_.upper;
  range_ = std::move(range);
  direction_ = direction;
  primary_key_known_ = false;
  resumption_.reset();
  transaction_->add_scan(*this);
  stop_reading_ahead();
  rows_together_ = 1;
  // RocksDB leaves iterators with crossed bounds undefined.
  if (range_.upper < range_.lower) range_.upper = range_.lower;
  if (settings_.lock) {
    gap_edge_ = direction == Direction::kForward ? range_.lower : range_.upper;
    gap_end_.clear();
    repeats_row_ = false;
  }
  open_iterator();
  if (direction == Direction::kForward) {
    iterator_->seek_to_first();
  } else {
    iterator_->seek_to_last();
  }
}

// Makes the iterator one of range_: a new one costs as much as the search for a row or more.
void Cursor::open_iterator() {
  const kv::FamilyId family = table_.family(index_number_);
  kv::ReadView seen = view();
  if (direction_ == Direction::kForward) seen.expected_bytes = expected_bytes_;
  if (!iterator_) iterator_.swap(spare_iterator_);
  if (iterator_ && may_reuse_iterator(seen)) {
    iterator_->set_range(range_);
    return;
  }
  if (settings_.lock) iterator_sequence_ = transaction_->newest_sequence();
  iterator_snapshot_.reset();
  iterator_is_in_batch_ = false;
  if (reads_unique_behind_own_changes()) {
    const codec::SecondaryCodec& codec = table_.secondary(index_number_);
    const auto same_row = [&codec](std::string_view key, std::string_view left,
                                   std::string_view right) {
      std::string left_row;
      std::string right_row;
      return codec.primary_key_of(key, left, left_row).is_ok() &&
             codec.primary_key_of(key, right, right_row).is_ok() && left_row == right_row;
    };
    iterator_.emplace(transaction_->new_union_iterator(family, seen, range_, same_row));
    return;
  }
  iterator_.emplace(transaction_->new_iterator(family, seen, range_));
  iterator_is_in_batch_ = transaction_->may_have_changed(range_.lower, range_.upper);
  if (seen.snapshot == nullptr || iterator_is_in_batch_) return;
  iterator_snapshot_ = seen.snapshot->sequence();
  iterator_family_ = family;
}

// Whether the iterator shows just what one made now would.
bool Cursor::may_reuse_iterator(const kv::ReadView& seen) const {
  return iterator_snapshot_ && seen.snapshot != nullptr &&
         seen.snapshot->sequence() == *iterator_snapshot_ &&
         iterator_family_ == table_.family(index_number_) &&
         !transaction_->may_have_changed(range_.lower, range_.upper);
}

// Leaves the cursor without an iterator but keeps it for a later seek.
void Cursor::lay_iterator_aside() {
  if (!iterator_) return;
  spare_iterator_.reset();
  if (iterator_snapshot_) spare_iterator_.swap(iterator_);
  iterator_.reset();
}

// Whether a value of the open unique index may belong to one row in our snapshot and to another
// among our own changes.
bool Cursor::reads_unique_behind_own_changes() const {
  return index_number_ != 0 && settings_.is_consistent() &&
         transaction_->may_read_behind_own_changes() && table_.secondary(index_number_).is_unique();
}

// At an end of the iterator's range, goes on beyond it; false at the hard range's end.
bool Cursor::widen(Direction direction) {
  if (direction == Direction::kForward) {
    if (range_.upper >= hard_range_.upper) return false;
    start({range_.upper, hard_range_.upper}, direction);
  } else {
    if (range_.lower <= hard_range_.lower) return false;
    start({hard_range_.lower, range_.lower}, direction);
  }
  return true;
}

Status Cursor::seek(SeekMode mode, std::string_view prefix, std::uint8_t* record, bool& found) {
  prefix_ = prefix;
  std::string successor(prefix);
  const bool has_successor = codec::make_successor(successor);
  BASALT_ASSERT(has_successor);  // index ids never reach 0xFFFFFFFF
  const KeyRange whole = table_.whole_range(index_number_);
  switch (mode) {
    case SeekMode::kFirstWithPrefix:
      start({prefix_, successor}, Direction::kForward);
      return qualify(Direction::kForward, Beyond::kStay, record, found);
    case SeekMode::kFirstAtOrAfter:
      start({prefix_, whole.upper}, Direction::kForward);
      return qualify(Direction::kForward, Beyond::kStay, record, found);
    case SeekMode::kFirstAfter:
      start({successor, whole.upper}, Direction::kForward);
      return qualify(Direction::kForward, Beyond::kStay, record, found);
    case SeekMode::kLastWithPrefix:
      start({prefix_, successor}, Direction::kBackward);
      return qualify(Direction::kBackward, Beyond::kStay, record, found);
    case SeekMode::kLastAtOrBefore:
      start({whole.lower, successor}, Direction::kBackward);
      return qualify(Direction::kBackward, Beyond::kStay, record, found);
    case SeekMode::kLastBefore:
      start({whole.lower, prefix_}, Direction::kBackward);
      return qualify(Direction::kBackward, Beyond::kStay, record, found);
  }
  BASALT_UNREACHABLE();
}

Status Cursor::seek_first(std::uint8_t* record, bool& found) {
  prefix_.clear();
  start(table_.whole_range(index_number_), Direction::kForward);
  return qualify(Direction::kForward, Beyond::kStay, record, found);
}

Status Cursor::seek_last(std::uint8_t* record, bool& found) {
  prefix_.clear();
  start(table_.whole_range(index_number_), Direction::kBackward);
  return qualify(Direction::kBackward, Beyond::kStay, record, found);
}

Status Cursor::next(std::uint8_t* record, bool& found) {
  if (!goes_on_plainly()) return move(Direction::kForward, Beyond::kWiden, record, found);
  iterator_->next();
  if (!iterator_->is_valid()) {
    return qualify(Direction::kForward, Beyond::kWiden, record, found);
  }
  found = false;
  BASALT_TRY(check_interruption());
  primary_key_known_ = false;
  BASALT_TRY(read_here(record));
  found = true;
  return Status::ok();
}

// Whether the next row is simply the next entry, as in most scans: of the rows themselves, forward,
// without locks.
bool Cursor::goes_on_plainly() const {
  return index_number_ == 0 && !settings_.lock && direction_ == Direction::kForward && iterator_ &&
         iterator_->is_valid() && new_keys_.empty();
}

Status Cursor::previous(std::uint8_t* record, bool& found) {
  return move(Direction::kBackward, Beyond::kWiden, record, found);
}

Status Cursor::next_with_prefix(std::uint8_t* record, bool& found) {
  return move(Direction::kForward, Beyond::kStayInPrefix, record, found);
}

Status Cursor::move(Direction direction, Beyond beyond, std::uint8_t* record, bool& found) {
  found = false;
  if (is_in_batch_ && direction != direction_) {
    go_on_beyond(ahead_.entry_key(), direction);
  } else if (ahead_.has_next()) {
    if (beyond == Beyond::kStayInPrefix && !ahead_.next_entry_key().starts_with(prefix_)) {
      return Status::ok();
    }
    return next_ahead(record, found);
  } else if (resumption_) {
    resume(direction);
  } else if (has_pending_entry_) {
    has_pending_entry_ = false;
  } else if (!iterator_) {
    // Parked, or after a point read.
    if (prefix_.empty() || beyond == Beyond::kStayInPrefix) return Status::ok();
    go_on_beyond(prefix_, direction);
  } else if (repeats_row_ && direction == direction_) {
    repeats_row_ = false;
    must_wait_ = true;
  } else if (iterator_->is_valid()) {
    step(direction);
  }
  return qualify(direction, beyond, record, found);
}

// Begins behind all entries that begin with `key`, or before them.
void Cursor::go_on_beyond(std::string_view key, Direction direction) {
  std::string bound(key);
  if (direction == Direction::kForward) {
    codec::make_successor(bound);
    start({std::move(bound), hard_range_.upper}, direction);
  } else {
    start({hard_range_.lower, std::move(bound)}, direction);
  }
}

// Begins with the first entry at `key` or behind it, going backward at it or before it.
void Cursor::go_on_from(std::string_view key, Direction direction) {
  std::string bound(key);
  if (direction == Direction::kForward) {
    start({std::move(bound), hard_range_.upper}, direction);
  } else {
    bound.push_back('\0');
    start({hard_range_.lower, std::move(bound)}, direction);
  }
}

// Goes on where the scan had to give up its iterator.
void Cursor::resume(Direction direction) {
  const Resumption from = std::move(*resumption_);
  const bool repeats_row = repeats_row_ && direction == direction_;
  if (from.is_at_end) {
    const std::string end = direction == Direction::kForward ? range_.upper : range_.lower;
    start({end, end}, direction);
  } else if (has_pending_entry_ || repeats_row) {
    go_on_from(from.key, direction);
  } else {
    go_on_beyond(from.key, direction);
  }
  must_wait_ = repeats_row;
}

// Moves the valid iterator by one. An iterator over own changes that turns around must be made
// anew: RocksDB's loses its place if the transaction wrote ahead of it. So must one that locks:
// what it has dealt with lies behind it.
void Cursor::step(Direction direction) {
  repeats_row_ = false;
  if (direction != direction_ && (transaction_->has_writes() || settings_.lock)) {
    go_on_beyond(iterator_->key(), direction);
    return;
  }
  direction_ = direction;
  if (direction == Direction::kForward) {
    iterator_->next();
  } else {
    iterator_->previous();
  }
}

// ---- from an entry to a row

bool Cursor::is_on_entry(Beyond beyond) const {
  return iterator_->is_valid() &&
         (beyond != Beyond::kStayInPrefix || iterator_->key().starts_with(prefix_));
}

// Goes on in `direction` until an entry's row is accepted or there are no more entries: in the
// iterator's range, or with kWiden in the hard range.
Status Cursor::qualify(Direction direction, Beyond beyond, std::uint8_t* record, bool& found) {
  found = false;
  while (true) {
    if (settings_.lock) BASALT_TRY(lock_gap(direction));
    while (is_on_entry(beyond)) {
      BASALT_TRY(check_interruption());
      Qualified qualified = Qualified::kPass;
      BASALT_TRY(qualify_here(record, qualified));
      if (qualified == Qualified::kFound) {
        if (!defers_rows_ && reads_rows_together()) {
          return read_ahead(direction, beyond, record, found);
        }
        rows_together_ = kRowsTogetherMin;
        found = true;
      }
      if (qualified != Qualified::kPass) return Status::ok();
      step(direction);
      if (settings_.lock) BASALT_TRY(lock_gap(direction));
    }
    BASALT_TRY(iterator_->status());
    if (iterator_->is_valid() || beyond != Beyond::kWiden || !widen(direction)) {
      return Status::ok();
    }
  }
}

// ---- reading ahead

// Whether the rows of entries that a consistent read accepts are read several at a time. Not
// before the second row: a search that wants one row is not to pay for others.
bool Cursor::reads_rows_together() const {
  return rows_together_ >= kRowsTogetherMin && may_defer_rows();
}

// Accepts entries from the current one on, which is qualified, then reads their rows.
Status Cursor::read_ahead(Direction direction, Beyond beyond, std::uint8_t* record, bool& found) {
  const std::size_t most = rows_together_;
  rows_together_ = std::min(2 * most, RowBatch::kRowsMax);
  ahead_.clear();
  Qualified qualified = Qualified::kFound;
  while (true) {
    if (qualified == Qualified::kFound) {
      ahead_.add(current_primary_key_, iterator_->key(), nullptr);
      if (ahead_.size() == most) break;
    }
    step(direction);
    has_pending_entry_ = true;
    if (!is_on_entry(beyond)) break;
    BASALT_TRY(check_interruption());
    BASALT_TRY(qualify_here(record, qualified));
    // Asked again when its turn comes, the filter ends the range again.
    if (qualified == Qualified::kEnd) break;
    has_pending_entry_ = false;
  }
  return next_ahead(record, found);
}

Status Cursor::next_ahead(std::uint8_t* record, bool& found) {
  is_in_batch_ = true;
  return next_of(ahead_, record, found);
}

void Cursor::stop_reading_ahead() {
  ahead_.clear();
  is_in_batch_ = false;
  has_pending_entry_ = false;
}

void Cursor::add_to(RowBatch& batch, void* range) {
  const bool is_on_entry = iterator_ && iterator_->is_valid();
  batch.add(primary_key(), is_on_entry ? iterator_->key() : std::string_view(prefix_), range);
}

Status Cursor::next_of(RowBatch& batch, std::uint8_t* record, bool& found) {
  found = false;
  while (batch.has_next()) {
    std::string_view row;
    BASALT_TRY(batch.next(*transaction_, table_.family(0), view(), found, row));
    if (found) {
      current_primary_key_ = batch.primary_key();
      primary_key_known_ = true;
      took_lock_ = false;
      return table_.primary().read(current_primary_key_, row, row_plan_, record);
    }
    if (index_number_ == 0) continue;
    current_primary_key_ = batch.primary_key();
    return entry_without_row(batch.entry_key());
  }
  return Status::ok();
}

Status Cursor::qualify_here(std::uint8_t* record, Qualified& qualified) {
  took_lock_ = false;
  primary_key_known_ = false;
  is_in_batch_ = false;
  if (!new_keys_.empty() && new_keys_.contains(iterator_->key())) {
    qualified = Qualified::kPass;
    return Status::ok();
  }
  return index_number_ == 0 ? qualify_primary(record, qualified)
                            : qualify_secondary(record, qualified);
}

// The row that the iterator is on.
Status Cursor::read_here(std::uint8_t* record) {
  std::string_view row = iterator_->value();
  if (has_blobs_ && transaction_->has_writes()) {
    // An own row is in the transaction's batch, which the next write may move.
    row_copy_ = row;
    row = row_copy_;
  }
  return table_.primary().read(iterator_->key(), row, row_plan_, record);
}

Status Cursor::qualify_primary(std::uint8_t* record, Qualified& qualified) {
  if (!settings_.lock) {
    qualified = Qualified::kFound;
    return read_here(record);
  }
  current_primary_key_ = iterator_->key();
  primary_key_known_ = true;
  RowLock outcome = RowLock::kHeld;
  BASALT_TRY(lock_row(outcome));
  if (outcome == RowLock::kSkipped) return Status::ok();
  if (outcome == RowLock::kHeld &&
      transaction_->is_unchanged_since(current_primary_key_, iterator_sequence_)) {
    qualified = Qualified::kFound;
    return table_.primary().read(iterator_->key(), iterator_->value(), row_plan_, record);
  }
  bool found = false;
  BASALT_TRY(read_row(record, found));
  qualified = found ? Qualified::kFound : Qualified::kPass;
  repeats_row_ = found && outcome == RowLock::kPeeked;
  return Status::ok();
}

Status Cursor::qualify_secondary(std::uint8_t* record, Qualified& qualified) {
  const codec::SecondaryCodec& codec = table_.secondary(index_number_);
  if (filter_ != nullptr) {
    qualified = Qualified::kFound;
    BASALT_TRY(check_filter(iterator_->key(), iterator_->value(), record, qualified));
    if (qualified != Qualified::kFound) return Status::ok();
  }
  if (settings_.is_consistent() && transaction_->may_read_behind_own_changes()) {
    BASALT_TRY(codec.primary_key_of(iterator_->key(), iterator_->value(), current_primary_key_));
    bool hidden = false;
    BASALT_TRY(is_entry_hidden(iterator_->key(), hidden));
    if (hidden) {
      qualified = Qualified::kPass;
      return Status::ok();
    }
  }
  if (!visits_row_) {
    qualified = Qualified::kFound;
    return codec.read(iterator_->key(), iterator_->value(), entry_plan_, record);
  }
  BASALT_TRY(codec.primary_key_of(iterator_->key(), iterator_->value(), current_primary_key_));
  primary_key_known_ = true;
  if (defers_rows_ || reads_rows_together()) {
    qualified = Qualified::kFound;
    return Status::ok();
  }
  bool found = false;
  std::string_view entry_value = iterator_->value();
  RowLock outcome = RowLock::kHeld;
  if (settings_.lock) {
    BASALT_TRY(lock_row_of_entry(record, outcome, entry_value, qualified));
    if (qualified != Qualified::kFound) return Status::ok();
  }
  BASALT_TRY(read_row(record, found));
  if (found) BASALT_TRY(read_entry_columns(iterator_->key(), entry_value, record));
  // The lock of a row is the lock of its entries.
  const bool is_sure = settings_.lock ? outcome == RowLock::kHeld
                                      : settings_.is_consistent() && settings_.needs_snapshot;
  if (!found && is_sure) return entry_without_row(iterator_->key());
  qualified = found ? Qualified::kFound : Qualified::kPass;
  repeats_row_ = found && outcome == RowLock::kPeeked;
  return Status::ok();
}

Status Cursor::check_filter(std::string_view key, std::string_view value, std::uint8_t* record,
                            Qualified& qualified) {
  BASALT_TRY(table_.secondary(index_number_).read(key, value, filter_plan_, record));
  switch (filter_->check()) {
    case EntryFilter::Verdict::kAccept: qualified = Qualified::kFound; return Status::ok();
    case EntryFilter::Verdict::kReject: qualified = Qualified::kPass; return Status::ok();
    case EntryFilter::Verdict::kEndOfRange: qualified = Qualified::kEnd; return Status::ok();
    case EntryFilter::Verdict::kInterrupted: return Status::of(ErrorCode::kInterrupted);
    case EntryFilter::Verdict::kFailed:
      return Status(ErrorCode::kInvalidArgument, "the pushed condition failed");
  }
  BASALT_UNREACHABLE();
}

// Locks the current row. kSkipped, kPeeked: another transaction holds it and we do not wait.
Status Cursor::lock_row(RowLock& outcome) {
  const bool peeks = is_semi_consistent_ && !must_wait_;
  must_wait_ = false;
  lock::WaitPolicy policy = settings_.wait;
  if (settings_.skip_locked || peeks) policy.may_wait = false;
  outcome = RowLock::kHeld;
  Status status = transaction_->lock(current_primary_key_, *settings_.lock, policy, &took_lock_);
  if (status.is(ErrorCode::kLockTimeout) && (settings_.skip_locked || peeks)) {
    outcome = settings_.skip_locked ? RowLock::kSkipped : RowLock::kPeeked;
    return Status::ok();
  }
  BASALT_TRY(std::move(status));
  return settings_.rejects_newer ? check_not_newer() : Status::ok();
}

// The row is locked: nobody changes it between the two reads.
Status Cursor::check_not_newer() {
  bool is_newer = false;
  BASALT_TRY(
      transaction_->is_newer_than_snapshot(table_.family(0), current_primary_key_, is_newer));
  return is_newer ? Status::of(ErrorCode::kSnapshotConflict) : Status::ok();
}

// Whether an entry belongs to a version of the row current_primary_key_ that the transaction's own
// change has replaced. The change itself may have removed another entry: that of a version which
// was committed after our snapshot.
Status Cursor::is_entry_hidden(std::string_view entry_key, bool& hidden) {
  hidden = false;
  switch (transaction_->own_version(table_.family(0), current_primary_key_, own_row_)) {
    case txn::Transaction::OwnVersion::kNone: return Status::ok();
    case txn::Transaction::OwnVersion::kRemoved: hidden = true; return Status::ok();
    case txn::Transaction::OwnVersion::kPut: break;
  }
  // We have locked the row: what is committed of its entries and not removed by us is its own.
  bool current = false;
  BASALT_TRY(is_entry_current(entry_key, current));
  hidden = !current;
  return Status::ok();
}

Status Cursor::is_entry_current(std::string_view key, bool& current) {
  std::string owner;
  BASALT_TRY(find_owner(key, owner));
  current = owner == current_primary_key_;
  return Status::ok();
}

// Locks the row current_primary_key_ if the statement locks, then reads it.
Status Cursor::fetch_row(std::uint8_t* record, bool& found) {
  found = false;
  if (settings_.lock) {
    must_wait_ = true;
    RowLock outcome = RowLock::kHeld;
    BASALT_TRY(lock_row(outcome));
    if (outcome == RowLock::kSkipped) return Status::ok();
  }
  return read_row(record, found);
}

Status Cursor::read_row(std::uint8_t* record, bool& found) {
  BASALT_TRY(transaction_->get(table_.family(0), current_primary_key_, view(), row_, found));
  if (!found) {
    // Otherwise a lock on a row that is gone guards nothing.
    if (!keeps_lock_of_missing()) release_row_lock();
    return Status::ok();
  }
  return table_.primary().read(current_primary_key_, row_.view(), row_plan_, record);
}

// What the visited row does not hold: VIRTUAL columns that the index is made of.
Status Cursor::read_entry_columns(std::string_view key, std::string_view value,
                                  std::uint8_t* record) {
  if (entry_plan_.own.empty()) return Status::ok();
  return table_.secondary(index_number_).read(key, value, entry_plan_, record);
}

Status Cursor::find_row(std::string_view primary_key, std::uint8_t* record, bool& found) {
  current_primary_key_ = primary_key;
  primary_key_known_ = true;
  took_lock_ = false;
  return fetch_row(record, found);
}

Status Cursor::find_unique(std::string_view key, std::uint8_t* record, bool& found) {
  prefix_ = key;
  lay_iterator_aside();
  resumption_.reset();
  stop_reading_ahead();
  if (index_number_ == 0) return find_row(key, record, found);
  if (reads_unique_behind_own_changes()) {
    return seek(SeekMode::kFirstWithPrefix, std::string(key), record, found);
  }
  took_lock_ = false;
  primary_key_known_ = false;
  const codec::SecondaryCodec& codec = table_.secondary(index_number_);
  // What was looked for stays as it is: a missing value is locked, and the row of an entry before
  // the filter rejects it, since the value might go to another row.
  const bool keeps_locks = keeps_lock_of_missing();
  bool is_value_locked = !keeps_locks;
  while (true) {
    BASALT_TRY(transaction_->get(table_.family(index_number_), key, view(), entry_value_, found));
    if (!found && !is_value_locked) {
      // Whoever inserts the value locks it first.
      BASALT_TRY(lock_missing_value(key, is_value_locked));
      if (is_value_locked) continue;
    }
    if (!found) return Status::ok();
    if (!keeps_locks) {
      BASALT_TRY(check_filter_of_value(key, record, found));
      if (!found) return Status::ok();
    }
    if (!visits_row_) return codec.read(key, entry_value_.view(), entry_plan_, record);
    BASALT_TRY(codec.primary_key_of(key, entry_value_.view(), current_primary_key_));
    primary_key_known_ = true;
    // Without a snapshot the row may be another version than the entry.
    BASALT_ASSERT(settings_.needs_snapshot || !settings_.is_consistent());
    if (defers_rows_) return Status::ok();
    if (!settings_.lock) break;
    must_wait_ = true;
    RowLock outcome = RowLock::kHeld;
    BASALT_TRY(lock_row(outcome));
    if (outcome == RowLock::kSkipped) {
      found = false;
      return Status::ok();
    }
    bool current = false;
    BASALT_TRY(is_entry_current(key, current));
    if (current) break;
    // The value moved to another row, or away, while we waited: look again.
    release_row_lock();
  }
  if (settings_.lock) {
    // Also if it was asked before: the entry may have changed while we waited.
    BASALT_TRY(check_filter_of_value(key, record, found));
    if (!found && !keeps_locks) release_row_lock();
    if (!found) return Status::ok();
  }
  BASALT_TRY(read_row(record, found));
  if (!found && settings_.lock) return entry_without_row(key);
  return found ? read_entry_columns(key, entry_value_.view(), record) : Status::ok();
}

// Whether the filter, if there is one, accepts the entry that was read of a unique value.
Status Cursor::check_filter_of_value(std::string_view key, std::uint8_t* record, bool& accepted) {
  accepted = true;
  if (filter_ == nullptr) return Status::ok();
  Qualified qualified = Qualified::kFound;
  BASALT_TRY(check_filter(key, entry_value_.view(), record, qualified));
  accepted = qualified == Qualified::kFound;
  return Status::ok();
}

// `locked` stays false if another transaction holds the value and we do not wait.
Status Cursor::lock_missing_value(std::string_view key, bool& locked) {
  lock::WaitPolicy policy = settings_.wait;
  if (settings_.skip_locked) policy.may_wait = false;
  Status status = transaction_->lock(key, *settings_.lock, policy);
  locked = status.is_ok();
  return settings_.skip_locked && status.is(ErrorCode::kLockTimeout) ? Status::ok()
                                                                     : std::move(status);
}

const std::string& Cursor::primary_key() {
  if (!primary_key_known_ && iterator_ && iterator_->is_valid()) {
    if (index_number_ == 0) {
      current_primary_key_ = iterator_->key();
    } else {
      table_.secondary(index_number_)
          .primary_key_of(iterator_->key(), iterator_->value(), current_primary_key_)
          .ignore("the entry was decoded when the cursor came here");
    }
    primary_key_known_ = true;
  } else if (!primary_key_known_ && index_number_ != 0 && !prefix_.empty()) {
    // A point lookup in a unique index that did not visit the row.
    table_.secondary(index_number_)
        .primary_key_of(prefix_, entry_value_.view(), current_primary_key_)
        .ignore("the entry was decoded by the lookup");
    primary_key_known_ = true;
  }
  return current_primary_key_;
}

void Cursor::release_row_lock() {
  if (!took_lock_) return;
  took_lock_ = false;
  transaction_->unlock(current_primary_key_);
}

}  // namespace basalt::table
