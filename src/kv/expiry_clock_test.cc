#include "kv/expiry_clock.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

// Goal: nobody sees what a compaction may have taken, and compactions take nothing that somebody
// may see.
namespace basalt::kv {
namespace {

class ExpiryClockTest : public testing::Test {
 protected:
  std::uint64_t now_ = 1000;
  ExpiryClock clock_{[this] { return now_; }};
};

TEST_F(ExpiryClockTest, AReaderHoldsCompactionsBackAtItsTimeUntilItEnds) {
  const std::uint64_t reader = clock_.begin_reading();
  EXPECT_EQ(reader, 1000u);
  now_ = 2000;
  EXPECT_EQ(clock_.begin_compaction(), 1000u);
  const std::uint64_t later = clock_.begin_reading();
  EXPECT_EQ(later, 2000u);
  clock_.end_reading(reader);
  now_ = 3000;
  EXPECT_EQ(clock_.begin_compaction(), 2000u);
  clock_.end_reading(later);
  EXPECT_EQ(clock_.begin_compaction(), 3000u);
}

TEST_F(ExpiryClockTest, AReaderMayWantAnEarlierTimeButNoneOfBeforeACompaction) {
  now_ = 2000;
  EXPECT_EQ(clock_.begin_reading(500), 1000u)
      << "of what was expired at the start some may be gone";
  EXPECT_EQ(clock_.begin_compaction(), 1000u);
  clock_.end_reading(1000);
  EXPECT_EQ(clock_.begin_reading(1500), 1500u);
  EXPECT_EQ(clock_.begin_reading(9999), 2000u);
  clock_.end_reading(1500);
  EXPECT_EQ(clock_.begin_compaction(), 2000u);
  clock_.end_reading(2000);
}

TEST_F(ExpiryClockTest, ThoseWhoAreShownExpiredRowsHoldCompactionsBackOnlyOnce) {
  now_ = 2000;
  const std::uint64_t first = clock_.begin_reading(clock_.last_compaction());
  EXPECT_EQ(first, 1000u);
  now_ = 3000;
  EXPECT_EQ(clock_.begin_compaction(), 1000u);
  const std::uint64_t second = clock_.begin_reading(clock_.last_compaction());
  EXPECT_EQ(second, 3000u);
  clock_.end_reading(first);
  EXPECT_EQ(clock_.begin_compaction(), 3000u);
  clock_.end_reading(second);
}

TEST_F(ExpiryClockTest, CompactionsOfAReplicaKeepBehindItsSourceUntilThatIsSilent) {
  now_ = 100'000;
  clock_.follow_source(50'000);
  clock_.follow_source(40'000);
  EXPECT_EQ(clock_.begin_compaction(), 50'000u);
  const std::uint64_t applier = clock_.begin_reading(60'000);
  EXPECT_EQ(applier, 60'000u);
  clock_.end_reading(applier);
  clock_.follow_source(60'000);
  now_ += 3599;
  EXPECT_EQ(clock_.begin_compaction(), 60'000u);
  now_ += 1;
  EXPECT_EQ(clock_.begin_compaction(), now_);
  clock_.follow_source(70'000);
  EXPECT_EQ(clock_.begin_compaction(), now_) << "what was taken is not to be seen again";
}

TEST_F(ExpiryClockTest, AnEventOfTheFutureDoesNotSpeakForThoseThatFollow) {
  now_ = 100'000;
  clock_.follow_source(200'000);
  now_ += 10;
  EXPECT_EQ(clock_.begin_compaction(), 100'000u - ExpiryClock::kSourceSeconds);
}

TEST_F(ExpiryClockTest, CompactionsOfAReplicaTakeNothingThatHasNotBeenExpiredForAnHour) {
  bool is_replica = true;
  clock_.set_is_replica([&] { return is_replica; });
  now_ = 100'000;
  EXPECT_EQ(clock_.begin_compaction(), 96'400u);
  clock_.follow_source(96'000);
  now_ = 103'000;
  EXPECT_EQ(clock_.begin_compaction(), 96'400u) << "it lags";
  now_ = 110'000;
  EXPECT_EQ(clock_.begin_compaction(), 106'400u) << "it is silent";
  is_replica = false;
  EXPECT_EQ(clock_.begin_compaction(), 110'000u);
}

TEST_F(ExpiryClockTest, WhatWasNotTakenBeforeTheStartMayBeRead) {
  now_ = 2000;
  clock_.set_taken_until(1200);
  EXPECT_EQ(clock_.begin_reading(500), 1200u);
  EXPECT_EQ(clock_.begin_reading(1300), 1300u);
  EXPECT_EQ(clock_.begin_compaction(), 1200u);
  clock_.end_reading(1200);
  clock_.end_reading(1300);
}

TEST_F(ExpiryClockTest, AClockThatIsSetBackBringsNoRowBack) {
  EXPECT_EQ(clock_.begin_compaction(), 1000u);
  now_ = 10;
  const std::uint64_t reader = clock_.begin_reading();
  EXPECT_EQ(reader, 1000u);
  EXPECT_EQ(clock_.begin_compaction(), 1000u);
  clock_.end_reading(reader);
}

TEST_F(ExpiryClockTest, NoReaderEverHasAnEarlierTimeThanACompaction) {
  std::mt19937 random(7);
  std::multimap<std::uint64_t, std::uint64_t> readers;
  std::uint64_t taken = 0;
  for (int step = 0; step < 100'000; ++step) {
    now_ += random() % 3;
    if (random() % 50 == 0) now_ -= random() % 20;
    switch (random() % 3) {
      case 0: {
        const std::uint64_t wanted = random() % 4 == 0 ? now_ - random() % 30 : ExpiryClock::kNow;
        const std::uint64_t time = clock_.begin_reading(wanted);
        ASSERT_GE(time, taken);
        readers.emplace(time, time);
        break;
      }
      case 1:
        if (readers.size() < 1 + random() % 20) break;
        clock_.end_reading(readers.begin()->first);
        readers.erase(readers.begin());
        break;
      default: {
        const std::uint64_t time = clock_.begin_compaction();
        ASSERT_GE(time, taken);
        if (!readers.empty()) {
          ASSERT_LE(time, readers.begin()->first);
        }
        taken = time;
      }
    }
  }
  EXPECT_GT(taken, 1000u);
  for (const auto& [time, same] : readers) clock_.end_reading(time);
}

}  // namespace
}  // namespace basalt::kv
