#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "catalog/catalog.h"
#include "kv/database.h"
#include "kv/wal_limit.h"

// Work that no user waits for.
namespace basalt::maintenance {

// One background thread. Every second, and when woken, it
//   - does the tasks it was given;
//   - measures the free space of the device;
//   - releases snapshots and iterators that nobody uses;
//   - syncs the WAL, if commits leave that to the background;
//   - keeps the WAL small: kv::WalLimit;
//   - lets compactions take what has expired meanwhile: kv::Database::renew_expiry_limit();
//   - gives back the space of dropped indexes to which nobody can write any more.
// A failure is logged and tried again with the next round. Stopped by the destructor, between
// two steps.
class Worker {
 public:
  using Task = std::function<Status()>;
  // The indexes to which transactions may yet write, in order. A dropped one that is not among them
  // will not be again.
  using IndexesInUse = std::function<std::vector<catalog::IndexId>()>;

  // `in_use` may be null.
  Worker(kv::Database& database, catalog::Catalog& catalog, IndexesInUse in_use = nullptr);
  // Tries once more what run_soon() left.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // On a device that is slow, or has no time, commits take seconds.
  static constexpr int kPatientRounds = 30;

  // Does a round soon: an index was dropped.
  void wake();
  // Does `task` in a round that begins soon, and again in each round until it succeeds. Tasks end
  // in the order they were given. `name` is for the log, to which the first failure goes. With
  // kLockTimeout a task says that it waits for others: that is logged if it still does after
  // kPatientRounds.
  void run_soon(std::string name, Task task);
  void set_sync_wal(bool on) { sync_wal_ = on; }
  // Until started, dropped indexes stay: crash recovery of the server may still ask for them.
  void start_reclaiming();

 private:
  struct NamedTask {
    std::string name;
    Task task;
    bool has_failed = false;
    int rounds_waited = 0;
  };

  void run();
  void run_tasks();
  static void log_failure(NamedTask& task, const Status& status);
  void sync_wal();
  void limit_wal();
  void renew_expiry_limit();
  void reclaim_dropped();

  kv::Database& database_;
  catalog::Catalog& catalog_;
  std::atomic<bool> sync_wal_{false};
  std::atomic<bool> reclaiming_{false};
  Mutex mutex_{MutexRank::kWorker};
  ConditionVariable changed_;
  bool stopping_ BASALT_GUARDED_BY(mutex_) = false;
  bool woken_ BASALT_GUARDED_BY(mutex_) = false;
  std::vector<NamedTask> new_tasks_ BASALT_GUARDED_BY(mutex_);
  std::vector<NamedTask> tasks_;   // of the thread; then of the destructor
  kv::WalLimit wal_limit_;         // of the thread
  bool has_replayed_wals_ = true;  // likewise
  const IndexesInUse in_use_;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace basalt::maintenance
