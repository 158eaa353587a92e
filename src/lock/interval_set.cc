#include "lock/interval_set.h"

#include <iterator>
#include <utility>

#include "base/assert.h"

namespace basalt::lock {

void IntervalSet::add(std::string_view lower, std::string_view upper) {
  BASALT_DEBUG_ASSERT(lower < upper);
  const auto next = intervals_.upper_bound(lower);
  if (next != intervals_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= lower) {
      if (before->second >= upper) return;
      before->second.assign(upper);
      absorb_followers(before);
      return;
    }
  }
  if (next != intervals_.end() && next->first <= upper) {
    // Grows downwards: the interval keeps its node under another key.
    const auto hint = std::next(next);
    auto node = intervals_.extract(next);
    node.key().assign(lower);
    const auto grown = intervals_.insert(hint, std::move(node));
    if (grown->second < upper) {
      grown->second.assign(upper);
      absorb_followers(grown);
    }
    return;
  }
  intervals_.emplace_hint(next, lower, upper);
}

void IntervalSet::absorb_followers(Intervals::iterator grown) {
  auto follower = std::next(grown);
  while (follower != intervals_.end() && follower->first <= grown->second) {
    if (follower->second > grown->second) grown->second.swap(follower->second);
    follower = intervals_.erase(follower);
  }
}

bool IntervalSet::contains(std::string_view key) const {
  const auto next = intervals_.upper_bound(key);
  return next != intervals_.begin() && key < std::prev(next)->second;
}

bool IntervalSet::overlaps(std::string_view lower, std::string_view upper) const {
  const auto next = intervals_.lower_bound(upper);  // the first that begins behind the range
  return next != intervals_.begin() && lower < std::prev(next)->second;
}

bool IntervalSet::find(std::string_view lower, std::string_view upper, std::string& found) const {
  if (contains(lower)) {
    found = lower;
    return true;
  }
  const auto next = intervals_.lower_bound(lower);
  if (next == intervals_.end() || next->first >= upper) return false;
  found = next->first;
  return true;
}

}  // namespace basalt::lock
