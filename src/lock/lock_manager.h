#pragma once
#include <atomic>
#include <chrono>
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

// Shared and exclusive locks on keys, and locks on ranges of keys.
//
// Purpose     Decide who may go on, who waits, for how long, and who has to give up. Keys are
//             opaque byte strings, in spaces (indexes) that their first four bytes name; nothing is
//             stored about a key that nobody locks or waits for.
// Ranges      Keep others from inserting keys (gap locks), see RangeMode. They conflict with
//             inserts, never with each other, so a range is granted at once. An owner must ask
//             await_insert() or is_insert_blocked() before it inserts. The caller ensures that
//             nothing is inserted between the question and the insert.
// Escalation  An owner that has locked more than LockOwner::set_most_keys() keys gets a range over
//             the keys of one space in place of their locks, if nobody else has locked a key there;
//             if somebody has, its locks stay single ones.
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

enum class RequestKind : std::uint8_t;
struct LockTable;
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

  // Asked once a second while the thread waits: whether nobody is left for whom it waits, so that
  // the wait ends as by interrupt(). No latch is held.
  virtual bool is_abandoned(LockOwner&) { return false; }

  // Compares two members of a deadlock: above 0 if the first should rather be the victim, below 0
  // if the second, 0 if their weights may decide. Called from any thread, with the wait graph's
  // mutex held.
  virtual int prefers_victim(LockOwner&, LockOwner&) { return 0; }
};

class LockManager {
 public:
  using LockInfo = lock::LockInfo;
  using DeadlockInfo = lock::DeadlockInfo;
  using WaitInfo = lock::WaitInfo;

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

  // Locks all keys in [lower, upper), which is not empty and lies in one space. Does not wait and
  // does not look at locks of keys: others' single locks in the range stay. Held until
  // release_all().
  void lock_gap(LockOwner& owner, std::string_view lower, std::string_view upper);
  // The same, and locks the keys themselves exclusively: others that lock one wait from now on.
  // What they have locked there stays theirs: the caller knows that it is no key of its own.
  void lock_range(LockOwner& owner, std::string_view lower, std::string_view upper);
  // Whether a range of another owner holds the key: inserting it has to wait.
  bool is_insert_blocked(const LockOwner& owner, std::string_view key) const;
  // Finds a key of [lower, upper), which lies in one space, that is_insert_blocked() for.
  bool find_blocked_insert(const LockOwner& owner, std::string_view lower, std::string_view upper,
                           std::string& key) const;
  // Waits until is_insert_blocked() is false; fails as lock() does. Others may lock ranges again at
  // any time after that.
  Status await_insert(LockOwner& owner, std::string_view key, const WaitPolicy& policy);

  // Whether the owner holds `at_least` that mode on the key.
  bool holds(const LockOwner& owner, std::string_view key, LockMode at_least) const;

  // The spaces in which the owner has locked a key or a range, in order, each once. The owner's
  // thread. Linear in its locks.
  std::vector<std::uint32_t> locked_spaces(const LockOwner& owner) const;

  // Gives up the owner's gap locks, and keeps its locks on keys.
  void release_gaps(LockOwner& owner);

  // Gives up one lock, in whatever mode it is held. It must be held. A key that escalation has made
  // part of a range stays locked.
  void unlock(LockOwner& owner, std::string_view key);

  // Gives up all locks and forgets the owner's weight. Linear in their number.
  void release_all(LockOwner& owner);

  // Makes the owner's user null, and returns when no call of WaitObserver::waits_for() can look at
  // what it was any more: the user may go, and the locks stay. Not while the owner waits.
  void forget_user(LockOwner& owner);

  // Ends the owner's current wait with kInterrupted, unless it is over at this moment, and every
  // later wait at its beginning, until clear_interrupt(). Any thread, while the owner lives; takes
  // no latch that is held for longer than a few instructions.
  void interrupt(LockOwner& owner);
  void clear_interrupt(LockOwner& owner);

  // Without detection a deadlock lasts until one of its members times out or is interrupted.
  // Switching it on finds the cycles that begin from then on.
  void set_deadlock_detect(bool is_on) { deadlock_detect_.store(is_on); }
  bool detects_deadlocks() const { return deadlock_detect_.load(); }

  // Every lock and every waiting request: consistent within a shard, not between shards. Those of
  // one key are neighbours, in the order in which they are or will be granted.
  std::vector<LockInfo> snapshot() const;
  std::vector<RangeInfo> range_snapshot() const;
  // Who waits for whom: as consistent as snapshot().
  std::vector<WaitInfo> waits() const;
  std::optional<DeadlockInfo> last_deadlock() const;
  // The latest deadlocks, the newest first.
  std::vector<DeadlockInfo> latest_deadlocks() const;
  // So many of them are kept from now on; at first 5.
  void set_deadlocks_kept(std::size_t count);
  // All counted since the manager was made: deadlocks found, requests that had to wait, and those
  // whose time ran out.
  std::uint64_t deadlock_count() const;
  std::uint64_t wait_count() const { return wait_count_.load(std::memory_order_relaxed); }
  std::uint64_t timeout_count() const { return timeout_count_.load(std::memory_order_relaxed); }
  // How often waiting requests were told of a range that they wait for as well.
  std::uint64_t told_count() const;
  // How many requests wait at this moment.
  std::uint64_t waiting_count() const { return waiting_count_.load(std::memory_order_relaxed); }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Attempt : std::uint8_t { kHeld, kNew, kRangeBlocks };

  bool is_abandoned(LockOwner& owner) const;
  Status wait(LockOwner& owner, LockRequest& request, const WaitPolicy& policy, Deadline& deadline);
  Status wait_for_ranges(LockOwner& owner, std::string_view key, RequestKind kind, LockMode mode,
                         const WaitPolicy& policy, Deadline& deadline);
  Status lock_once(LockOwner& owner, std::string_view key, LockMode mode, const WaitPolicy& policy,
                   Deadline& deadline, Attempt& attempt);
  void report_blockers(const LockRequest& request, std::vector<const LockOwner*>& reported);
  void escalate(LockOwner& owner);
  void drop_if_alone(LockOwner& owner, LockRequest& request);
  bool is_locked_by_others(const LockOwner& owner, std::string_view lower, std::string_view upper,
                           RangeMode mode) const;

  WaitObserver* const observer_;
  std::atomic<bool> deadlock_detect_;
  std::atomic<std::uint64_t> wait_count_ = 0;
  std::atomic<std::uint64_t> timeout_count_ = 0;
  std::atomic<std::uint64_t> waiting_count_ = 0;
  const std::unique_ptr<LockTable> table_;
  const std::unique_ptr<WaitGraph> graph_;
};

}  // namespace basalt::lock
