#pragma once
#include <cstddef>
#include <memory>
#include <semaphore>
#include <string>

#include "base/status.h"
#include "bulk/build_directory.h"
#include "kv/database.h"
#include "txn/run_task.h"
#include "txn/spilled_run.h"

namespace basalt::txn {

// How many transactions of a database may merge runs while they go on: one, since the file takes
// memory until it is written that no transaction is charged for.
//
// Threads     Any.
class MergeSlot {
 public:
  struct Release {
    void operator()(std::binary_semaphore* slot) const { slot->release(); }
  };
  using Holder = std::unique_ptr<std::binary_semaphore, Release>;

  // Empty if another one has it.
  Holder take() { return Holder(free_.try_acquire() ? &free_ : nullptr); }

 private:
  std::binary_semaphore free_{1};
};

// Merges some of a transaction's runs in a thread of its own, while the transaction goes on.
//
// Files       As RunTask.
// Threads     The transaction's, but for the merge itself.
class RunMerger {
 public:
  // Begins. As RunTask. `runs`: those from `first` on, the oldest first. The slot is free again
  // when the merge has ended.
  RunMerger(kv::Database& database, const bulk::BuildDirectory& directory, const std::string& name,
            SpilledRuns runs, std::size_t first, MergeSlot::Holder slot);

  std::size_t first() const { return first_; }
  // Behind the last of the runs.
  std::size_t end() const { return first_ + runs_.size(); }
  bool is_done() const { return task_.is_done(); }
  // Waits for the end of the merge. `merged`: as merge_runs() sets it. kNoSpace, kIoError,
  // kCorruption: nothing came of it.
  Status wait(SpilledRuns& merged) { return task_.wait(merged); }

 private:
  const SpilledRuns runs_;
  const std::size_t first_;
  MergeSlot::Holder slot_;  // the thread's until it is done
  RunTask task_;            // last: it uses the others
};

}  // namespace basalt::txn
