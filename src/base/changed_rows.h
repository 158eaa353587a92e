#pragma once
#include <atomic>
#include <cstdint>

namespace basalt {

// How many rows a table has got and lost since the engine first used it. Told by transactions.
//
// Counts      A row counts for everybody from its change on, and no longer once that is undone.
//             committed() are those of transactions that are committed: what data without
//             transactions shows, such as files, has these and no others.
// Threads     Safe from any thread. No order with anything else: who reads a table while others
//             commit may find more or fewer rows than committed() tells.
class ChangedRows {
 public:
  // Rows were inserted (positive) or removed, in a transaction that has not ended.
  void add(std::int64_t rows) { all_.fetch_add(rows, std::memory_order_relaxed); }
  // A transaction has rolled back so many, or committed them, of those that it has added.
  void roll_back(std::int64_t rows) { add(-rows); }
  // And so many rows it has updated.
  void commit(std::int64_t rows, std::uint64_t updates = 0) {
    if (rows != 0) committed_.fetch_add(rows, std::memory_order_relaxed);
    if (updates != 0) updates_.fetch_add(updates, std::memory_order_relaxed);
  }

  std::int64_t all() const { return all_.load(std::memory_order_relaxed); }
  std::int64_t committed() const { return committed_.load(std::memory_order_relaxed); }
  // Those of transactions that are committed.
  std::uint64_t updates() const { return updates_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> all_{0};
  std::atomic<std::int64_t> committed_{0};
  std::atomic<std::uint64_t> updates_{0};
};

}  // namespace basalt
