#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/status.h"
#include "catalog/catalog.h"

namespace basalt::table {

// A counter that never hands out a value twice, also not after a crash.
//
// How         A mark in the dictionary is always above every value handed out. It is raised by a
//             block at a time with an unsynced write: the log keeps its order, so a row that
//             survives a crash implies that the mark above its value does. A crash skips at most
//             one block; a clean stop stores the exact next value.
// Threads     Safe from any thread.
class Counter {
 public:
  Counter(catalog::Catalog& catalog, catalog::TableId table, catalog::CounterKind kind);

  // Sets the start to the stored mark, or to `smallest` if that is greater.
  Status load(std::uint64_t smallest);

  // The next value, not yet taken.
  std::uint64_t next() const { return next_.load(std::memory_order_relaxed); }

  // Takes `count` values of the series offset, offset + increment, ... starting with the first
  // one not below next(). Near the end of 64 bits it may be fewer, after it none:
  // kAutoIncrementExhausted.
  Status take(std::uint64_t offset, std::uint64_t increment, std::uint64_t count,
              std::uint64_t& first);
  // Makes sure that `value` is not handed out.
  Status skip(std::uint64_t value);
  // Continues with `value`, which may be lower than before.
  Status restart(std::uint64_t value);
  // Stores the exact next value.
  Status save();

 private:
  Status raise_mark(std::uint64_t next);

  catalog::Catalog& catalog_;
  const catalog::TableId table_;
  const catalog::CounterKind kind_;
  std::mutex mutex_;
  std::atomic<std::uint64_t> next_{1};
  std::uint64_t mark_ = 0;   // guarded by mutex_
  std::uint64_t block_;      // guarded by mutex_; grows while the counter is in steady use
};

}  // namespace basalt::table
