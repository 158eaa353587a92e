#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/key_range.h"

namespace basalt::stats {

// What sample_live_share() has found in some ranges of an index, which it reads 48 parts of:
// statements ask for the same ranges again and again. The oldest one goes first.
//
// Time        As of a clock that never goes back, in microseconds.
// Threads     Not safe.
class LiveShares {
 public:
  // Of a range that has so many versions now, if it was sampled when it had about as many, or not
  // long ago.
  std::optional<double> find(const KeyRange& range, double versions, std::int64_t now) const;
  // In place of what was kept of the same range. Where entries come and go as fast as in a queue
  // each statement would sample again: until then the sample is good whatever has changed.
  void keep(const KeyRange& range, double versions, double share, std::int64_t good_until);

 private:
  static constexpr std::size_t kSamplesMax = 16;

  struct Sample {
    KeyRange range;
    double versions = 0;
    double share = 1;
    std::int64_t good_until = 0;
  };
  std::vector<Sample> samples_;  // most indexes never have one
  std::size_t oldest_ = 0;       // when there are kSamplesMax
};

}  // namespace basalt::stats
