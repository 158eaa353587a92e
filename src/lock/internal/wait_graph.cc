#include "lock/internal/wait_graph.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/assert.h"
#include "lock/lock_manager.h"

namespace basalt::lock {

void WaitGraph::begin_wait(LockOwner& owner, LockRequest& request, bool may_detect) {
  const MutexLock guard(mutex_);
  BASALT_ASSERT(owner.node_.waits_in == nullptr && request.owner == &owner);
  owner.node_.waits_in = &request;
  owner.node_.is_victim = false;
  // The new wait may close several cycles; each victim breaks at least one.
  while (may_detect && !owner.node_.is_victim && find_cycle(owner)) {
    LockOwner& victim = choose_victim();
    record(victim);
    doom(victim);
  }
}

bool WaitGraph::end_wait(LockOwner& owner) {
  const MutexLock guard(mutex_);
  BASALT_ASSERT(owner.node_.waits_in != nullptr || owner.node_.is_victim);
  owner.node_.waits_in = nullptr;
  return owner.node_.is_victim;
}

std::vector<DeadlockInfo> WaitGraph::latest() const {
  const MutexLock guard(record_mutex_);
  return {latest_.begin(), latest_.end()};
}

void WaitGraph::set_kept(std::size_t count) {
  const MutexLock guard(record_mutex_);
  kept_ = count;
  while (latest_.size() > kept_) latest_.pop_back();
}

// Breadth first, so that the cycle is a shortest one: nobody has to give up who merely stands in
// the queue between two others that are in each other's way.
bool WaitGraph::find_cycle(LockOwner& start) {
  ++search_;
  to_visit_.assign(1, &start);
  start.node_.visited_in = search_;
  for (std::size_t i = 0; i < to_visit_.size(); ++i) {
    LockOwner* at = to_visit_[i];
    if (!visit_blockers(*at, start)) continue;
    cycle_.clear();
    for (; at != &start; at = at->node_.reached_from) cycle_.push_back(at);
    cycle_.push_back(&start);
    std::reverse(cycle_.begin(), cycle_.end());
    return true;
  }
  return false;
}

// Adds what `at` waits for to to_visit_. Returns whether `start` is among it.
//
// A request that holds nothing of the key and waits before an exclusive one waits for nothing but
// what the exclusive one waits for too. So of the requests before a new one at most the last
// exclusive one leads further, and a search walks a long queue a few times, not once per request.
bool WaitGraph::visit_blockers(LockOwner& at, const LockOwner& start) {
  const LockRequest& request = *at.node_.waits_in;
  const MutexLock latch(table_.latch_of(request));
  if (!request.is_waiting()) return false;
  const auto add = [&](LockOwner& owner) {
    mutex_.assert_held();
    if (owner.node_.visited_in == search_) return;
    owner.node_.visited_in = search_;
    owner.node_.reached_from = &at;
    to_visit_.push_back(&owner);
  };
  bool is_start_found = false;
  LockOwner* last_waiting = nullptr;
  table_.for_each_blocker(request, [&](LockOwner& owner, bool only_waits) {
    is_start_found |= &owner == &start;
    // An owner that is not enrolled runs, or will search for itself.
    if (owner.node_.waits_in == nullptr) return;
    if (only_waits) {
      last_waiting = &owner;
    } else {
      add(owner);
    }
  });
  // Only a shared request has something to learn here; what it waits behind is exclusive.
  if (last_waiting != nullptr && request.wanted() == LockMode::kShared) add(*last_waiting);
  return is_start_found;
}

// cycle_ begins with the requester, so it is the one if nobody is preferred and weights are equal.
LockOwner& WaitGraph::choose_victim() const {
  LockOwner* victim = cycle_.front();
  for (LockOwner* member : cycle_) {
    int preference = 0;
    if (observer_ != nullptr) preference = observer_->prefers_victim(*member, *victim);
    if (preference > 0 || (preference == 0 && member->weight() < victim->weight())) {
      victim = member;
    }
  }
  return *victim;
}

void WaitGraph::doom(LockOwner& victim) {
  LockRequest& request = *victim.node_.waits_in;
  victim.node_.waits_in = nullptr;
  victim.node_.is_victim = true;
  const MutexLock latch(table_.latch_of(request));
  table_.cancel_wait(request);
  victim.signal_.decide();
}

void WaitGraph::record(const LockOwner& victim) {
  DeadlockInfo info;
  for (const LockOwner* member : cycle_) {
    const LockRequest& request = *member->node_.waits_in;
    info.cycle.push_back({member->id(), std::string(request.key()), request.wanted()});
  }
  info.victim_id = victim.id();
  info.found_at = std::chrono::system_clock::now();
  info.number = deadlock_count_.fetch_add(1, std::memory_order_relaxed) + 1;
  const MutexLock guard(record_mutex_);
  latest_.push_front(std::move(info));
  while (latest_.size() > kept_) latest_.pop_back();
}

}  // namespace basalt::lock
