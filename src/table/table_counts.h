#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kv/read_counts.h"

namespace basalt::table {

// What is counted of a table.
enum class TableCount : std::uint8_t {
  kRowsRead,
  kRowsInserted,
  kRowsUpdated,
  kRowsDeleted,
  kGets,
  kGetBytes,
  kMultiGetBytes,
  kSeeks,
  kNexts,
  kPreviouses,
  kIteratorBytes,
  kCount,  // how many there are
};

// What all sessions have done with a table since the engine started. Told by them once a statement,
// in one of several places, so that those of many cores do not wait for each other.
//
// Threads     Any.
class TableCounts {
 public:
  void add(TableCount count, std::uint64_t n) {
    if (n == 0) return;
    stripe().counts[static_cast<std::size_t>(count)].fetch_add(n, std::memory_order_relaxed);
  }
  void add(const kv::ReadCounts& reads) {
    add(TableCount::kGets, reads.gets);
    add(TableCount::kGetBytes, reads.get_bytes);
    add(TableCount::kMultiGetBytes, reads.multi_get_bytes);
    add(TableCount::kSeeks, reads.seeks);
    add(TableCount::kNexts, reads.nexts);
    add(TableCount::kPreviouses, reads.previouses);
    add(TableCount::kIteratorBytes, reads.iterator_bytes);
  }
  std::uint64_t sum(TableCount count) const {
    std::uint64_t result = 0;
    for (const Stripe& stripe : stripes_) {
      result += stripe.counts[static_cast<std::size_t>(count)].load(std::memory_order_relaxed);
    }
    return result;
  }

 private:
  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(TableCount::kCount)> counts{};
  };
  static constexpr std::size_t kStripes = 8;

  // By the address of what the thread has for itself: pages of it lie apart.
  Stripe& stripe() {
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
    return stripes_[(place >> 12) * 0x9E3779B97F4A7C15 >> 61];
  }

  std::array<Stripe, kStripes> stripes_;
  static_assert(kStripes == 8, "stripe() takes three bits");
};

}  // namespace basalt::table
