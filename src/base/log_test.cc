#include "base/log.h"

#include <string>
#include <utility>
#include <vector>

#include "base/test_support.h"

// Goal: messages reach the installed sink, or stderr when there is none.
namespace basalt {
namespace {

std::vector<std::pair<LogLevel, std::string>> g_lines;

void remember(LogLevel level, std::string_view message) { g_lines.emplace_back(level, message); }

TEST(Log, MessagesGoToTheSinkAndAgainToStderrWithoutOne) {
  set_log_sink(&remember);
  log_message(LogLevel::kWarning, "disk is slow");
  set_log_sink(nullptr);
  testing::internal::CaptureStderr();
  log_message(LogLevel::kError, "disk is gone");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "basalt: error: disk is gone\n");
  ASSERT_EQ(g_lines.size(), 1u);
  EXPECT_EQ(g_lines[0], (std::pair{LogLevel::kWarning, std::string("disk is slow")}));
}

}  // namespace
}  // namespace basalt
