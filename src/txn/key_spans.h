#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/key_range.h"

namespace basalt::txn {

// The first and the last key of each index, of a set of keys that grows until it is cleared.
//
// Answers     "Maybe" or "certainly not": keys between two of the set need not be in it.
// Cost        Grows with the number of indexes, not of keys. No allocation in the long run: what
//             clear() leaves is used again.
// Threads     None of its own.
class KeySpans {
 public:
  struct Span {
    std::uint32_t index = 0;
    std::string first;
    std::string last;
  };

  // Whether the key is the first one of its index.
  bool add(std::string_view key) {
    const std::uint32_t index = index_of(key);
    for (Span& span : std::span(spans_).first(used_)) {
      if (span.index != index) continue;
      if (key < span.first) span.first = key;
      if (key > span.last) span.last = key;
      return false;
    }
    if (used_ == spans_.size()) spans_.emplace_back();
    Span& span = spans_[used_++];
    span.index = index;
    span.first = key;
    span.last = key;
    return true;
  }
  void clear() {
    used_ = 0;
    if (spans_.size() > kKeptMax) spans_.resize(kKeptMax);
  }

  std::span<const Span> all() const { return std::span(spans_).first(used_); }
  // The index of a key, which begins with its id.
  static std::uint32_t index_of(std::string_view key) {
    return key.size() < sizeof(std::uint32_t) ? 0 : load_be32(key.data());
  }
  bool may_have(std::string_view key) const {
    const std::uint32_t index = index_of(key);
    return std::ranges::any_of(all(), [&](const Span& span) {
      return span.index == index && span.first <= key && key <= span.last;
    });
  }
  // Whether one of the keys may be in [lower, upper). An empty bound is none.
  bool may_touch(std::string_view lower, std::string_view upper) const {
    return std::ranges::any_of(all(), [&](const Span& span) {
      return span.last >= lower && (upper.empty() || span.first < upper);
    });
  }

 private:
  static constexpr std::size_t kKeptMax = 64;

  std::vector<Span> spans_;  // behind the used ones are those that clear() left
  std::size_t used_ = 0;
};

// From the first to the last of some keys that have `first` and `last`, which are not none.
template <typename Spans>
KeyRange range_around(const Spans& spans) {
  KeyRange range{spans.front().first, spans.front().last};
  for (const auto& span : spans) {
    if (span.first < range.lower) range.lower = span.first;
    if (span.last > range.upper) range.upper = span.last;
  }
  range.upper.push_back('\0');
  return range;
}

}  // namespace basalt::txn
