#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "lock/lock_mode.h"
#include "lock/lock_owner.h"
#include "lock/lock_report.h"

// Shared and exclusive locks on keys.
//
// Purpose     Decide who may go on, who waits, for how long, and who has to give up. Keys are
//             opaque byte strings; nothing is stored about a key that nobody locks or waits for.
// Fairness    Requests for one key are granted in the order of arrival. A shared request does not
//             overtake a waiting exclusive one. An upgrade (kShared held, kExclusive wanted) goes
//             before all requests that hold nothing of the key.
// Deadlocks   Found when the wait that closes the cycle begins. The member with the smallest
//             LockOwner::weight() is the victim, the requester if it is one of the smallest. Its
//             wait ends with kDeadlock; what it held it still holds, until its caller releases it.
// Ownership   Owners belong to the caller; each uses one manager. All must have released everything
//             before the manager dies.
// Threads     Any, but one at a time for one owner, unless a function says otherwise.
// Lock order  wait graph's mutex, one shard's latch, one owner's WaitSignal mutex. Only a request
//             that must wait takes the first. docs/internals/lock.md has the reasons.
// Cost        48 bytes + the key, rounded up to 8, and about 8 bytes of hash table per lock.
// Must not    know transactions, RocksDB or the server.
namespace basalt::lock {

class Shard;
class ShardTable;
class WaitGraph;

struct WaitPolicy {
  bool may_wait = true;              // false: a conflict is kLockTimeout at once
  std::int64_t timeout_ms = 50'000;  // longest wait for one lock; 0 or less: no wait
};

// What the lock manager tells the world about waits. Calls for one waiter come from its own thread,
// in the order wait_begins, waits_for..., wait_ends.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;

  // Before the thread blocks and after it goes on, however the wait ended. No latch is held.
  virtual void wait_begins(LockOwner& waiter) = 0;
  virtual void wait_ends(LockOwner& waiter) = 0;

  // Before the thread blocks, once per owner that the wait depends on: all that hold a conflicting
  // lock or asked for one earlier. Again during the wait, for an owner that came to that by an
  // upgrade. Not called if the wait is over already: granted, or ended by a deadlock.
  // A latch is held so that `holder` cannot go away: the call must be short, and of the lock
  // manager it may call interrupt() and clear_interrupt() only.
  virtual void waits_for(LockOwner& waiter, LockOwner& holder) = 0;
};

class LockManager {
 public:
  using LockInfo = lock::LockInfo;
  using DeadlockInfo = lock::DeadlockInfo;

  struct Options {
    std::size_t shards = 64;  // a power of two, at most 65536
    bool deadlock_detect = true;
  };

  // `observer` may be null; it must outlive the manager.
  explicit LockManager(Options options, WaitObserver* observer = nullptr);
  ~LockManager();
  LockManager(const LockManager&) = delete;
  LockManager& operator=(const LockManager&) = delete;

  // Gives `owner` the lock on `key`, in `mode` or the stronger one it holds already.
  // `newly_acquired`, if not null, becomes true iff the owner held no lock on the key before and
  // does now: an upgrade is not new.
  // Fails, with the owner's locks as before, with
  //   kLockTimeout  not granted in time, or at once because the policy forbids to wait;
  //   kDeadlock     the owner was chosen as the victim;
  //   kInterrupted  interrupt(); a lock that needs no wait is granted nevertheless.
  Status lock(LockOwner& owner, std::string_view key, LockMode mode, const WaitPolicy& policy,
              bool* newly_acquired = nullptr);

  // Whether the owner holds `at_least` that mode on the key.
  bool holds(const LockOwner& owner, std::string_view key, LockMode at_least) const;

  // Gives up one lock, in whatever mode it is held. It must be held.
  void unlock(LockOwner& owner, std::string_view key);

  // Gives up all locks and forgets the owner's weight. Linear in their number.
  void release_all(LockOwner& owner);

  // Ends the owner's current wait with kInterrupted, unless it is over at this moment, and every
  // later wait at its beginning, until clear_interrupt(). Any thread, while the owner lives; takes
  // no latch that is held for longer than a few instructions.
  void interrupt(LockOwner& owner);
  void clear_interrupt(LockOwner& owner);

  // Without detection a deadlock lasts until one of its members times out or is interrupted.
  // Switching it on finds the cycles that begin from then on.
  void set_deadlock_detect(bool is_on) { deadlock_detect_.store(is_on); }

  // Every lock and every waiting request: consistent within a shard, not between shards. Those of
  // one key are neighbours, in the order in which they are or will be granted.
  std::vector<LockInfo> snapshot() const;
  std::optional<DeadlockInfo> last_deadlock() const;
  // Deadlocks found since the manager was made.
  std::uint64_t deadlock_count() const;

 private:
  Status wait(LockOwner& owner, Shard& shard, Slot& slot, const WaitPolicy& policy);
  void report_blockers(const Shard& shard, const Slot& slot,
                       std::vector<const LockOwner*>& reported);

  WaitObserver* const observer_;
  std::atomic<bool> deadlock_detect_;
  const std::unique_ptr<const ShardTable> shards_;
  const std::unique_ptr<WaitGraph> graph_;
};

}  // namespace basalt::lock
