#include "txn/spilled_changes.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/failpoint.h"
#include "bulk/sst_writer.h"
#include "txn/run_merge.h"
#include "txn/run_writer.h"

namespace basalt::txn {
namespace {

// With more runs than this a commit merges some before it takes them in: from twenty files in level
// 0 on RocksDB slows down all who write to the family.
constexpr std::size_t kRunsOfCommitMax = 8;
// With more than this it does so again, or is refused where there is no room: some removals may
// need runs of their own.
constexpr std::size_t kRunsOfLevel0Max = 16;
// Runs are merged that have this part of all bytes together: a file takes memory for its filter, 10
// bytes an entry, until it is written.
constexpr std::uint64_t kShareOfMerge = 6;
// Of each a block and an index are in memory meanwhile.
constexpr std::size_t kRunsOfMergeMax = 64;
// With fewer of one size than this two of them are more than that part, and are left.
constexpr std::size_t kRunsOfEqualSizeMerged = 2 * kShareOfMerge;
// So many are merged while the transaction goes on: a file of them takes memory, as above, beside
// what the transaction has.
constexpr std::size_t kRunsOfMergeMeanwhile = 6;
static_assert(kRunsOfMergeMeanwhile < kRunsOfEqualSizeMerged);

// Leaves of a section what was done last to each key. Returns the removals for a run below.
std::vector<BatchEntry> reduce(std::vector<BatchEntry>& entries) {
  std::vector<BatchEntry> removals;
  auto newest = entries.begin();
  for (auto oldest = entries.begin(); oldest != entries.end();) {
    const auto end = std::find_if(oldest, entries.end(), [&](const BatchEntry& entry) {
      return entry.key() != oldest->key() || entry.family() != oldest->family();
    });
    const BatchEntry& last = *std::prev(end);
    const NetChange change = net_change(oldest->kind(), last.kind());
    if (change.has_removal_below) removals.push_back(*oldest);
    if (change.has_newest) *newest++ = last;
    oldest = end;
  }
  entries.erase(newest, entries.end());
  return removals;
}

std::uint64_t bytes_of(std::span<const std::shared_ptr<const SpilledRun>> runs) {
  std::uint64_t bytes = 0;
  for (const auto& run : runs) bytes += run->bytes();
  return bytes;
}

}  // namespace

std::unique_ptr<ChangeSource> changes_of_runs(const SpilledRuns& runs, kv::FamilyId family,
                                              std::string_view lower, std::string_view upper,
                                              std::unique_ptr<ChangeSource> newer) {
  std::vector<std::unique_ptr<ChangeSource>> sources;
  if (newer != nullptr) sources.push_back(std::move(newer));
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (!(*run)->keys().may_touch(lower, upper)) continue;
    if (auto changes = (*run)->changes(family)) sources.push_back(std::move(changes));
  }
  if (sources.empty()) return nullptr;
  if (sources.size() == 1) return std::move(sources.front());
  return std::make_unique<MergedChanges>(std::move(sources));
}

Status SpilledChanges::make_directory() {
  if (directory_ != nullptr) return Status::ok();
  auto made = bulk::BuildDirectory::make_load(database_.build_place());
  if (!made.is_ok()) return made.take_status();
  directory_ = std::move(made.value());
  return Status::ok();
}

std::string SpilledChanges::new_name() { return "run" + std::to_string(next_name_++) + "-"; }

void SpilledChanges::note_runs() {
  progress_.bytes_in_files = bytes_of(runs_);
  progress_.runs = runs_.size();
}

Status SpilledChanges::write_run(std::span<const BatchEntry> entries, bool may_interrupt) {
  if (entries.empty()) return Status::ok();
  BASALT_FAILPOINT("txn.spill.write");
  const std::string name = new_name();
  RunWriter writer(database_, directory_->path() + "/" + name);
  const auto write = [&]() -> Status {
    for (const BatchEntry& entry : entries) {
      if (may_interrupt && owner_.is_interrupted()) return Status::of(ErrorCode::kInterrupted);
      BASALT_TRY(writer.add(entry.family(), entry.kind(), entry.key(), entry.value()));
      progress_.add_done(1);
    }
    auto run = writer.finish();
    if (!run.is_ok()) return run.take_status();
    runs_.push_back(std::move(run.value()));
    note_runs();
    BASALT_HOLDPOINT("txn.spill.written");
    return Status::ok();
  };
  Status status = write();
  if (!status.is_ok()) directory_->remove_files(name);
  return status;
}

Status SpilledChanges::append(BatchSections& sections, std::span<std::size_t> ends,
                              bool may_interrupt) {
  BASALT_TRY(make_directory());
  const std::size_t before = runs_.size();
  std::vector<std::size_t> counts;
  Status status;
  for (std::vector<BatchEntry>& section : sections.sort()) {
    if (status.is_ok()) status = write_run(reduce(section), may_interrupt);
    if (status.is_ok()) status = write_run(section, may_interrupt);
    section = {};
    counts.push_back(runs_.size());
  }
  if (!status.is_ok()) {
    drop_from(before);
    if (is_empty()) directory_.reset();
    return status;
  }
  BASALT_DEBUG_ASSERT(counts.size() == ends.size() + 1);
  std::copy_n(counts.begin(), ends.size(), ends.begin());
  bytes_ += sections.bytes();
  return Status::ok();
}

void SpilledChanges::begin_merge(std::span<const std::size_t> savepoints, MergeSlot& slot) {
  if (merger_ != nullptr || !may_merge_meanwhile_ || runs_.size() < kRunsOfEqualSizeMerged) return;
  const auto group_at = [this](std::size_t first) {
    return std::span(runs_).subspan(first, kRunsOfMergeMeanwhile);
  };
  const auto may_begin_at = [&](std::size_t first) {
    const auto is_merged = [](const auto& run) { return run->is_merged(); };
    const auto lies_within = [&](std::size_t runs) {
      return runs > first && runs < first + kRunsOfMergeMeanwhile;
    };
    return std::ranges::none_of(group_at(first), is_merged) &&
           std::ranges::none_of(savepoints, lies_within);
  };
  std::size_t first = 0;
  const std::size_t last = runs_.size() - kRunsOfMergeMeanwhile;
  while (first <= last && !may_begin_at(first)) ++first;
  if (first > last) return;
  const auto runs = group_at(first);
  wal::Health& health = database_.health();
  // Without room, slot or thread all stays as it is, and it is tried again behind the next run.
  if (!health.check_room_for(bytes_of(runs) + health.reserved_bytes()).is_ok()) return;
  MergeSlot::Holder holder = slot.take();
  if (holder == nullptr) return;
  try {
    merger_ = std::make_unique<RunMerger>(database_, *directory_, new_name(),
                                          SpilledRuns(runs.begin(), runs.end()), first,
                                          std::move(holder));
  } catch (const std::system_error&) {
    BASALT_DEBUG_ASSERT(merger_ == nullptr);
  }
}

void SpilledChanges::give_up_merge(std::size_t count) {
  if (merger_ != nullptr && count < merger_->end()) merger_.reset();
}

std::optional<SpilledChanges::Merged> SpilledChanges::end_merge() {
  if (merger_ == nullptr || !merger_->is_done()) return std::nullopt;
  return take_merged();
}

std::optional<SpilledChanges::Merged> SpilledChanges::take_merged() {
  SpilledRuns merged;
  const Status status = merger_->wait(merged);
  const std::size_t first = merger_->first();
  const std::size_t end = merger_->end();
  merger_.reset();
  if (!status.is_ok()) {
    status.ignore("the runs are as they were, and the commit merges them or says why not");
    may_merge_meanwhile_ = false;
    return std::nullopt;
  }
  replace_runs(first, end, merged);
  return Merged{.end = end, .less = end - first - merged.size()};
}

void SpilledChanges::replace_runs(std::size_t first, std::size_t end, const SpilledRuns& merged) {
  BASALT_DEBUG_ASSERT(first < end && end <= runs_.size() && merged.size() <= 2);
  const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto behind = runs_.begin() + static_cast<std::ptrdiff_t>(end);
  for (auto run = begin; run != behind; ++run) (*run)->remove_files();
  runs_.insert(runs_.erase(begin, behind), merged.begin(), merged.end());
  note_runs();
}

Status SpilledChanges::merge(const std::function<void()>& note_merged) {
  // So few are left as they are.
  if (runs_.size() < kRunsOfEqualSizeMerged && merger_ != nullptr && !merger_->is_done()) {
    merger_.reset();
  }
  if (merger_ != nullptr) {
    const StepScope scope(progress_, TransactionStep::kMerging);
    if (take_merged()) note_merged();
  }
  std::size_t most = kRunsOfCommitMax;
  for (std::size_t before = 0; runs_.size() > most && runs_.size() != before;) {
    before = runs_.size();
    most = kRunsOfLevel0Max;
    const std::uint64_t share = bytes_of(runs_) / kShareOfMerge;
    for (std::size_t first = 0; first < runs_.size();) {
      const std::span<const std::shared_ptr<const SpilledRun>> rest =
          std::span(runs_).subspan(first);
      std::size_t count = 1;
      std::uint64_t bytes = rest.front()->bytes();
      while (count < std::min(rest.size(), kRunsOfMergeMax) &&
             bytes + rest[count]->bytes() <= share) {
        bytes += rest[count++]->bytes();
      }
      std::size_t left = 1;
      if (count != 1) BASALT_TRY(merge_group(first, count, note_merged, left));
      first += left;
    }
  }
  return Status::ok();
}

Status SpilledChanges::merge_group(std::size_t first, std::size_t count,
                                   const std::function<void()>& note_merged, std::size_t& left) {
  BASALT_DEBUG_ASSERT(count > 1 && first + count <= runs_.size());
  const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  const std::uint64_t bytes = bytes_of({begin, end});
  const StepScope scope(progress_, TransactionStep::kMerging, bytes);
  wal::Health& health = database_.health();
  left = count;
  // What is read goes behind what is written, and others write meanwhile.
  const auto refuse = [&](Status no_space) -> Status {
    if (runs_.size() > kRunsOfLevel0Max) return no_space;
    return Status::ok();
  };
  Status room = health.check_room_for(bytes + health.reserved_bytes());
  if (!room.is_ok()) return refuse(std::move(room));
  BASALT_FAILPOINT("txn.spill.merge");
  BASALT_HOLDPOINT("txn.spill.merge");
  const std::string name = new_name();
  SpilledRuns written;
  Status status =
      merge_runs(database_, {begin, end}, directory_->path() + "/" + name, progress_, written);
  if (!status.is_ok()) {
    directory_->remove_files(name);
    health.measure_space();
    return status.is(ErrorCode::kNoSpace) ? refuse(std::move(status)) : std::move(status);
  }
  left = written.size();
  replace_runs(first, first + count, written);
  note_merged();
  return Status::ok();
}

Status SpilledChanges::make_way() const {
  for (const auto& run : runs_) {
    std::vector<kv::FamilyId> families;
    for (const SpilledRun::File& file : run->files()) families.push_back(file.family);
    BASALT_TRY(database_.make_way(families, range_around(run->keys().all())));
  }
  return Status::ok();
}

void SpilledChanges::drop_from(std::size_t count) {
  BASALT_DEBUG_ASSERT(count <= runs_.size());
  BASALT_DEBUG_ASSERT(merger_ == nullptr || count >= merger_->end());
  for (; runs_.size() > count; runs_.pop_back()) runs_.back()->remove_files();
  note_runs();
}

Status SpilledChanges::find(kv::FamilyId family, std::string_view key, OwnVersion& version,
                            std::string& value) const {
  version = OwnVersion::kNone;
  for (auto run = runs_.rbegin(); run != runs_.rend() && version == OwnVersion::kNone; ++run) {
    BASALT_TRY((*run)->find(family, key, version, value));
  }
  return Status::ok();
}

Result<LoadedFiles> SpilledChanges::take(std::vector<std::uint32_t> indexes) {
  BASALT_ASSERT(!is_empty() && !indexes.empty() && directory_ != nullptr && merger_ == nullptr);
  LoadedFiles loaded;
  loaded.indexes = std::move(indexes);
  // Which of the keys were there before is not known: an entry of the files' own tells whether they
  // are ingested.
  loaded.row_family = kv::kSystemFamily;
  loaded.row_key = ingested_files_key(directory_->number());
  const auto writer = database_.new_sst_writer(kv::kSystemFamily, directory_->path() + "/mark");
  BASALT_TRY(writer->put(loaded.row_key, ""));
  BASALT_TRY(writer->finish());
  loaded.files.push_back({kv::kSystemFamily, writer->paths()});
  for (const auto& run : runs_) {
    for (const KeySpans::Span& span : run->keys().all()) {
      loaded.keys.push_back({span.first, "", span.last});
    }
    for (const SpilledRun::File& file : run->files()) {
      auto of_family = std::ranges::find(loaded.files, file.family, &kv::FamilyFiles::family);
      if (of_family == loaded.files.end()) {
        loaded.files.push_back({file.family, {}});
        of_family = std::prev(loaded.files.end());
      }
      of_family->paths.push_back(file.path);
    }
  }
  loaded.directory = std::move(directory_);
  runs_.clear();
  return loaded;
}

void SpilledChanges::clear() {
  BASALT_DEBUG_ASSERT(merger_ == nullptr);
  runs_.clear();
  directory_.reset();
  bytes_ = 0;
  may_merge_meanwhile_ = true;
  note_runs();
}

}  // namespace basalt::txn
