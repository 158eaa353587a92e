#include "base/mutex.h"

#include <array>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/test_support.h"

// Goal: mutexes exclude each other, and in builds with BASALT_DEBUG a wrong order ends the process,
// whether or not another thread is there to make a deadlock of it.
namespace basalt {
namespace {

constexpr MutexRank kAllRanks[] = {
#define BASALT_MUTEX(rank, name, guards) MutexRank::rank,
#include "base/mutex_ranks.def"
#undef BASALT_MUTEX
};

TEST(MutexRank, EveryRankHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const MutexRank rank : kAllRanks) {
    EXPECT_TRUE(names.insert(mutex_name(rank)).second) << mutex_name(rank);
  }
}

class Sum {
 public:
  void add() {
    const MutexLock guard(mutex_);
    ++value_;
  }
  int value() {
    const MutexLock guard(mutex_);
    return value_;
  }

 private:
  Mutex mutex_{MutexRank::kWorker};
  int value_ BASALT_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, KeepsOthersOut) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  Sum sum;
  {
    std::array<std::jthread, kThreads> threads;
    for (std::jthread& thread : threads) {
      thread = std::jthread([&] {
        for (int i = 0; i < kRounds; ++i) sum.add();
      });
    }
  }
  EXPECT_EQ(sum.value(), kThreads * kRounds);
}

TEST(Mutex, OneThatIsTakenIsNotTakenByTrying) {
  Mutex mutex(MutexRank::kWorker);
  const MutexLock guard(mutex);
  bool was_taken = true;
  std::thread([&] {
    was_taken = mutex.try_lock();
    if (was_taken) mutex.unlock();
  }).join();
  EXPECT_FALSE(was_taken);
}

TEST(Mutex, OneThatIsFreeIsTakenByTryingAndGivenUpWithItsLock) {
  Mutex mutex(MutexRank::kWorker);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(mutex.try_lock());
    const MutexLock guard(mutex, std::adopt_lock);
  }
}

TEST(Mutex, ManyAreTakenInTheOrderOfTheirRanks) {
  Mutex first(MutexRank::kWorker);
  Mutex second(MutexRank::kEngine);
  Mutex third(MutexRank::kCatalog);
  for (int i = 0; i < 2; ++i) {
    const MutexLock first_guard(first);
    const MutexLock second_guard(second);
    const MutexLock third_guard(third);
    first.assert_held();
    third.assert_held();
  }
}

TEST(Mutex, MayBeGivenUpInAnyOrder) {
  Mutex first(MutexRank::kWorker);
  Mutex second(MutexRank::kEngine);
  Mutex third(MutexRank::kCatalog);
  UniqueLock first_lock(first);
  UniqueLock second_lock(second);
  first_lock.unlock();
  const MutexLock third_guard(third);
  second.assert_held();
  second_lock.unlock();
}

TEST(Mutex, OfOneRankOneAfterTheOtherMayBeHeld) {
  std::array<Mutex, 2> shards{Mutex(MutexRank::kLockShard), Mutex(MutexRank::kLockShard)};
  for (Mutex& shard : shards) const MutexLock guard(shard);
}

TEST(Mutex, WhatOneThreadHoldsIsNoMatterOfAnother) {
  Mutex late(MutexRank::kHealth);
  Mutex early(MutexRank::kWorker);
  const MutexLock guard(late);
  std::thread([&] { const MutexLock other(early); }).join();
}

struct Signal {
  Mutex mutex{MutexRank::kWorker};
  ConditionVariable changed;
  bool is_set BASALT_GUARDED_BY(mutex) = false;

  void set() {
    const MutexLock guard(mutex);
    is_set = true;
    changed.notify_all();
  }
};

TEST(ConditionVariable, WakesWhoWaitsForWhatHasHappened) {
  Signal signal;
  std::thread setter([&] { signal.set(); });
  {
    const MutexLock guard(signal.mutex);
    while (!signal.is_set) signal.changed.wait(signal.mutex);
    EXPECT_TRUE(signal.is_set);
  }
  setter.join();
}

TEST(ConditionVariable, APredicateIsAskedWhileTheMutexIsHeld) {
  Signal signal;
  const auto is_set = [&] {
    signal.mutex.assert_held();
    return signal.is_set;
  };
  std::thread setter([&] { signal.set(); });
  {
    const MutexLock guard(signal.mutex);
    signal.changed.wait(signal.mutex, is_set);
    EXPECT_TRUE(signal.changed.wait_for(signal.mutex, std::chrono::hours(1), is_set));
    EXPECT_TRUE(signal.changed.wait_until(
        signal.mutex, std::chrono::steady_clock::now() + std::chrono::hours(1), is_set));
  }
  setter.join();
}

TEST(ConditionVariable, ATimeThatIsOverEndsTheWait) {
  Signal signal;
  const MutexLock guard(signal.mutex);
  EXPECT_FALSE(
      signal.changed.wait_for(signal.mutex, std::chrono::milliseconds(1), [] { return false; }));
  signal.mutex.assert_held();
}

#ifdef BASALT_DEBUG

class MutexDeathTest : public testing::Test {
 protected:
  MutexDeathTest() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  Mutex engine_{MutexRank::kEngine};
  Mutex catalog_{MutexRank::kCatalog};
  Mutex other_catalog_{MutexRank::kCatalog};
  ConditionVariable changed_;
};

TEST_F(MutexDeathTest, AWrongOrderNamesBothMutexes) {
  const MutexLock guard(catalog_);
  EXPECT_DEATH(const MutexLock wrong(engine_),
               "Engine::mutex_ is taken while the thread holds Catalog::mutex_");
}

TEST_F(MutexDeathTest, SoDoesOneThatIsOnlyTried) {
  const MutexLock guard(catalog_);
  EXPECT_DEATH(
      {
        if (engine_.try_lock()) engine_.unlock();
      },
      "Engine::mutex_ is taken while the thread holds Catalog::mutex_");
}

TEST_F(MutexDeathTest, TwoOfOneRankAreNotHeldTogether) {
  const MutexLock guard(catalog_);
  EXPECT_DEATH(const MutexLock wrong(other_catalog_),
               "Catalog::mutex_ is taken while the thread holds Catalog::mutex_");
}

TEST_F(MutexDeathTest, NorIsOneTakenTwice) {
  EXPECT_DEATH(
      {
        const std::unique_lock guard(engine_);
        const std::unique_lock wrong(engine_);
      },
      "Engine::mutex_ is taken while the thread holds Engine::mutex_");
}

TEST_F(MutexDeathTest, WhatAnEarlierOneLeftBehindStillCounts) {
  UniqueLock guard(engine_);
  const MutexLock later(catalog_);
  guard.unlock();
  EXPECT_DEATH(guard.lock(), "Engine::mutex_ is taken while the thread holds Catalog::mutex_");
}

TEST_F(MutexDeathTest, AWaitTakesTheMutexAgainAndSoMustHoldNoLaterOne) {
  const MutexLock guard(engine_);
  const MutexLock later(catalog_);
  EXPECT_DEATH(changed_.wait_for(engine_, std::chrono::milliseconds(1), [] { return true; }),
               "Engine::mutex_ is waited with while the thread holds Catalog::mutex_");
}

TEST_F(MutexDeathTest, WhatIsSaidToBeHeldIsHeldByTheThreadItself) {
  EXPECT_DEATH(engine_.assert_held(), "Engine::mutex_ is not held");
  const MutexLock guard(engine_);
  EXPECT_DEATH(std::thread([&] { engine_.assert_held(); }).join(), "Engine::mutex_ is not held");
}

TEST_F(MutexDeathTest, WhatIsNotHeldIsNotGivenUp) {
  std::unique_lock guard(engine_, std::defer_lock);
  EXPECT_DEATH(engine_.unlock(), "Engine::mutex_ is given up by a thread that does not hold it");
}

#endif

}  // namespace
}  // namespace basalt
