#include "txn/spilled_changes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "base/failpoint.h"
#include "bulk/sst_writer.h"

namespace basalt::txn {
namespace {

// Leaves of a section what was done last to each key. Returns, for a run below that one, removals
// which are followed by a put.
std::vector<BatchEntry> reduce(std::vector<BatchEntry>& entries) {
  using Kind = BatchEntry::Kind;
  std::vector<BatchEntry> removals;
  auto newest = entries.begin();
  for (auto first = entries.begin(); first != entries.end();) {
    const auto end = std::find_if(first, entries.end(), [&](const BatchEntry& entry) {
      return entry.key != first->key || entry.family != first->family;
    });
    const BatchEntry& last = *std::prev(end);
    if (first->kind == Kind::kRemoveSingle && last.kind == Kind::kPut) removals.push_back(*first);
    // A put that is singly deleted came to a key that was not there, and leaves nothing.
    const bool is_undone = first->kind == Kind::kPut && last.kind == Kind::kRemoveSingle;
    if (!is_undone) *newest++ = last;
    first = end;
  }
  entries.erase(newest, entries.end());
  return removals;
}

Status write_entry(bulk::SstWriter& writer, const BatchEntry& entry) {
  switch (entry.kind) {
    case BatchEntry::Kind::kPut: return writer.put(entry.key, entry.value);
    case BatchEntry::Kind::kRemove: return writer.remove(entry.key);
    case BatchEntry::Kind::kRemoveSingle: return writer.remove_single(entry.key);
  }
  BASALT_UNREACHABLE();
}

// Keys come in their order, so that those of one index follow each other.
void note_index(std::vector<std::uint32_t>& indexes, std::string_view key) {
  const std::uint32_t index = KeySpans::index_of(key);
  if (indexes.empty() || indexes.back() != index) indexes.push_back(index);
}

Result<std::shared_ptr<const SpilledRun>> write_run(kv::Database& database,
                                                    std::span<const BatchEntry> entries,
                                                    const std::string& path) {
  SpilledRun::Content content;
  for (auto entry = entries.begin(); entry != entries.end();) {
    const kv::FamilyId family = entry->family;
    // One file: each is one of those in level 0 that reads have to ask.
    const auto writer =
        database.new_sst_writer(family, path + std::to_string(family) + "-", /*is_one_file=*/true);
    for (; entry != entries.end() && entry->family == family; ++entry) {
      content.keys.add(entry->key);
      if (entry->kind != BatchEntry::Kind::kPut) note_index(content.with_removals, entry->key);
      BASALT_TRY(write_entry(*writer, *entry));
    }
    BASALT_TRY(writer->finish());
    BASALT_DEBUG_ASSERT(writer->paths().size() == 1);
    content.files.push_back({family, writer->paths().front()});
  }
  return SpilledRun::open(database, std::move(content));
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
  auto made = bulk::BuildDirectory::make_load(database_.options().directory);
  if (!made.is_ok()) return made.take_status();
  directory_ = std::move(made.value());
  return Status::ok();
}

Status SpilledChanges::append(BatchSections& sections, std::span<std::size_t> ends) {
  BASALT_TRY(make_directory());
  const std::size_t before = runs_.size();
  std::vector<std::size_t> counts;
  const auto write = [&](std::span<const BatchEntry> entries) -> Status {
    if (entries.empty()) return Status::ok();
    BASALT_FAILPOINT("txn.spill.write");
    const std::string name = "run" + std::to_string(next_name_++) + "-";
    auto run = write_run(database_, entries, directory_->path() + "/" + name);
    if (!run.is_ok()) {
      directory_->remove_files(name);
      return run.take_status();
    }
    runs_.push_back(std::move(run.value()));
    return Status::ok();
  };
  Status status;
  for (std::vector<BatchEntry>& section : sections.sort()) {
    if (status.is_ok()) status = write(reduce(section));
    if (status.is_ok()) status = write(section);
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

void SpilledChanges::drop_from(std::size_t count) {
  BASALT_DEBUG_ASSERT(count <= runs_.size());
  for (; runs_.size() > count; runs_.pop_back()) runs_.back()->remove_files();
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
  BASALT_ASSERT(!is_empty() && !indexes.empty() && directory_ != nullptr);
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
  runs_.clear();
  directory_.reset();
  bytes_ = 0;
}

}  // namespace basalt::txn
