#include "lock/lock_manager.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string>

#include "base/assert.h"
#include "lock/internal/shard.h"
#include "lock/internal/slot.h"
#include "lock/internal/wait_graph.h"

namespace basalt::lock {
namespace {

using Clock = std::chrono::steady_clock;

// Keeps deadlines inside the clock's range; nobody waits that long.
constexpr std::int64_t kLongestWaitMs = std::int64_t{1000} * 60 * 60 * 24 * 365;

Clock::time_point deadline_of(const WaitPolicy& policy) {
  return Clock::now() + std::chrono::milliseconds(std::min(policy.timeout_ms, kLongestWaitMs));
}

Status not_granted_in(std::int64_t ms) {
  return Status(ErrorCode::kLockTimeout,
                "row lock was not granted in " + std::to_string(ms) + " ms");
}

Status interrupted() {
  return Status(ErrorCode::kInterrupted, "wait for a row lock was interrupted");
}

// Why a request that was in a queue is not granted.
Status failure_of(bool is_victim, WaitSignal::Wake wake, const WaitPolicy& policy) {
  if (is_victim) return Status::of(ErrorCode::kDeadlock);
  return wake == WaitSignal::Wake::kInterrupted ? interrupted() : not_granted_in(policy.timeout_ms);
}

}  // namespace

LockManager::LockManager(Options options, WaitObserver* observer)
    : observer_(observer),
      deadlock_detect_(options.deadlock_detect),
      shards_(std::make_unique<const ShardTable>(options.shards)),
      graph_(std::make_unique<WaitGraph>(*shards_)) {}

LockManager::~LockManager() {
  for (std::size_t i = 0; i < shards_->size(); ++i) BASALT_ASSERT((*shards_)[i].slot_count() == 0);
}

Status LockManager::lock(LockOwner& owner, std::string_view key, LockMode mode,
                         const WaitPolicy& policy, bool* newly_acquired) {
  BASALT_ASSERT(key.size() <= std::numeric_limits<std::uint32_t>::max());
  if (newly_acquired != nullptr) *newly_acquired = false;
  const std::uint32_t hash = ShardTable::hash_of(key);
  Shard& shard = shards_->shard_of(hash);
  std::unique_lock latch(shard.latch);
  const Shard::Place place = shard.find_place(owner, hash, key, mode);
  Slot* slot = place.own;
  const bool is_new = slot == nullptr;
  if (!is_new && slot->mode >= mode) return Status::ok();

  if (!place.is_blocked) {
    if (is_new) {
      slot = owner.new_slot(hash, key, mode, SlotState::kGranted);
      shard.insert(*slot, place.last);
    } else {
      shard.upgrade(*slot);
    }
  } else {
    if (!policy.may_wait || policy.timeout_ms <= 0) return not_granted_in(0);
    if (owner.signal_.is_interrupted()) return interrupted();
    owner.signal_.prepare();
    if (is_new) {
      slot = owner.new_slot(hash, key, mode, SlotState::kWaiting);
      shard.insert(*slot, place.last);
    } else {
      shard.begin_upgrade(*slot);
    }
    latch.unlock();
    Status status = wait(owner, shard, *slot, policy);
    if (!status.is_ok()) {
      if (is_new) owner.free_slot(slot);
      return status;
    }
  }
  if (is_new) {
    owner.add_held(slot);  // only the owner's thread looks at this list: with or without the latch
    if (newly_acquired != nullptr) *newly_acquired = true;
  }
  return Status::ok();
}

// What happened is decided by the slot's state under the latch, whatever woke the thread: a lock
// granted at the moment of a timeout or an interrupt is held, and everything else is out of the
// queue.
Status LockManager::wait(LockOwner& owner, Shard& shard, Slot& slot, const WaitPolicy& policy) {
  const Clock::time_point deadline = deadline_of(policy);
  if (observer_ != nullptr) observer_->wait_begins(owner);
  graph_->begin_wait(owner, slot, deadlock_detect_.load());
  std::vector<const LockOwner*> reported;
  WaitSignal::Wake wake;
  do {
    report_blockers(shard, slot, reported);
    wake = owner.signal_.wait_until(deadline);
  } while (wake == WaitSignal::Wake::kQueueChanged);
  const bool is_victim = graph_->end_wait(owner);
  bool is_granted = false;
  if (!is_victim) {
    const std::lock_guard latch(shard.latch);
    is_granted = !slot.is_waiting();
    if (!is_granted) shard.cancel_wait(slot);
  }
  if (observer_ != nullptr) observer_->wait_ends(owner);
  return is_granted ? Status::ok() : failure_of(is_victim, wake, policy);
}

void LockManager::report_blockers(const Shard& shard, const Slot& slot,
                                  std::vector<const LockOwner*>& reported) {
  if (observer_ == nullptr) return;
  const std::lock_guard latch(shard.latch);
  if (!slot.is_waiting()) return;
  const auto known = static_cast<std::ptrdiff_t>(reported.size());
  shard.for_each_blocker(slot, [&](Slot& blocker) {
    const auto end = reported.begin() + known;
    if (std::find(reported.begin(), end, blocker.owner) != end) return;
    reported.push_back(blocker.owner);
    observer_->waits_for(*slot.owner, *blocker.owner);
  });
}

bool LockManager::holds(const LockOwner& owner, std::string_view key, LockMode at_least) const {
  const std::uint32_t hash = ShardTable::hash_of(key);
  const Shard& shard = shards_->shard_of(hash);
  const std::lock_guard latch(shard.latch);
  const Slot* const slot = shard.find(owner, hash, key);
  return slot != nullptr && slot->is_granted() && slot->mode >= at_least;
}

void LockManager::unlock(LockOwner& owner, std::string_view key) {
  const std::uint32_t hash = ShardTable::hash_of(key);
  Shard& shard = shards_->shard_of(hash);
  Slot* slot;
  {
    const std::lock_guard latch(shard.latch);
    slot = shard.find(owner, hash, key);
    BASALT_ASSERT(slot != nullptr);
    shard.remove(*slot);
  }
  owner.remove_held(slot);
  owner.free_slot(slot);
}

void LockManager::release_all(LockOwner& owner) {
  std::size_t released = 0;
  for (Slot* slot = owner.newest_held_; slot != nullptr; ++released) {
    Slot* const next = slot->owner_next;
    Shard& shard = shards_->shard_of(*slot);
    {
      const std::lock_guard latch(shard.latch);
      shard.remove(*slot);
    }
    owner.free_slot(slot);
    slot = next;
  }
  BASALT_ASSERT(released == owner.held_count());
  owner.newest_held_ = nullptr;
  owner.held_.store(0, LockOwner::kRelaxed);
  owner.changed_rows_.store(0, LockOwner::kRelaxed);
  owner.pool_.reset();
}

void LockManager::interrupt(LockOwner& owner) { owner.signal_.interrupt(); }

void LockManager::clear_interrupt(LockOwner& owner) { owner.signal_.clear_interrupt(); }

std::vector<LockInfo> LockManager::snapshot() const {
  std::vector<LockInfo> result;
  for (std::size_t i = 0; i < shards_->size(); ++i) {
    const Shard& shard = (*shards_)[i];
    const std::lock_guard latch(shard.latch);
    shard.for_each([&](const Slot& slot) {
      const std::uint64_t id = slot.owner->id();
      result.push_back({id, std::string(slot.key()), slot.mode, slot.is_granted()});
      if (slot.state == SlotState::kUpgrading) {
        result.push_back({id, std::string(slot.key()), slot.wanted(), false});
      }
    });
  }
  return result;
}

std::optional<DeadlockInfo> LockManager::last_deadlock() const { return graph_->last_deadlock(); }

std::uint64_t LockManager::deadlock_count() const { return graph_->deadlock_count(); }

}  // namespace basalt::lock
