#include "stats/live_shares.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::stats {
namespace {

constexpr std::int64_t kNow = 5000;

TEST(LiveShares, ASampleIsGoodForItsRangeUntilThatHasChangedByATwentieth) {
  LiveShares shares;
  EXPECT_EQ(shares.find({"a", "b"}, 1000, kNow), std::nullopt);
  shares.keep({"a", "b"}, 1000, 0.5, kNow);
  EXPECT_EQ(shares.find({"a", "b"}, 1000, kNow), 0.5);
  EXPECT_EQ(shares.find({"a", "b"}, 1050, kNow), 0.5);
  EXPECT_EQ(shares.find({"a", "b"}, 950, kNow), 0.5);
  EXPECT_EQ(shares.find({"a", "b"}, 1051, kNow), std::nullopt);
  EXPECT_EQ(shares.find({"a", "b"}, 949, kNow), std::nullopt);
  EXPECT_EQ(shares.find({"a", "c"}, 1000, kNow), std::nullopt);
  EXPECT_EQ(shares.find({"", "b"}, 1000, kNow), std::nullopt);
}

TEST(LiveShares, ASampleIsGoodForItsTimeWhateverHasChanged) {
  LiveShares shares;
  shares.keep({"a", "b"}, 1000, 0.5, kNow + 1);
  EXPECT_EQ(shares.find({"a", "b"}, 3000, kNow), 0.5);
  EXPECT_EQ(shares.find({"a", "c"}, 3000, kNow), std::nullopt);
  EXPECT_EQ(shares.find({"a", "b"}, 3000, kNow + 1), std::nullopt);
}

TEST(LiveShares, TheLastSixteenRangesAreKept) {
  LiveShares shares;
  for (int i = 0; i < 17; ++i) shares.keep({std::to_string(i), "x"}, 10, 0.05 * i, 0);
  EXPECT_EQ(shares.find({"0", "x"}, 10, kNow), std::nullopt);
  for (int i = 1; i < 17; ++i) {
    EXPECT_EQ(shares.find({std::to_string(i), "x"}, 10, kNow), 0.05 * i) << i;
  }
}

TEST(LiveShares, ANewSampleOfARangeTakesThePlaceOfTheOldOne) {
  LiveShares shares;
  shares.keep({"a", "b"}, 10, 0.5, 0);
  for (int i = 1; i < 40; ++i) shares.keep({"c", "d"}, 10 * i, 0.02 * i, 0);
  EXPECT_EQ(shares.find({"a", "b"}, 10, kNow), 0.5);
  EXPECT_EQ(shares.find({"c", "d"}, 390, kNow), 0.02 * 39);
  EXPECT_EQ(shares.find({"c", "d"}, 10, kNow), std::nullopt);
}

}  // namespace
}  // namespace basalt::stats
