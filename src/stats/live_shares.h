#pragma once
#include <array>
#include <cstddef>
#include <optional>

#include "base/key_range.h"

namespace basalt::stats {

// What sample_live_share() has found in some ranges of an index, which it reads 48 parts of:
// statements ask for the same ranges again and again. The oldest one goes first.
//
// Threads     Not safe.
class LiveShares {
 public:
  // Of a range that has so many versions now, if it was sampled when it had about as many.
  std::optional<double> find(const KeyRange& range, double versions) const;
  void keep(const KeyRange& range, double versions, double share);

 private:
  struct Sample {
    KeyRange range;
    double versions = 0;  // 0: none yet
    double share = 1;
  };
  std::array<Sample, 8> samples_;
  std::size_t oldest_ = 0;
};

}  // namespace basalt::stats
