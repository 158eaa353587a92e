#pragma once
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "kv/database.h"
#include "txn/spilled_run.h"
#include "txn/transaction_progress.h"

namespace basalt::txn {

// Makes of a transaction's runs, the oldest first, as few as have the same effect: one, and one
// below it if there are single deletions which a put follows (run_writer.h), or none if all is
// undone.
//
// Arguments   `path`: what the paths of the new files begin with. `merged`: what is made is
//             appended, the oldest first. `progress` counts bytes.
// Errors      kNoSpace, kIoError, kCorruption, kInterrupted when `stop` asks for it: nothing is
//             appended. What was written is left to the owner of the files' directory.
Status merge_runs(kv::Database& database, std::span<const std::shared_ptr<const SpilledRun>> runs,
                  const std::string& path, TransactionProgress& progress, SpilledRuns& merged,
                  const std::stop_token& stop = {});

}  // namespace basalt::txn
