#include "lock/internal/shard.h"

#include <bit>
#include <functional>
#include <memory>
#include <utility>

#include "base/assert.h"

namespace basalt::lock {

bool must_wait_for(const LockRequest& waiter, const LockRequest& other, bool other_is_ahead) {
  if (other.is_granted() && conflicts(waiter.wanted(), other.mode)) return true;
  return other_is_ahead && other.is_waiting() && conflicts(waiter.wanted(), other.wanted());
}

Shard::Shard() { resize(kBucketsMin); }

Shard::Place Shard::find_place(const LockOwner& owner, std::uint32_t hash, std::string_view key,
                               LockMode mode) const {
  Place place;
  bool others_granted = false;
  bool others_conflict = false;
  for (LockRequest* at = first_in_queue(hash, key); at != nullptr; at = next_in_queue(*at)) {
    place.last = at;
    if (at->owner == &owner) {
      place.own = at;
    } else {
      others_granted |= at->is_granted();
      others_conflict |= conflicts(mode, at->wanted());
    }
  }
  // A new request is behind all others, an upgrade only among the granted ones.
  place.is_blocked = place.own != nullptr ? others_granted : others_conflict;
  return place;
}

LockRequest* Shard::find(const LockOwner& owner, std::uint32_t hash, std::string_view key) const {
  for (LockRequest* at = first_in_queue(hash, key); at != nullptr; at = next_in_queue(*at)) {
    if (at->owner == &owner) return at;
  }
  return nullptr;
}

void Shard::insert(LockRequest& request, LockRequest* last) {
  BASALT_DEBUG_ASSERT(last == nullptr || last->is_for(request.hash, request.key()));
  LockRequest*& link = last != nullptr ? last->chain_next : bucket_of(request.hash);
  request.chain_next = link;
  link = &request;
  if (request.is_waiting()) ++waiting_count_;
  if (++request_count_ > bucket_count_) [[unlikely]]
    resize(bucket_count_ * 2);
}

void Shard::upgrade(LockRequest& request) {
  BASALT_ASSERT(request.state == RequestState::kGranted);
  request.mode = LockMode::kExclusive;
  tell_shared_waiters(request);
}

void Shard::begin_upgrade(LockRequest& request) {
  BASALT_ASSERT(request.state == RequestState::kGranted && request.mode == LockMode::kShared);
  request.state = RequestState::kUpgrading;
  ++waiting_count_;
  tell_shared_waiters(request);
}

void Shard::remove(LockRequest& request) {
  BASALT_ASSERT(request.state == RequestState::kGranted);
  unlink(request);
}

void Shard::cancel_wait(LockRequest& request) {
  BASALT_ASSERT(request.is_waiting() && waiting_count_ != 0);
  --waiting_count_;
  if (request.state == RequestState::kUpgrading) {
    request.state = RequestState::kGranted;
    grant_queue(first_in_queue(request.hash, request.key()));
  } else {
    request.state = RequestState::kCancelled;
    unlink(request);
  }
}

LockRequest* Shard::first_in_queue(std::uint32_t hash, std::string_view key) const {
  LockRequest* at = bucket_of(hash);
  while (at != nullptr && !at->is_for(hash, key)) at = at->chain_next;
  return at;
}

LockRequest* Shard::next_in_queue(const LockRequest& request) {
  LockRequest* const next = request.chain_next;
  return next != nullptr && next->is_for(request.hash, request.key()) ? next : nullptr;
}

void Shard::unlink(LockRequest& request) {
  LockRequest* first = nullptr;  // of what is left of the queue
  LockRequest** link = &bucket_of(request.hash);
  while (*link != &request) {
    BASALT_ASSERT(*link != nullptr);
    if (first == nullptr && (*link)->is_for(request.hash, request.key())) first = *link;
    link = &(*link)->chain_next;
  }
  if (first == nullptr) first = next_in_queue(request);
  *link = request.chain_next;
  if (first != nullptr) grant_queue(first);
  // A big transaction's table does not stay for ever.
  if (--request_count_ == 0 && bucket_count_ > kBucketsMin) resize(kBucketsMin);
}

// Grants the front of a queue as far as must_wait_for allows, in one pass.
void Shard::grant_queue(LockRequest* first) {
  std::size_t granted = 0;
  bool is_exclusive = false;
  LockRequest* upgrading = nullptr;
  LockRequest* at = first;
  for (; at != nullptr && at->is_granted(); at = next_in_queue(*at)) {
    ++granted;
    is_exclusive |= at->mode == LockMode::kExclusive;
    if (at->state == RequestState::kUpgrading) upgrading = at;
  }
  if (upgrading != nullptr) {
    if (granted == 1) grant(*upgrading);
    return;
  }
  if (is_exclusive) return;
  for (; at != nullptr; at = next_in_queue(*at)) {
    if (at->mode == LockMode::kExclusive) {
      if (granted == 0) grant(*at);
      return;
    }
    grant(*at);
    ++granted;
  }
}

void Shard::grant(LockRequest& request) {
  BASALT_DEBUG_ASSERT(request.is_waiting() && waiting_count_ != 0);
  --waiting_count_;
  request.mode = request.wanted();
  request.state = RequestState::kGranted;
  request.owner->signal_.decide();
}

// A shared request may sit behind an exclusive one that waits for shared holders. It did not wait
// for those holders itself; it does for one that has become, or wants to become, exclusive.
void Shard::tell_shared_waiters(const LockRequest& upgraded) const {
  for_each_in_queue(upgraded, [](LockRequest& other, bool) {
    if (other.state == RequestState::kWaiting && other.mode == LockMode::kShared) {
      other.owner->signal_.queue_changed();
    }
  });
}

// Keeps the order of requests that stay in one chain, and so all queues.
void Shard::resize(std::size_t bucket_count) {
  const auto old_buckets = std::move(buckets_);
  const std::size_t old_count = bucket_count_;
  buckets_ = std::make_unique<LockRequest*[]>(bucket_count);
  bucket_count_ = bucket_count;
  if (request_count_ == 0) return;
  BASALT_ASSERT(bucket_count == 2 * old_count);
  for (std::size_t i = 0; i < old_count; ++i) {
    LockRequest** const links[] = {&buckets_[i & (bucket_count - 1)],
                                   &buckets_[(i + old_count) & (bucket_count - 1)]};
    LockRequest** ends[] = {links[0], links[1]};
    for (LockRequest* at = old_buckets[i]; at != nullptr;) {
      LockRequest* const next = at->chain_next;
      LockRequest**& end = ends[(at->hash & old_count) != 0 ? 1 : 0];
      *end = at;
      at->chain_next = nullptr;
      end = &at->chain_next;
      at = next;
    }
  }
}

ShardTable::ShardTable(std::size_t count)
    : count_(count),
      shift_(32 - static_cast<unsigned>(std::countr_zero(count))),
      shards_(std::make_unique<Shard[]>(count)) {
  BASALT_ASSERT(std::has_single_bit(count) && count <= 65536);
}

std::uint32_t ShardTable::hash_of(std::string_view key) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(key));
}

}  // namespace basalt::lock
