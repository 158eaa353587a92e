#include "wal/health.h"

#include "base/log.h"
#include "base/remedies.h"
#include "base/test_directory.h"
#include "base/test_support.h"

// Goal: what the header promises of the three states, and that nothing returns to writable unless
// it was meant.
namespace basalt::wal {
namespace {

using basalt::test::fails_with;
using basalt::test::succeeds;

class HealthTest : public testing::Test {
 protected:
  HealthTest() {
    set_log_sink([](LogLevel, std::string_view) {});
  }
  ~HealthTest() override { set_log_sink(nullptr); }

  test::TestDirectory directory_;
  Health health_{directory_.path(), 0};
};

TEST_F(HealthTest, ASoundDatabaseIsWritable) {
  EXPECT_EQ(health_.access(), Access::kWritable);
  EXPECT_TRUE(succeeds(health_.check_writable()));
  EXPECT_TRUE(succeeds(health_.check_not_read_only()));
  EXPECT_EQ(health_.cause(), "");
}

TEST_F(HealthTest, TheFirstCauseStandsUntilItIsCleared) {
  health_.turn_read_only("first");
  health_.turn_read_only("second");
  EXPECT_EQ(health_.cause(), "first");
  EXPECT_EQ(health_.failures(), 2u);
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, health_.check_writable()));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, health_.check_not_read_only()));
  EXPECT_TRUE(health_.clear(health_.mark()));
  EXPECT_TRUE(succeeds(health_.check_writable()));
  health_.turn_read_only("third");
  EXPECT_EQ(health_.cause(), "third");
}

TEST_F(HealthTest, AFailureDuringAResumeIsNotForgotten) {
  health_.turn_read_only("first");
  const std::uint64_t mark = health_.mark();
  health_.turn_read_only("again");
  EXPECT_FALSE(health_.clear(mark));
  EXPECT_EQ(health_.access(), Access::kReadOnly);
}

TEST_F(HealthTest, AFinalFailureAsksForARestart) {
  health_.turn_read_only("broken", true);
  EXPECT_TRUE(health_.is_final());
  const std::string text = health_.check_writable().message();
  EXPECT_NE(text.find("restart the server"), std::string::npos);
  EXPECT_EQ(text.find(remedies().resume), std::string::npos);
}

TEST_F(HealthTest, BelowTheReserveRowsAreRefusedAndAboveItTakenAgain) {
  health_.measure_space();
  const std::uint64_t free = health_.free_bytes();
  ASSERT_GT(free, 0u);
  // At most a tenth of the device: a test cannot fill it, so it may be that nothing is low.
  health_.set_reserved_bytes(UINT64_MAX);
  const bool is_low = free < health_.reserved_bytes();
  EXPECT_EQ(health_.access(), is_low ? Access::kLowSpace : Access::kWritable);
  health_.set_reserved_bytes(1);
  EXPECT_EQ(health_.access(), Access::kWritable);
}

TEST_F(HealthTest, ChangesThatDoNotFitAreRefusedBeforeTheyAreWritten) {
  health_.measure_space();
  EXPECT_TRUE(succeeds(health_.check_room_for(1000)));
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, health_.check_room_for(health_.free_bytes() * 2)));
  EXPECT_EQ(health_.access(), Access::kWritable);
}

TEST_F(HealthTest, FailingCompactionsAloneDoNotStopWriters) {
  health_.note_compaction_failure("no room");
  EXPECT_EQ(health_.access(), Access::kWritable);
  health_.note_compaction_success();
  health_.note_backlog(true);
  EXPECT_EQ(health_.access(), Access::kWritable);
}

TEST_F(HealthTest, FailingCompactionsAreLoggedOnceUntilOneSucceeds) {
  static int errors;
  errors = 0;
  set_log_sink([](LogLevel level, std::string_view) { errors += level == LogLevel::kError; });
  health_.note_compaction_failure("no room for 000016.sst");
  health_.note_compaction_failure("no room for 000018.sst");
  EXPECT_EQ(errors, 1);
  health_.note_compaction_success();
  health_.note_compaction_failure("no room for 000020.sst");
  EXPECT_EQ(errors, 2);
  EXPECT_EQ(health_.failures(), 3u);
}

TEST_F(HealthTest, FailingCompactionsAndABacklogStopWritersBeforeTheyHang) {
  health_.note_compaction_failure("no room");
  health_.note_backlog(true);
  EXPECT_EQ(health_.access(), Access::kReadOnly);
  EXPECT_NE(health_.cause().find("no room"), std::string::npos);
  ASSERT_TRUE(health_.clear(health_.mark()));
  health_.note_compaction_failure("no room");
  EXPECT_EQ(health_.access(), Access::kReadOnly) << "the backlog is still there";
}

}  // namespace
}  // namespace basalt::wal
