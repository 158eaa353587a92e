#pragma once
#include <cstddef>

#include "base/mutex.h"
#include "lock/internal/lock_request.h"
#include "lock/internal/range_table.h"
#include "lock/internal/shard.h"

// Everything that is locked and waited for: keys and ranges. What a wait needs to know of a request
// is asked here, whichever of the two it waits in.
//
// Threads     Any; the functions on a request that waits or may wait need latch_of(request).
namespace basalt::lock {

struct LockTable {
  explicit LockTable(std::size_t shards) : keys(shards) {}

  Mutex& latch_of(const LockRequest& request) {
    return request.kind == RequestKind::kKey ? keys.shard_of(request).latch
                                             : ranges.latch_of(request);
  }
  // Ends the wait of a waiting request, ungranted.
  void cancel_wait(LockRequest& request) BASALT_REQUIRES(latch_of(request)) {
    if (request.kind == RequestKind::kKey) {
      Shard& shard = keys.shard_of(request);
      shard.latch.assert_held();
      shard.cancel_wait(request);
    } else {
      ranges.latch_of(request).assert_held();
      ranges.cancel_wait(request);
    }
  }
  // Calls visit(LockOwner&, bool only_waits) for every owner that the waiting request waits for;
  // `only_waits`: it holds nothing of the key and is merely before the request in the queue.
  template <typename Visit>
  void for_each_blocker(const LockRequest& request, Visit visit)
      BASALT_REQUIRES(latch_of(request)) {
    if (request.kind == RequestKind::kKey) {
      const Shard& shard = keys.shard_of(request);
      shard.latch.assert_held();
      shard.for_each_blocker(request, [&](LockRequest& blocker) {
        visit(*blocker.owner, blocker.state == RequestState::kWaiting);
      });
    } else {
      ranges.latch_of(request).assert_held();
      ranges.for_each_blocker(request, [&](LockOwner& owner) { visit(owner, false); });
    }
  }

  // Returns when everybody who held a latch at the time of the call has released it.
  void pass_latches() const {
    for (std::size_t i = 0; i < keys.size(); ++i) const MutexLock latch(keys[i].latch);
    ranges.pass_latches();
  }

  const ShardTable keys;
  RangeTable ranges;
};

}  // namespace basalt::lock
