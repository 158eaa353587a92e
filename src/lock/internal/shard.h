#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/mutex.h"
#include "lock/internal/lock_request.h"
#include "lock/lock_owner.h"

// The queues of all keys whose hash belongs to one shard.
//
// Structure   A hash table of chains of requests. The requests of one key are neighbours in their
//             chain and form its queue: granted and upgrading requests first, then waiting ones in
//             the order of arrival.
// Rule        A request waits for every granted one that conflicts with it, and for every one
//             before it that asks for what conflicts with it (must_wait_for). An upgrade is before
//             all waiting requests because it has its place in the queue already. Everything else
//             follows: a request is granted iff there is nothing it must wait for.
// Threads     The caller holds `latch`, which guards the requests, too. Requests in here keep their
//             owners alive: an owner's end takes the latch to take its requests out.
// Lock order  Wait graph's mutex, then one shard's latch, then one owner's WaitSignal.
namespace basalt::lock {

// `waiter` and `other` are in one queue.
bool must_wait_for(const LockRequest& waiter, const LockRequest& other, bool other_is_ahead);

// On a cache line of its own: neighbours' latches are taken by other threads.
class alignas(64) Shard {
 public:
  static constexpr std::size_t kBucketsMin = 16;

  Shard();

  // What a request of `owner` meets.
  struct Place {
    LockRequest* own = nullptr;   // the owner's request for the key
    LockRequest* last = nullptr;  // the end of the key's queue
    bool is_blocked = false;      // the request would have to wait
  };
  Place find_place(const LockOwner& owner, std::uint32_t hash, std::string_view key,
                   LockMode mode) const BASALT_REQUIRES(latch);
  LockRequest* find(const LockOwner& owner, std::uint32_t hash, std::string_view key) const
      BASALT_REQUIRES(latch);

  // Puts a new request behind `last` of its queue, or begins a queue.
  void insert(LockRequest& request, LockRequest* last) BASALT_REQUIRES(latch);
  // A granted kShared request becomes kExclusive; nothing blocks it.
  void upgrade(LockRequest& request) BASALT_REQUIRES(latch);
  // A granted kShared request begins to wait for kExclusive.
  void begin_upgrade(LockRequest& request) BASALT_REQUIRES(latch);
  // Takes a granted request out and grants what that makes possible.
  void remove(LockRequest& request) BASALT_REQUIRES(latch);
  // Ends the wait of a waiting request, ungranted: an upgrading one is granted as before, another
  // one leaves the queue. Grants what that makes possible.
  void cancel_wait(LockRequest& request) BASALT_REQUIRES(latch);

  // Calls visit(LockRequest& other, bool is_ahead) for all other requests in the queue of
  // `request`, in order.
  template <typename Visit>
  void for_each_in_queue(const LockRequest& request, Visit visit) const BASALT_REQUIRES(latch) {
    bool is_ahead = true;
    for (LockRequest* at = first_in_queue(request.hash, request.key()); at != nullptr;
         at = next_in_queue(*at)) {
      if (at == &request) {
        is_ahead = false;
      } else {
        visit(*at, is_ahead);
      }
    }
  }
  // Calls visit(LockRequest&) for every request that the waiting `request` waits for, in the
  // queue's order.
  template <typename Visit>
  void for_each_blocker(const LockRequest& request, Visit visit) const BASALT_REQUIRES(latch) {
    for_each_in_queue(request, [&](LockRequest& other, bool is_ahead) {
      if (must_wait_for(request, other, is_ahead)) visit(other);
    });
  }
  // Calls visit(const LockRequest&) for every request; those of one key in the queue's order.
  template <typename Visit>
  void for_each(Visit visit) const BASALT_REQUIRES(latch) {
    for (std::size_t i = 0; i < bucket_count_; ++i) {
      for (const LockRequest* at = buckets_[i]; at != nullptr; at = at->chain_next) visit(*at);
    }
  }

  std::size_t request_count() const BASALT_REQUIRES(latch) { return request_count_; }
  // Of those that wait: most shards have none, and reports need not look through them.
  std::size_t waiting_count() const BASALT_REQUIRES(latch) { return waiting_count_; }
  std::size_t bucket_count() const BASALT_REQUIRES(latch) { return bucket_count_; }

  mutable Mutex latch{MutexRank::kLockShard};

 private:
  LockRequest*& bucket_of(std::uint32_t hash) const BASALT_REQUIRES(latch) {
    return buckets_[hash & (bucket_count_ - 1)];
  }
  LockRequest* first_in_queue(std::uint32_t hash, std::string_view key) const
      BASALT_REQUIRES(latch);
  static LockRequest* next_in_queue(const LockRequest& request);
  void unlink(LockRequest& request) BASALT_REQUIRES(latch);
  void grant_queue(LockRequest* first) BASALT_REQUIRES(latch);
  void grant(LockRequest& request) BASALT_REQUIRES(latch);
  void tell_shared_waiters(const LockRequest& upgraded) const BASALT_REQUIRES(latch);
  void resize(std::size_t bucket_count) BASALT_REQUIRES(latch);

  std::unique_ptr<LockRequest*[]> buckets_ BASALT_GUARDED_BY(latch);
  std::size_t bucket_count_ BASALT_GUARDED_BY(latch) = 0;  // a power of two
  std::uint32_t request_count_ BASALT_GUARDED_BY(latch) = 0;
  std::uint32_t waiting_count_ BASALT_GUARDED_BY(latch) = 0;
};

// All shards of a lock manager. Immutable but for the shards themselves.
class ShardTable {
 public:
  // `count` is a power of two, at most 65536.
  explicit ShardTable(std::size_t count);

  static std::uint32_t hash_of(std::string_view key);
  // The upper bits of the hash choose the shard, the lower ones the bucket in it.
  Shard& shard_of(std::uint32_t hash) const {
    return shards_[static_cast<std::uint64_t>(hash) >> shift_];
  }
  Shard& shard_of(const LockRequest& request) const { return shard_of(request.hash); }

  std::size_t size() const { return count_; }
  Shard& operator[](std::size_t index) const { return shards_[index]; }

 private:
  const std::size_t count_;
  const unsigned shift_;
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace basalt::lock
