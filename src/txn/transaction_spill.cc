#include <rocksdb/status.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/remedies.h"
#include "kv/rocksdb_reads.h"
#include "rdb/slice.h"
#include "txn/batch_changes.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"

// The memory of a transaction, and what it does with changes that take too much of it:
// txn/spilled_changes.h.
namespace basalt::txn {
namespace {

// Where locks take most of the memory, a run has this part of it at least.
constexpr std::uint64_t kShareMin = 16;
// What is sorted takes no more than this part: it comes at once, beside all that others have.
constexpr std::uint64_t kShareOfSort = 8;
constexpr std::size_t kRunsOfOneSize = 4;
// A batch goes to files where less than this part of what the transaction may take is left. Beside
// one that is still being written, and is waited for then, less may be left.
constexpr std::uint64_t kShareLeft = 4;
constexpr std::uint64_t kShareLeftBesidePending = 8;
// Where others have taken the memory, a run has this at least.
constexpr std::uint64_t kScarceRunBytes = TransactionManager::kCountedBytes;
// Beside its key and value, of an entry of a batch: in the batch's index, a skip list, and in the
// memtable that it is put into.
constexpr std::uint64_t kIndexEntryBytes = 68;
constexpr std::uint64_t kMemtableEntryBytes = 16;

}  // namespace

// The batch is there twice while its memory grows, and while it is put into the memtable; once more
// if RocksDB copies what was prepared, when it is committed.
std::uint64_t Transaction::memory_bytes() const {
  std::uint64_t bytes = owner_.memory_bytes();
  bytes += changed_buckets_.memory_bytes();
  bytes += value_locks_.capacity() * sizeof(LockedValue);
  return bytes + spilled_.pending_memory() + batch_memory_bytes();
}

std::uint64_t Transaction::batch_memory_bytes() const {
  if (!has_writes_) return 0;
  const rdb::WriteBatch& changes = batch();
  const std::uint64_t entry_bytes =
      kMemtableEntryBytes + (inserts_->is_indexed() ? kIndexEntryBytes : 0);
  // What follows others to files is not copied when it is committed, but sorted.
  const std::uint64_t copies = limits_.is_two_phase && spilled_.is_empty() ? 3 : 2;
  const std::uint64_t sorted_bytes = limits_.spills_at == 0 ? 0 : sizeof(BatchEntry);
  return copies * changes.GetDataSize() + (entry_bytes + sorted_bytes) * changes.Count();
}

// Without what is about to be written, if that is waited for between two rows.
Status Transaction::check_size() const {
  const std::uint64_t written = limits_.spills_at == 0 ? 0 : spilled_.pending_memory();
  const std::uint64_t bytes = memory_bytes() - written;
  if (bytes <= limits_.bytes_max) [[likely]]
    return Status::ok();
  return Status(ErrorCode::kTooLarge,
                "the transaction's changes, locks and commit take " + std::to_string(bytes) +
                    " bytes of memory, more than the " + std::to_string(limits_.bytes_max) +
                    " that it may take; change fewer rows in a transaction, or " +
                    std::string(remedies().raise_transaction_memory));
}

Status Transaction::spill_if_large() {
  if (!has_writes_) return Status::ok();
  if (spilled_.has_pending()) take_finished_runs();
  const std::uint64_t memory = note_batch();
  if (limits_.spills_at == 0 || !is_batch_large(memory)) [[likely]]
    return Status::ok();
  if (spilled_.has_pending()) {
    // The disk is slower than the changes come.
    BASALT_TRY(write_pending_runs(/*may_interrupt=*/true));
    if (!is_batch_large(note_batch())) return Status::ok();
  }
  return spill(/*may_interrupt=*/true);
}

bool Transaction::is_batch_large(std::uint64_t memory) const {
  const std::uint64_t bytes = batch_bytes();
  const std::uint64_t most = limits_.bytes_max;
  // Whoever has asked for small runs gets larger ones, rather than any number of them.
  const std::size_t growth = std::min<std::size_t>(spilled_.runs().size() / kRunsOfOneSize, 32);
  const bool is_scarce = bytes > kScarceRunBytes && manager_.batch_memory() > limits_.scarce_above;
  const std::uint64_t limit =
      is_scarce ? std::min(kScarceRunBytes, limits_.spills_at) : limits_.spills_at;
  const std::uint64_t left = most / (spilled_.has_pending() ? kShareLeftBesidePending : kShareLeft);
  return bytes >> growth > limit ||
         (memory + spilled_.pending_memory() > most / kShareMin && memory_bytes() > most - left) ||
         batch().Count() > most / kShareOfSort / sizeof(BatchEntry);
}

// In steps: others need not be told of each row.
std::uint64_t Transaction::note_batch() {
  const bool is_empty = !has_writes_ || batch().Count() == 0;
  const std::uint64_t memory = is_empty ? 0 : batch_memory_bytes();
  progress_.bytes_in_memory = (is_empty ? 0 : batch_bytes()) + spilled_.pending_changes();
  const std::uint64_t bytes = memory + spilled_.pending_memory();
  // One that has become smaller wraps around.
  if (bytes - counted_bytes_ < TransactionManager::kCountedBytes) [[likely]]
    return memory;
  manager_.add_batch_memory(bytes - counted_bytes_);
  counted_bytes_ = bytes;
  return memory;
}

Status Transaction::complete_files() {
  if (!loaded_.empty()) BASALT_TRY(make_way_for(manager_.database(), loaded_));
  if (spilled_.is_empty()) return Status::ok();
  BASALT_TRY(spill(/*may_interrupt=*/false));
  BASALT_TRY(spilled_.merge([this] {
    {
      const BatchGuard guard(*this);
      inserts_->set_runs(spilled_.runs());
    }
    // Others have let the old files go.
    manager_.database().health().measure_space();
  }));
  return spilled_.make_way();
}

Status Transaction::spill(bool may_interrupt) {
  BASALT_ASSERT(state_ == State::kActive);
  take_finished_runs();
  if (spilled_.has_pending()) BASALT_TRY(write_pending_runs(may_interrupt));
  if (batch().Count() == 0) return Status::ok();
  BASALT_TRY(freeze_batch());
  const bool is_scarce = manager_.batch_memory() > limits_.scarce_above;
  if (limits_.writes_meanwhile && may_interrupt && !is_scarce) {
    spilled_.begin_write();
  } else {
    BASALT_TRY(write_pending_runs(may_interrupt));
  }
  // A commit merges what is left itself.
  if (limits_.merges_meanwhile && may_interrupt && !is_scarce) {
    std::vector<std::size_t> savepoints;
    for (const SavepointMark& mark : marks_) savepoints.push_back(mark.runs);
    spilled_.begin_merge(savepoints, manager_.merge_slot());
  }
  return Status::ok();
}

// The new batch's savepoints are all at its beginning.
Status Transaction::freeze_batch() {
  const std::uint64_t count = batch().Count();
  const std::uint64_t entry_bytes =
      sizeof(BatchEntry) + (inserts_->is_indexed() ? kIndexEntryBytes : 0);
  const std::uint64_t memory = batch_bytes() + count * entry_bytes;
  std::vector<std::size_t> ends;
  for (const SavepointMark& mark : marks_) ends.push_back(mark.batch_entries);
  auto sections = [&] {
    const BatchGuard guard(*this);
    return BatchSections::of(manager_.database(), batch(), ends);
  }();
  if (!sections.is_ok()) return sections.take_status();
  BASALT_TRY(spilled_.make_directory());
  const std::size_t runs_before = spilled_.runs().size();
  // Others may have indexed the batch since, which leaves its entries where they are.
  const BatchGuard guard(*this);
  scans_.leave_own_changes();
  inserts_->attach(nullptr);
  spilled_.add(std::shared_ptr<const rdb::Transaction>(std::move(writes_)),
               std::move(sections.value()), memory, ends);
  inserts_->set_runs(spilled_.runs());
  has_writes_ = false;
  begin_batch();
  note_batch();
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    BASALT_DEBUG_ASSERT(marks_[i].runs <= runs_before);
    // Those of earlier batches lie below runs that were there already.
    if (marks_[i].runs == runs_before) marks_[i].runs = ends[i];
  }
  return Status::ok();
}

Status Transaction::write_pending_runs(bool may_interrupt) {
  // How far a thread is, is not known.
  const std::uint64_t total = spilled_.is_being_written() ? 0 : spilled_.pending_entries();
  const StepScope scope(progress_, TransactionStep::kSpilling, total);
  // Memory and files that go are let go behind the guard of use_runs(): that takes its time.
  const OwnRuns before = spilled_.runs();
  Result<Renumbering> numbers = spilled_.write_pending(may_interrupt);
  if (!numbers.is_ok()) return numbers.take_status();
  use_runs(numbers.value());
  return Status::ok();
}

void Transaction::take_finished_runs() {
  if (!spilled_.has_finished()) [[likely]]
    return;
  const OwnRuns before = spilled_.runs();
  if (const auto written = spilled_.end_write()) use_runs(*written);
  if (const auto merged = spilled_.end_merge()) {
    use_runs(*merged);
    manager_.database().health().measure_space();
  }
}

void Transaction::use_runs(const Renumbering& numbers) {
  for (SavepointMark& mark : marks_) mark.runs = numbers.of(mark.runs);
  const BatchGuard guard(*this);
  // Those who read them keep what they have read from.
  scans_.leave_own_changes();
  inserts_->set_runs(spilled_.runs());
  note_batch();
}

void Transaction::clear_spilled() {
  if (spilled_.bytes() == 0) return;
  spilled_.give_up(0);
  const OwnRuns before = spilled_.runs();
  const BatchGuard guard(*this);
  inserts_->set_runs({});
  spilled_.clear();
}

Status Transaction::take_spilled() {
  BASALT_ASSERT(state_ == State::kActive && !is_commit_written_);
  BASALT_TRY(spill(/*may_interrupt=*/false));
  // All that was changed was perhaps undone.
  if (spilled_.is_empty()) return Status::ok();
  const std::span<const std::uint32_t> indexes = changed_indexes_.all();
  Result<LoadedFiles> loaded = spilled_.take({indexes.begin(), indexes.end()});
  if (!loaded.is_ok()) return loaded.take_status();
  loaded_.push_back(std::move(loaded.value()));
  return Status::ok();
}

Status Transaction::get_own_or_committed(kv::FamilyId family, std::string_view key,
                                         const kv::ReadView& view, kv::PinnedValue& value,
                                         bool& found) {
  OwnVersion version = OwnVersion::kNone;
  std::string own;
  BASALT_TRY(own_version(family, key, version, own));
  if (version == OwnVersion::kNone) {
    return manager_.database().get(family, key, view, value, found);
  }
  found = version == OwnVersion::kPut;
  if (found) value.slice().PinSelf(rdb::slice_of(own));
  kv::note_get(view, found ? own.size() : 0);
  return Status::ok();
}

Status Transaction::put_spilled_over(kv::FamilyId family, std::span<const std::string> keys,
                                     kv::PinnedValues& values) {
  kv::PinnedValues::Slots& slots = values.slots();
  std::string own;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    OwnVersion version = OwnVersion::kNone;
    // What the batch has is found once more, and is the same.
    BASALT_TRY(own_version(family, keys[i], version, own));
    if (version == OwnVersion::kNone) continue;
    slots.values[i].Reset();
    slots.statuses[i] = version == OwnVersion::kPut ? rdb::Status::OK() : rdb::Status::NotFound();
    if (version == OwnVersion::kPut) slots.values[i].PinSelf(rdb::slice_of(own));
  }
  return Status::ok();
}

}  // namespace basalt::txn
