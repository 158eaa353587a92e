#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"

namespace basalt::block_cache {

class BlockCache;

// What of a process's memory blocks may have, from what the rest of it was seen to take.
//
// Purpose     What the server, its connections, other engines, memtables and compactions take
//             differs by a hundred megabytes and more between a load of reads and one of writes. A
//             size chosen beforehand is too large for one or too small for the other.
// How         The rest is what is resident beside blocks. Its highest value counts, and is
//             forgotten within some ten seconds, so that blocks need not go for each compaction. A
//             part of the limit is left to the page cache, for WALs, and to what grows meanwhile.
// Threads     One.
class BlocksShare {
 public:
  // `limit`: bytes the process may take. `least`: what blocks get in any case.
  BlocksShare(std::uint64_t limit, std::uint64_t least) : limit_(limit), least_(least) {}

  // What is left free, of a limit in bytes.
  static std::uint64_t free_bytes(std::uint64_t limit);

  void set_limit(std::uint64_t limit) { limit_ = limit; }
  std::uint64_t limit() const { return limit_; }
  // Beside what is seen, so much is about to be needed.
  void expect(std::uint64_t bytes) { highest_rest_ += bytes; }
  // How many bytes of blocks there may be. `resident`: of the process; `blocks`: of them, those of
  // blocks; `seconds`: since the last time.
  std::uint64_t next(std::uint64_t resident, std::uint64_t blocks, double seconds);

 private:
  std::uint64_t limit_;
  const std::uint64_t least_;
  double highest_rest_ = 0;
};

// When memory that was freed and that the heaps have kept goes back to the system: where less than
// half of what is to be left free is, at most once in two seconds, and the less often the less it
// was of use.
// Threads     One.
class GiveBackPace {
 public:
  // Whether it is to be done now. `seconds`: since the last time.
  bool is_due(std::uint64_t resident, std::uint64_t limit, double seconds);
  // It was done, and so many bytes went.
  void note_given_back(std::uint64_t bytes, std::uint64_t limit);

 private:
  double since_ = 0;  // seconds
  double pause_ = 0;
};

// Keeps the capacity of the cache to that share, from a thread of its own, until its destruction,
// and gives memory back at that pace.
class MemoryBudget {
 public:
  // `limit`: says how many bytes the process may take; it is asked now, then about once a second,
  // by another thread. `expected`: bytes that the rest will soon take beside what it takes now, for
  // memtables. `capacity_max`: bytes that the cache's capacity never exceeds.
  MemoryBudget(std::function<std::uint64_t()> limit, std::uint64_t expected,
               std::shared_ptr<BlockCache> cache, std::uint64_t capacity_max);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Bytes that the capacity never exceeds from now on; it follows within a tenth of a second. Any
  // thread.
  void set_capacity_max(std::uint64_t bytes) {
    capacity_max_.store(bytes, std::memory_order_relaxed);
  }

  // Bytes of blocks that there may be now.
  std::uint64_t blocks_bytes() const { return blocks_bytes_.load(std::memory_order_relaxed); }

 private:
  void run();
  void apply(double seconds);
  void give_back_if_short(std::uint64_t resident, double seconds);

  const std::function<std::uint64_t()> limit_;
  const std::shared_ptr<BlockCache> cache_;
  std::atomic<std::uint64_t> capacity_max_;
  BlocksShare share_;
  std::atomic<std::uint64_t> blocks_bytes_{0};
  GiveBackPace give_back_pace_;
  Mutex mutex_{MutexRank::kMemoryBudget};
  ConditionVariable wake_;
  bool must_stop_ BASALT_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace basalt::block_cache
