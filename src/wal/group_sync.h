#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/mutex.h"
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
    const MutexLock guard(mutex_);
    return waiting_;
  }
  // How many syncs were done.
  std::uint64_t count() const { return finished_count_.load(std::memory_order_relaxed); }

 private:
  // The number of a sync of the calling thread, and what has become of it.
  std::uint64_t begin() BASALT_REQUIRES(mutex_);
  void end(std::uint64_t number, const Status& status, std::chrono::nanoseconds duration)
      BASALT_REQUIRES(mutex_);
  void gather() BASALT_REQUIRES(mutex_);

  const std::function<Status()> sync_once_;
  mutable Mutex mutex_{MutexRank::kGroupSync};
  // Those who wait for sync n are at n % 2: the end of a sync wakes nobody who must go on waiting,
  // but for one, to do the next.
  std::array<ConditionVariable, 2> ended_;
  ConditionVariable gathered_;
  bool is_running_ BASALT_GUARDED_BY(mutex_) = false;
  int expected_ BASALT_GUARDED_BY(mutex_) = 0;           // by the next sync
  int last_group_ BASALT_GUARDED_BY(mutex_) = 1;         // took part in the last sync
  int before_last_group_ BASALT_GUARDED_BY(mutex_) = 1;  // and in the one before
  std::chrono::nanoseconds last_duration_ BASALT_GUARDED_BY(mutex_){0};  // of a sync
  int waiting_ BASALT_GUARDED_BY(mutex_) = 0;
  std::uint64_t started_ BASALT_GUARDED_BY(mutex_) = 0;
  std::uint64_t finished_ BASALT_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_failed_ BASALT_GUARDED_BY(mutex_) = 0;
  Status failure_ BASALT_GUARDED_BY(mutex_);  // of last_failed_
  std::atomic<std::uint64_t> finished_count_{0};
};

}  // namespace basalt::wal
