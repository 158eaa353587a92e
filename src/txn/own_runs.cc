#include "txn/own_runs.h"

#include <utility>
#include <vector>

namespace basalt::txn {

Status OwnRuns::find(kv::FamilyId family, std::string_view key, OwnVersion& version,
                     std::string& value) const {
  version = OwnVersion::kNone;
  for (auto run = pending.rbegin(); run != pending.rend(); ++run) {
    (*run)->find(family, key, version, value);
    if (version != OwnVersion::kNone) return Status::ok();
  }
  for (auto run = in_files.rbegin(); run != in_files.rend() && version == OwnVersion::kNone;
       ++run) {
    BASALT_TRY((*run)->find(family, key, version, value));
  }
  return Status::ok();
}

std::unique_ptr<ChangeSource> changes_of_runs(const OwnRuns& runs, kv::FamilyId family,
                                              std::string_view lower, std::string_view upper,
                                              std::unique_ptr<ChangeSource> newer) {
  std::vector<std::unique_ptr<ChangeSource>> sources;
  if (newer != nullptr) sources.push_back(std::move(newer));
  for (auto run = runs.pending.rbegin(); run != runs.pending.rend(); ++run) {
    if (!(*run)->keys().may_touch(lower, upper)) continue;
    sources.push_back((*run)->changes(family, lower, upper));
  }
  for (auto run = runs.in_files.rbegin(); run != runs.in_files.rend(); ++run) {
    if (!(*run)->keys().may_touch(lower, upper)) continue;
    if (auto changes = (*run)->changes(family)) sources.push_back(std::move(changes));
  }
  if (sources.empty()) return nullptr;
  if (sources.size() == 1) return std::move(sources.front());
  return std::make_unique<MergedChanges>(std::move(sources));
}

}  // namespace basalt::txn
