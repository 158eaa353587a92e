#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "kv/database.h"
#include "txn/own_change.h"
#include "txn/pending_run.h"
#include "txn/spilled_run.h"

namespace basalt::txn {

// What a transaction has changed and no longer has in its batch, in runs, the oldest first: of
// changes to one key the newest run has the newest.
struct OwnRuns {
  SpilledRuns in_files;
  PendingRuns pending;  // newer than all of those

  bool is_empty() const { return in_files.empty() && pending.empty(); }
  std::size_t size() const { return in_files.size() + pending.size(); }
  // Whether it is true of the KeySpans of any.
  template <typename Is>
  bool any_of_keys(const Is& is) const {
    const auto is_true_of = [&](const auto& run) { return is(run->keys()); };
    return std::ranges::any_of(in_files, is_true_of) || std::ranges::any_of(pending, is_true_of);
  }
  // `value` is set for kPut. kIoError, kCorruption.
  Status find(kv::FamilyId family, std::string_view key, OwnVersion& version,
              std::string& value) const;
};

// The newest of the runs' changes of a family in [lower, upper), which may be wider than what they
// have; null: there are none. An empty bound is none. `newer`: some that are.
std::unique_ptr<ChangeSource> changes_of_runs(const OwnRuns& runs, kv::FamilyId family,
                                              std::string_view lower, std::string_view upper,
                                              std::unique_ptr<ChangeSource> newer = nullptr);

}  // namespace basalt::txn
