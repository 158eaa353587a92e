#include "txn/run_writer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"

namespace basalt::txn {
namespace {

Status write_entry(bulk::SstWriter& file, ChangeKind kind, std::string_view key,
                   std::string_view value) {
  switch (kind) {
    case ChangeKind::kPut: return file.put(key, value);
    case ChangeKind::kRemove: return file.remove(key);
    case ChangeKind::kRemoveSingle: return file.remove_single(key);
  }
  BASALT_UNREACHABLE();
}

}  // namespace

NetChange net_change(ChangeKind oldest, ChangeKind newest) {
  const bool is_undone = oldest == ChangeKind::kPut && newest == ChangeKind::kRemoveSingle;
  return {.has_newest = !is_undone,
          .has_removal_below = oldest == ChangeKind::kRemoveSingle && newest == ChangeKind::kPut};
}

std::vector<BatchEntry> keep_newest(std::vector<BatchEntry>& entries) {
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

Status RunWriter::add(kv::FamilyId family, ChangeKind kind, std::string_view key,
                      std::string_view value) {
  if (file_ == nullptr || family != family_) {
    BASALT_TRY(end_file());
    BASALT_DEBUG_ASSERT(std::ranges::find(content_.files, family, &SpilledRun::File::family) ==
                        content_.files.end());
    // One file: each is one of those in level 0 that reads have to ask.
    file_ = database_.new_sst_writer(family, path_ + std::to_string(family) + "-",
                                     kv::WrittenFiles::kOneFile);
    family_ = family;
  }
  BASALT_DEBUG_ASSERT(kind == ChangeKind::kPut || value.empty());
  content_.keys.add(key);
  content_.bytes += key.size() + value.size();
  if (kind != ChangeKind::kPut) {
    // The keys of one index follow each other.
    const std::uint32_t index = KeySpans::index_of(key);
    std::vector<std::uint32_t>& indexes = content_.with_removals;
    if (indexes.empty() || indexes.back() != index) indexes.push_back(index);
  }
  return write_entry(*file_, kind, key, value);
}

Status RunWriter::end_file() {
  if (file_ == nullptr) return Status::ok();
  BASALT_TRY(file_->finish());
  BASALT_ASSERT(file_->paths().size() == 1);
  content_.files.push_back({family_, file_->paths().front()});
  file_.reset();
  return Status::ok();
}

Result<std::shared_ptr<const SpilledRun>> RunWriter::finish() {
  BASALT_TRY(end_file());
  if (content_.files.empty()) return std::shared_ptr<const SpilledRun>();
  return SpilledRun::open(database_, std::move(content_));
}

}  // namespace basalt::txn
