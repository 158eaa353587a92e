#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "base/status.h"

namespace basalt::kv {

// Lets threads that need the log on disk at the same time share one sync.
//
// Purpose     A sync covers whatever was written before it began. Threads that come while one
//             runs wait for the next, which one of them does for all: the busier the database,
//             the fewer syncs per thread.
// Threads     Safe from any thread. The sync runs without a lock, one at a time.
class GroupSync {
 public:
  explicit GroupSync(std::function<Status()> sync_once) : sync_once_(std::move(sync_once)) {}
  GroupSync(const GroupSync&) = delete;
  GroupSync& operator=(const GroupSync&) = delete;

  // Returns when a sync that began after the call has ended, with its error.
  Status sync();
  // How many threads wait for a sync that another thread does or will do.
  int waiting() const {
    const std::lock_guard guard(mutex_);
    return waiting_;
  }
  // How many syncs were done.
  std::uint64_t count() const { return finished_count_.load(std::memory_order_relaxed); }

 private:
  Status run(std::unique_lock<std::mutex>& guard);

  const std::function<Status()> sync_once_;
  mutable std::mutex mutex_;
  // Those who wait for sync n are at n % 2: the end of a sync wakes nobody who must go on waiting,
  // but for one, to do the next.
  std::array<std::condition_variable, 2> ended_;
  bool is_running_ = false;         // guarded by mutex_
  int waiting_ = 0;                 // guarded by mutex_
  std::uint64_t started_ = 0;       // guarded by mutex_
  std::uint64_t finished_ = 0;      // guarded by mutex_
  std::uint64_t last_failed_ = 0;   // guarded by mutex_
  Status failure_;                  // of last_failed_; guarded by mutex_
  std::atomic<std::uint64_t> finished_count_{0};
};

}  // namespace basalt::kv
