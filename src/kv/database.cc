#include "kv/database.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/slice.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/assert.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/remedies.h"
#include "block_cache/block_cache.h"
#include "block_cache/cache_warmer.h"
#include "block_cache/memory_budget.h"
#include "bulk/build_directory.h"
#include "bulk/durable_file.h"
#include "index_stats/index_collector.h"
#include "kv/database_directory.h"
#include "kv/given_options.h"
#include "kv/iterator_pool.h"
#include "kv/rocksdb_options.h"
#include "kv/rocksdb_reads.h"
#include "kv/snapshot_pool.h"
#include "kv/write_listener.h"
#include "rdb/status_conversion.h"
#include "wal/guarded_file_system.h"
#include "wal/health_listener.h"
#include "wal/wal_check.h"
#include "wal/wal_continuity.h"
#include "wal/wal_marks.h"
#include "wal/wal_paths.h"

namespace basalt::kv {
namespace {

// How often a compaction that somebody waits for looks whether it is to end.
constexpr std::chrono::milliseconds kInterruptionInterval{100};

}  // namespace

PinnedValue::PinnedValue() : slice_(new rdb::PinnableSlice) {}
PinnedValue::~PinnedValue() = default;
PinnedValue::PinnedValue(PinnedValue&&) noexcept = default;
PinnedValue& PinnedValue::operator=(PinnedValue&&) noexcept = default;
std::string_view PinnedValue::view() const { return {slice_->data(), slice_->size()}; }
void PinnedValue::reset() { slice_->Reset(); }

PinnedValues::PinnedValues() = default;
PinnedValues::~PinnedValues() = default;
PinnedValues::PinnedValues(PinnedValues&&) noexcept = default;
PinnedValues& PinnedValues::operator=(PinnedValues&&) noexcept = default;

std::size_t PinnedValues::count() const { return slots_ ? slots_->count : 0; }

PinnedValues::State PinnedValues::state(std::size_t number) const {
  BASALT_DEBUG_ASSERT(slots_ && number < slots_->count);
  const rdb::Status& status = slots_->statuses[number];
  if (status.ok()) return State::kFound;
  return status.IsNotFound() ? State::kMissing : State::kUnread;
}

std::string_view PinnedValues::view(std::size_t number) const {
  BASALT_DEBUG_ASSERT(state(number) == State::kFound);
  return rdb::view_of(slots_->values[number]);
}

void PinnedValues::reset() {
  if (!slots_) return;
  for (std::size_t i = 0; i < slots_->count; ++i) slots_->values[i].Reset();
  slots_->count = 0;
}

PinnedValues::Slots& PinnedValues::prepare(std::span<const std::string> keys) {
  if (!slots_) slots_ = std::make_unique<Slots>();
  reset();
  if (slots_->keys.size() < keys.size()) {
    slots_->keys.resize(keys.size());
    slots_->values.resize(keys.size());
    slots_->statuses.resize(keys.size());
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    slots_->keys[i] = rdb::slice_of(keys[i]);
    slots_->statuses[i] = rdb::Status();
  }
  slots_->count = keys.size();
  return *slots_;
}

Status PinnedValues::status() const {
  BASALT_DEBUG_ASSERT(slots_ != nullptr);
  Status first;
  for (std::size_t i = 0; i < slots_->count; ++i) {
    const rdb::Status& status = slots_->statuses[i];
    const bool has_failed = !status.ok() && !status.IsNotFound() && !status.IsAborted();
    if (has_failed && first.is_ok()) first = rdb::from_rocksdb(status);
  }
  return first;
}

Snapshot::Snapshot(SnapshotPool& pool) : pool_(pool), handle_(pool.take()) {
  BASALT_ASSERT(handle_ != nullptr);
}
Snapshot::~Snapshot() { pool_.give_back(handle_); }
std::uint64_t Snapshot::sequence() const { return handle_->GetSequenceNumber(); }

WriteBatch::WriteBatch() = default;
WriteBatch::~WriteBatch() = default;
WriteBatch::WriteBatch(WriteBatch&&) noexcept = default;
WriteBatch& WriteBatch::operator=(WriteBatch&&) noexcept = default;

void WriteBatch::put(FamilyId family, std::string_view key, std::string_view value) {
  changes_.push_back({family, Kind::kPut, std::string(key), std::string(value)});
}

void WriteBatch::remove(FamilyId family, std::string_view key) {
  changes_.push_back({family, Kind::kRemove, std::string(key), std::string()});
}

void WriteBatch::remove_single(FamilyId family, std::string_view key) {
  changes_.push_back({family, Kind::kRemoveSingle, std::string(key), std::string()});
}

bool WriteBatch::is_empty() const { return changes_.empty(); }

Database::Database(const Machine& machine, const DatabaseOptions& given,
                   std::shared_ptr<rdb::FileSystem> files)
    : machine_(machine),
      given_(with_given_memtables(given)),
      options_(with_defaults_for(machine_, given_)),
      health_(std::make_shared<wal::Health>(options_.directory, options_.reserved_disk_bytes)),
      files_(std::make_shared<wal::GuardedFileSystem>(
          files ? std::move(files) : rdb::FileSystem::Default(), health_, options_.directory)),
      env_(rdb::NewCompositeEnv(files_)),
      key_structures_(std::make_shared<index_stats::KeyStructureSlot>()),
      lifetimes_(std::make_shared<LifetimeSlot>()),
      family_options_(std::make_unique<FamilyOptions>()),
      iterators_(std::make_shared<IteratorPool>()),
      wal_sync_([this] { return sync_once(); }) {}

Result<std::unique_ptr<Database>> Database::open(const DatabaseOptions& options,
                                                 std::shared_ptr<rdb::FileSystem> files) {
  std::unique_ptr<Database> database(
      new Database(this_machine(options.directory), options, std::move(files)));
  BASALT_TRY(check_directory(database->options_));
  if (options.direct_io == DirectIo::kOn && !database->machine_.has_direct_io) {
    return Status(ErrorCode::kInvalidArgument, "the file system of '" + options.directory +
                                                   "' has no direct I/O; " +
                                                   std::string(remedies().allow_page_cache));
  }
  bulk::BuildDirectory::remove_all(database->build_place());
  BASALT_TRY(bulk::BuildDirectory::take_copied_loads(database->build_place()));
  BASALT_TRY(database->verify_wals());
  // The WALs of a process that was killed are perhaps only in the page cache, and what is replayed
  // of them goes to files: the next crash must not find less of them than this opening.
  BASALT_TRY(database->files_->sync_wals_in(options.directory));
  // RocksDB begins a manifest when it opens.
  const std::optional<std::uint64_t> manifest_time = newest_manifest_time(options.directory);
  BASALT_TRY(database->open_families());
  const wal::WalMark opened{wal::WalMark::Kind::kOpened, database->continuity_->next().value_or(0)};
  {
    const MutexLock no_ingestion(database->ingestion_mutex_);
    if (database->taken_numbers_ != 0) BASALT_TRY(database->tell_of_taken_numbers());
  }
  BASALT_TRY(database->write_mark(opened));
  BASALT_TRY(database->sync_wal());
  BASALT_TRY(database->load_expiry_limit(manifest_time));
  database->health_->measure_space();
  return database;
}

Status Database::open_families() {
  cache_ = make_block_cache(options_, machine_.memory_bytes);
  rdb::DBOptions db_options = make_db_options(options_, cache_);
  BASALT_TRY(put_on_top(options_.rocksdb, db_options));
  db_options.env = env_.get();
  db_options.statistics = events_.statistics();
  db_options.listeners.push_back(wal::make_health_listener(health_));
  db_options.listeners.push_back(make_release_listener(iterators_));
  db_options.listeners.push_back(make_write_listener(events_.statistics()));
  check_relied_on(db_options);
  {
    const MutexLock guard(resume_mutex_);
    BASALT_TRY(family_options_->read(options_.rocksdb));
  }
  Result<std::vector<rdb::ColumnFamilyDescriptor>> descriptors = stored_families(db_options);
  if (!descriptors.is_ok()) return descriptors.take_status();

  std::vector<rdb::ColumnFamilyHandle*> handles;
  rdb::TransactionDBOptions transaction_options;
  // Row locks are ours (lock/); RocksDB's own would only cost.
  transaction_options.skip_concurrency_control = true;
  transaction_options.write_policy = rdb::TxnDBWritePolicy::WRITE_COMMITTED;
  Status opened;
  wal::WalContinuity::TakenBefore taken_before;
  do {
    continuity_ = std::make_unique<wal::WalContinuity>(*files_, taken_before);
    db_options.wal_filter = continuity_.get();
    opened = rdb::from_rocksdb(rdb::TransactionDB::Open(
        db_options, transaction_options, options_.directory, descriptors.value(), &handles, &db_));
    if (continuity_->gap())
      BASALT_TRY(handle_wal_gap(db_options, descriptors.value(), taken_before));
  } while (continuity_->gap());
  BASALT_TRY(std::move(opened));
  BASALT_ASSERT(handles.size() == descriptors.value().size());
  BASALT_TRY(families_.open(*db_, handles));
  snapshots_ = std::make_unique<SnapshotPool>(*db_->GetBaseDB());
  begin_caching();
  return Status::ok();
}

void Database::begin_caching() {
  if (options_.process_memory_bytes != 0) {
    budget_ = std::make_unique<block_cache::MemoryBudget>(
        [at_start = options_.process_memory_bytes] { return limited_memory_bytes(at_start); },
        options_.memtables_total_bytes / 2, cache_, budgeted_bytes_max(given_options()));
  }
  std::vector<FamilyHold> of_tables;
  DataBytes bytes;
  for (FamilyHold& family : families_.hold_all()) {
    if (family->GetID() == kSystemFamily) continue;
    rdb::TablePropertiesCollection files;
    if (!db_->GetPropertiesOfAllTables(family.get(), &files).ok()) return;
    const DataBytes more = data_bytes(files);
    bytes.raw += more.raw;
    bytes.stored += more.stored;
    of_tables.push_back(std::move(family));
  }
  cache_->begin_with(bytes.raw);
  if (options_.direct_io != DirectIo::kOn) return;
  loader_ =
      std::make_unique<block_cache::CacheWarmer>(*db_, std::move(of_tables), cache_, bytes.stored);
}

Database::~Database() {
  if (db_ == nullptr) return;
  BASALT_DEBUG_ASSERT(snapshots_ != nullptr);
  lower_expiry_limit();
  pause_background_work(false).ignore("what is paused ends with the database");
  loader_.reset();
  budget_.reset();
  snapshots_.reset();
  iterators_->release_idle();
  families_.close();
  const Status status = rdb::from_rocksdb(db_->Close());
  if (!status.is_ok()) log_message(LogLevel::kWarning, "closing RocksDB: " + status.message());
  delete db_;
}

rdb::TransactionDB& Database::rocksdb() { return *db_; }

Status Database::get(FamilyId family, std::string_view key, const ReadView& view,
                     PinnedValue& value, bool& found) {
  value.reset();
  const rdb::Status status = db_->GetBaseDB()->Get(
      make_read_options(view, nullptr), family_handle(family), rdb::slice_of(key), &value.slice());
  found = status.ok();
  note_get(view, found ? value.view().size() : 0);
  return status.IsNotFound() ? Status::ok() : rdb::from_rocksdb(status);
}

Status Database::get_many(FamilyId family, std::span<const std::string> keys, const ReadView& view,
                          PinnedValues& values) {
  PinnedValues::Slots& slots = values.prepare(keys);
  db_->GetBaseDB()->MultiGet(make_read_options_of_many(view), family_handle(family), slots.count,
                             slots.keys.data(), slots.values.data(), slots.statuses.data());
  note_get_many(view, values);
  return values.status();
}

Iterator Database::new_iterator(FamilyId family, const ReadView& view, const KeyRange& range) {
  BASALT_DEBUG_ASSERT(range.upper.empty() || range.lower <= range.upper);
  const bool is_pooled = !range.lower.empty() && !range.upper.empty();
  const IteratorKind kind{family, view.fill_cache, view.skipped_max, readahead_bytes(view)};
  if (is_pooled) {
    const rdb::Snapshot* snapshot = view.snapshot != nullptr ? view.snapshot->handle() : nullptr;
    if (auto idle = iterators_->take(kind, snapshot, range)) {
      return {std::move(*idle), *iterators_, events_, view.counts};
    }
  }
  IteratorParts parts;
  parts.kind = kind;
  parts.round = iterators_->round();
  parts.bounds = std::make_unique<IteratorBounds>(range);
  parts.iterator.reset(db_->GetBaseDB()->NewIterator(make_read_options(view, parts.bounds.get()),
                                                     family_handle(family)));
  if (is_pooled) return {std::move(parts), *iterators_, events_, view.counts};
  return {std::move(parts.iterator), std::move(parts.bounds), Iterator::Entries::kStay, events_,
          view.counts};
}

std::unique_ptr<Snapshot> Database::take_snapshot() {
  return std::make_unique<Snapshot>(*snapshots_);
}

void Database::release_idle() {
  snapshots_->release_idle();
  iterators_->release_idle();
}

std::uint64_t Database::newest_sequence() const { return db_->GetLatestSequenceNumber(); }

Status Database::write(const WriteBatch& batch, Durability durability) {
  rdb::WriteBatch changes;
  for (const WriteBatch::Change& change : batch.changes_) {
    rdb::ColumnFamilyHandle* family = family_handle(change.family);
    rdb::Status status;
    switch (change.kind) {
      case WriteBatch::Kind::kPut: status = changes.Put(family, change.key, change.value); break;
      case WriteBatch::Kind::kRemove: status = changes.Delete(family, change.key); break;
      case WriteBatch::Kind::kRemoveSingle:
        status = changes.SingleDelete(family, change.key);
        break;
    }
    BASALT_TRY(rdb::from_rocksdb(status));
  }
  BASALT_TRY(health_->check_not_read_only());
  rdb::WriteOptions options;
  options.sync = durability == Durability::kSynced;
  return write_wal([&] { return db_->GetBaseDB()->Write(options, &changes); });
}

Status Database::write_mark(const wal::WalMark& mark) {
  rdb::WriteBatch changes;
  BASALT_TRY(rdb::from_rocksdb(changes.PutLogData(encode(mark))));
  return write_wal([&] { return db_->GetBaseDB()->Write(rdb::WriteOptions(), &changes); });
}

Status Database::resume() {
  BASALT_TRY(check_not_paused());
  const MutexLock guard(resume_mutex_);
  // A compaction that failed for the same cause is tried again.
  health_->note_compaction_success();
  BASALT_TRY(files_->repair_wals());
  BASALT_TRY(rdb::from_rocksdb(db_->Resume()));
  {
    const MutexLock no_ingestion(ingestion_mutex_);
    BASALT_TRY(tell_of_taken_numbers());
  }
  // Nobody may write yet, sync_wal() not either.
  return sync_wal_once();
}

Status Database::sync_once() {
  BASALT_TRY(health_->check_not_read_only());
  return sync_wal_once();
}

Status Database::sync_wal_once() {
  Status status = rdb::from_rocksdb(db_->FlushWAL(true));
  // It may only have met the error of a write, which names the file.
  if (status.is_ok()) return status;
  return known_cause(std::move(status));
}

// The thread that met a failure is about to tell.
void Database::await_cause() const {
  constexpr std::chrono::milliseconds kPause{5};
  constexpr int kPauses = 100;
  for (int i = 0; i < kPauses && health_->access() != wal::Access::kReadOnly; ++i) {
    std::this_thread::sleep_for(kPause);
  }
}

Status Database::known_cause(Status unexplained) const {
  await_cause();
  BASALT_TRY(health_->check_not_read_only());
  return unexplained;
}

Status Database::outcome_of_write(const rdb::Status& status) const {
  return rdb::is_secondary_error(status) ? known_cause(rdb::from_rocksdb(status))
                                         : rdb::from_rocksdb(status);
}

Status Database::flush() {
  BASALT_TRY(health_->check_not_read_only());
  BASALT_TRY(check_not_paused());
  release_idle();
  rdb::Status flushed;
  do {
    const std::vector<FamilyHold> holds = families_.hold_all();
    std::vector<rdb::ColumnFamilyHandle*> handles;
    for (const FamilyHold& hold : holds) handles.push_back(hold.get());
    flushed = db_->Flush(rdb::FlushOptions(), handles);
    // One was removed meanwhile.
  } while (flushed.IsColumnFamilyDropped());
  Status status = rdb::from_rocksdb(flushed);
  // A caller that is told of the error finds the database read-only.
  if (!status.is_ok()) await_cause();
  return status;
}

Status Database::compact(FamilyId family, const KeyRange& range,
                         const std::function<bool()>& is_interrupted) {
  BASALT_TRY(health_->check_not_read_only());
  BASALT_TRY(check_not_paused());
  release_idle();
  BASALT_TRY(renew_expiry_limit(1));
  BASALT_DEBUG_ASSERT(range.upper.empty() || range.lower <= range.upper);
  rdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rdb::BottommostLevelCompaction::kForceOptimized;
  options.max_subcompactions = static_cast<std::uint32_t>(threads_of_statement());
  const rdb::Slice lower = rdb::slice_of(range.lower);
  const rdb::Slice upper = rdb::slice_of(range.upper);
  events_.add(Event::kManualCompaction);
  std::atomic<bool> is_canceled = false;
  std::jthread watcher;
  if (is_interrupted) {
    options.canceled = &is_canceled;
    watcher = std::jthread([&](const std::stop_token& stop) {
      Mutex mutex{MutexRank::kCompactionWatch};
      std::condition_variable_any stopped;
      UniqueLock guard(mutex);
      while (!stop.stop_requested() && !is_canceled) {
        is_canceled = is_interrupted();
        stopped.wait_for(guard, stop, kInterruptionInterval, [] { return false; });
      }
    });
  }
  const rdb::Status status =
      db_->CompactRange(options, family_handle(family), range.lower.empty() ? nullptr : &lower,
                        range.upper.empty() ? nullptr : &upper);
  events_.add(Event::kManualCompactionEnd);
  return is_canceled && !status.ok() ? Status::of(ErrorCode::kInterrupted)
                                     : rdb::from_rocksdb(status);
}

Status Database::reclaim(FamilyId family, const KeyRange& range) {
  // Never everything: a range has both bounds.
  BASALT_ASSERT(!range.lower.empty() && range.lower < range.upper);
  const rdb::Range dropped = range_of(range);
  rdb::RangeOpt whole_files(dropped.start, dropped.limit);
  BASALT_TRY(rdb::from_rocksdb(
      rdb::DeleteFilesInRanges(db_->GetBaseDB(), family_handle(family), &whole_files, 1, false)));
  // Not before: others would come meanwhile, and keep the files.
  release_idle();
  BASALT_TRY(health_->check_not_read_only());
  return write_wal([&] {
    return db_->GetBaseDB()->DeleteRange(rdb::WriteOptions(), family_handle(family), dropped.start,
                                         dropped.limit);
  });
}

std::uint64_t Database::structure_version(FamilyId family) {
  std::uint64_t version = 0;
  db_->GetIntProperty(family_handle(family), rdb::DB::Properties::kCurrentSuperVersionNumber,
                      &version);
  return version;
}

void Database::set_key_structures(index_stats::KeyStructureSource* source) {
  key_structures_->set(source);
}

void Database::set_lifetimes(LifetimeSource* source) { lifetimes_->set(source); }

Status Database::create_checkpoint(const std::string& path) {
  const std::string directory = path.substr(0, path.find_last_not_of('/') + 1);
  const MutexLock guard(publication_mutex_);
  rdb::Checkpoint* checkpoint = nullptr;
  BASALT_TRY(rdb::from_rocksdb(rdb::Checkpoint::Create(db_, &checkpoint)));
  const std::unique_ptr<rdb::Checkpoint> owner(checkpoint);
  std::error_code error;
  if (std::filesystem::exists(path, error) || error) {
    return Status(ErrorCode::kInvalidArgument, "Invalid argument: Directory exists");
  }
  // It gets its name when it is complete.
  BASALT_DEBUG_ASSERT(!directory.empty());
  const std::string unfinished = directory + ".unfinished";
  std::filesystem::remove_all(unfinished, error);
  BASALT_TRY(rdb::from_rocksdb(checkpoint->CreateCheckpoint(unfinished)));
  // Under the mutex: what is prepared in the copy has its files as long as it is not committed.
  Status status = bulk::BuildDirectory::copy_loads(build_place(), unfinished);
  if (status.is_ok()) {
    status = bulk::rename_durably(*files_, unfinished, directory);
    if (status.is_ok()) return status;
  }
  std::filesystem::remove_all(unfinished, error);
  return status;
}

std::string Database::property(FamilyId family, std::string_view name) {
  std::string value;
  if (!db_->GetProperty(family_handle(family), rdb::slice_of(name), &value)) value.clear();
  return value;
}

}  // namespace basalt::kv
