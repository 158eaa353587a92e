#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "bulk/build_directory.h"
#include "kv/database.h"
#include "txn/pending_run.h"
#include "txn/run_task.h"
#include "txn/spilled_run.h"

namespace basalt::txn {

// What pending runs have become in files.
struct WrittenRuns {
  SpilledRuns runs;               // the oldest first
  std::vector<std::size_t> ends;  // how many there are of the pending ones up to each: 0 to 2 more
};

// Writes pending runs to files.
//
// Arguments   `path`: what the paths of the files begin with. `is_stopped` is asked for each entry.
// Errors      kNoSpace, kIoError, as bulk::SstWriter; kInterrupted where it is stopped. The files
//             are of no use then; the owner of their directory removes them.
Status write_pending_runs(kv::Database& database, const PendingRuns& pending,
                          const std::string& path, const std::function<bool()>& is_stopped,
                          WrittenRuns& written);

// Writes pending runs in a thread of its own.
//
// Files       As RunTask.
// Threads     The transaction's, but for the writing itself.
class PendingWrite {
 public:
  // Begins. As RunTask. The runs live on.
  PendingWrite(kv::Database& database, const bulk::BuildDirectory& directory,
               const std::string& name, PendingRuns runs);

  bool is_done() const { return task_.is_done(); }
  bool await(std::chrono::milliseconds time) { return task_.await(time); }
  // Waits for the end. As write_pending_runs().
  Status wait(WrittenRuns& written);

 private:
  const PendingRuns runs_;
  std::vector<std::size_t> ends_;  // the thread's until it is done
  RunTask task_;                   // last: it uses the others
};

}  // namespace basalt::txn
