#include "txn/range_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace basalt::txn {
namespace {

TEST(RangeWatch, NothingIsWatchedAtFirstAndAllWhereItIsSaid) {
  RangeWatch watch;
  EXPECT_FALSE(watch.is_on());
  EXPECT_FALSE(watch.may_touch(0, UINT64_MAX));
  watch.set_all();
  EXPECT_TRUE(watch.is_on());
  EXPECT_TRUE(watch.may_touch(7, 7));
  watch.set({});
  EXPECT_FALSE(watch.is_on());
  EXPECT_FALSE(watch.may_touch(7, 7));
}

TEST(RangeWatch, RangesAreWatchedWithBothEndsAndNotBetweenThem) {
  RangeWatch watch;
  watch.set(std::vector<RangeWatch::Range>{{10, 20}, {40, UINT64_MAX}, {5, 5}});
  for (const std::uint64_t number : {5, 10, 15, 20, 40, 50}) {
    EXPECT_TRUE(watch.may_touch(number, number)) << number;
  }
  EXPECT_TRUE(watch.may_touch(UINT64_MAX, UINT64_MAX));
  for (const std::uint64_t number : {0, 4, 6, 9, 21, 39}) {
    EXPECT_FALSE(watch.may_touch(number, number)) << number;
  }
  EXPECT_TRUE(watch.may_touch(6, 10));
  EXPECT_TRUE(watch.may_touch(0, UINT64_MAX));
  EXPECT_FALSE(watch.may_touch(21, 39));
  watch.set(std::vector<RangeWatch::Range>{{41, 42}});
  EXPECT_FALSE(watch.may_touch(10, 20));
  EXPECT_FALSE(watch.may_touch(43, 43));
}

// A number that is always in some range is found, whichever place its range has at the moment.
TEST(RangeWatch, ARangeThatMovesIsNotMissed) {
  RangeWatch watch;
  const std::vector<RangeWatch::Range> apart = {{0, 50}, {200, 250}, {100, 150}};
  const std::vector<RangeWatch::Range> together = {{0, 150}};
  const std::vector<RangeWatch::Range> last = {{300, 350}, {200, 250}, {0, 50}, {100, 150}};
  watch.set(apart);
  std::atomic<bool> is_over = false;
  std::thread changer([&] {
    while (!is_over) {
      watch.set(together);
      watch.set(last);
      watch.set(apart);
    }
  });
  int missed = 0;
  for (int i = 0; i < 3'000'000; ++i) missed += watch.may_touch(130, 130) ? 0 : 1;
  is_over = true;
  changer.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace basalt::txn
