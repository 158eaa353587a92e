#pragma once
#include <cstdint>
#include <deque>
#include <functional>

#include "base/mutex.h"

namespace basalt::txn {

// The order of commits: which transactions have a ticket, their number in it, and are not visible
// yet.
//
// Purpose     The server decides the order of a group of commits in one thread, under a mutex;
//             the commits themselves then run in parallel and become visible in any order. Whoever
//             needs exactly the transactions up to a ticket waits here.
// Threads     Safe from any thread. issue() and retire() take a fraction of a microsecond.
class CommitTickets {
 public:
  // The ticket of the next transaction; tickets count from 1.
  std::uint64_t issue();
  // The ticket's transaction is visible now.
  void retire(std::uint64_t ticket);
  // The last ticket that was issued; 0: none.
  std::uint64_t newest() const;
  // Waits until the transactions of all tickets up to `ticket` are visible. False if `may_wait`,
  // which is asked ten times a second, has said no before.
  bool wait_for(std::uint64_t ticket, const std::function<bool()>& may_wait);

 private:
  mutable Mutex mutex_{MutexRank::kTickets};
  ConditionVariable progress_;
  // Those of all tickets before it are visible.
  std::uint64_t first_open_ BASALT_GUARDED_BY(mutex_) = 1;
  // Those of first_open_ and the tickets after it.
  std::deque<bool> is_visible_ BASALT_GUARDED_BY(mutex_);
  int waiters_ BASALT_GUARDED_BY(mutex_) = 0;
};

}  // namespace basalt::txn
