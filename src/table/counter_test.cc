#include "table/counter.h"

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/test_support.h"
#include "kv/test_directory.h"

// Goal: no value is handed out twice, whatever happens between: a stop, a crash, other threads.
// Method: the values of all series are collected in one set while the counter is loaded anew, with
// and without save().
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using catalog::CounterKind;

constexpr std::uint64_t kMax = UINT64_MAX;

class CounterTest : public testing::Test {
 protected:
  CounterTest() { open(); }

  void open() {
    database_ = kv::test::open_database(path_);
    catalog_ = std::make_unique<catalog::Catalog>(*database_);
    must(catalog_->load());
    load(0);
  }
  void load(std::uint64_t smallest) {
    counter_ = std::make_unique<Counter>(*catalog_, 300, CounterKind::kAutoIncrement);
    must(counter_->load(smallest));
  }
  void crash() {
    const std::string image = path_ + "x";
    kv::test::copy_crash_image(path_, image);
    counter_.reset();
    catalog_.reset();
    database_.reset();
    path_ = image;
    open();
  }
  std::uint64_t take(std::uint64_t offset = 1, std::uint64_t increment = 1,
                     std::uint64_t count = 1) {
    std::uint64_t first = 0;
    must(counter_->take({offset, increment}, count, first));
    return first;
  }
  // Keeps the counter above a value.
  Status skip(std::uint64_t value) { return counter_->advance(Series().after(value, 1)); }
  Status try_take(std::uint64_t offset = 1, std::uint64_t increment = 1) {
    std::uint64_t first = 0;
    return counter_->take({offset, increment}, 1, first);
  }

  kv::test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  std::unique_ptr<kv::Database> database_;
  std::unique_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<Counter> counter_;
};

TEST_F(CounterTest, CountsFromOne) {
  EXPECT_EQ(counter_->next(), 1u);
  EXPECT_EQ(take(), 1u);
  EXPECT_EQ(take(), 2u);
  EXPECT_EQ(counter_->next(), 3u);
}

TEST_F(CounterTest, SeveralValuesAreTakenAtOnce) {
  EXPECT_EQ(take(1, 1, 10), 1u);
  EXPECT_EQ(take(1, 1, 1), 11u);
  EXPECT_EQ(take(1, 1, 0), 12u) << "at least one";
  EXPECT_EQ(take(), 13u);
}

TEST_F(CounterTest, ValuesFollowOffsetAndIncrement) {
  EXPECT_EQ(take(5, 10), 5u);
  EXPECT_EQ(take(5, 10, 3), 15u);
  EXPECT_EQ(take(5, 10), 45u);
  EXPECT_EQ(take(2, 3), 56u) << "the first of 2, 5, 8, ... that is not below 55";
  EXPECT_EQ(take(10, 10), 60u);
  EXPECT_EQ(take(1, 1), 70u);
}

// As in InnoDB, where the offset is subtracted modulo 2^64. The server makes 15 of the 9.
TEST_F(CounterTest, AnOffsetAboveTheFirstValuesCountsFromBehind) {
  EXPECT_EQ(take(15, 10), 9u);
  must(skip(15));
  EXPECT_EQ(take(15, 10, 2), 25u);
  EXPECT_EQ(counter_->next(), 40u);
  EXPECT_EQ(take(15, 10), 45u);
}

TEST_F(CounterTest, AnOffsetAboveTheIncrementNeedNotDelayTheFirstValue) {
  EXPECT_EQ(take(15, 2), 1u);
}

TEST_F(CounterTest, AValueThatTheCallerHasReachedIsNotGoneBehind) {
  std::uint64_t first = 7;
  must(counter_->take({1, 1}, 2, first));
  EXPECT_EQ(first, 7u);
  EXPECT_EQ(take(), 9u);
}

TEST_F(CounterTest, NothingIsTakenAboveTheGreatestValueOfTheSeries) {
  must(skip(125));
  std::uint64_t first = 0;
  must(counter_->take({1, 1, 127}, 3, first));
  EXPECT_EQ(first, 126u);
  EXPECT_EQ(counter_->next(), 129u) << "above what the column has room for";
  first = 0;
  must(counter_->take({1, 1, 127}, 1, first));
  EXPECT_EQ(first, 129u) << "which the caller finds to be too great";
  EXPECT_EQ(counter_->next(), 129u);
}

TEST_F(CounterTest, SkippedValuesAreNotHandedOut) {
  must(skip(100));
  EXPECT_EQ(take(), 101u);
  must(skip(50));
  EXPECT_EQ(take(), 102u) << "a smaller value changes nothing";
  must(skip(103));
  EXPECT_EQ(take(), 104u) << "exactly the next one";
}

TEST_F(CounterTest, LoadingStartsAboveTheTableAndAboveTheMark) {
  load(77);
  EXPECT_EQ(take(), 77u);
  must(counter_->save());
  load(5);
  EXPECT_EQ(take(), 78u);
}

TEST_F(CounterTest, ACleanStopLosesNoValueAndACrashAtMostABlock) {
  for (int i = 1; i <= 10; ++i) take();
  must(counter_->save());
  crash();
  EXPECT_EQ(take(), 11u);
  crash();
  const std::uint64_t next = take();
  EXPECT_GT(next, 11u);
  EXPECT_LE(next, 11u + 1024);
}

TEST_F(CounterTest, NoValueComesTwiceAcrossStopsAndCrashes) {
  std::set<std::uint64_t> seen;
  for (int round = 0; round < 24; ++round) {
    for (int i = 0; i < 150; ++i) {
      const std::uint64_t count = 1 + static_cast<std::uint64_t>(i % 7) * 20;
      const std::uint64_t first = take(1, 1, count);
      for (std::uint64_t k = 0; k < count; ++k) {
        ASSERT_TRUE(seen.insert(first + k).second) << first + k << " in round " << round;
      }
      if (i % 50 == 25) {
        must(skip(first + 5000));
        ASSERT_TRUE(seen.insert(first + 5000).second);
      }
    }
    if (round % 3 == 0) must(counter_->save());
    if (round % 6 == 5) {
      crash();
    } else {
      load(0);
    }
  }
}

TEST_F(CounterTest, SavingAnUntouchedCounterStoresNothing) {
  must(counter_->save());
  EXPECT_EQ(must(catalog_->counter_mark(300, CounterKind::kAutoIncrement)), 0u);
}

TEST_F(CounterTest, ThreadsGetDifferentValues) {
  std::vector<std::vector<std::uint64_t>> taken(4);
  std::vector<std::thread> threads;
  for (auto& values : taken) {
    threads.emplace_back([this, &values] {
      for (int i = 0; i < 2000; ++i) values.push_back(take());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& values : taken) all.insert(values.begin(), values.end());
  EXPECT_EQ(all.size(), 8000u);
  EXPECT_EQ(*all.rbegin(), 8000u);
}

TEST_F(CounterTest, TheEndOf64BitsIsAnErrorThatStays) {
  must(skip(kMax - 3));
  EXPECT_EQ(take(), kMax - 2);
  EXPECT_EQ(take(), kMax - 1);
  EXPECT_TRUE(fails_with(ErrorCode::kAutoIncrementExhausted, try_take()));
  EXPECT_TRUE(fails_with(ErrorCode::kAutoIncrementExhausted, try_take()));
  crash();
  EXPECT_TRUE(fails_with(ErrorCode::kAutoIncrementExhausted, try_take()));
}

TEST_F(CounterTest, TheGreatestValueCanBeSkipped) {
  must(skip(kMax));
  EXPECT_TRUE(fails_with(ErrorCode::kAutoIncrementExhausted, try_take()));
  EXPECT_TRUE(succeeds(skip(kMax)));
}

TEST_F(CounterTest, ASeriesThatEndsBeforeTheGreatestValueIsExhausted) {
  must(skip(kMax - 5));
  EXPECT_TRUE(fails_with(ErrorCode::kAutoIncrementExhausted, try_take(1, 1000)));
  EXPECT_EQ(take(), kMax - 4) << "others go on";
}

TEST_F(CounterTest, ACountBeyondTheEndIsCutToWhatIsLeftAndNothingComesTwice) {
  must(skip(kMax - 4));
  EXPECT_EQ(take(1, 1, 1000), kMax - 3);
  EXPECT_TRUE(fails_with(ErrorCode::kAutoIncrementExhausted, try_take()));
}

TEST_F(CounterTest, ARestartGoesBackAlsoAfterACrash) {
  for (int i = 0; i < 100; ++i) take();
  must(counter_->restart(7));
  crash();
  EXPECT_EQ(take(), 7u);
  must(counter_->restart(0));
  EXPECT_EQ(take(), 1u);
  must(counter_->save());
  load(0);
  EXPECT_EQ(take(), 2u);
}

}  // namespace
}  // namespace basalt::table
