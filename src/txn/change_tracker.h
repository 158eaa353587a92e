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
// How         Keys fall into buckets by hash. A bucket counts the changes of its keys whose
//             transactions have not ended, and holds the greatest sequence number at which one
//             ended. Two keys in one bucket make the answer "maybe changed", never a wrong
//             "unchanged".
// Threads     Safe from any thread.
class ChangeTracker {
 public:
  static constexpr std::size_t kBuckets = std::size_t{1} << 16;

  static std::size_t bucket_of(std::string_view key) {
    return std::hash<std::string_view>()(key) % kBuckets;
  }

  // A row changed, in a transaction that has not ended. To be matched by one note_end().
  void note_change(std::size_t bucket) {
    buckets_[bucket].open_changes.fetch_add(1, std::memory_order_relaxed);
  }
  // The transaction of `count` changes has ended; `sequence` is the database's newest, after it. To
  // be called before the rows' locks are released.
  void note_end(std::size_t bucket, std::uint64_t sequence, std::uint64_t count = 1) {
    raise(buckets_[bucket].ended_at, sequence);
    buckets_[bucket].open_changes.fetch_sub(count, std::memory_order_release);
  }
  // A transaction has ended whose rows are not known.
  void note_end_of_unknown(std::uint64_t sequence) {
    for (Bucket& bucket : buckets_) raise(bucket.ended_at, sequence);
  }

  // `own_changes`: how many open changes of the key's bucket are the asking transaction's own, and
  // of other rows for certain.
  bool is_unchanged_since(std::size_t bucket, std::uint64_t sequence,
                          std::uint64_t own_changes = 0) const {
    return buckets_[bucket].open_changes.load(std::memory_order_acquire) == own_changes &&
           buckets_[bucket].ended_at.load(std::memory_order_relaxed) <= sequence;
  }

 private:
  struct Bucket {
    std::atomic<std::uint64_t> open_changes{0};
    std::atomic<std::uint64_t> ended_at{0};
  };

  static void raise(std::atomic<std::uint64_t>& target, std::uint64_t value) {
    std::uint64_t current = target.load(std::memory_order_relaxed);
    while (current < value &&
           !target.compare_exchange_weak(current, value, std::memory_order_relaxed)) {
    }
  }

  std::array<Bucket, kBuckets> buckets_{};
};

}  // namespace basalt::txn
