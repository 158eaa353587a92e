#include "server/wait_observer.h"

#include "server/mariadb.h"

namespace basalt::server {

void WaitReporter::wait_begins(lock::LockOwner& waiter) {
  if (waiter.user() == nullptr) return;
  thd_wait_begin(static_cast<THD*>(waiter.user()), THD_WAIT_ROW_LOCK);
}

void WaitReporter::wait_ends(lock::LockOwner& waiter) {
  if (waiter.user() == nullptr) return;
  thd_wait_end(static_cast<THD*>(waiter.user()));
}

void WaitReporter::waits_for(lock::LockOwner& waiter, lock::LockOwner& holder) {
  if (waiter.user() == nullptr || holder.user() == nullptr) return;
  thd_rpl_deadlock_check(static_cast<THD*>(waiter.user()), static_cast<THD*>(holder.user()));
}

// Of two replicated transactions the one that has to commit later.
int WaitReporter::prefers_victim(lock::LockOwner& first, lock::LockOwner& second) {
  return -thd_deadlock_victim_preference(static_cast<THD*>(first.user()),
                                         static_cast<THD*>(second.user()));
}

}  // namespace basalt::server
