#include "base/failpoint.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/test_support.h"

// Goal: the armed failpoint ends the process at exactly the visit that was asked for.
// Method: each death test's child is a new process that reads the environment for itself.
namespace basalt {
namespace {

class FailpointDeathTest : public testing::Test {
 protected:
  FailpointDeathTest() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

[[noreturn]] void visit(const char* setting, const char* name, int visits) {
  setenv("BASALT_FAILPOINT", setting, 1);
  for (int i = 0; i < visits; ++i) visit_failpoint(name);
  std::_Exit(7);
}

TEST_F(FailpointDeathTest, TheNamedPointKillsAtItsFirstVisit) {
  EXPECT_EXIT(visit("layer.here", "layer.here", 1), testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FailpointDeathTest, ANumberChoosesTheVisit) {
  EXPECT_EXIT(visit("layer.here:3", "layer.here", 2), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(visit("layer.here:3", "layer.here", 3), testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FailpointDeathTest, OtherPointsDoNothing) {
  EXPECT_EXIT(visit("layer.here", "layer.her", 5), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(visit("layer.here", "layer.here2", 5), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(visit("", "", 5), testing::ExitedWithCode(7), "");
}

TEST_F(FailpointDeathTest, ANumberThatIsNoneNeverKills) {
  EXPECT_EXIT(visit("layer.here:x", "layer.here", 5), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(visit("layer.here:0", "layer.here", 5), testing::ExitedWithCode(7), "");
}

// What a thread finds that comes to the point when the file is there, and when it is not.
TEST(Holdpoint, WhoComesToTheNamedPointWaitsAsLongAsTheFileExists) {
  const test::Hold hold("layer.here");
  visit_holdpoint("layer.other");
  std::atomic<bool> passed = false;
  std::thread visitor([&] {
    visit_holdpoint("layer.here");
    passed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(passed);
  hold.release();
  visitor.join();
  visit_holdpoint("layer.here");
}

}  // namespace
}  // namespace basalt
