#include "base/time_text.h"

#include <time.h>

#include <chrono>
#include <cstdlib>

#include "base/test_support.h"

// Goal: administrators read the time of their own clocks.
namespace basalt {
namespace {

using std::chrono::system_clock;

TEST(TimeText, IsTheLocalTimeAsSqlWritesIt) {
  const system_clock::time_point leap_day = system_clock::from_time_t(1709251198);
  for (const auto& [zone, text] :
       {std::pair{"UTC0", "2024-02-29 23:59:58"}, std::pair{"EAST-1:30", "2024-03-01 01:29:58"}}) {
    setenv("TZ", zone, 1);
    tzset();
    EXPECT_EQ(time_text(leap_day), text) << zone;
    EXPECT_EQ(time_text(leap_day + std::chrono::milliseconds(999)), text) << zone;
  }
  unsetenv("TZ");
  tzset();
}

}  // namespace
}  // namespace basalt
