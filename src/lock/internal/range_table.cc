#include "lock/internal/range_table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace basalt::lock {

namespace {

// For a walk that only asks whether there is a blocker.
constexpr auto kAny = [](const LockOwner&) { return true; };

}  // namespace

bool RangeTable::is_blocked(const Shard& shard, const LockRequest& request) {
  return visit_blockers_of(shard, request, kAny);
}

bool RangeTable::is_insert_blocked(const LockOwner& owner, std::string_view key) const {
  const std::uint32_t space = space_of(key);
  const Shard& shard = shard_of(space);
  // In one order with all announcements of inserts: docs/internals/txn.md.
  if (shard.holding_count.load(std::memory_order_seq_cst) == 0) return false;
  const MutexLock latch(shard.latch);
  return visit_blockers(
      shard, owner, space, [](RangeMode) { return true; },
      [&](const IntervalSet& ranges) { return ranges.contains(key); }, kAny);
}

bool RangeTable::find_blocked_insert(const LockOwner& owner, std::string_view lower,
                                     std::string_view upper, std::string& key) const {
  const std::uint32_t space = space_of(lower);
  const Shard& shard = shard_of(space);
  if (shard.holding_count.load(std::memory_order_seq_cst) == 0) return false;
  const MutexLock latch(shard.latch);
  return visit_blockers(
      shard, owner, space, [](RangeMode) { return true; },
      [&](const IntervalSet& ranges) { return ranges.find(lower, upper, key); }, kAny);
}

bool RangeTable::is_lock_blocked(const LockOwner& owner, std::string_view key,
                                 LockMode mode) const {
  const std::uint32_t space = space_of(key);
  const Shard& shard = shard_of(space);
  const MutexLock latch(shard.latch);
  return visit_blockers(
      shard, owner, space, [&](RangeMode range) { return conflicts(mode, range); },
      [&](const IntervalSet& ranges) { return ranges.contains(key); }, kAny);
}

bool RangeTable::is_range_blocked(const LockOwner& owner, LockMode mode, std::string_view lower,
                                  std::string_view upper) const {
  const std::uint32_t space = space_of(lower);
  const Shard& shard = shard_of(space);
  const MutexLock latch(shard.latch);
  return visit_blockers(
      shard, owner, space, [&](RangeMode range) { return conflicts(mode, range); },
      [&](const IntervalSet& ranges) { return ranges.overlaps(lower, upper); }, kAny);
}

bool RangeTable::covers(const LockOwner& owner, std::string_view key, LockMode at_least) const {
  const std::uint32_t space = space_of(key);
  for (const auto& holding : owner.ranges_) {
    if (holding->space != space) continue;
    // Only this thread changes them: no latch is needed to read.
    return holding->of(RangeMode::kExclusive).contains(key) ||
           (at_least == LockMode::kShared && holding->of(RangeMode::kShared).contains(key));
  }
  return false;
}

RangeHolding& RangeTable::holding_of(LockOwner& owner, std::uint32_t space, Shard& shard) {
  for (const auto& holding : owner.ranges_) {
    if (holding->space == space) return *holding;
  }
  if (owner.spare_ranges_.empty()) {
    owner.ranges_.push_back(std::make_unique<RangeHolding>());
  } else {
    owner.ranges_.push_back(std::move(owner.spare_ranges_.back()));
    owner.spare_ranges_.pop_back();
  }
  RangeHolding& holding = *owner.ranges_.back();
  holding.owner = &owner;
  holding.space = space;
  shard.holdings.push_back(&holding);
  shard.holding_count.store(shard.holdings.size(), std::memory_order_seq_cst);
  return holding;
}

void RangeTable::add(LockOwner& owner, RangeMode mode, std::string_view lower,
                     std::string_view upper) {
  const std::uint32_t space = space_of(lower);
  Shard& shard = shard_of(space);
  const MutexLock latch(shard.latch);
  IntervalSet& set = holding_of(owner, space, shard).of(mode);
  if (locks_keys(mode) && set.is_empty()) key_locking_.fetch_add(1, std::memory_order_seq_cst);
  set.add(lower, upper);
  // Inserts that wait inside the range now wait for this owner as well.
  const auto end = shard.waiting.lower_bound(upper);
  for (auto at = shard.waiting.lower_bound(lower); at != end; ++at) {
    const LockRequest& request = **at;
    if (request.owner == &owner || !request.is_blocked_by(mode)) continue;
    request.owner->signal_.queue_changed();
    told_.fetch_add(1, std::memory_order_relaxed);
  }
}

IntervalSet RangeTable::ranges_of(const LockOwner& owner, RangeMode mode,
                                  std::uint32_t space) const {
  for (const auto& holding : owner.ranges_) {
    if (holding->space == space) return holding->of(mode);
  }
  return {};
}

void RangeTable::take_back(LockOwner& owner, RangeMode mode, std::uint32_t space,
                           IntervalSet before) {
  Shard& shard = shard_of(space);
  const MutexLock latch(shard.latch);
  IntervalSet& set = holding_of(owner, space, shard).of(mode);
  if (locks_keys(mode) && before.is_empty()) {
    key_locking_.fetch_sub(1, std::memory_order_release);
  }
  set = std::move(before);
  grant_unblocked(shard);
}

void RangeTable::clear_gaps(LockOwner& owner) {
  for (auto& holding : owner.ranges_) {
    Shard& shard = shard_of(holding->space);
    const MutexLock latch(shard.latch);
    holding->of(RangeMode::kGap).clear();
    grant_unblocked(shard);
  }
}

void RangeTable::remove_all(LockOwner& owner) {
  for (auto& holding : owner.ranges_) {
    Shard& shard = shard_of(holding->space);
    {
      const MutexLock latch(shard.latch);
      std::erase(shard.holdings, holding.get());
      shard.holding_count.store(shard.holdings.size(), std::memory_order_seq_cst);
      for (const RangeMode mode : {RangeMode::kShared, RangeMode::kExclusive}) {
        if (!holding->of(mode).is_empty()) key_locking_.fetch_sub(1, std::memory_order_release);
      }
      grant_unblocked(shard);
    }
    for (IntervalSet& set : holding->ranges) set.clear();
    owner.spare_ranges_.push_back(std::move(holding));
  }
  owner.ranges_.clear();
}

bool RangeTable::enqueue(LockRequest& request) {
  BASALT_ASSERT(request.kind != RequestKind::kKey && request.state == RequestState::kWaiting);
  Shard& shard = shard_of(request.key());
  const MutexLock latch(shard.latch);
  if (!is_blocked(shard, request)) return false;
  shard.waiting.insert(&request);
  return true;
}

void RangeTable::cancel_wait(LockRequest& request) {
  BASALT_ASSERT(request.is_waiting());
  Shard& shard = shard_of(request.key());
  shard.latch.assert_held();
  const std::size_t found = shard.waiting.erase(&request);
  BASALT_ASSERT(found == 1);
  request.state = RequestState::kCancelled;
}

void RangeTable::grant_unblocked(Shard& shard) {
  for (auto at = shard.waiting.begin(); at != shard.waiting.end();) {
    LockRequest& request = **at;
    if (is_blocked(shard, request)) {
      ++at;
      continue;
    }
    at = shard.waiting.erase(at);
    request.state = RequestState::kGranted;
    request.owner->signal_.decide();
  }
}

bool RangeTable::is_empty() const {
  return std::all_of(shards_.begin(), shards_.end(), [](const Shard& shard) {
    const MutexLock latch(shard.latch);
    return shard.holdings.empty() && shard.waiting.empty();
  });
}

}  // namespace basalt::lock
