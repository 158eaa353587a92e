#include "txn/run_merger.h"

#include <pthread.h>

#include <utility>

#include "base/failpoint.h"
#include "txn/run_merge.h"
#include "txn/transaction_progress.h"

namespace basalt::txn {

RunMerger::RunMerger(kv::Database& database, const bulk::BuildDirectory& directory,
                     std::string name, SpilledRuns runs, std::size_t first, MergeSlot::Holder slot)
    : database_(database),
      directory_(directory),
      name_(std::move(name)),
      runs_(std::move(runs)),
      first_(first),
      slot_(std::move(slot)),
      thread_([this](const std::stop_token& stop) { merge(stop); }) {}

RunMerger::~RunMerger() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  status_.ignore("the runs are there as they were");
  if (merged_.empty()) return;
  merged_.clear();
  directory_.remove_files(name_);
}

void RunMerger::merge(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "rocksdb:merge");
  BASALT_HOLDPOINT("txn.spill.merge_behind");
  // The transaction itself is in another step.
  TransactionProgress unseen;
  status_ = merge_runs(database_, runs_, directory_.path() + "/" + name_, unseen, merged_, stop);
  BASALT_FAILPOINT("txn.spill.merge_behind");
  // The transaction may be idle for long.
  if (!status_.is_ok()) {
    directory_.remove_files(name_);
    database_.health().measure_space();
  }
  slot_.reset();
  is_done_.store(true, std::memory_order_release);
}

Status RunMerger::wait(SpilledRuns& merged) {
  if (thread_.joinable()) thread_.join();
  merged = std::exchange(merged_, {});
  return status_.clone();
}

}  // namespace basalt::txn
