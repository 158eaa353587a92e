#include "stats/live_shares.h"

#include <cmath>

#include "base/assert.h"

namespace basalt::stats {
namespace {

// A sample is good until the range has so many more or fewer versions, as a part of all.
constexpr double kChangeMax = 0.05;

}  // namespace

std::optional<double> LiveShares::find(const KeyRange& range, double versions) const {
  for (const Sample& sample : samples_) {
    const bool is_as_before = std::abs(versions - sample.versions) <= kChangeMax * sample.versions;
    if (sample.versions > 0 && is_as_before && sample.range.lower == range.lower &&
        sample.range.upper == range.upper) {
      return sample.share;
    }
  }
  return std::nullopt;
}

void LiveShares::keep(const KeyRange& range, double versions, double share) {
  BASALT_DEBUG_ASSERT(share >= 0 && share <= 1);
  samples_[oldest_] = {range, versions, share};
  oldest_ = (oldest_ + 1) % samples_.size();
}

}  // namespace basalt::stats
