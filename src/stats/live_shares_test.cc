#include "stats/live_shares.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::stats {
namespace {

TEST(LiveShares, ASampleIsGoodForItsRangeUntilThatHasChangedByATwentieth) {
  LiveShares shares;
  EXPECT_EQ(shares.find({"a", "b"}, 1000), std::nullopt);
  shares.keep({"a", "b"}, 1000, 0.5);
  EXPECT_EQ(shares.find({"a", "b"}, 1000), 0.5);
  EXPECT_EQ(shares.find({"a", "b"}, 1050), 0.5);
  EXPECT_EQ(shares.find({"a", "b"}, 950), 0.5);
  EXPECT_EQ(shares.find({"a", "b"}, 1051), std::nullopt);
  EXPECT_EQ(shares.find({"a", "b"}, 949), std::nullopt);
  EXPECT_EQ(shares.find({"a", "c"}, 1000), std::nullopt);
  EXPECT_EQ(shares.find({"", "b"}, 1000), std::nullopt);
}

TEST(LiveShares, TheLastEightAreKept) {
  LiveShares shares;
  for (int i = 0; i < 9; ++i) shares.keep({std::to_string(i), "x"}, 10, 0.1 * i);
  EXPECT_EQ(shares.find({"0", "x"}, 10), std::nullopt);
  for (int i = 1; i < 9; ++i) EXPECT_EQ(shares.find({std::to_string(i), "x"}, 10), 0.1 * i) << i;
}

}  // namespace
}  // namespace basalt::stats
