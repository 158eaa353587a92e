#pragma once
#include "lock/lock_manager.h"

namespace basalt::server {

// Tells the server about lock waits: the thread pool, and parallel replication, which must know
// at once that a later transaction blocks an earlier one, and is asked which of two transactions
// should give up in a deadlock. A lock owner's user is its THD, or null for a prepared transaction
// without a session.
class WaitReporter final : public lock::WaitObserver {
 public:
  void wait_begins(lock::LockOwner& waiter) override;
  void wait_ends(lock::LockOwner& waiter) override;
  void waits_for(lock::LockOwner& waiter, lock::LockOwner& holder) override;
  bool is_abandoned(lock::LockOwner& waiter) override;
  int prefers_victim(lock::LockOwner& first, lock::LockOwner& second) override;
};

}  // namespace basalt::server
