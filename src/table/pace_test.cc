#include "table/pace.h"

#include <gtest/gtest.h>

// Goal: work that gives way takes a fifth of the time, and is never away for long.
namespace basalt::table {
namespace {

using std::chrono::milliseconds;

TEST(Pace, RestsFourTimesAsLongAsItWorked) {
  EXPECT_EQ(Pace::rest_behind(milliseconds(2)), milliseconds(8));
  EXPECT_EQ(Pace::rest_behind(milliseconds(5)), milliseconds(20));
}

TEST(Pace, AThreadThatWasNotGivenACoreForLongRestsAMomentOnly) {
  EXPECT_EQ(Pace::rest_behind(milliseconds(3000)), milliseconds(40));
}

}  // namespace
}  // namespace basalt::table
