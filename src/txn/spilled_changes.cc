#include "txn/spilled_changes.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/failpoint.h"
#include "bulk/sst_writer.h"
#include "txn/run_merge.h"

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
// How long a KILL is not heard by who waits for a thread.
constexpr std::chrono::milliseconds kInterruptionLatency{5};
static_assert(kRunsOfMergeMeanwhile < kRunsOfEqualSizeMerged);

std::uint64_t bytes_of(std::span<const std::shared_ptr<const SpilledRun>> runs) {
  std::uint64_t bytes = 0;
  for (const auto& run : runs) bytes += run->bytes();
  return bytes;
}

}  // namespace

Status SpilledChanges::make_directory() {
  if (directory_ != nullptr) return Status::ok();
  auto made = bulk::BuildDirectory::make_load(database_.build_place());
  if (!made.is_ok()) return made.take_status();
  directory_ = std::move(made.value());
  return Status::ok();
}

std::string SpilledChanges::new_name(std::string_view what) {
  return std::string(what) + std::to_string(next_name_++) + "-";
}

void SpilledChanges::note_runs() {
  progress_.bytes_in_files = bytes_of(runs_.in_files);
  progress_.runs = runs_.size();
}

std::uint64_t SpilledChanges::pending_entries() const {
  std::uint64_t entries = 0;
  for (const auto& run : runs_.pending) entries += run->entry_count();
  return entries;
}

void SpilledChanges::add(std::shared_ptr<const void> batch, BatchSections sections,
                         std::uint64_t memory, std::span<std::size_t> ends) {
  BASALT_DEBUG_ASSERT(directory_ != nullptr && !has_pending() && writer_ == nullptr);
  bytes_ += sections.bytes();
  std::vector<std::vector<BatchEntry>> entries = sections.take();
  BASALT_DEBUG_ASSERT(entries.size() == ends.size() + 1);
  pending_memory_ = memory;
  pending_changes_ = sections.bytes();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].empty()) {
      runs_.pending.push_back(std::make_shared<PendingRun>(batch, std::move(entries[i])));
    }
    if (i < ends.size()) ends[i] = runs_.size();
  }
  note_runs();
}

void SpilledChanges::begin_write() {
  BASALT_DEBUG_ASSERT(has_pending() && writer_ == nullptr);
  try {
    writer_ =
        std::make_unique<PendingWrite>(database_, *directory_, new_name("run"), runs_.pending);
  } catch (const std::system_error&) {
    // There is no thread for it: write_pending() does it.
    BASALT_DEBUG_ASSERT(writer_ == nullptr);
  }
}

std::optional<Renumbering> SpilledChanges::end_write() {
  if (writer_ == nullptr || !writer_->is_done()) return std::nullopt;
  WrittenRuns written;
  const Status status = writer_->wait(written);
  writer_.reset();
  if (status.is_ok()) return take_written(std::move(written));
  status.ignore("they are pending, and write_pending() writes them or says why not");
  return std::nullopt;
}

Result<Renumbering> SpilledChanges::write_pending(bool may_interrupt) {
  BASALT_DEBUG_ASSERT(has_pending());
  // Asked before each entry.
  const auto is_stopped = [&] {
    progress_.add_done(1);
    return may_interrupt && owner_.is_interrupted();
  };
  if (may_interrupt && owner_.is_interrupted()) return Status::of(ErrorCode::kInterrupted);
  WrittenRuns written;
  if (writer_ != nullptr) {
    while (!writer_->await(kInterruptionLatency)) {
      // It goes on: who gives the runs up ends it.
      if (may_interrupt && owner_.is_interrupted()) return Status::of(ErrorCode::kInterrupted);
    }
    const Status status = writer_->wait(written);
    writer_.reset();
    if (status.is_ok()) return take_written(std::move(written));
    status.ignore("it is tried once more, since there may be room by now");
  }
  const std::string name = new_name("run");
  Status status = write_pending_runs(database_, runs_.pending, directory_->path() + "/" + name,
                                     is_stopped, written);
  if (status.is_ok()) return take_written(std::move(written));
  written = {};
  directory_->remove_files(name);
  database_.health().measure_space();
  return status;
}

Renumbering SpilledChanges::take_written(WrittenRuns written) {
  BASALT_DEBUG_ASSERT(written.ends.size() == runs_.pending.size());
  const std::size_t begin = runs_.in_files.size();
  for (std::size_t& end : written.ends) end += begin;
  std::ranges::move(written.runs, std::back_inserter(runs_.in_files));
  runs_.pending.clear();
  note_runs();
  return {.begin = begin, .ends = std::move(written.ends)};
}

void SpilledChanges::begin_merge(std::span<const std::size_t> savepoints, MergeSlot& slot) {
  if (merger_ != nullptr || !may_merge_meanwhile_) return;
  if (runs_.in_files.size() < kRunsOfEqualSizeMerged) return;
  const auto group_at = [this](std::size_t first) {
    return std::span(runs_.in_files).subspan(first, kRunsOfMergeMeanwhile);
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
  const std::size_t last = runs_.in_files.size() - kRunsOfMergeMeanwhile;
  while (first <= last && !may_begin_at(first)) ++first;
  if (first > last) return;
  const auto runs = group_at(first);
  wal::Health& health = database_.health();
  // Without room, slot or thread all stays as it is, and it is tried again behind the next run.
  if (!health.check_room_for(bytes_of(runs) + health.reserved_bytes()).is_ok()) return;
  MergeSlot::Holder holder = slot.take();
  if (holder == nullptr) return;
  try {
    merger_ = std::make_unique<RunMerger>(database_, *directory_, new_name("merged"),
                                          SpilledRuns(runs.begin(), runs.end()), first,
                                          std::move(holder));
  } catch (const std::system_error&) {
    BASALT_DEBUG_ASSERT(merger_ == nullptr);
  }
}

void SpilledChanges::give_up(std::size_t count) {
  if (merger_ != nullptr && count < merger_->end()) merger_.reset();
  if (count < runs_.size()) writer_.reset();
}

std::optional<Renumbering> SpilledChanges::end_merge() {
  if (merger_ == nullptr || !merger_->is_done()) return std::nullopt;
  return take_merged();
}

std::optional<Renumbering> SpilledChanges::take_merged() {
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
  // Nobody has a number within.
  return Renumbering{.begin = first,
                     .ends = std::vector<std::size_t>(end - first, first + merged.size())};
}

void SpilledChanges::replace_runs(std::size_t first, std::size_t end, const SpilledRuns& merged) {
  BASALT_DEBUG_ASSERT(first < end && end <= runs_.in_files.size() && merged.size() <= 2);
  SpilledRuns& runs = runs_.in_files;
  const auto begin = runs.begin() + static_cast<std::ptrdiff_t>(first);
  const auto behind = runs.begin() + static_cast<std::ptrdiff_t>(end);
  for (auto run = begin; run != behind; ++run) (*run)->remove_files();
  runs.insert(runs.erase(begin, behind), merged.begin(), merged.end());
  note_runs();
}

Status SpilledChanges::merge(const std::function<void()>& note_merged) {
  BASALT_DEBUG_ASSERT(!has_pending());
  const SpilledRuns& runs = runs_.in_files;
  // So few are left as they are.
  if (runs.size() < kRunsOfEqualSizeMerged && merger_ != nullptr && !merger_->is_done()) {
    merger_.reset();
  }
  if (merger_ != nullptr) {
    const StepScope scope(progress_, TransactionStep::kMerging);
    if (take_merged()) note_merged();
  }
  std::size_t most = kRunsOfCommitMax;
  for (std::size_t before = 0; runs.size() > most && runs.size() != before;) {
    before = runs.size();
    most = kRunsOfLevel0Max;
    const std::uint64_t share = bytes_of(runs) / kShareOfMerge;
    for (std::size_t first = 0; first < runs.size();) {
      const std::span<const std::shared_ptr<const SpilledRun>> rest =
          std::span(runs).subspan(first);
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
  BASALT_DEBUG_ASSERT(count > 1 && first + count <= runs_.in_files.size());
  const auto begin = runs_.in_files.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  const std::uint64_t bytes = bytes_of({begin, end});
  const StepScope scope(progress_, TransactionStep::kMerging, bytes);
  wal::Health& health = database_.health();
  left = count;
  // What is read goes behind what is written, and others write meanwhile.
  const auto refuse = [&](Status no_space) -> Status {
    if (runs_.in_files.size() > kRunsOfLevel0Max) return no_space;
    return Status::ok();
  };
  Status room = health.check_room_for(bytes + health.reserved_bytes());
  if (!room.is_ok()) return refuse(std::move(room));
  BASALT_FAILPOINT("txn.spill.merge");
  BASALT_HOLDPOINT("txn.spill.merge");
  const std::string name = new_name("merged");
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
  for (const auto& run : runs_.in_files) {
    std::vector<kv::FamilyId> families;
    for (const SpilledRun::File& file : run->files()) families.push_back(file.family);
    BASALT_TRY(database_.make_way(families, range_around(run->keys().all())));
  }
  return Status::ok();
}

void SpilledChanges::drop_from(std::size_t count) {
  BASALT_DEBUG_ASSERT(count <= runs_.size());
  BASALT_DEBUG_ASSERT(merger_ == nullptr || count >= merger_->end());
  BASALT_DEBUG_ASSERT(count == runs_.size() || writer_ == nullptr);
  SpilledRuns& in_files = runs_.in_files;
  if (has_pending() && count < runs_.size()) {
    runs_.pending.resize(count - std::min(count, in_files.size()));
  }
  for (; in_files.size() > count; in_files.pop_back()) in_files.back()->remove_files();
  note_runs();
}

Result<LoadedFiles> SpilledChanges::take(std::vector<std::uint32_t> indexes) {
  BASALT_ASSERT(!is_empty() && !indexes.empty() && directory_ != nullptr);
  BASALT_ASSERT(merger_ == nullptr && !has_pending());
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
  for (const auto& run : runs_.in_files) {
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
  runs_ = {};
  return loaded;
}

void SpilledChanges::clear() {
  BASALT_DEBUG_ASSERT(merger_ == nullptr && writer_ == nullptr);
  runs_ = {};
  directory_.reset();
  bytes_ = 0;
  may_merge_meanwhile_ = true;
  note_runs();
}

}  // namespace basalt::txn
