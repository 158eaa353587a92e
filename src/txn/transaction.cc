#include "txn/transaction.h"

#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/failpoint.h"
#include "kv/rocksdb_reads.h"
#include "rdb/status_conversion.h"
#include "txn/batch_changes.h"
#include "txn/overlay_iterator.h"
#include "txn/transaction_manager.h"
#include "txn/union_iterator.h"

namespace basalt::txn {

namespace {

Status no_such_savepoint() { return Status(ErrorCode::kInvalidArgument, "no such savepoint"); }

}  // namespace

Transaction::Transaction(TransactionManager& manager, std::uint64_t id, void* user)
    : manager_(manager),
      owner_(id, user),
      spilled_(manager.database(), owner_, progress_),
      undecided_(manager.shared_undecided()) {
  undecided_->enter(changed_indexes_);
}

Transaction::~Transaction() {
  BASALT_ASSERT(state_ != State::kPrepared && state_ != State::kOrdered);
  if (state_ == State::kActive) {
    rollback().ignore("the batch dies with the transaction; finish() released the locks");
  }
  {
    const BatchGuard guard(*this);
    inserts_->attach(nullptr);
  }
  undecided_->leave(changed_indexes_);
}

void Transaction::activate() {
  if (state_ == State::kIdle) state_ = State::kActive;
}

void Transaction::end_changes() {
  const std::uint64_t sequence = changed_buckets_.is_empty() ? 0 : newest_sequence();
  changed_buckets_.for_each([&](std::size_t bucket, std::uint32_t count) {
    manager_.changes().note_end(bucket, sequence, count);
  });
  changed_buckets_.clear();
  if (inserts_are_open_) {
    manager_.inserts().remove(inserts_.get());
    inserts_->forget();
    inserts_are_open_ = false;
  }
  has_writes_ = false;
  note_batch();
  changed_keys_.clear();
  changed_indexes_.end_number();
}

void Transaction::finish() {
  scans_.remove_all();
  if (changes_are_unknown_ || !loaded_.empty()) {
    manager_.changes().note_end_of_unknown(newest_sequence());
  }
  changes_are_unknown_ = false;
  ingestion_ = {};
  loaded_.clear();
  clear_spilled();
  is_commit_written_ = false;
  // Before the locks go: who gets them next must learn of the change.
  end_changes();
  // What is not committed by now.
  changed_tables_.roll_back();
  value_locks_.clear();
  manager_.locks().release_all(owner_);
  transaction_snapshot_.reset();
  drop_statement_snapshot();
  expiry_.end();
  has_committed_portion_ = false;
  statement_mark_ = 0;
  marks_.clear();
  changed_indexes_.clear();
  name_.clear();
  is_decided_by_user_ = false;
  state_ = State::kIdle;
  BASALT_DEBUG_ASSERT(scans_.is_empty());
  // Last: whoever waits for it to be visible may find its locks gone, too.
  if (commit_ticket_ != 0) manager_.order().retire(commit_ticket_);
  commit_ticket_ = 0;
  binlog_position_.file.clear();
}

// ---- statements and savepoints

rdb::WriteBatch& Transaction::batch() const {
  BASALT_DEBUG_ASSERT(has_writes_ && writes_ != nullptr);
  return *writes_->GetWriteBatch()->GetWriteBatch();
}

Status Transaction::roll_back_batch() {
  // An index is made anew, of all that stays.
  return rdb::from_rocksdb(inserts_->is_indexed() ? writes_->GetWriteBatch()->RollbackToSavePoint()
                                                  : batch().RollbackToSavePoint());
}

std::size_t Transaction::push_mark() {
  marks_.push_back({spilled_.runs().size(), has_writes_ ? batch().Count() : 0});
  changed_tables_.push_mark();
  if (has_writes_) {
    const BatchGuard guard(*this);
    batch().SetSavePoint();
  }
  return marks_.size();
}

Status Transaction::pop_mark() {
  BASALT_ASSERT(!marks_.empty());
  const BatchGuard guard(*this);
  do {
    marks_.pop_back();
    changed_tables_.pop_mark();
    if (has_writes_) BASALT_TRY(rdb::from_rocksdb(batch().PopSavePoint()));
  } while (marks_.size() > statement_mark_ && marks_.back().is_released);
  return Status::ok();
}

Status Transaction::roll_back_to_mark(std::size_t number) {
  take_finished_runs();
  // Others wait for the mutex of the batch: what goes is let go behind it.
  spilled_.give_up(marks_[number - 1].runs);
  const OwnRuns before = spilled_.runs();
  const BatchGuard guard(*this);
  while (marks_.size() > number) BASALT_TRY(pop_mark());
  const std::size_t runs = marks_.back().runs;
  marks_.pop_back();
  changed_tables_.roll_back_to_mark();
  if (!has_writes_) return Status::ok();
  const StepScope scope(progress_, TransactionStep::kRollingBack);
  scans_.leave_own_changes();
  if (runs < spilled_.runs().size()) {
    BASALT_DEBUG_ASSERT(state_ == State::kActive);
    spilled_.drop_from(runs);
    // What a thread was at, or had done, with others that go.
    if (limits_.writes_meanwhile && spilled_.has_pending()) spilled_.begin_write();
    inserts_->set_runs(spilled_.runs());
  }
  BASALT_TRY(roll_back_batch());
  note_batch();
  return Status::ok();
}

void Transaction::begin_statement(IsolationLevel level) {
  if (in_statement_) return;
  // What was committed then is newer.
  if (std::exchange(has_committed_portion_, false)) transaction_snapshot_.reset();
  in_statement_ = true;
  level_ = level;
  take_finished_runs();
}

void Transaction::mark_statement() {
  if (in_statement_ && statement_mark_ == 0) statement_mark_ = push_mark();
}

void Transaction::drop_statement_snapshot() {
  statement_snapshot_.reset();
  changed_behind_statement_ = false;
}

void Transaction::end_statement() {
  in_statement_ = false;
  drop_statement_snapshot();
  // The session may be idle for long, and what was written or merged takes memory and space.
  take_finished_runs();
  if (spilled_.has_pending() && manager_.batch_memory() > limits_.scarce_above) {
    write_pending_runs(/*may_interrupt=*/false).ignore("they are pending, as they were");
  }
  if (statement_mark_ == 0) return;
  const std::size_t first = std::exchange(statement_mark_, 0);
  while (marks_.size() >= first) pop_mark().ignore("the batch has a savepoint for each mark");
}

Status Transaction::rollback_statement() {
  in_statement_ = false;
  drop_statement_snapshot();
  const std::size_t first = std::exchange(statement_mark_, 0);
  return first == 0 ? Status::ok() : roll_back_to_mark(first);
}

std::size_t Transaction::set_savepoint() {
  activate();
  mark_statement();
  return push_mark();
}

Status Transaction::rollback_to_savepoint(std::size_t number) {
  if (!is_savepoint(number)) return no_such_savepoint();
  BASALT_TRY(roll_back_to_mark(number));
  push_mark();
  return Status::ok();
}

Status Transaction::release_savepoint(std::size_t number) {
  if (!is_savepoint(number)) return no_such_savepoint();
  // RocksDB keeps a stack. One below the top, whose name the session gave to a newer savepoint
  // perhaps, stays there unused until those above it are gone.
  if (number == marks_.size()) return pop_mark();
  marks_[number - 1].is_released = true;
  return Status::ok();
}

Status Transaction::release_savepoints_from(std::size_t number) {
  if (!is_savepoint(number)) return no_such_savepoint();
  while (marks_.size() >= number) BASALT_TRY(pop_mark());
  return Status::ok();
}

// ---- reads

kv::ReadView Transaction::consistent_view(bool needs_snapshot) {
  activate();
  kv::ReadView view;
  view.fill_cache = fills_cache_;
  if (transaction_snapshot_) {
    view.snapshot = transaction_snapshot_.get();
  } else if (level_ == IsolationLevel::kRepeatableRead) {
    if (needs_snapshot) open_snapshot();
    view.snapshot = transaction_snapshot_.get();
  } else {
    if (needs_snapshot && !statement_snapshot_) {
      statement_snapshot_ = manager_.database().take_snapshot();
    }
    view.snapshot = statement_snapshot_.get();
  }
  return view;
}

void Transaction::open_snapshot() {
  activate();
  if (!transaction_snapshot_) transaction_snapshot_ = manager_.database().take_snapshot();
}

Status Transaction::is_newer_than_snapshot(kv::FamilyId family, std::string_view key,
                                           bool& is_newer) {
  is_newer = false;
  if (transaction_snapshot_ == nullptr || !may_be_newer_than_snapshot(key)) return Status::ok();
  kv::Database& database = manager_.database();
  kv::PinnedValue then;
  kv::PinnedValue now;
  bool was_there = false;
  bool is_there = false;
  kv::ReadView snapshot;
  snapshot.snapshot = transaction_snapshot_.get();
  BASALT_TRY(database.get(family, key, snapshot, then, was_there));
  BASALT_TRY(database.get(family, key, {}, now, is_there));
  is_newer = was_there != is_there || (is_there && then.view() != now.view());
  return Status::ok();
}

rdb::WriteBatchWithIndex& Transaction::own_changes() {
  if (inserts_->is_indexed()) return *writes_->GetWriteBatch();
  const BatchGuard guard(*this);
  return inserts_->indexed_batch();
}

Status Transaction::get(kv::FamilyId family, std::string_view key, const kv::ReadView& view,
                        kv::PinnedValue& value, bool& found) {
  kv::Database& database = manager_.database();
  if (!may_have_changed(key)) return database.get(family, key, view, value, found);
  value.reset();
  if (!spilled_.is_empty()) return get_own_or_committed(family, key, view, value, found);
  const rdb::Status status = own_changes().GetFromBatchAndDB(
      database.rocksdb().GetBaseDB(), kv::make_read_options(view, nullptr),
      database.family_handle(family), rdb::slice_of(key), &value.slice());
  found = status.ok();
  kv::note_get(view, found ? value.view().size() : 0);
  return status.IsNotFound() ? Status::ok() : rdb::from_rocksdb(status);
}

Status Transaction::get_many(kv::FamilyId family, std::span<const std::string> keys,
                             const kv::ReadView& view, kv::PinnedValues& values) {
  kv::Database& database = manager_.database();
  const bool asks_batch =
      std::ranges::any_of(keys, [this](const std::string& key) { return may_have_changed(key); });
  if (!asks_batch) return database.get_many(family, keys, view, values);
  kv::PinnedValues::Slots& slots = values.prepare(keys);
  own_changes().MultiGetFromBatchAndDB(
      database.rocksdb().GetBaseDB(), kv::make_read_options_of_many(view),
      database.family_handle(family), slots.count, slots.keys.data(), slots.values.data(),
      slots.statuses.data(), /*sorted_input=*/false);
  if (!spilled_.is_empty()) BASALT_TRY(put_spilled_over(family, keys, values));
  kv::note_get_many(view, values);
  return values.status();
}

Status Transaction::own_version(kv::FamilyId family, std::string_view key, OwnVersion& version,
                                std::string& value) {
  version = OwnVersion::kNone;
  if (!may_have_changed(key)) return Status::ok();
  const auto changes = changes_of_batch(own_changes(), manager_.database().family_handle(family));
  changes->seek(key);
  if (!changes->is_valid() || changes->key() != key) {
    return spilled_.runs().find(family, key, version, value);
  }
  version = changes->is_put() ? OwnVersion::kPut : OwnVersion::kRemoved;
  if (changes->is_put()) value = changes->value();
  return Status::ok();
}

kv::Iterator Transaction::new_iterator(kv::FamilyId family, const kv::ReadView& view,
                                       const KeyRange& range) {
  kv::Database& database = manager_.database();
  if (!may_have_changed(range.lower, range.upper)) {
    return database.new_iterator(family, view, range);
  }
  auto bounds = std::make_unique<kv::IteratorBounds>(range);
  const rdb::ReadOptions options = kv::make_read_options(view, bounds.get());
  rdb::ColumnFamilyHandle* handle = database.family_handle(family);
  std::unique_ptr<rdb::Iterator> below(
      database.rocksdb().GetBaseDB()->NewIterator(options, handle));
  if (auto runs = changes_of_runs(spilled_.runs(), family, range.lower, range.upper)) {
    below = std::make_unique<OverlayIterator>(std::move(below), std::move(runs), *bounds);
  }
  std::unique_ptr<rdb::Iterator> merged(
      own_changes().NewIteratorWithBase(handle, below.release(), &options));
  return kv::Iterator(std::move(merged), std::move(bounds), kv::Iterator::Entries::kMayMove,
                      database.events(), view.counts);
}

kv::Iterator Transaction::new_union_iterator(kv::FamilyId family, const kv::ReadView& view,
                                             const KeyRange& range, const SameRow& same_row) {
  kv::Database& database = manager_.database();
  auto bounds = std::make_unique<kv::IteratorBounds>(range);
  rdb::ColumnFamilyHandle* handle = database.family_handle(family);
  std::unique_ptr<rdb::Iterator> base(database.rocksdb().GetBaseDB()->NewIterator(
      kv::make_read_options(view, bounds.get()), handle));
  const auto batched = changes_of_batch(own_changes(), handle);
  auto own = changes_of_runs(spilled_.runs(), family, range.lower, range.upper,
                             CopiedChanges::of(*batched, range.lower, range.upper));
  // Its entries stay, but two may have one key, so that none is found again by its key.
  auto both = std::make_unique<UnionIterator>(std::move(base), std::move(own), *bounds, same_row);
  return kv::Iterator(std::move(both), std::move(bounds), kv::Iterator::Entries::kMayMove,
                      database.events(), view.counts);
}

// ---- locks

Status Transaction::lock(std::string_view key, lock::LockMode mode, const lock::WaitPolicy& policy,
                         bool* newly_acquired) {
  activate();
  return manager_.locks().lock(owner_, key, mode, policy, newly_acquired);
}

Status Transaction::lock_value(kv::FamilyId family, std::string_view key,
                               const lock::WaitPolicy& policy) {
  bool is_new = false;
  BASALT_TRY(lock(key, lock::LockMode::kExclusive, policy, &is_new));
  if (is_new) value_locks_.push_back({family, std::string(key)});
  return Status::ok();
}

void Transaction::unlock(std::string_view key) { manager_.locks().unlock(owner_, key); }

void Transaction::lock_gap(std::string_view lower, std::string_view upper) {
  BASALT_DEBUG_ASSERT(lower < upper);
  activate();
  manager_.locks().lock_gap(owner_, lower, upper);
}

bool Transaction::find_pending_insert(kv::FamilyId family, std::string_view lower,
                                      std::string_view upper, std::string& key,
                                      std::string& value) {
  return manager_.inserts().find(inserts_.get(), manager_.database(), family, lower, upper, key,
                                 value);
}

bool Transaction::may_lack_inserts(std::string_view key, std::uint64_t sequence) const {
  return manager_.inserts().has_commits_since(load_be32(key.data()), sequence);
}

EmptyRanges& Transaction::empty_ranges() const { return manager_.empty_ranges(); }

std::uint64_t Transaction::newest_sequence() const { return manager_.database().newest_sequence(); }

bool Transaction::is_unchanged_since(std::string_view row_key, std::uint64_t sequence) const {
  const ChangeTracker& changes = manager_.changes();
  const std::size_t bucket = ChangeTracker::bucket_of(row_key);
  if (changes.is_unchanged_since(bucket, sequence)) return true;
  // A statement of many rows has changed one in each bucket: own changes of others than this row
  // need not be.
  if (changed_buckets_.is_empty() || may_have_changed(row_key)) return false;
  return changes.is_unchanged_since(bucket, sequence, changed_buckets_.count(bucket));
}

bool Transaction::may_be_newer_than_snapshot(std::string_view row_key) const {
  const kv::Snapshot* const snapshot = snapshot_of_reads();
  return snapshot != nullptr && !is_unchanged_since(row_key, snapshot->sequence());
}

void Transaction::note_changed_row(std::string_view row_key) {
  BASALT_DEBUG_ASSERT(state_ == State::kActive && !row_key.empty());
  if (statement_snapshot_ != nullptr) changed_behind_statement_ = true;
  const std::size_t bucket = ChangeTracker::bucket_of(row_key);
  manager_.changes().note_change(bucket);
  changed_buckets_.add(bucket);
}

// ---- writes

Status Transaction::await_insert(std::string_view key, const lock::WaitPolicy& policy) {
  activate();
  return manager_.locks().await_insert(owner_, key, policy);
}

void Transaction::announce_inserts(std::span<const std::string_view> keys) {
  inserts_->note(keys);
  if (inserts_are_open_) return;
  manager_.inserts().add(inserts_);
  inserts_are_open_ = true;
}

const std::string_view* Transaction::find_blocked(std::span<const std::string_view> keys) {
  for (const std::string_view& key : keys) {
    if (manager_.locks().is_insert_blocked(owner_, key)) return &key;
  }
  return nullptr;
}

// Makes the batch exist and puts the savepoints on it that were set while there was none.
Status Transaction::begin_writing() {
  BASALT_ASSERT(state_ != State::kPrepared && state_ != State::kOrdered);
  BASALT_TRY(manager_.database().health().check_writable());
  if (!has_writes_) {
    activate();
    begin_batch();
  }
  mark_statement();
  owner_.add_weight(1);
  return Status::ok();
}

void Transaction::begin_batch() {
  BASALT_DEBUG_ASSERT(!has_writes_);
  rdb::TransactionOptions options;
  options.skip_concurrency_control = true;
  rdb::Transaction* transaction =
      manager_.database().rocksdb().BeginTransaction(rdb::WriteOptions(), options, writes_.get());
  if (writes_.get() != transaction) {
    writes_.reset(transaction);
    inserts_->attach(writes_.get());
  }
  inserts_->begin_batch();
  has_writes_ = true;
  for (SavepointMark& mark : marks_) {
    batch().SetSavePoint();
    mark.batch_entries = 0;
  }
}

void Transaction::note_change(std::string_view key) {
  if (!changed_keys_.add(key)) [[likely]]
    return;
  const std::uint32_t index = KeySpans::index_of(key);
  // A journal may be given up once the transaction has joined it.
  BASALT_DEBUG_ASSERT(changed_indexes_.has(index) || manager_.may_change(index));
  changed_indexes_.note(index);
}

// A commit into an index of which nobody knows any more would leave rows that nobody gives back.
// Indexes of which only locks are held may be gone: those of temporary tables that were dropped.
void Transaction::check_commit() const {
  BASALT_DEBUG_ASSERT(std::ranges::all_of(changed_keys_.all(), [this](const KeySpans::Span& span) {
    return manager_.may_commit(span.index);
  }));
  BASALT_DEBUG_ASSERT(!changes_are_unknown_ ||
                      std::ranges::all_of(changed_indexes_.all(), [this](std::uint32_t index) {
                        return manager_.may_commit(index);
                      }));
}

Status Transaction::queue_remove(kv::FamilyId family, std::string_view key) {
  note_change(key);
  return rdb::from_rocksdb(
      writes_->DeleteUntracked(manager_.database().family_handle(family), rdb::slice_of(key)));
}

// ---- the end

std::uint64_t Transaction::batch_bytes() const { return has_writes_ ? batch().GetDataSize() : 0; }

// Before anything is written: a batch that cannot fit must not make the engine read-only.
Status Transaction::check_room() const {
  return manager_.database().health().check_room_for(batch_bytes());
}

Status Transaction::prepare(const std::string& name, kv::Durability durability,
                            bool keeps_value_locks) {
  BASALT_ASSERT(state_ == State::kActive && !name.empty());
  end_statement();
  // Without the mutex that others wait for.
  BASALT_TRY(complete_files());
  {
    const BatchGuard held(*this);
    if (!has_writes_) BASALT_TRY(begin_writing());
    // First: of what comes to files nothing may be removed.
    BASALT_TRY(queue_loaded(keeps_value_locks));
    if (keeps_value_locks) {
      // The rows that it has only locked stay as they are, too.
      for (const std::uint32_t index : manager_.locks().locked_spaces(owner_)) {
        changed_indexes_.note(index);
      }
      // Recovery locks every key that the transaction changes; removing what is not there changes
      // nothing else.
      for (const LockedValue& lock : value_locks_) BASALT_TRY(queue_remove(lock.family, lock.key));
    }
    BASALT_TRY(check_room());
    BASALT_TRY(rdb::from_rocksdb(writes_->SetName(name)));
    // Not synced by RocksDB: all other writes would wait for it.
    writes_->GetWriteOptions()->sync = false;
    BASALT_FAILPOINT("txn.prepare.before_write");
    BASALT_TRY(manager_.database().write_wal([&] { return writes_->Prepare(); }));
  }
  name_ = name;
  changed_indexes_.set_name(name_);
  is_decided_by_user_ = keeps_value_locks;
  state_ = State::kPrepared;
  if (keeps_value_locks) {
    manager_.locks().release_gaps(owner_);
    // It reads nothing more, and may stay prepared for long.
    expiry_.end();
  }
  BASALT_FAILPOINT("txn.prepare.before_sync");
  if (durability == kv::Durability::kSynced) BASALT_TRY(manager_.database().sync_wal());
  BASALT_FAILPOINT("txn.prepare.after_write");
  return Status::ok();
}

void Transaction::take_commit_ticket(std::string_view file, std::uint64_t offset) {
  BASALT_ASSERT(state_ == State::kPrepared && commit_ticket_ == 0);
  commit_ticket_ = manager_.order().issue();
  binlog_position_.file.assign(file);
  binlog_position_.offset = offset;
  state_ = State::kOrdered;
}

// Writes the commit, with the position in the binary log that it reaches.
Status Transaction::write_commit() {
  const kv::Database& database = manager_.database();
  const auto write = [&] { return database.write_wal([&] { return writes_->Commit(); }); };
  if (state_ == State::kActive) return write();
  rdb::WriteBatch* batch = writes_->GetCommitTimeWriteBatch();
  batch->Clear();  // an earlier attempt has left its part there
  std::optional<BinlogPositions::Record> record;
  if (!binlog_position_.file.empty()) {
    record = manager_.binlog_positions().begin_commit(commit_ticket_, binlog_position_);
  }
  Status status;
  if (record) {
    status = rdb::from_rocksdb(
        batch->Put(database.family_handle(kv::kSystemFamily), record->key, record->value));
  }
  if (status.is_ok()) status = write();
  if (record) {
    manager_.binlog_positions().end_commit(*record, commit_ticket_, binlog_position_,
                                           status.is_ok());
  }
  return status;
}

void Transaction::drop_batch() {
  inserts_->attach(nullptr);
  writes_.reset();
}

Status Transaction::commit(kv::Durability durability) {
  if (has_writes_) {
    if (statement_mark_ != 0) end_statement();
    if (state_ == State::kActive && !is_commit_written_) BASALT_TRY(complete_files());
    const BatchGuard guard(*this);
    if (state_ == State::kActive && !is_commit_written_) {
      BASALT_TRY(check_room());
      BASALT_TRY(queue_loaded(false));
    }
    check_commit();
    const bool keeps_batch = batch_bytes() <= kKeptBatchBytes && spilled_bytes() == 0;
    writes_->GetWriteOptions()->sync =
        durability == kv::Durability::kSynced && !is_decided_by_binlog();
    BASALT_FAILPOINT("txn.commit.before_write");
    scans_.leave_own_changes();
    BASALT_TRY(loaded_.empty() ? write_commit() : write_and_publish());
    changed_tables_.commit();
    if (inserts_are_open_) manager_.inserts().note_commit(*inserts_, newest_sequence());
    BASALT_FAILPOINT("txn.commit.after_write");
    if (!keeps_batch) drop_batch();
  }
  finish();
  return Status::ok();
}

Status Transaction::rollback() {
  BASALT_ASSERT(state_ != State::kOrdered && !is_commit_written_);
  const StepScope scope(progress_, TransactionStep::kRollingBack);
  if (has_writes_) {
    const BatchGuard guard(*this);
    const bool keeps_batch = batch_bytes() <= kKeptBatchBytes && spilled_bytes() == 0;
    scans_.leave_own_changes();
    Status status = manager_.database().write_wal([&] { return writes_->Rollback(); });
    if (state_ == State::kPrepared && !status.is_ok()) return status;
    // No start may find it prepared, and without its files. Else the next one removes them.
    if (state_ == State::kPrepared && !loaded_.empty() && !manager_.database().sync_wal().is_ok()) {
      for (const LoadedFiles& loaded : loaded_) loaded.directory->leave();
    }
    // RocksDB frees a name only with the object; and one whose prepare or commit failed, which
    // cannot be rolled back but has nothing in the WAL, is of no more use.
    if (state_ == State::kPrepared || !status.is_ok() || !keeps_batch) drop_batch();
  }
  finish();
  return Status::ok();
}

}  // namespace basalt::txn
