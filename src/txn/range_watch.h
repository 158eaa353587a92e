#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace basalt::txn {

// Which numbers are in one of a few ranges: asked without the mutex that guards the ranges.
//
// Answers     "Maybe" or "certainly not": the latter holds for one moment of the call, in which
//             nothing was being changed, and not all was watched when the call began.
// Cost        An atomic load where nothing is watched.
// Threads     Any; one at a time calls set().
class RangeWatch {
 public:
  static constexpr std::size_t kRangesMax = 16;
  // Both are in the range.
  struct Range {
    std::uint64_t from = 0;
    std::uint64_t until = 0;
  };

  // Whether anything is watched.
  bool is_on() const { return state_.load(std::memory_order_seq_cst) != State::kNothing; }
  // Whether one of the numbers from `first` to `last` may be watched.
  bool may_touch(std::uint64_t first, std::uint64_t last) const;

  void set(std::span<const Range> ranges);
  // Until the next set().
  void set_all();

 private:
  enum class State : std::uint8_t { kNothing, kRanges, kAll };
  struct Bounds {
    std::atomic<std::uint64_t> from = 0;
    std::atomic<std::uint64_t> until = 0;
  };

  std::atomic<State> state_ = State::kNothing;
  std::atomic<std::uint8_t> count_ = 0;
  // Odd while the ranges change. They may change places: who has looked at some of them would miss
  // one that has come there since.
  std::atomic<std::uint64_t> changes_ = 0;
  std::array<Bounds, kRangesMax> bounds_;
};

}  // namespace basalt::txn
