#include <rocksdb/status.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <string>
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
  return bytes + batch_memory_bytes();
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

Status Transaction::check_size() const {
  const std::uint64_t bytes = memory_bytes();
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
  const std::uint64_t bytes = batch_bytes();
  const std::uint64_t memory = note_batch();
  if (limits_.spills_at == 0) return Status::ok();
  const std::uint64_t most = limits_.bytes_max;
  // Whoever has asked for small runs gets larger ones, rather than any number of them.
  const std::size_t growth = std::min<std::size_t>(spilled_.runs().size() / kRunsOfOneSize, 32);
  const bool is_scarce = bytes > kScarceRunBytes && manager_.batch_memory() > limits_.scarce_above;
  const std::uint64_t limit =
      is_scarce ? std::min(kScarceRunBytes, limits_.spills_at) : limits_.spills_at;
  const bool is_large = bytes >> growth > limit ||
                        (memory > most / kShareMin && memory_bytes() > most - most / 4) ||
                        batch().Count() > most / kShareOfSort / sizeof(BatchEntry);
  if (!is_large) [[likely]]
    return Status::ok();
  return spill(/*may_interrupt=*/true);
}

// In steps: others need not be told of each row.
std::uint64_t Transaction::note_batch() {
  progress_.bytes_in_memory = has_writes_ && batch().Count() != 0 ? batch_bytes() : 0;
  const std::uint64_t bytes = progress_.bytes_in_memory == 0 ? 0 : batch_memory_bytes();
  // One that has become smaller wraps around.
  if (bytes - counted_bytes_ < TransactionManager::kCountedBytes) [[likely]]
    return bytes;
  manager_.add_batch_memory(bytes - counted_bytes_);
  counted_bytes_ = bytes;
  return bytes;
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

// The batch's savepoints are all at its beginning then. Files are written without the mutex: others
// who look into the batch may index it, which leaves its entries where they are.
Status Transaction::spill(bool may_interrupt) {
  BASALT_ASSERT(state_ == State::kActive);
  if (batch().Count() == 0) return Status::ok();
  take_merged_runs();
  const StepScope scope(progress_, TransactionStep::kSpilling, batch().Count());
  const std::size_t runs_before = spilled_.runs().size();
  std::vector<std::size_t> ends;
  for (const SavepointMark& mark : marks_) ends.push_back(mark.batch_entries);
  auto sections = [&] {
    const BatchGuard guard(*this);
    return BatchSections::of(manager_.database(), batch(), ends);
  }();
  if (!sections.is_ok()) return sections.take_status();
  BASALT_TRY(spilled_.append(sections.value(), ends, may_interrupt));
  const BatchGuard guard(*this);
  inserts_->set_runs(spilled_.runs());
  leave_own_changes();
  // One that is cleared keeps its memory.
  if (batch_bytes() > kKeptBatchBytes) {
    drop_batch();
  } else {
    const rdb::Status cleared = writes_->Rollback();
    BASALT_ASSERT(cleared.ok());  // nothing of it is in the WAL: only memory is cleared
  }
  has_writes_ = false;
  begin_batch();
  note_batch();
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    BASALT_DEBUG_ASSERT(marks_[i].runs <= runs_before);
    // Those of earlier batches lie below runs that were there already.
    if (marks_[i].runs == runs_before) marks_[i].runs = ends[i];
  }
  // A commit merges what is left itself.
  if (limits_.merges_meanwhile && may_interrupt &&
      manager_.batch_memory() <= limits_.scarce_above) {
    std::ranges::transform(marks_, ends.begin(), &SavepointMark::runs);
    spilled_.begin_merge(ends, manager_.merge_slot());
  }
  return Status::ok();
}

// What a thread has made of some runs.
void Transaction::take_merged_runs() {
  // Files that are gone are closed behind the guard: the file system frees their space then.
  const SpilledRuns before = spilled_.runs();
  const auto merged = spilled_.end_merge();
  if (!merged) return;
  for (SavepointMark& mark : marks_) {
    if (mark.runs >= merged->end) mark.runs -= merged->less;
  }
  {
    const BatchGuard guard(*this);
    inserts_->set_runs(spilled_.runs());
  }
  manager_.database().health().measure_space();
}

void Transaction::clear_spilled() {
  if (spilled_.bytes() == 0) return;
  spilled_.give_up_merge(0);
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
