#include "lock/lock_manager.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "lock/internal/lock_request.h"
#include "lock/internal/lock_table.h"
#include "lock/internal/wait_graph.h"

namespace basalt::lock {
namespace {

using Clock = std::chrono::steady_clock;

// How often a thread that waits asks whether somebody is left for whom it waits.
constexpr std::chrono::seconds kAbandonmentInterval{1};
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
      table_(std::make_unique<LockTable>(options.shards)),
      graph_(std::make_unique<WaitGraph>(*table_, observer)) {}

LockManager::~LockManager() {
  for (std::size_t i = 0; i < table_->keys.size(); ++i) {
    BASALT_ASSERT(table_->keys[i].request_count() == 0);
    BASALT_ASSERT(table_->keys[i].waiting_count() == 0);
  }
  BASALT_ASSERT(table_->ranges.is_empty());
}

Status LockManager::lock(LockOwner& owner, std::string_view key, LockMode mode,
                         const WaitPolicy& policy, bool* newly_acquired) {
  BASALT_ASSERT(key.size() <= std::numeric_limits<std::uint32_t>::max());
  if (newly_acquired != nullptr) *newly_acquired = false;
  Deadline deadline{};
  while (true) {
    Attempt attempt = Attempt::kHeld;
    BASALT_TRY(lock_once(owner, key, mode, policy, deadline, attempt));
    if (attempt != Attempt::kRangeBlocks) {
      if (attempt != Attempt::kNew) return Status::ok();
      if (newly_acquired != nullptr) *newly_acquired = true;
      if (owner.held_count() > owner.most_keys_) [[unlikely]]
        escalate(owner);
      return Status::ok();
    }
    BASALT_TRY(wait_for_ranges(owner, key, RequestKind::kKeyInRange, mode, policy, deadline));
  }
}

// A range that locks keys is looked for under the key's latch. Escalation adds its range before it
// goes through the latches: it sees this request, or this sees its range.
Status LockManager::lock_once(LockOwner& owner, std::string_view key, LockMode mode,
                              const WaitPolicy& policy, Deadline& deadline, Attempt& attempt) {
  const std::uint32_t hash = ShardTable::hash_of(key);
  Shard& shard = table_->keys.shard_of(hash);
  UniqueLock latch(shard.latch);
  const Shard::Place place = shard.find_place(owner, hash, key, mode);
  LockRequest* request = place.own;
  const bool is_new = request == nullptr;
  if (!is_new && request->mode >= mode) return Status::ok();
  if (table_->ranges.locks_keys()) [[unlikely]] {
    if (table_->ranges.covers(owner, key, mode)) return Status::ok();
    if (table_->ranges.is_lock_blocked(owner, key, mode)) {
      attempt = Attempt::kRangeBlocks;
      return Status::ok();
    }
  }

  if (!place.is_blocked) {
    if (is_new) {
      request = owner.new_request(hash, key, mode, RequestState::kGranted);
      shard.insert(*request, place.last);
    } else {
      shard.upgrade(*request);
    }
  } else {
    if (!policy.may_wait || policy.timeout_ms <= 0) return not_granted_in(0);
    if (owner.signal_.is_interrupted()) return interrupted();
    owner.signal_.prepare();
    if (is_new) {
      request = owner.new_request(hash, key, mode, RequestState::kWaiting);
      shard.insert(*request, place.last);
    } else {
      shard.begin_upgrade(*request);
    }
    latch.unlock();
    Status status = wait(owner, *request, policy, deadline);
    if (!status.is_ok()) {
      if (is_new) owner.free_request(request);
      return status;
    }
  }
  if (!is_new) return Status::ok();
  attempt = Attempt::kNew;
  owner.add_held(request);  // the owner's thread's list: with or without the latch
  return Status::ok();
}

bool LockManager::is_abandoned(LockOwner& owner) const {
  return observer_ != nullptr && observer_->is_abandoned(owner);
}

// What happened is decided by the request's state under the latch, whatever woke the thread: a lock
// granted at the moment of a timeout or an interrupt is held, and everything else is out of the
// queue. `deadline` is set by the first of several waits.
Status LockManager::wait(LockOwner& owner, LockRequest& request, const WaitPolicy& policy,
                         Deadline& deadline) {
  if (deadline == Deadline{}) deadline = deadline_of(policy);
  wait_count_.fetch_add(1, std::memory_order_relaxed);
  if (observer_ != nullptr) observer_->wait_begins(owner);
  graph_->begin_wait(owner, request, deadlock_detect_.load() && owner.deadlock_detect_);
  waiting_count_.fetch_add(1, std::memory_order_relaxed);
  std::vector<const LockOwner*> reported;
  WaitSignal::Wake wake;
  while (true) {
    report_blockers(request, reported);
    const Deadline now = std::chrono::steady_clock::now();
    wake = owner.signal_.wait_until(std::min(deadline, now + kAbandonmentInterval));
    if (wake == WaitSignal::Wake::kQueueChanged) continue;
    if (wake != WaitSignal::Wake::kTimeout || std::chrono::steady_clock::now() >= deadline) break;
    if (is_abandoned(owner)) {
      wake = WaitSignal::Wake::kInterrupted;
      break;
    }
  }
  const bool is_victim = graph_->end_wait(owner);
  waiting_count_.fetch_sub(1, std::memory_order_relaxed);
  bool is_granted = false;
  if (!is_victim) {
    const MutexLock latch(table_->latch_of(request));
    is_granted = !request.is_waiting();
    if (!is_granted) table_->cancel_wait(request);
  }
  if (observer_ != nullptr) observer_->wait_ends(owner);
  if (is_granted) return Status::ok();
  Status failure = failure_of(is_victim, wake, policy);
  if (failure.is(ErrorCode::kLockTimeout)) timeout_count_.fetch_add(1, std::memory_order_relaxed);
  return failure;
}

Status LockManager::wait_for_ranges(LockOwner& owner, std::string_view key, RequestKind kind,
                                    LockMode mode, const WaitPolicy& policy, Deadline& deadline) {
  if (!policy.may_wait || policy.timeout_ms <= 0) return not_granted_in(0);
  if (owner.signal_.is_interrupted()) return interrupted();
  owner.signal_.prepare();
  LockRequest* const request = owner.new_request(0, key, mode, RequestState::kWaiting);
  request->kind = kind;
  Status status;
  if (table_->ranges.enqueue(*request)) status = wait(owner, *request, policy, deadline);
  owner.free_request(request);
  return status;
}

void LockManager::lock_gap(LockOwner& owner, std::string_view lower, std::string_view upper) {
  table_->ranges.add(owner, RangeMode::kGap, lower, upper);
}

void LockManager::lock_range(LockOwner& owner, std::string_view lower, std::string_view upper) {
  BASALT_DEBUG_ASSERT(lower < upper);
  table_->ranges.add(owner, RangeMode::kExclusive, lower, upper);
}

bool LockManager::is_insert_blocked(const LockOwner& owner, std::string_view key) const {
  return table_->ranges.is_insert_blocked(owner, key);
}

bool LockManager::find_blocked_insert(const LockOwner& owner, std::string_view lower,
                                      std::string_view upper, std::string& key) const {
  return table_->ranges.find_blocked_insert(owner, lower, upper, key);
}

Status LockManager::await_insert(LockOwner& owner, std::string_view key, const WaitPolicy& policy) {
  if (!is_insert_blocked(owner, key)) return Status::ok();
  Deadline deadline{};
  return wait_for_ranges(owner, key, RequestKind::kInsert, LockMode::kExclusive, policy, deadline);
}

void LockManager::report_blockers(const LockRequest& request,
                                  std::vector<const LockOwner*>& reported) {
  if (observer_ == nullptr) return;
  const MutexLock latch(table_->latch_of(request));
  if (!request.is_waiting()) return;
  const auto known = static_cast<std::ptrdiff_t>(reported.size());
  table_->for_each_blocker(request, [&](LockOwner& blocker, bool) {
    const auto end = reported.begin() + known;
    if (std::find(reported.begin(), end, &blocker) != end) return;
    reported.push_back(&blocker);
    observer_->waits_for(*request.owner, blocker);
  });
}

bool LockManager::holds(const LockOwner& owner, std::string_view key, LockMode at_least) const {
  const std::uint32_t hash = ShardTable::hash_of(key);
  const Shard& shard = table_->keys.shard_of(hash);
  {
    const MutexLock latch(shard.latch);
    const LockRequest* const request = shard.find(owner, hash, key);
    if (request != nullptr && request->is_granted() && request->mode >= at_least) return true;
  }
  return table_->ranges.covers(owner, key, at_least);
}

std::vector<std::uint32_t> LockManager::locked_spaces(const LockOwner& owner) const {
  std::set<std::uint32_t> spaces;
  for (const LockRequest* request = owner.newest_held_; request != nullptr;
       request = request->owner_next) {
    spaces.insert(space_of(request->key()));
  }
  for (const auto& holding : owner.ranges_) spaces.insert(holding->space);
  return {spaces.begin(), spaces.end()};
}

void LockManager::release_gaps(LockOwner& owner) { table_->ranges.clear_gaps(owner); }

void LockManager::unlock(LockOwner& owner, std::string_view key) {
  // A lock of the key that is left beside a range keeps those out who wait behind it; they know
  // nothing of the range.
  if (!owner.ranges_.empty() && table_->ranges.covers(owner, key, LockMode::kShared)) return;
  const std::uint32_t hash = ShardTable::hash_of(key);
  Shard& shard = table_->keys.shard_of(hash);
  LockRequest* request;
  {
    const MutexLock latch(shard.latch);
    request = shard.find(owner, hash, key);
    BASALT_ASSERT(request != nullptr);
    shard.remove(*request);
  }
  owner.remove_held(request);
  owner.free_request(request);
}

void LockManager::release_all(LockOwner& owner) {
  std::size_t released = 0;
  for (LockRequest* request = owner.newest_held_; request != nullptr; ++released) {
    LockRequest* const next = request->owner_next;
    Shard& shard = table_->keys.shard_of(*request);
    {
      const MutexLock latch(shard.latch);
      shard.remove(*request);
    }
    owner.free_request(request);
    request = next;
  }
  BASALT_ASSERT(released == owner.held_count());
  if (!owner.ranges_.empty()) table_->ranges.remove_all(owner);
  owner.newest_held_ = nullptr;
  owner.escalates_at_ = 0;
  owner.held_.store(0, LockOwner::kRelaxed);
  owner.changed_rows_.store(0, LockOwner::kRelaxed);
  owner.pool_.reset();
}

// ---- escalation

// A request that waits in a queue will be granted there without regard to ranges: it counts as a
// lock, unless it waits for a lock of the owner itself.
bool LockManager::is_locked_by_others(const LockOwner& owner, std::string_view lower,
                                      std::string_view upper, RangeMode mode) const {
  bool is_locked = false;
  for (std::size_t i = 0; i < table_->keys.size() && !is_locked; ++i) {
    const Shard& shard = table_->keys[i];
    const MutexLock latch(shard.latch);
    shard.for_each([&](const LockRequest& request) {
      if (is_locked || request.owner == &owner || !conflicts(request.wanted(), mode)) return;
      if (request.key() < lower || request.key() >= upper) return;
      shard.latch.assert_held();
      const LockRequest* const own = shard.find(owner, request.hash, request.key());
      is_locked = (request.is_granted() && conflicts(request.mode, mode)) || own == nullptr ||
                  !conflicts(request.wanted(), own->mode);
    });
  }
  return is_locked;
}

// The walks over all of the owner's requests and over the whole table are paid for by the many
// locks since the last attempt.
void LockManager::escalate(LockOwner& owner) {
  if (owner.held_count() < owner.escalates_at_) return;
  struct Keys {
    std::size_t count = 0;
    LockMode mode = LockMode::kShared;
    std::string_view first;
    std::string_view last;
  };
  std::unordered_map<std::uint32_t, Keys> spaces;
  for (const LockRequest* request = owner.newest_held_; request != nullptr;
       request = request->owner_next) {
    Keys& keys = spaces[space_of(request->key())];
    if (keys.count == 0 || request->key() < keys.first) keys.first = request->key();
    if (keys.count == 0 || request->key() > keys.last) keys.last = request->key();
    keys.mode = std::max(keys.mode, request->mode);
    ++keys.count;
  }
  const auto [space, keys] = *std::max_element(
      spaces.begin(), spaces.end(),
      [](const auto& left, const auto& right) { return left.second.count < right.second.count; });
  const RangeMode mode =
      keys.mode == LockMode::kShared ? RangeMode::kShared : RangeMode::kExclusive;
  std::string lower(keys.first);
  std::string upper = std::string(keys.last) + '\0';

  RangeTable& ranges = table_->ranges;
  IntervalSet before = ranges.ranges_of(owner, mode, space);
  // One range with the earlier ones: a scan that goes on does not leave a trail of them.
  before.for_each([&](const std::string& first, const std::string& end) {
    lower = std::min(lower, first);
    upper = std::max(upper, end);
  });
  ranges.add(owner, mode, lower, upper);
  // Another owner that escalates has added its range before it drops its locks.
  if (ranges.is_range_blocked(owner, keys.mode, lower, upper) ||
      is_locked_by_others(owner, lower, upper, mode)) {
    ranges.take_back(owner, mode, space, std::move(before));
    owner.escalates_at_ = 2 * owner.held_count();
    return;
  }
  for (LockRequest* request = owner.newest_held_; request != nullptr;) {
    LockRequest* const next = request->owner_next;
    if (space_of(request->key()) == space) drop_if_alone(owner, *request);
    request = next;
  }
  owner.escalates_at_ = owner.held_count() + owner.most_keys_;
}

// A request that others wait behind stays: they would be granted the key if it went.
void LockManager::drop_if_alone(LockOwner& owner, LockRequest& request) {
  Shard& shard = table_->keys.shard_of(request);
  {
    const MutexLock latch(shard.latch);
    bool is_alone = true;
    shard.for_each_in_queue(request, [&](const LockRequest&, bool) { is_alone = false; });
    if (!is_alone) return;
    shard.remove(request);
  }
  owner.remove_held(&request);
  owner.free_request(&request);
  owner.add_weight(1);  // as heavy as before
}

void LockManager::forget_user(LockOwner& owner) {
  owner.user_.store(nullptr, std::memory_order_release);
  table_->pass_latches();
}

void LockManager::interrupt(LockOwner& owner) { owner.signal_.interrupt(); }

void LockManager::clear_interrupt(LockOwner& owner) { owner.signal_.clear_interrupt(); }

std::vector<LockInfo> LockManager::snapshot() const {
  std::vector<LockInfo> result;
  for (std::size_t i = 0; i < table_->keys.size(); ++i) {
    const Shard& shard = table_->keys[i];
    const MutexLock latch(shard.latch);
    shard.for_each([&](const LockRequest& request) {
      const std::uint64_t id = request.owner->id();
      result.push_back({id, std::string(request.key()), request.mode, request.is_granted()});
      if (request.state == RequestState::kUpgrading) {
        result.push_back({id, std::string(request.key()), request.wanted(), false});
      }
    });
  }
  table_->ranges.for_each(
      [](const auto&...) {},
      [&](const LockRequest& request) {
        result.push_back({request.owner->id(), std::string(request.key()), request.mode, false,
                          request.kind == RequestKind::kInsert});
      });
  return result;
}

std::vector<RangeInfo> LockManager::range_snapshot() const {
  std::vector<RangeInfo> result;
  table_->ranges.for_each(
      [&](const LockOwner& owner, RangeMode mode, const auto& lower, const auto& upper) {
        result.push_back({owner.id(), mode, lower, upper});
      },
      [](const LockRequest&) {});
  return result;
}

std::vector<WaitInfo> LockManager::waits() const {
  std::vector<WaitInfo> result;
  const auto add = [&](const LockRequest& request, const LockOwner& blocker) {
    result.push_back({request.owner->id(), blocker.id(), std::string(request.key()),
                      request.wanted(), request.kind == RequestKind::kInsert});
  };
  for (std::size_t i = 0; i < table_->keys.size(); ++i) {
    const Shard& shard = table_->keys[i];
    const MutexLock latch(shard.latch);
    // Who needs the latch is not to wait for a look through all locks of a large transaction.
    if (shard.waiting_count() == 0) continue;
    shard.for_each([&](const LockRequest& request) {
      shard.latch.assert_held();
      if (!request.is_waiting()) return;
      shard.for_each_blocker(request,
                             [&](const LockRequest& blocker) { add(request, *blocker.owner); });
    });
  }
  RangeTable& ranges = table_->ranges;
  ranges.for_each([](const auto&...) {},
                  [&](const LockRequest& request) {
                    ranges.latch_of(request).assert_held();
                    ranges.for_each_blocker(
                        request, [&](const LockOwner& blocker) { add(request, blocker); });
                  });
  return result;
}

std::optional<DeadlockInfo> LockManager::last_deadlock() const {
  std::vector<DeadlockInfo> latest = graph_->latest();
  if (latest.empty()) return std::nullopt;
  return std::move(latest.front());
}

std::vector<DeadlockInfo> LockManager::latest_deadlocks() const { return graph_->latest(); }

void LockManager::set_deadlocks_kept(std::size_t count) { graph_->set_kept(count); }

std::uint64_t LockManager::deadlock_count() const { return graph_->deadlock_count(); }

std::uint64_t LockManager::told_count() const { return table_->ranges.told_count(); }

}  // namespace basalt::lock
