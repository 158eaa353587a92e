#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/key_range.h"
#include "kv/per_thread_cache.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt_rocksdb {
class EventListener;
}

namespace basalt::kv {

class BatchBuffer;
struct IteratorBounds;

// What two iterators must have in common for one to do the other's work.
struct IteratorKind {
  std::uint32_t family = 0;
  bool fill_cache = true;
  std::uint64_t skipped_max = 0;
  std::uint64_t readahead_bytes = 0;

  bool operator==(const IteratorKind&) const = default;
};

// What an iterator consists of. `iterator` points to `bounds`; `ahead` may be null.
struct IteratorParts {
  IteratorParts();
  ~IteratorParts();
  IteratorParts(IteratorParts&&) noexcept;
  IteratorParts& operator=(IteratorParts&&) noexcept;

  IteratorKind kind;
  // As IteratorPool::round() was before the iterator was made, or moved to another snapshot.
  std::uint64_t round = 0;
  std::unique_ptr<BatchBuffer> ahead;
  std::unique_ptr<rdb::Iterator> iterator;
  std::unique_ptr<IteratorBounds> bounds;
};

// RocksDB's iterators that nobody uses at the moment.
//
// Purpose     To make one costs as much as the search for a row or more: some five allocations,
//             too large for what a thread has of the heap without a lock, and a tree of iterators
//             over memtables, files and levels.
// How         A thread has two: one that gives up (IteratorKind::skipped_max), which is what the
//             optimizer's estimates read with, and one that does not, for the scan that follows
//             them. It takes the one it gave back last, if it is of the same kind. RocksDB moves it
//             to another point in the history; where memtables or files have come or gone it builds
//             it anew.
// Lifetime    An idle iterator keeps alive what it was made over, memtables and files, and in the
//             cache the blocks it stands on. So idle ones are released when a flush or a compaction
//             has ended, and by release_idle(), which is to be called about once a second, and
//             before the database closes; one that is in use then goes when it is given back.
// Threads     Safe from any thread.
class IteratorPool {
 public:
  IteratorPool() = default;
  ~IteratorPool() { release_idle(); }
  IteratorPool(const IteratorPool&) = delete;
  IteratorPool& operator=(const IteratorPool&) = delete;

  // Parts of an iterator that shows `snapshot` (null: the newest data) in `range`, both ends of
  // which are set; null if there are none of that kind. It is nowhere until it seeks.
  std::unique_ptr<IteratorParts> take(const IteratorKind& kind, const rdb::Snapshot* snapshot,
                                      const KeyRange& range);
  // Keeps an iterator both of whose bounds are set. One that has an error or is of an earlier round
  // is released.
  void give_back(std::unique_ptr<IteratorParts> parts);
  // Releases those that are in no use, and ends the round.
  void release_idle();
  // The number of the round, for IteratorParts::round.
  std::uint64_t round() const { return round_.load(); }

 private:
  PerThreadCache<IteratorParts>& idle_of(const IteratorKind& kind) {
    return kind.skipped_max == 0 ? idle_ : idle_that_give_up_;
  }

  std::atomic<std::uint64_t> round_{0};
  PerThreadCache<IteratorParts> idle_;
  PerThreadCache<IteratorParts> idle_that_give_up_;
};

// Releases the idle iterators of `pool` when a flush or a compaction has ended, so that the
// memtables and files it has read can go: on a full device their space may be what is missing.
std::shared_ptr<rdb::EventListener> make_release_listener(std::shared_ptr<IteratorPool> pool);

}  // namespace basalt::kv
