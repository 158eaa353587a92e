#include "lock/interval_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lock/internal/test_support.h"

namespace basalt::lock {
namespace {

using Intervals = std::vector<std::pair<std::string, std::string>>;

Intervals intervals_of(const IntervalSet& set) {
  Intervals result;
  set.for_each([&](const auto& lower, const auto& upper) { result.emplace_back(lower, upper); });
  return result;
}

TEST(IntervalSet, HoldsTheLowerBoundAndNotTheUpperOne) {
  IntervalSet set;
  set.add("b", "d");
  EXPECT_FALSE(set.contains("a"));
  EXPECT_TRUE(set.contains("b"));
  EXPECT_TRUE(set.contains("c"));
  EXPECT_TRUE(set.contains("cz"));
  EXPECT_FALSE(set.contains("d"));
}

TEST(IntervalSet, PiecesThatTouchAreOneInterval) {
  IntervalSet set;
  set.add("b", "c");
  set.add("c", "d");
  set.add("a", "b");
  EXPECT_EQ(intervals_of(set), (Intervals{{"a", "d"}}));
  set.add("f", "g");
  EXPECT_EQ(set.size(), 2u);
  set.add("d", "f");
  EXPECT_EQ(intervals_of(set), (Intervals{{"a", "g"}}));
}

TEST(IntervalSet, AnIntervalSwallowsWhatItCovers) {
  IntervalSet set;
  set.add("b", "c");
  set.add("d", "e");
  set.add("f", "k");
  set.add("a", "g");
  EXPECT_EQ(intervals_of(set), (Intervals{{"a", "k"}}));
  set.add("c", "d");
  EXPECT_EQ(intervals_of(set), (Intervals{{"a", "k"}}));
}

TEST(IntervalSet, GrowsDownwardsOverOthers) {
  IntervalSet set;
  set.add("f", "h");
  set.add("k", "m");
  set.add("d", "l");
  EXPECT_EQ(intervals_of(set), (Intervals{{"d", "m"}}));
}

TEST(IntervalSet, HoldsWhatWasAddedInRandomOrderAndNothingElse) {
  const std::uint64_t seed = basalt::test::seed();
  std::mt19937_64 random(seed);
  const auto name = [](unsigned n) { return std::string(1, static_cast<char>('A' + n)); };
  for (int round = 0; round < 2000; ++round) {
    IntervalSet set;
    std::vector<bool> expected(50);
    for (unsigned i = 0; i < 1 + random() % 12; ++i) {
      const unsigned lower = random() % 49;
      const unsigned upper = lower + 1 + random() % (49 - lower);
      set.add(name(lower), name(upper));
      for (unsigned n = lower; n < upper; ++n) expected[n] = true;
    }
    std::size_t runs = 0;
    for (unsigned n = 0; n < expected.size(); ++n) {
      ASSERT_EQ(set.contains(name(n)), expected[n]) << "seed " << seed << ", round " << round;
      runs += expected[n] && (n == 0 || !expected[n - 1]) ? 1 : 0;
    }
    ASSERT_EQ(set.size(), runs) << "seed " << seed << ", round " << round;
    const unsigned lower = random() % 49;
    const unsigned upper = lower + 1 + random() % (49 - lower);
    const bool overlaps = std::find(expected.begin() + lower, expected.begin() + upper, true) !=
                          expected.begin() + upper;
    ASSERT_EQ(set.overlaps(name(lower), name(upper)), overlaps)
        << "seed " << seed << ", round " << round;
  }
}

}  // namespace
}  // namespace basalt::lock
