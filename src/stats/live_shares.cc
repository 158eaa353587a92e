#include "stats/live_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace basalt::stats {
namespace {

// A sample is good until the range has so many more or fewer versions, as a part of all.
constexpr double kChangeMax = 0.05;

bool is_same(const KeyRange& left, const KeyRange& right) {
  return left.lower == right.lower && left.upper == right.upper;
}

}  // namespace

std::optional<double> LiveShares::find(const KeyRange& range, double versions,
                                       std::int64_t now) const {
  for (const Sample& sample : samples_) {
    const bool is_as_before = std::abs(versions - sample.versions) <= kChangeMax * sample.versions;
    if ((is_as_before || now < sample.good_until) && is_same(sample.range, range)) {
      return sample.share;
    }
  }
  return std::nullopt;
}

void LiveShares::keep(const KeyRange& range, double versions, double share,
                      std::int64_t good_until) {
  BASALT_DEBUG_ASSERT(share >= 0 && share <= 1);
  const auto same = std::ranges::find_if(
      samples_, [&](const Sample& sample) { return is_same(sample.range, range); });
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
