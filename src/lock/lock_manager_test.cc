#include "lock/lock_manager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "lock/internal/test_support.h"

// Goal: every rule about one key at a time: who is granted, who waits, how waits end.
namespace basalt::lock {
namespace {

using namespace std::chrono_literals;
using test::await_request;
using test::is_ready;
using test::kLong;
using test::kNoWait;
using test::kS;
using test::kX;
using test::lock_in_thread;
using test::wait_in_thread;

class LockManagerTest : public testing::Test {
 protected:
  ~LockManagerTest() override {
    for (LockOwner* owner : {&a_, &b_, &c_, &d_}) manager_.release_all(*owner);
    EXPECT_TRUE(manager_.snapshot().empty());
  }

  ErrorCode lock(LockOwner& owner, std::string_view key, LockMode mode) {
    return manager_.lock(owner, key, mode, kNoWait).code();
  }
  void must_lock(LockOwner& owner, std::string_view key, LockMode mode) {
    ASSERT_EQ(lock(owner, key, mode), ErrorCode::kOk);
  }

  LockManager manager_{LockManager::Options{}};
  LockOwner a_{1}, b_{2}, c_{3}, d_{4};
};

TEST_F(LockManagerTest, SharedLocksOfSeveralOwnersAreCompatible) {
  EXPECT_EQ(lock(a_, "k", kS), ErrorCode::kOk);
  EXPECT_EQ(lock(b_, "k", kS), ErrorCode::kOk);
}

TEST_F(LockManagerTest, AnExclusiveLockExcludesEveryOtherOwner) {
  must_lock(a_, "k", kX);
  EXPECT_EQ(lock(b_, "k", kS), ErrorCode::kLockTimeout);
  EXPECT_EQ(lock(b_, "k", kX), ErrorCode::kLockTimeout);
}

TEST_F(LockManagerTest, ASharedLockExcludesExclusiveOnes) {
  must_lock(a_, "k", kS);
  EXPECT_EQ(lock(b_, "k", kX), ErrorCode::kLockTimeout);
}

TEST_F(LockManagerTest, LocksOfDifferentKeysAreIndependent) {
  const std::string keys[] = {"",   std::string(1, '\0'),  std::string(2, '\0'),  "k",
                              "kk", std::string(300, 'k'), std::string(4000, 'k')};
  for (const auto& key : keys) {
    must_lock(a_, key, kX);
    EXPECT_EQ(lock(b_, key, kX), ErrorCode::kLockTimeout);
  }
  EXPECT_EQ(a_.held_count(), std::size(keys));
  EXPECT_EQ(b_.held_count(), 0u);
  for (const auto& key : keys) manager_.unlock(a_, key);
  for (const auto& key : keys) must_lock(b_, key, kX);
}

TEST_F(LockManagerTest, NewlyAcquiredIsTrueOnlyForTheFirstLockOnAKey) {
  bool is_new = false;
  ASSERT_TRUE(manager_.lock(a_, "k", kS, kNoWait, &is_new).is_ok());
  EXPECT_TRUE(is_new);
  ASSERT_TRUE(manager_.lock(a_, "k", kS, kNoWait, &is_new).is_ok());
  EXPECT_FALSE(is_new);
  ASSERT_TRUE(manager_.lock(a_, "k", kX, kNoWait, &is_new).is_ok());
  EXPECT_FALSE(is_new) << "an upgrade";
  is_new = true;
  ASSERT_FALSE(manager_.lock(b_, "k", kS, kNoWait, &is_new).is_ok());
  EXPECT_FALSE(is_new) << "a failure";
}

TEST_F(LockManagerTest, NewlyAcquiredIsTrueAfterAWait) {
  must_lock(a_, "k", kX);
  auto is_new = std::async(std::launch::async, [&] {
    bool result = false;
    EXPECT_TRUE(manager_.lock(b_, "k", kX, kLong, &result).is_ok());
    return result;
  });
  await_request(manager_, b_);
  manager_.release_all(a_);
  EXPECT_TRUE(is_new.get());
}

TEST_F(LockManagerTest, AStrongerLockIsKeptWhenAWeakerOneIsAskedFor) {
  must_lock(a_, "k", kX);
  must_lock(a_, "k", kS);
  EXPECT_TRUE(manager_.holds(a_, "k", kX));
  EXPECT_EQ(a_.held_count(), 1u);
}

TEST_F(LockManagerTest, HoldsTellsOwnersKeysAndModesApart) {
  must_lock(a_, "k", kS);
  EXPECT_TRUE(manager_.holds(a_, "k", kS));
  EXPECT_FALSE(manager_.holds(a_, "k", kX));
  EXPECT_FALSE(manager_.holds(a_, "other", kS));
  EXPECT_FALSE(manager_.holds(b_, "k", kS));
  must_lock(a_, "k", kX);
  EXPECT_TRUE(manager_.holds(a_, "k", kS));
  EXPECT_TRUE(manager_.holds(a_, "k", kX));
}

TEST_F(LockManagerTest, AWaitingRequestHoldsNothing) {
  must_lock(a_, "k", kX);
  auto b = wait_in_thread(manager_, b_, "k", kS);
  EXPECT_FALSE(manager_.holds(b_, "k", kS));
  EXPECT_EQ(b_.held_count(), 0u);
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
  EXPECT_TRUE(manager_.holds(b_, "k", kS));
}

TEST_F(LockManagerTest, ATimeoutSaysHowLongItWasAndNotWhatItWaitedFor) {
  must_lock(a_, "secret", kX);
  const auto begin = std::chrono::steady_clock::now();
  const Status status = manager_.lock(b_, "secret", kX, {.timeout_ms = 30});
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
  EXPECT_EQ(status.code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(status.message(), "row lock was not granted in 30 ms");
}

TEST_F(LockManagerTest, ARequestThatFailsLeavesNothingBehind) {
  must_lock(a_, "k", kX);
  EXPECT_EQ(lock(b_, "k", kX), ErrorCode::kLockTimeout);
  EXPECT_EQ(manager_.lock(b_, "k", kX, {.timeout_ms = 1}).code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(manager_.lock(b_, "k", kX, {.timeout_ms = 0}).code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(manager_.snapshot().size(), 1u);
  manager_.release_all(a_);
  EXPECT_TRUE(manager_.snapshot().empty()) << "granted to nobody";
}

TEST_F(LockManagerTest, TheLongestTimeoutIsAWait) {
  must_lock(a_, "k", kX);
  auto b = wait_in_thread(manager_, b_, "k", kX, {.timeout_ms = INT64_MAX});
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, ExclusiveRequestsAreGrantedInTheOrderOfArrival) {
  must_lock(a_, "k", kX);
  auto b = wait_in_thread(manager_, b_, "k", kX);
  auto c = wait_in_thread(manager_, c_, "k", kX);
  auto d = wait_in_thread(manager_, d_, "k", kX);
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
  EXPECT_FALSE(is_ready(c) || is_ready(d));
  manager_.release_all(b_);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  EXPECT_FALSE(is_ready(d));
  manager_.release_all(c_);
  EXPECT_EQ(d.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, ASharedRequestDoesNotOvertakeAWaitingExclusiveOne) {
  must_lock(a_, "k", kS);
  auto b = wait_in_thread(manager_, b_, "k", kX);
  EXPECT_EQ(lock(c_, "k", kS), ErrorCode::kLockTimeout);
  auto c = wait_in_thread(manager_, c_, "k", kS);
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
  EXPECT_FALSE(is_ready(c));
  manager_.release_all(b_);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, SharedRequestsNextToEachOtherAreGrantedTogether) {
  must_lock(a_, "k", kX);
  auto b = wait_in_thread(manager_, b_, "k", kS);
  auto c = wait_in_thread(manager_, c_, "k", kS);
  auto d = wait_in_thread(manager_, d_, "k", kX);
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  manager_.release_all(b_);
  EXPECT_FALSE(is_ready(d));
  manager_.release_all(c_);
  EXPECT_EQ(d.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, ARequestThatGivesUpLetsThoseBehindItGoOn) {
  must_lock(a_, "k", kS);
  auto b = wait_in_thread(manager_, b_, "k", kX);
  auto c = wait_in_thread(manager_, c_, "k", kS);
  manager_.interrupt(b_);
  EXPECT_EQ(b.get(), ErrorCode::kInterrupted);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, AnUpgradeOfTheOnlyHolderIsGrantedAtOnce) {
  must_lock(a_, "k", kS);
  auto b = wait_in_thread(manager_, b_, "k", kX);
  EXPECT_EQ(lock(a_, "k", kX), ErrorCode::kOk) << "though somebody waits";
  EXPECT_TRUE(manager_.holds(a_, "k", kX));
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, AnUpgradeGoesBeforeRequestsThatHoldNothing) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  auto c = wait_in_thread(manager_, c_, "k", kX);
  auto a = wait_in_thread(manager_, a_, "k", kX);
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
  EXPECT_FALSE(is_ready(c));
  EXPECT_EQ(a_.held_count(), 1u);
  manager_.release_all(a_);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, AWaitingUpgradeKeepsNewSharedRequestsBack) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  auto a = wait_in_thread(manager_, a_, "k", kX);
  EXPECT_EQ(lock(c_, "k", kS), ErrorCode::kLockTimeout);
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, AnUpgradeThatFailsKeepsTheSharedLockAndLetsOthersGoOn) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  auto a = wait_in_thread(manager_, a_, "k", kX);
  auto c = wait_in_thread(manager_, c_, "k", kS);
  manager_.interrupt(a_);
  EXPECT_EQ(a.get(), ErrorCode::kInterrupted);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  EXPECT_TRUE(manager_.holds(a_, "k", kS));
  EXPECT_FALSE(manager_.holds(a_, "k", kX));
  EXPECT_EQ(a_.held_count(), 1u);
}

TEST_F(LockManagerTest, UnlockGivesUpOneKeyOnlyAndWakesWhoWaits) {
  must_lock(a_, "j", kX);
  must_lock(a_, "k", kX);
  must_lock(a_, "l", kX);
  auto b = wait_in_thread(manager_, b_, "k", kX);
  manager_.unlock(a_, "k");
  EXPECT_EQ(b.get(), ErrorCode::kOk);
  EXPECT_EQ(a_.held_count(), 2u);
  EXPECT_TRUE(manager_.holds(a_, "j", kX));
  EXPECT_TRUE(manager_.holds(a_, "l", kX));
}

TEST_F(LockManagerTest, AnOwnerCanBeUsedAgainAfterReleaseAll) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) must_lock(a_, "row " + std::to_string(i), kX);
    a_.add_weight(5);
    EXPECT_EQ(a_.weight(), 1005u);
    manager_.release_all(a_);
    EXPECT_EQ(a_.held_count(), 0u);
    EXPECT_EQ(a_.weight(), 0u);
    EXPECT_TRUE(manager_.snapshot().empty());
  }
}

TEST_F(LockManagerTest, AnInterruptEndsTheCurrentWait) {
  must_lock(a_, "k", kX);
  auto b = wait_in_thread(manager_, b_, "k", kX);
  manager_.interrupt(b_);
  EXPECT_EQ(b.get(), ErrorCode::kInterrupted);
  EXPECT_EQ(manager_.snapshot().size(), 1u);
}

TEST_F(LockManagerTest, AnInterruptEndsLaterWaitsUntilItIsCleared) {
  must_lock(a_, "k", kX);
  manager_.interrupt(b_);
  EXPECT_EQ(manager_.lock(b_, "k", kX, kLong).code(), ErrorCode::kInterrupted);
  EXPECT_EQ(manager_.lock(b_, "k", kX, kLong).code(), ErrorCode::kInterrupted);
  EXPECT_EQ(lock(b_, "free", kX), ErrorCode::kOk) << "no wait, nothing to interrupt";
  manager_.clear_interrupt(b_);
  auto b = wait_in_thread(manager_, b_, "k", kX);
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
}

TEST_F(LockManagerTest, TheSnapshotShowsHoldersAndWaitersInTheirOrder) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  auto c = wait_in_thread(manager_, c_, "k", kX);
  auto d = wait_in_thread(manager_, d_, "k", kS);
  auto a = wait_in_thread(manager_, a_, "k", kX);
  std::vector<std::string> seen;
  for (const LockInfo& lock : manager_.snapshot()) {
    seen.push_back(std::to_string(lock.owner_id) + lock.key + (lock.mode == kX ? "X" : "S") +
                   (lock.granted ? "" : "?"));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"1kS", "1kX?", "2kS", "3kX?", "4kS?"}));
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
  manager_.release_all(a_);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  manager_.release_all(c_);
  EXPECT_EQ(d.get(), ErrorCode::kOk);
}

// One shard and many keys: chains of several keys, tables that grow while requests wait.
TEST(LockManagerOfOneShard, KeepsQueuesApartWhileItsTableGrows) {
  LockManager manager({.shards = 1});
  LockOwner holder(1), waiter(2), last(3);
  ASSERT_TRUE(manager.lock(holder, "k", kS, kNoWait).is_ok());
  auto second = wait_in_thread(manager, waiter, "k", kX);
  auto third = wait_in_thread(manager, last, "k", kS);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(manager.lock(holder, "row " + std::to_string(i), kX, kNoWait).is_ok());
  }
  manager.unlock(holder, "k");
  EXPECT_EQ(second.get(), ErrorCode::kOk);
  EXPECT_FALSE(is_ready(third));
  manager.release_all(waiter);
  EXPECT_EQ(third.get(), ErrorCode::kOk);
  manager.release_all(last);
  manager.release_all(holder);
  EXPECT_TRUE(manager.snapshot().empty());
}

using LockManagerDeathTest = LockManagerTest;

TEST_F(LockManagerDeathTest, UnlockingAKeyThatIsNotHeldEndsTheProcess) {
  EXPECT_DEATH(manager_.unlock(a_, "k"), "request");
}

TEST_F(LockManagerDeathTest, AnOwnerThatDiesWithItsLocksEndsTheProcess) {
  EXPECT_DEATH(
      {
        LockOwner owner(9);
        manager_.lock(owner, "k", kX, kNoWait).ignore("the owner's end is what is tested");
      },
      "held");
}

}  // namespace
}  // namespace basalt::lock
