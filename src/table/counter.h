#pragma once
#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "base/status.h"
#include "catalog/catalog.h"

namespace basalt::table {

// The values that AUTO_INCREMENT may take: offset, offset + increment, ... up to a greatest one.
// The arithmetic is InnoDB's, also where it is odd, so that both count alike.
struct Series {
  std::uint64_t offset = 1;
  std::uint64_t increment = 1;
  std::uint64_t greatest = UINT64_MAX;

  // What a counter at `value` gives next: the first value of the series that is not below it.
  // `value` itself if that would be the greatest or above it.
  std::uint64_t round_up(std::uint64_t value) const;
  // What a counter goes on with when `count` values from `value` on are taken: of the series, or
  // of the multiples of the increment if the offset is above that. Above `greatest` there is one
  // value more: UINT64_MAX where the sum is above 64 bits or `value` above `greatest`.
  std::uint64_t after(std::uint64_t value, std::uint64_t count) const;
};

// A counter that never hands out a value twice, also not after a crash.
//
// How         A mark in the dictionary is always above every value handed out. It is raised by a
//             block at a time with an unsynced write: the WAL keeps its order, so a row that
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

  // Takes `count` values of the series, or at least one, starting with the first one not below
  // next(), or with `first` if that is greater. If that one is above the greatest of the series it
  // is returned and none is taken, nor does the counter move.
  // kAutoIncrementExhausted if there is none in 64 bits.
  Status take(const Series& series, std::uint64_t count, std::uint64_t& first);
  // Goes on at `next` or above.
  Status advance(std::uint64_t next);
  // Continues with `value`, which may be lower than before.
  Status restart(std::uint64_t value);
  // Stores the exact next value.
  Status save();

 private:
  Status raise_mark(std::uint64_t next) BASALT_REQUIRES(mutex_);

  catalog::Catalog& catalog_;
  const catalog::TableId table_;
  const catalog::CounterKind kind_;
  Mutex mutex_{MutexRank::kCounter};
  std::atomic<std::uint64_t> next_{1};
  std::uint64_t mark_ BASALT_GUARDED_BY(mutex_) = 0;
  std::uint64_t block_ BASALT_GUARDED_BY(mutex_);  // grows while the counter is in steady use
};

}  // namespace basalt::table
