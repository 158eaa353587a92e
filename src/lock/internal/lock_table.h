#pragma once
#include <cstddef>
#include <mutex>

#include "lock/internal/range_table.h"
#include "lock/internal/shard.h"
#include "lock/internal/slot.h"

// Everything that is locked and waited for: keys and ranges. What a wait needs to know of a request
// is asked here, whichever of the two it waits in.
//
// Threads     Any; the functions on a slot that waits or may wait need latch_of(slot).
namespace basalt::lock {

struct LockTable {
  explicit LockTable(std::size_t shards) : keys(shards) {}

  std::mutex& latch_of(const Slot& slot) {
    return slot.kind == SlotKind::kKey ? keys.shard_of(slot).latch : ranges.latch_of(slot);
  }
  // Ends the wait of a waiting slot, ungranted.
  void cancel_wait(Slot& slot) {
    if (slot.kind == SlotKind::kKey) {
      keys.shard_of(slot).cancel_wait(slot);
    } else {
      ranges.cancel_wait(slot);
    }
  }
  // Calls visit(LockOwner&, bool only_waits) for every owner that the waiting slot waits for;
  // `only_waits`: it holds nothing of the key and is merely before the slot in the queue.
  template <typename Visit>
  void for_each_blocker(const Slot& slot, Visit visit) {
    if (slot.kind == SlotKind::kKey) {
      keys.shard_of(slot).for_each_blocker(slot, [&](Slot& blocker) {
        visit(*blocker.owner, blocker.state == SlotState::kWaiting);
      });
    } else {
      ranges.for_each_blocker(slot, [&](LockOwner& owner) { visit(owner, false); });
    }
  }

  // Returns when everybody who held a latch at the time of the call has released it.
  void pass_latches() const {
    for (std::size_t i = 0; i < keys.size(); ++i) const std::lock_guard latch(keys[i].latch);
    ranges.pass_latches();
  }

  const ShardTable keys;
  RangeTable ranges;
};

}  // namespace basalt::lock
