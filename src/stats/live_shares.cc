#include "stats/live_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace basalt::stats {
namespace {

// A sample is good until the range has so many more or fewer versions, as a part of all.
constexpr double kChangeMax = 0.05;

auto is_of(const KeyRange& range) {
  return [&range](const auto& sample) {
    return sample.range.lower == range.lower && sample.range.upper == range.upper;
  };
}

}  // namespace

std::optional<double> LiveShares::find(const KeyRange& range, double versions,
                                       std::int64_t now) const {
  const auto sample = std::ranges::find_if(samples_, is_of(range));
  if (sample == samples_.end()) return std::nullopt;
  const double change = std::abs(versions - sample->versions);
  if (change > kChangeMax * sample->versions && now >= sample->good_until) return std::nullopt;
  return sample->share;
}

void LiveShares::keep(const KeyRange& range, double versions, double share,
                      std::int64_t good_until) {
  BASALT_DEBUG_ASSERT(share >= 0 && share <= 1);
  const auto same = std::ranges::find_if(samples_, is_of(range));
  Sample sample{range, versions, share, good_until};
  if (same != samples_.end()) {
    *same = std::move(sample);
  } else if (samples_.size() < kSamplesMax) {
    samples_.push_back(std::move(sample));
  } else {
    samples_[oldest_] = std::move(sample);
    oldest_ = (oldest_ + 1) % kSamplesMax;
  }
}

}  // namespace basalt::stats
