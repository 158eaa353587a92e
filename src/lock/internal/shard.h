#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "lock/internal/slot.h"
#include "lock/lock_owner.h"

// The queues of all keys whose hash belongs to one shard.
//
// Structure   A hash table of chains of slots. The slots of one key are neighbours in their chain
//             and form its queue: granted and upgrading slots first, then waiting ones in the
//             order of arrival.
// Rule        A request waits for every slot that conflicts with it and is granted, and for every
//             slot before it whose own request conflicts with it (must_wait_for). An upgrade is
//             before all waiting slots because its slot is. Everything else follows: a request is
//             granted iff there is nothing it must wait for.
// Threads     Everything is guarded by `latch`, which the caller holds. Slots in here keep their
//             owners alive: an owner's end takes the latch to take its slots out.
// Lock order  Wait graph's mutex, then one shard's latch, then one owner's WaitSignal.
namespace basalt::lock {

// `waiter` and `other` are in one queue.
bool must_wait_for(const Slot& waiter, const Slot& other, bool other_is_ahead);

// On a cache line of its own: neighbours' latches are taken by other threads.
class alignas(64) Shard {
 public:
  static constexpr std::size_t kFewestBuckets = 16;

  Shard();

  // What a request of `owner` meets.
  struct Place {
    Slot* own = nullptr;      // the owner's slot for the key
    Slot* last = nullptr;     // the end of the key's queue
    bool is_blocked = false;  // the request would have to wait
  };
  Place find_place(const LockOwner& owner, std::uint32_t hash, std::string_view key,
                   LockMode mode) const;
  Slot* find(const LockOwner& owner, std::uint32_t hash, std::string_view key) const;

  // Puts a new slot behind `last` of its queue, or begins a queue.
  void insert(Slot& slot, Slot* last);
  // A granted kShared slot becomes kExclusive; nothing blocks it.
  void upgrade(Slot& slot);
  // A granted kShared slot begins to wait for kExclusive.
  void begin_upgrade(Slot& slot);
  // Takes a granted slot out and grants what that makes possible.
  void remove(Slot& slot);
  // Ends the wait of a waiting slot, ungranted: an upgrading one is granted as before, another
  // one leaves the queue. Grants what that makes possible.
  void cancel_wait(Slot& slot);

  // Calls visit(Slot& other, bool is_ahead) for all other slots in the queue of `slot`, in order.
  template <typename Visit>
  void for_each_in_queue(const Slot& slot, Visit visit) const {
    bool is_ahead = true;
    for (Slot* at = first_in_queue(slot.hash, slot.key()); at != nullptr; at = next_in_queue(*at)) {
      if (at == &slot) {
        is_ahead = false;
      } else {
        visit(*at, is_ahead);
      }
    }
  }
  // Calls visit(Slot&) for every slot that the waiting `slot` waits for, in the queue's order.
  template <typename Visit>
  void for_each_blocker(const Slot& slot, Visit visit) const {
    for_each_in_queue(slot, [&](Slot& other, bool is_ahead) {
      if (must_wait_for(slot, other, is_ahead)) visit(other);
    });
  }
  // Calls visit(const Slot&) for every slot; those of one key in the queue's order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < bucket_count_; ++i) {
      for (const Slot* at = buckets_[i]; at != nullptr; at = at->chain_next) visit(*at);
    }
  }

  std::size_t slot_count() const { return slot_count_; }
  std::size_t bucket_count() const { return bucket_count_; }

  mutable std::mutex latch;

 private:
  Slot*& bucket_of(std::uint32_t hash) const { return buckets_[hash & (bucket_count_ - 1)]; }
  Slot* first_in_queue(std::uint32_t hash, std::string_view key) const;
  static Slot* next_in_queue(const Slot& slot);
  void unlink(Slot& slot);
  void grant_queue(Slot* first);
  static void grant(Slot& slot);
  void tell_shared_waiters(const Slot& upgraded) const;
  void resize(std::size_t bucket_count);

  std::unique_ptr<Slot*[]> buckets_;
  std::size_t bucket_count_ = 0;  // a power of two
  std::size_t slot_count_ = 0;
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
  Shard& shard_of(const Slot& slot) const { return shard_of(slot.hash); }

  std::size_t size() const { return count_; }
  Shard& operator[](std::size_t index) const { return shards_[index]; }

 private:
  const std::size_t count_;
  const unsigned shift_;
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace basalt::lock
