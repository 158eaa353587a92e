#include "txn/range_watch.h"

#include <algorithm>

#include "base/assert.h"

namespace basalt::txn {

bool RangeWatch::may_touch(std::uint64_t first, std::uint64_t last) const {
  const State state = state_.load(std::memory_order_seq_cst);
  if (state != State::kRanges) return state == State::kAll;
  const std::uint64_t changes = changes_.load(std::memory_order_seq_cst);
  const std::size_t count = count_.load(std::memory_order_seq_cst);
  const bool touches =
      std::ranges::any_of(std::span(bounds_).first(count), [first, last](const Bounds& bounds) {
        return first <= bounds.until.load(std::memory_order_seq_cst) &&
               last >= bounds.from.load(std::memory_order_seq_cst);
      });
  return touches || changes % 2 != 0 || changes_.load(std::memory_order_seq_cst) != changes;
}

void RangeWatch::set(std::span<const Range> ranges) {
  BASALT_DEBUG_ASSERT(ranges.size() <= bounds_.size());
  changes_.fetch_add(1, std::memory_order_seq_cst);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    BASALT_DEBUG_ASSERT(ranges[i].from <= ranges[i].until);
    bounds_[i].from.store(ranges[i].from, std::memory_order_seq_cst);
    bounds_[i].until.store(ranges[i].until, std::memory_order_seq_cst);
  }
  count_.store(static_cast<std::uint8_t>(ranges.size()), std::memory_order_seq_cst);
  state_.store(ranges.empty() ? State::kNothing : State::kRanges, std::memory_order_seq_cst);
  changes_.fetch_add(1, std::memory_order_seq_cst);
}

void RangeWatch::set_all() { state_.store(State::kAll, std::memory_order_seq_cst); }

}  // namespace basalt::txn
