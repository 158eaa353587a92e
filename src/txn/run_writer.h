#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bulk/sst_writer.h"
#include "kv/database.h"
#include "txn/batch_sections.h"
#include "txn/own_change.h"
#include "txn/spilled_run.h"

namespace basalt::txn {

// What is left of all changes of one key that become one run, of which only the oldest and the
// newest matter.
//
// Single      One must meet exactly one put. A file has each key once, so where the key is removed
// deletions   and put again the removal goes to a run of its own, below: without it the put would
//             lie on an older one, which the next single deletion brings back. A put that is singly
//             deleted came to a key that was not there, and leaves nothing.
struct NetChange {
  bool has_newest;
  bool has_removal_below;
};
NetChange net_change(ChangeKind oldest, ChangeKind newest);
// Leaves of sorted entries what was done last to each key. Returns the removals for a run below.
std::vector<BatchEntry> keep_newest(std::vector<BatchEntry>& entries);

// Writes a sorted run.
//
// Errors      As bulk::SstWriter. The files are of no use then; the owner of their directory
//             removes them.
// Threads     One at a time.
class RunWriter {
 public:
  // `path`: what the paths of its files begin with. `is_merged`: it is made of others.
  RunWriter(kv::Database& database, std::string path, bool is_merged = false)
      : database_(database), path_(std::move(path)) {
    content_.is_merged = is_merged;
  }

  // The keys of a family ascend; what follows those of another family is of none before.
  Status add(kv::FamilyId family, ChangeKind kind, std::string_view key, std::string_view value);
  // Null: nothing was added.
  Result<std::shared_ptr<const SpilledRun>> finish();

 private:
  Status end_file();

  kv::Database& database_;
  const std::string path_;
  std::unique_ptr<bulk::SstWriter> file_;
  kv::FamilyId family_ = 0;  // of the file, if there is one
  SpilledRun::Content content_;
};

}  // namespace basalt::txn
