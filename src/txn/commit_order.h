#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace basalt::txn {

// Which transactions have a place in the commit order and are not visible yet.
//
// Purpose     The server decides the order of a group of commits in one thread, under a mutex;
//             the commits themselves then run in parallel and become visible in any order. Whoever
//             needs exactly the transactions up to a place of the order waits here.
// Threads     Safe from any thread. enter() and leave() take a fraction of a microsecond.
class CommitOrder {
 public:
  // Gives a transaction the next place; places count from 1.
  std::uint64_t enter();
  // It is visible now.
  void leave(std::uint64_t place);
  // The last place that was given; 0: none.
  std::uint64_t newest() const;
  // Waits until all transactions at places up to `place` are visible. False if `may_wait`, which
  // is asked ten times a second, has said no before.
  bool wait_for(std::uint64_t place, const std::function<bool()>& may_wait);

 private:
  mutable std::mutex mutex_;
  std::condition_variable progress_;
  std::uint64_t first_open_ = 1;   // all places before it are visible
  std::deque<bool> is_visible_;    // of first_open_ and the places after it
  int waiters_ = 0;
};

}  // namespace basalt::txn
