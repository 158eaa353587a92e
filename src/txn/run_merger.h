#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "base/status.h"
#include "bulk/build_directory.h"
#include "kv/database.h"
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
// Files       Its own, and gone with it, until wait() has returned them.
// Threads     The transaction's, but for the merge itself.
class RunMerger {
 public:
  // Begins. `runs`: those from `first` on, the oldest first. `name`: what the names of the new
  // files in `directory` begin with. Database and directory outlive this. Throws std::system_error
  // if there is no thread for it.
  RunMerger(kv::Database& database, const bulk::BuildDirectory& directory, std::string name,
            SpilledRuns runs, std::size_t first, MergeSlot::Holder slot);
  // Ends the merge soon and waits for that.
  ~RunMerger();
  RunMerger(const RunMerger&) = delete;
  RunMerger& operator=(const RunMerger&) = delete;

  std::size_t first() const { return first_; }
  // Behind the last of the runs.
  std::size_t end() const { return first_ + runs_.size(); }
  bool is_done() const { return is_done_.load(std::memory_order_acquire); }
  // Waits for the end of the merge. `merged`: as merge_runs() sets it. kNoSpace, kIoError,
  // kCorruption: nothing came of it.
  Status wait(SpilledRuns& merged);

 private:
  void merge(const std::stop_token& stop);

  kv::Database& database_;
  const bulk::BuildDirectory& directory_;
  const std::string name_;
  const SpilledRuns runs_;
  const std::size_t first_;
  // The thread's until it is done.
  MergeSlot::Holder slot_;
  Status status_;
  SpilledRuns merged_;
  std::atomic<bool> is_done_{false};
  std::jthread thread_;  // last: it uses all of the others
};

}  // namespace basalt::txn
