#include <rocksdb/status.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/assert.h"
#include "kv/rocksdb_reads.h"
#include "rdb/slice.h"
#include "txn/batch_changes.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"

// What a transaction does with changes that take too much memory: txn/spilled_changes.h.
namespace basalt::txn {
namespace {

// Where locks take most of the memory, a run has this part of it at least.
constexpr std::uint64_t kShareMin = 16;
constexpr std::size_t kRunsOfOneSize = 4;

}  // namespace

Status Transaction::spill_if_large() {
  if (spills_at_ == 0 || !has_writes_) return Status::ok();
  const std::uint64_t limit = memory_max_ - memory_max_ / 4;
  // Whoever has asked for small runs gets larger ones, rather than any number of them.
  const std::size_t growth = std::min<std::size_t>(spilled_.runs().size() / kRunsOfOneSize, 32);
  const bool is_large = batch_bytes() >> growth > spills_at_ ||
                        (batch_memory_bytes() > memory_max_ / kShareMin && memory_bytes() > limit);
  if (!is_large) [[likely]]
    return Status::ok();
  return spill();
}

// The batch's savepoints are all at its beginning then. Files are written without the mutex: others
// who look into the batch may index it, which leaves its entries where they are.
Status Transaction::spill() {
  BASALT_ASSERT(state_ == State::kActive);
  if (batch().Count() == 0) return Status::ok();
  const std::size_t runs_before = spilled_.runs().size();
  std::vector<std::size_t> ends;
  for (const SavepointMark& mark : marks_) ends.push_back(mark.batch_entries);
  auto sections = [&] {
    const BatchGuard guard(*this);
    return BatchSections::of(manager_.database(), batch(), ends);
  }();
  if (!sections.is_ok()) return sections.take_status();
  BASALT_TRY(spilled_.append(sections.value(), ends));
  const BatchGuard guard(*this);
  inserts_->set_runs(spilled_.runs());
  leave_own_changes();
  const rdb::Status cleared = writes_->Rollback();
  BASALT_ASSERT(cleared.ok());  // nothing of it is in the WAL: only memory is cleared
  inserts_->begin_batch();
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    BASALT_DEBUG_ASSERT(marks_[i].runs <= runs_before);
    batch().SetSavePoint();
    marks_[i].batch_entries = 0;
    // Those of earlier batches lie below runs that were there already.
    if (marks_[i].runs == runs_before) marks_[i].runs = ends[i];
  }
  return Status::ok();
}

void Transaction::drop_runs_from(std::size_t count) {
  BASALT_DEBUG_ASSERT(state_ == State::kActive);
  spilled_.drop_from(count);
  inserts_->set_runs(spilled_.runs());
}

void Transaction::clear_spilled() {
  if (spilled_.bytes() == 0) return;
  const BatchGuard guard(*this);
  inserts_->set_runs({});
  spilled_.clear();
}

Status Transaction::take_spilled() {
  BASALT_ASSERT(state_ == State::kActive && !is_commit_written_);
  BASALT_TRY(spill());
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
