#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "base/status.h"

namespace basalt::wal {

// Lets threads that need the WAL on disk at the same time share one sync.
//
// Purpose     A sync covers whatever was written before it began. Threads that come while one
//             runs wait for the next, which one of them does for all: the busier the database,
//             the fewer syncs per thread. The thread that syncs waits a moment for others, if
//             there have been others: until as many have come as took part in both of the last
//             two syncs, but for a fifth, or for a quarter of the time that a sync takes.
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
  void gather(std::unique_lock<std::mutex>& guard);

  const std::function<Status()> sync_once_;
  mutable std::mutex mutex_;
  // Those who wait for sync n are at n % 2: the end of a sync wakes nobody who must go on waiting,
  // but for one, to do the next.
  std::array<std::condition_variable, 2> ended_;
  std::condition_variable gathered_;
  bool is_running_ = false;                    // guarded by mutex_
  int expected_ = 0;                           // by the next sync; guarded by mutex_
  int last_group_ = 1;                         // took part in the last sync; guarded by mutex_
  int before_last_group_ = 1;                  // and in the one before; guarded by mutex_
  std::chrono::nanoseconds last_duration_{0};  // of a sync; guarded by mutex_
  int waiting_ = 0;                            // guarded by mutex_
  std::uint64_t started_ = 0;                  // guarded by mutex_
  std::uint64_t finished_ = 0;                 // guarded by mutex_
  std::uint64_t last_failed_ = 0;              // guarded by mutex_
  Status failure_;                             // of last_failed_; guarded by mutex_
  std::atomic<std::uint64_t> finished_count_{0};
};

}  // namespace basalt::wal
