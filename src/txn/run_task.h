#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>

#include "base/status.h"
#include "bulk/build_directory.h"
#include "kv/database.h"
#include "txn/spilled_run.h"

namespace basalt::txn {

// Makes runs of a transaction in a thread of its own, while the transaction goes on.
//
// Files       Its own, and gone with it, until wait() has returned them.
// Threads     The transaction's, but for what makes the runs.
class RunTask {
 public:
  // Appends the runs, the oldest first. Returns soon, whatever it is, once `stop` asks for it.
  using Make = std::function<Status(const std::stop_token& stop, SpilledRuns& made)>;

  // Begins. `name`: what the names of the files in `directory` begin with. `thread_name` has at
  // most 15 characters. Database and directory outlive this. Throws std::system_error if there is
  // no thread for it.
  RunTask(kv::Database& database, const bulk::BuildDirectory& directory, std::string name,
          const char* thread_name, Make make);
  // Ends it soon and waits for that.
  ~RunTask();
  RunTask(const RunTask&) = delete;
  RunTask& operator=(const RunTask&) = delete;

  bool is_done() const { return is_done_.load(std::memory_order_acquire); }
  // Waits for the end, but not for long; whether it is done.
  bool await(std::chrono::milliseconds time) {
    return is_done() || has_ended_.try_acquire_for(time);
  }
  // Waits for the end. The error of `make`: nothing came of it.
  Status wait(SpilledRuns& made);

 private:
  void run(const std::stop_token& stop);

  kv::Database& database_;
  const bulk::BuildDirectory& directory_;
  const std::string name_;
  const Make make_;
  // The thread's until it is done.
  Status status_;
  SpilledRuns made_;
  std::atomic<bool> is_done_{false};
  std::binary_semaphore has_ended_{0};
  std::jthread thread_;  // last: it uses all of the others
};

}  // namespace basalt::txn
