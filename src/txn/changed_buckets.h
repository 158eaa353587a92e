#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "txn/change_tracker.h"

namespace basalt::txn {

// In which buckets of a ChangeTracker a transaction has changed rows, and how many in each.
//
// Memory      Of few changes a list; of many a count for each bucket, however many they are.
// Threads     None of its own.
class ChangedBuckets {
 public:
  static constexpr std::size_t kListMax = 1024;

  void add(std::size_t bucket) {
    BASALT_DEBUG_ASSERT(bucket < ChangeTracker::kBuckets);
    if (!counts_.empty()) {
      ++counts_[bucket];
      return;
    }
    list_.push_back(static_cast<std::uint32_t>(bucket));
    if (list_.size() > kListMax) count_all();
  }
  // Searches kListMax changes at most.
  std::uint32_t count(std::size_t bucket) const {
    if (!counts_.empty()) return counts_[bucket];
    return static_cast<std::uint32_t>(
        std::ranges::count(list_, static_cast<std::uint32_t>(bucket)));
  }
  bool is_empty() const { return list_.empty() && counts_.empty(); }
  // Calls visit(bucket, count), perhaps several times for a bucket.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const std::uint32_t bucket : list_) visit(bucket, std::uint32_t{1});
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      if (counts_[bucket] != 0) visit(bucket, counts_[bucket]);
    }
  }
  void clear() {
    list_.clear();
    counts_ = {};
  }
  std::uint64_t memory_bytes() const {
    return (list_.capacity() + counts_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  void count_all() {
    counts_.resize(ChangeTracker::kBuckets);
    for (const std::uint32_t bucket : list_) ++counts_[bucket];
    list_.clear();
  }

  std::vector<std::uint32_t> list_;
  std::vector<std::uint32_t> counts_;  // of each bucket, or none
};

}  // namespace basalt::txn
