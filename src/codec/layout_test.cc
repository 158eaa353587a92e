#include "codec/layout.h"

#include <gtest/gtest.h>

namespace basalt::codec {
namespace {

TEST(ColumnSet, HoldsWhatWasSetAndNothingElse) {
  ColumnSet set(130);
  EXPECT_EQ(set.count(), 0u);
  set.set(0);
  set.set(64);
  set.set(129);
  EXPECT_EQ(set.count(), 3u);
  EXPECT_TRUE(set.test(0) && set.test(64) && set.test(129));
  EXPECT_FALSE(set.test(1) || set.test(63) || set.test(128));
  set.unset(64);
  EXPECT_FALSE(set.test(64));
  set.clear();
  EXPECT_EQ(set, ColumnSet(130));
}

TEST(ColumnSet, ColumnsBeyondItsSizeAreNotInIt) {
  EXPECT_FALSE(ColumnSet(3, true).test(3));
  EXPECT_FALSE(ColumnSet(0, true).test(0));
  EXPECT_FALSE(ColumnSet(64, true).test(UINT32_MAX));
}

TEST(ColumnSet, AllMeansEveryColumnOnce) {
  for (const std::size_t size : {0u, 1u, 63u, 64u, 65u, 128u})
    EXPECT_EQ(ColumnSet(size, true).count(), size);
}

TEST(ColumnSet, ContainsExactlyItsSubsets) {
  ColumnSet some(70);
  some.set(69);
  EXPECT_TRUE(ColumnSet(70, true).contains(some));
  EXPECT_TRUE(some.contains(some));
  EXPECT_TRUE(some.contains(ColumnSet(70)));
  EXPECT_FALSE(some.contains(ColumnSet(70, true)));
  EXPECT_FALSE(ColumnSet(3, true).contains(some));
}

}  // namespace
}  // namespace basalt::codec
