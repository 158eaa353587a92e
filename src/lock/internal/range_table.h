#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "lock/internal/lock_request.h"
#include "lock/interval_set.h"
#include "lock/lock_mode.h"
#include "lock/lock_owner.h"

// Ranges of keys that owners have locked, and the requests that wait for them.
//
// Structure   The first four bytes of a key are its space; a range stays within one. Spaces fall
//             into shards. What an owner has locked in one space is one holding: an interval set a
//             mode. A shard has the holdings of its spaces and the waiting requests by their keys.
// Rule        A request waits for every other owner that holds a range with its key, in a mode that
//             blocks it. It is granted, and leaves the list, when there is none. Requests do not
//             hold back ranges, nor each other: as with InnoDB's insert intentions, an owner that
//             adds ranges all the time can starve them.
// Cost        While no range is locked in a shard, a look costs one load. A look walks the holdings
//             of the shard. A range that is added is met by the requests inside of it alone: a scan
//             that adds piece by piece disturbs nobody elsewhere, however many wait. The end of a
//             holding looks at all requests of the shard.
// Threads     Any. Each owner's holdings are changed by its own thread.
// Lock order  A shard's latch here comes after a Shard's latch of keys, and before a WaitSignal.
namespace basalt::lock {

// Returns the space of a key, or of a bound of a range. Shorter ones are filled up with zeros.
constexpr std::uint32_t space_of(std::string_view key) {
  std::uint32_t space = 0;
  for (std::size_t i = 0; i < kSpaceBytes; ++i) {
    space = space << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0U);
  }
  return space;
}

// The ranges of one owner in one space.
struct RangeHolding {
  LockOwner* owner = nullptr;
  std::uint32_t space = 0;
  std::array<IntervalSet, 3> ranges;  // [RangeMode]

  IntervalSet& of(RangeMode mode) { return ranges[static_cast<std::size_t>(mode)]; }
  const IntervalSet& of(RangeMode mode) const { return ranges[static_cast<std::size_t>(mode)]; }
};

class RangeTable {
 public:
  // ---- by the owner's thread

  // [lower, upper) lies in the space of `lower`.
  void add(LockOwner& owner, RangeMode mode, std::string_view lower, std::string_view upper);
  // What the owner has locked of a space in a mode.
  IntervalSet ranges_of(const LockOwner& owner, RangeMode mode, std::uint32_t space) const;
  // Takes back what was added since ranges_of() gave `before`.
  void take_back(LockOwner& owner, RangeMode mode, std::uint32_t space, IntervalSet before);
  // Takes the owner's kGap ranges out and grants what that makes possible.
  void clear_gaps(LockOwner& owner);
  // Takes all ranges of the owner out and grants what that makes possible.
  void remove_all(LockOwner& owner);
  // Whether a range of the owner itself stands for its lock on the key, `at_least` in that mode.
  bool covers(const LockOwner& owner, std::string_view key, LockMode at_least) const;

  // ---- by any thread

  // Whether there is any range in a mode other than kGap.
  bool locks_keys() const { return key_locking_.load(std::memory_order_acquire) != 0; }
  bool is_insert_blocked(const LockOwner& owner, std::string_view key) const;
  // The first key of [lower, upper) that is_insert_blocked() for; of one of those who block it.
  bool find_blocked_insert(const LockOwner& owner, std::string_view lower, std::string_view upper,
                           std::string& key) const;
  bool is_lock_blocked(const LockOwner& owner, std::string_view key, LockMode mode) const;
  // Whether others hold keys of [lower, upper) by ranges, in a mode that conflicts with locking all
  // of them in `mode`.
  bool is_range_blocked(const LockOwner& owner, LockMode mode, std::string_view lower,
                        std::string_view upper) const;

  // Puts a waiting request (kInsert, kKeyInRange) to the others; false if nothing blocks it.
  bool enqueue(LockRequest& request);
  // How often requests were told that they wait for one owner more.
  std::uint64_t told_count() const { return told_.load(std::memory_order_relaxed); }

  // ---- with latch_of(request) held

  Mutex& latch_of(const LockRequest& request) const { return shard_of(request.key()).latch; }
  // Takes a waiting request out.
  void cancel_wait(LockRequest& request) BASALT_REQUIRES(latch_of(request));
  // Calls visit(LockOwner&) for every owner that the request waits for.
  template <typename Visit>
  void for_each_blocker(const LockRequest& request, Visit visit) const
      BASALT_REQUIRES(latch_of(request)) {
    const Shard& shard = shard_of(request.key());
    shard.latch.assert_held();
    visit_blockers_of(shard, request, [&](LockOwner& blocker) {
      visit(blocker);
      return false;
    });
  }

  // Returns when everybody who held a latch at the time of the call has released it.
  void pass_latches() const {
    for (const Shard& shard : shards_) const MutexLock latch(shard.latch);
  }

  // Calls visit_range(owner, mode, lower, upper) and visit_request(request), shard by shard, with
  // its latch held.
  template <typename VisitRange, typename VisitRequest>
  void for_each(VisitRange visit_range, VisitRequest visit_request) const {
    for (const Shard& shard : shards_) {
      const MutexLock latch(shard.latch);
      for (const RangeHolding* holding : shard.holdings) {
        for (const RangeMode mode : {RangeMode::kGap, RangeMode::kShared, RangeMode::kExclusive}) {
          holding->of(mode).for_each([&](const auto& lower, const auto& upper) {
            visit_range(*holding->owner, mode, lower, upper);
          });
        }
      }
      for (const LockRequest* request : shard.waiting) visit_request(*request);
    }
  }

  // Whether nobody holds or waits for anything.
  bool is_empty() const;

 private:
  // Orders requests by key, and those of one key by address.
  struct InOrder {
    using is_transparent = void;
    bool operator()(const LockRequest* left, const LockRequest* right) const {
      const int order = left->key().compare(right->key());
      return order != 0 ? order < 0 : std::less<const LockRequest*>()(left, right);
    }
    bool operator()(const LockRequest* left, std::string_view right) const {
      return left->key() < right;
    }
    bool operator()(std::string_view left, const LockRequest* right) const {
      return left < right->key();
    }
  };
  // On a cache line of its own: neighbours' latches are taken by other threads.
  struct alignas(64) Shard {
    mutable Mutex latch{MutexRank::kRangeShard};
    std::atomic<std::size_t> holding_count = 0;  // may be read without the latch
    std::vector<RangeHolding*> holdings BASALT_GUARDED_BY(latch);
    std::set<LockRequest*, InOrder> waiting BASALT_GUARDED_BY(latch);
  };

  static constexpr std::size_t kShards = 64;
  static constexpr bool locks_keys(RangeMode mode) { return mode != RangeMode::kGap; }

  Shard& shard_of(std::uint32_t space) const { return shards_[space % kShards]; }
  Shard& shard_of(std::string_view key) const { return shard_of(space_of(key)); }
  // Calls visit(LockOwner&) for every owner other than `owner` that has locked ranges of the space
  // in a mode for which blocks(RangeMode), with holds(IntervalSet), until visit() returns true.
  // Returns whether it did.
  template <typename Blocks, typename Holds, typename Visit>
  static bool visit_blockers(const Shard& shard, const LockOwner& owner, std::uint32_t space,
                             Blocks blocks, Holds holds, Visit visit) BASALT_REQUIRES(shard.latch) {
    for (const RangeHolding* holding : shard.holdings) {
      if (holding->owner == &owner || holding->space != space) continue;
      for (const RangeMode mode : {RangeMode::kGap, RangeMode::kShared, RangeMode::kExclusive}) {
        if (!blocks(mode) || !holds(holding->of(mode))) continue;
        if (visit(*holding->owner)) return true;
        break;
      }
    }
    return false;
  }
  template <typename Visit>
  static bool visit_blockers_of(const Shard& shard, const LockRequest& request, Visit visit)
      BASALT_REQUIRES(shard.latch) {
    return visit_blockers(
        shard, *request.owner, space_of(request.key()),
        [&](RangeMode mode) { return request.is_blocked_by(mode); },
        [&](const IntervalSet& ranges) { return ranges.contains(request.key()); }, visit);
  }
  static bool is_blocked(const Shard& shard, const LockRequest& request)
      BASALT_REQUIRES(shard.latch);
  RangeHolding& holding_of(LockOwner& owner, std::uint32_t space, Shard& shard)
      BASALT_REQUIRES(shard.latch);
  static void grant_unblocked(Shard& shard) BASALT_REQUIRES(shard.latch);

  mutable std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> key_locking_ = 0;  // interval sets in use in modes other than kGap
  std::atomic<std::uint64_t> told_ = 0;
};

}  // namespace basalt::lock
