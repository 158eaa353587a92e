#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace basalt::txn {

// Answers cheaply whether a row may have changed since a point of the database's history.
//
// Purpose     A scan that locks rows reads them through an iterator that is older than the locks.
//             Whoever changes a row holds its exclusive lock until the change is committed, so a
//             reader that has the lock and finds here that nothing happened to the row since its
//             iterator was made may trust the iterator and need not read the row again.
// How         Keys fall into buckets by hash. A bucket holds the sequence number after the last
//             commit that changed one of its keys, or kUncommitted. Two keys in one bucket make
//             the answer "maybe changed", never a wrong "unchanged".
// Threads     Safe from any thread. Buckets are written while the row's exclusive lock is held and
//             read after a lock was granted; the lock manager's latches order the two.
class ChangeTracker {
 public:
  static constexpr std::size_t kBuckets = std::size_t{1} << 16;

  static std::size_t bucket_of(std::string_view key) {
    return std::hash<std::string_view>()(key) % kBuckets;
  }

  // The row changed, in a transaction that has not ended.
  void note_change(std::size_t bucket) {
    sequences_[bucket].store(kUncommitted, std::memory_order_relaxed);
  }
  // The transaction has ended; `sequence` is the database's newest, after it.
  void note_end(std::size_t bucket, std::uint64_t sequence) {
    sequences_[bucket].store(sequence, std::memory_order_relaxed);
  }
  // A transaction has ended whose rows are not known.
  void note_end_of_unknown(std::uint64_t sequence) {
    for (std::atomic<std::uint64_t>& bucket : sequences_) {
      bucket.store(sequence, std::memory_order_relaxed);
    }
  }

  bool is_unchanged_since(std::string_view key, std::uint64_t sequence) const {
    return sequences_[bucket_of(key)].load(std::memory_order_relaxed) <= sequence;
  }

 private:
  static constexpr std::uint64_t kUncommitted = UINT64_MAX;

  std::array<std::atomic<std::uint64_t>, kBuckets> sequences_{};
};

}  // namespace basalt::txn
