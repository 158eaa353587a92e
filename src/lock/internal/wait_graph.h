#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/mutex.h"
#include "lock/internal/lock_request.h"
#include "lock/internal/lock_table.h"
#include "lock/lock_owner.h"
#include "lock/lock_report.h"

// Finds deadlocks at the moment they arise.
//
// Structure   Nodes are the owners inside a wait: enrolled by begin_wait() after their request is
//             in its queue, and taken out by end_wait() before it leaves the queue. Edges are not
//             stored; they are read from the queues (LockTable::for_each_blocker).
// Complete    A cycle is closed by the wait that was enrolled last. By then all its requests are in
//             their queues, so the search that belongs to that enrolment sees it.
// Exact       While the mutex is held no enrolled owner runs, so none releases a lock or gives up a
//             request. An edge between two enrolled owners therefore lasts until the mutex is free,
//             although the latch of the queue it was read under is free long before.
// Threads     Any. begin_wait() and end_wait() in the waiting thread, with no latch held.
// Lock order  The mutex comes before the shards' latches, of which one is held at a time.
namespace basalt::lock {

class WaitObserver;

class WaitGraph {
 public:
  // `observer` may be null.
  WaitGraph(LockTable& table, WaitObserver* observer) : table_(table), observer_(observer) {}

  // `request` is the owner's request; it was put into its queue as waiting, and may be granted
  // already. If its wait closes a cycle and `may_detect`, one member of each such cycle becomes a
  // victim: its request is taken out of the queue and its WaitSignal told.
  void begin_wait(LockOwner& owner, LockRequest& request, bool may_detect);
  // Returns whether the owner became a victim.
  bool end_wait(LockOwner& owner);

  // As LockManager::latest_deadlocks() and LockManager::set_deadlocks_kept().
  std::vector<DeadlockInfo> latest() const;
  void set_kept(std::size_t count);
  std::uint64_t deadlock_count() const { return deadlock_count_.load(std::memory_order_relaxed); }

 private:
  bool find_cycle(LockOwner& start) BASALT_REQUIRES(mutex_);
  bool visit_blockers(LockOwner& at, const LockOwner& start) BASALT_REQUIRES(mutex_);
  LockOwner& choose_victim() const BASALT_REQUIRES(mutex_);
  void doom(LockOwner& victim) BASALT_REQUIRES(mutex_);
  void record(const LockOwner& victim) BASALT_REQUIRES(mutex_);

  LockTable& table_;
  WaitObserver* const observer_;

  Mutex mutex_{MutexRank::kWaitGraph};                  // guards every LockOwner::node_, too
  std::uint64_t search_ BASALT_GUARDED_BY(mutex_) = 0;  // the number of the current search
  std::vector<LockOwner*> to_visit_
      BASALT_GUARDED_BY(mutex_);  // of the current search, in order of distance
  std::vector<LockOwner*> cycle_ BASALT_GUARDED_BY(mutex_);  // what find_cycle() found

  mutable Mutex record_mutex_{MutexRank::kDeadlockRecord};
  std::deque<DeadlockInfo> latest_ BASALT_GUARDED_BY(record_mutex_);  // the newest first
  std::size_t kept_ BASALT_GUARDED_BY(record_mutex_) = 5;
  std::atomic<std::uint64_t> deadlock_count_ = 0;
};

}  // namespace basalt::lock
