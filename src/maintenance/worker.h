#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "catalog/catalog.h"
#include "kv/database.h"

// Work that no user waits for.
namespace basalt::maintenance {

// One background thread. Every second, and when woken, it
//   - syncs the log, if commits leave that to the background;
//   - gives back the space of dropped indexes.
// A failure is logged and tried again with the next round. Stopped by the destructor, between
// two steps.
class Worker {
 public:
  Worker(kv::Database& database, catalog::Catalog& catalog);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Does a round soon: an index was dropped.
  void wake();
  void set_sync_log(bool on) { sync_log_ = on; }
  // Until started, dropped indexes stay: crash recovery of the server may still ask for them.
  void start_reclaiming();

 private:
  void run();
  void sync_log();
  void reclaim_dropped();

  kv::Database& database_;
  catalog::Catalog& catalog_;
  std::atomic<bool> sync_log_{false};
  std::atomic<bool> reclaiming_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  bool woken_ = false;     // guarded by mutex_
  std::thread thread_;     // last: starts when everything else is there
};

}  // namespace basalt::maintenance
