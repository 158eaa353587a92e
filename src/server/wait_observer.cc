#include "server/wait_observer.h"

#include "server/session.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

THD* connection_of(const lock::LockOwner& owner) { return static_cast<THD*>(owner.user()); }

}  // namespace

void WaitReporter::wait_begins(lock::LockOwner& waiter) {
  if (connection_of(waiter) != nullptr) thd_wait_begin(connection_of(waiter), THD_WAIT_ROW_LOCK);
}

void WaitReporter::wait_ends(lock::LockOwner& waiter) {
  if (connection_of(waiter) != nullptr) thd_wait_end(connection_of(waiter));
}

// Without a connection that holds the lock nobody can be asked to give way, but the binary log
// still marks the transaction as one that waited: replicas then begin it no earlier than they must.
void WaitReporter::waits_for(lock::LockOwner& waiter, lock::LockOwner& holder) {
  if (connection_of(waiter) == nullptr) return;
  thd_rpl_deadlock_check(connection_of(waiter), connection_of(holder));
}

bool WaitReporter::is_abandoned(lock::LockOwner& waiter) {
  THD* const thd = connection_of(waiter);
  // A KILL reaches the session's own transaction at once, and others that wait for it here.
  return thd != nullptr && (has_lost_client(thd) || thd_kill_level(thd) != THD_IS_NOT_KILLED);
}

// Where parallel replication has to commit two transactions in an order, the later one is the
// victim: the earlier one would be tried again at once and meet the later one's locks again.
int WaitReporter::prefers_victim(lock::LockOwner& first, lock::LockOwner& second) {
  // The server's answer is about the second.
  return -thd_deadlock_victim_preference(connection_of(first), connection_of(second));
}

}  // namespace basalt::server
