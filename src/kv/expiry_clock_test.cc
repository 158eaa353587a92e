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
  // One that wants what is expired to go.
  std::uint64_t compact() {
    clock_.set_limit(clock_.wanted_limit());
    return clock_.begin_compaction();
  }

  std::uint64_t now_ = 1000;
  ExpiryClock clock_{[this] { return now_; }};
};

TEST_F(ExpiryClockTest, AReaderHoldsCompactionsBackAtItsTimeUntilItEnds) {
  const std::uint64_t reader = clock_.begin_reading();
  EXPECT_EQ(reader, 1000u);
  now_ = 2000;
  EXPECT_EQ(compact(), 1000u);
  const std::uint64_t later = clock_.begin_reading();
  EXPECT_EQ(later, 2000u);
  clock_.end_reading(reader);
  now_ = 3000;
  EXPECT_EQ(compact(), 2000u);
  clock_.end_reading(later);
  EXPECT_EQ(compact(), 3000u);
}

TEST_F(ExpiryClockTest, AReaderMayWantAnEarlierTimeButNoneOfBeforeACompaction) {
  now_ = 2000;
  EXPECT_EQ(clock_.begin_reading(500), 1000u)
      << "of what was expired at the start some may be gone";
  EXPECT_EQ(compact(), 1000u);
  clock_.end_reading(1000);
  EXPECT_EQ(clock_.begin_reading(1500), 1500u);
  EXPECT_EQ(clock_.begin_reading(9999), 2000u);
  clock_.end_reading(1500);
  EXPECT_EQ(compact(), 2000u);
  clock_.end_reading(2000);
}

TEST_F(ExpiryClockTest, ThoseWhoAreShownExpiredRowsHoldCompactionsBackOnlyOnce) {
  now_ = 2000;
  const std::uint64_t first = clock_.begin_reading(clock_.last_compaction());
  EXPECT_EQ(first, 1000u);
  now_ = 3000;
  EXPECT_EQ(compact(), 1000u);
  const std::uint64_t second = clock_.begin_reading(clock_.last_compaction());
  EXPECT_EQ(second, 3000u);
  clock_.end_reading(first);
  EXPECT_EQ(compact(), 3000u);
  clock_.end_reading(second);
}

TEST_F(ExpiryClockTest, CompactionsOfAReplicaKeepBehindItsSourceUntilThatIsSilent) {
  now_ = 100'000;
  clock_.follow_source(50'000);
  clock_.follow_source(40'000);
  EXPECT_EQ(compact(), 50'000u);
  const std::uint64_t applier = clock_.begin_reading(60'000);
  EXPECT_EQ(applier, 60'000u);
  clock_.end_reading(applier);
  clock_.follow_source(60'000);
  now_ += 3599;
  EXPECT_EQ(compact(), 60'000u);
  now_ += 1;
  EXPECT_EQ(compact(), now_);
  clock_.follow_source(70'000);
  EXPECT_EQ(compact(), now_) << "what was taken is not to be seen again";
}

TEST_F(ExpiryClockTest, AnEventOfTheFutureDoesNotSpeakForThoseThatFollow) {
  now_ = 100'000;
  clock_.follow_source(200'000);
  now_ += 10;
  EXPECT_EQ(compact(), 100'000u - ExpiryClock::kSourceSeconds);
}

TEST_F(ExpiryClockTest, CompactionsOfAReplicaTakeNothingThatHasNotBeenExpiredForAnHour) {
  bool is_replica = true;
  clock_.set_is_replica([&] { return is_replica; });
  now_ = 100'000;
  EXPECT_EQ(compact(), 96'400u);
  clock_.follow_source(96'000);
  now_ = 103'000;
  EXPECT_EQ(compact(), 96'400u) << "it lags";
  now_ = 110'000;
  EXPECT_EQ(compact(), 106'400u) << "it is silent";
  is_replica = false;
  EXPECT_EQ(compact(), 110'000u);
}

TEST_F(ExpiryClockTest, WhatWasNotTakenBeforeTheStartMayBeRead) {
  now_ = 2000;
  clock_.start_with_limit(1200);
  EXPECT_EQ(clock_.begin_reading(500), 1200u);
  EXPECT_EQ(clock_.begin_reading(1300), 1300u);
  EXPECT_EQ(compact(), 1200u);
  clock_.end_reading(1200);
  clock_.end_reading(1300);
}

TEST_F(ExpiryClockTest, NoCompactionTakesWhatIsNotExpiredAtTheLimit) {
  clock_.start_with_limit(500);
  EXPECT_EQ(clock_.begin_compaction(), 500u);
  EXPECT_EQ(clock_.wanted_limit(), 1000u);
  EXPECT_EQ(clock_.set_limit(900), 900u);
  EXPECT_EQ(clock_.begin_compaction(), 900u);
  EXPECT_EQ(clock_.taken_until(), 900u);
  EXPECT_EQ(clock_.last_compaction(), 1000u) << "who is shown what is there must not hold it back";
}

TEST_F(ExpiryClockTest, TheLimitGoesNoFurtherThanThoseWhoRead) {
  clock_.start_with_limit(500);
  const std::uint64_t reader = clock_.begin_reading(800);
  EXPECT_EQ(clock_.wanted_limit(), 800u);
  clock_.set_limit(900);
  EXPECT_EQ(clock_.wanted_limit(), 900u) << "it is not taken back for them";
  EXPECT_EQ(clock_.begin_compaction(), 800u);
  clock_.end_reading(reader);
  EXPECT_EQ(clock_.wanted_limit(), 1000u);
}

TEST_F(ExpiryClockTest, ALimitThatWasTooFarGoesBackAsFarAsNothingWasTaken) {
  bool is_replica = false;
  clock_.set_is_replica([&] { return is_replica; });
  clock_.start_with_limit(500);
  now_ = 50'000;
  clock_.set_limit(clock_.wanted_limit());
  is_replica = true;
  EXPECT_EQ(clock_.wanted_limit(), 46'400u);
  is_replica = false;
  now_ = 10'000;
  EXPECT_EQ(clock_.wanted_limit(), 10'000u) << "the clock was set back";
  EXPECT_EQ(clock_.set_limit(10'000), 10'000u);
  EXPECT_EQ(clock_.begin_compaction(), 10'000u);
  now_ = 900;
  EXPECT_EQ(clock_.wanted_limit(), 10'000u) << "some of that is gone";
  EXPECT_EQ(clock_.set_limit(900), 10'000u);
}

TEST_F(ExpiryClockTest, AClockThatIsSetBackBeforeAStartBringsNoRowBack) {
  now_ = 10;
  clock_.start_with_limit(500);
  const std::uint64_t reader = clock_.begin_reading();
  EXPECT_EQ(reader, 500u);
  clock_.end_reading(reader);
  EXPECT_EQ(compact(), 500u);
}

TEST_F(ExpiryClockTest, AReplicaThatLaggedBeforeAStartTakesNothingUntilItsSourceIsHeardOf) {
  bool is_replica = true;
  clock_.set_is_replica([&] { return is_replica; });
  now_ = 100'000;
  clock_.start_with_limit(50'000);
  now_ += 3599;
  EXPECT_EQ(compact(), 50'000u);
  clock_.follow_source(60'000);
  now_ += 3599;
  EXPECT_EQ(compact(), 60'000u);
  now_ += 1;
  EXPECT_EQ(compact(), now_ - ExpiryClock::kSourceSeconds);
}

TEST_F(ExpiryClockTest, AReplicaWhoseSourceIsSilentAfterAStartGoesByTheClockAfterAnHour) {
  bool is_replica = true;
  clock_.set_is_replica([&] { return is_replica; });
  now_ = 100'000;
  clock_.start_with_limit(50'000);
  now_ += 3600;
  EXPECT_EQ(compact(), 100'000u);
  is_replica = false;
  clock_.start_with_limit(100'000);
  EXPECT_EQ(compact(), now_) << "it has no source";
}

TEST_F(ExpiryClockTest, AClockThatIsSetBackBringsNoRowBack) {
  EXPECT_EQ(compact(), 1000u);
  now_ = 10;
  const std::uint64_t reader = clock_.begin_reading();
  EXPECT_EQ(reader, 1000u);
  EXPECT_EQ(compact(), 1000u);
  clock_.end_reading(reader);
}

// The limit is stored before compactions go by it, if it is later; else afterwards, or never.
TEST_F(ExpiryClockTest, NoReaderEverHasAnEarlierTimeThanACompactionAlsoAcrossStarts) {
  std::mt19937 random(7);
  std::multimap<std::uint64_t, std::uint64_t> readers;
  std::uint64_t taken = 0;
  std::uint64_t stored = 1000;
  bool is_replica = false;
  int taken_more = 0;
  clock_.set_is_replica([&] { return is_replica; });
  clock_.start_with_limit(stored);
  now_ = 100'000;
  for (int step = 0; step < 200'000; ++step) {
    now_ += random() % 30;
    if (random() % 50 == 0) now_ -= random() % 200;
    switch (random() % 6) {
      case 0:
      case 1: {
        const std::uint64_t wanted = random() % 4 == 0 ? now_ - random() % 300 : ExpiryClock::kNow;
        const std::uint64_t time = clock_.begin_reading(wanted);
        ASSERT_GE(time, taken);
        readers.emplace(time, time);
        break;
      }
      case 2:
        if (readers.size() < 1 + random() % 20) break;
        clock_.end_reading(readers.begin()->first);
        readers.erase(readers.begin());
        break;
      case 3: {
        const std::uint64_t wanted = clock_.wanted_limit();
        if (wanted < clock_.limit()) {
          const std::uint64_t limit = clock_.set_limit(wanted);
          if (random() % 2 == 0) stored = limit;
        } else {
          stored = wanted;  // and then it may crash
          if (random() % 4 != 0) clock_.set_limit(wanted);
        }
        break;
      }
      case 4: {
        const std::uint64_t time = clock_.begin_compaction();
        ASSERT_GE(time, taken);
        ASSERT_LE(time, stored);
        if (!readers.empty()) {
          ASSERT_LE(time, readers.begin()->first);
        }
        taken_more += time > taken ? 1 : 0;
        taken = time;
        break;
      }
      default:
        if (random() % 100 != 0) break;
        for (const auto& [time, same] : readers) clock_.end_reading(time);
        readers.clear();
        clock_.start_with_limit(stored);
        is_replica = random() % 4 == 0;
    }
  }
  EXPECT_GT(taken_more, 1000);
  for (const auto& [time, same] : readers) clock_.end_reading(time);
}

}  // namespace
}  // namespace basalt::kv
