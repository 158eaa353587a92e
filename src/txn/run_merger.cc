#include "txn/run_merger.h"

#include <utility>

#include "base/failpoint.h"
#include "txn/run_merge.h"
#include "txn/transaction_progress.h"

namespace basalt::txn {

RunMerger::RunMerger(kv::Database& database, const bulk::BuildDirectory& directory,
                     const std::string& name, SpilledRuns runs, std::size_t first,
                     MergeSlot::Holder slot)
    : runs_(std::move(runs)),
      first_(first),
      slot_(std::move(slot)),
      task_(database, directory, name, "rocksdb:merge",
            [this, &database, path = directory.path() + "/" + name](const std::stop_token& stop,
                                                                    SpilledRuns& made) {
              const MergeSlot::Holder slot_of_merge = std::move(slot_);
              BASALT_HOLDPOINT("txn.spill.merge_behind");
              // The transaction itself is in another step.
              TransactionProgress unseen;
              BASALT_TRY(merge_runs(database, runs_, path, unseen, made, stop));
              BASALT_FAILPOINT("txn.spill.merge_behind");
              return Status::ok();
            }) {}

}  // namespace basalt::txn
