#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lock/internal/test_support.h"
#include "lock/lock_manager.h"

// Goal: cycles are found whatever their edges are made of, the right member gives up, and nothing
// that is not a cycle is called one.
namespace basalt::lock {
namespace {

using test::is_ready;
using test::kLong;
using test::kNoWait;
using test::kS;
using test::kX;
using test::lock_in_thread;

// Knows whose wait has got past its search for cycles. Only then is it certain who closes the next
// one.
class Sleepers final : public WaitObserver {
 public:
  void wait_begins(LockOwner&) override {}
  void waits_for(LockOwner& waiter, LockOwner&) override {
    const std::lock_guard guard(mutex_);
    sleeping_.insert(&waiter);
  }
  void wait_ends(LockOwner& waiter) override {
    const std::lock_guard guard(mutex_);
    sleeping_.erase(&waiter);
  }
  bool contain(const LockOwner& owner) const {
    const std::lock_guard guard(mutex_);
    return sleeping_.count(&owner) != 0;
  }

 private:
  mutable std::mutex mutex_;
  std::set<const LockOwner*> sleeping_;
};

class DeadlockTest : public testing::Test {
 protected:
  ~DeadlockTest() override {
    for (LockOwner* owner : {&a_, &b_, &c_}) manager_.release_all(*owner);
    EXPECT_TRUE(manager_.snapshot().empty());
  }
  void must_lock(LockOwner& owner, std::string_view key, LockMode mode) {
    ASSERT_TRUE(manager_.lock(owner, key, mode, kNoWait).is_ok());
  }

  // A lock() in a thread of its own, asleep when this returns.
  std::future<ErrorCode> wait_in_thread(LockOwner& owner, std::string key, LockMode mode) {
    auto result = lock_in_thread(manager_, owner, std::move(key), mode);
    test::await([&] { return sleepers_.contain(owner); });
    return result;
  }

  Sleepers sleepers_;
  LockManager manager_{LockManager::Options{}, &sleepers_};
  LockOwner a_{1}, b_{2}, c_{3};
};

TEST_F(DeadlockTest, OfEqualMembersTheRequesterGivesUp) {
  must_lock(a_, "j", kX);
  must_lock(b_, "k", kX);
  auto a = wait_in_thread(a_, "k", kX);
  EXPECT_EQ(manager_.lock(b_, "j", kX, kLong).code(), ErrorCode::kDeadlock);
  EXPECT_TRUE(manager_.holds(b_, "k", kX)) << "until its caller releases it";
  EXPECT_FALSE(is_ready(a));
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
  EXPECT_EQ(manager_.deadlock_count(), 1u);
}

TEST_F(DeadlockTest, TheMemberWithTheFewestChangesAndLocksGivesUp) {
  must_lock(a_, "j", kX);
  must_lock(b_, "k", kX);
  b_.add_weight(1);
  auto a = wait_in_thread(a_, "k", kX);
  auto b = lock_in_thread(manager_, b_, "j", kX);
  EXPECT_EQ(a.get(), ErrorCode::kDeadlock);
  EXPECT_FALSE(is_ready(b));
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, LocksCountAsWeight) {
  must_lock(a_, "j", kX);
  must_lock(b_, "k", kX);
  must_lock(b_, "l", kS);
  auto a = wait_in_thread(a_, "k", kX);
  auto b = lock_in_thread(manager_, b_, "j", kX);
  EXPECT_EQ(a.get(), ErrorCode::kDeadlock);
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, TwoUpgradesOfOneKeyAreADeadlock) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  a_.add_weight(1);
  auto a = wait_in_thread(a_, "k", kX);
  EXPECT_EQ(manager_.lock(b_, "k", kX, kLong).code(), ErrorCode::kDeadlock);
  EXPECT_TRUE(manager_.holds(b_, "k", kS));
  manager_.unlock(b_, "k");
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, AVictimThatWaitsForAnUpgradeKeepsItsSharedLock) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  b_.add_weight(1);
  auto a = wait_in_thread(a_, "k", kX);
  auto b = lock_in_thread(manager_, b_, "k", kX);
  EXPECT_EQ(a.get(), ErrorCode::kDeadlock);
  EXPECT_TRUE(manager_.holds(a_, "k", kS));
  EXPECT_FALSE(is_ready(b));
  manager_.release_all(a_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, AnEarlierRequestInTheQueueIsAnEdgeOfTheCycle) {
  must_lock(a_, "k", kS);
  must_lock(c_, "j", kX);
  auto b = wait_in_thread(b_, "k", kX);
  auto c = wait_in_thread(c_, "k", kS);  // could share with a_, but is behind b_
  a_.add_weight(10);
  c_.add_weight(10);
  auto a = lock_in_thread(manager_, a_, "j", kX);
  EXPECT_EQ(b.get(), ErrorCode::kDeadlock) << "b_ holds nothing, and is in c_'s way all the same";
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  manager_.release_all(c_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, NobodyGivesUpWhoOnlyStandsInTheQueueBetweenTwoMembers) {
  must_lock(a_, "j", kX);
  must_lock(b_, "k", kX);
  auto c = wait_in_thread(c_, "k", kX);  // weighs least
  auto a = wait_in_thread(a_, "k", kX);
  EXPECT_EQ(manager_.lock(b_, "j", kX, kLong).code(), ErrorCode::kDeadlock);
  ASSERT_EQ(manager_.last_deadlock()->cycle.size(), 2u);
  manager_.release_all(b_);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  manager_.release_all(c_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, EachOfSeveralCyclesOfOneRequestIsBroken) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  must_lock(c_, "j", kX);
  c_.add_weight(10);
  auto a = wait_in_thread(a_, "j", kS);
  auto b = wait_in_thread(b_, "j", kS);
  auto c = lock_in_thread(manager_, c_, "k", kX);
  EXPECT_EQ(a.get(), ErrorCode::kDeadlock);
  EXPECT_EQ(b.get(), ErrorCode::kDeadlock);
  EXPECT_EQ(manager_.deadlock_count(), 2u);
  manager_.release_all(a_);
  manager_.release_all(b_);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, LongCyclesAreFound) {
  constexpr int kOwners = 100;
  std::vector<std::unique_ptr<LockOwner>> owners;
  std::vector<std::future<ErrorCode>> waits;
  const auto key = [](int i) { return "row " + std::to_string(i % kOwners); };
  for (int i = 0; i < kOwners; ++i) {
    owners.push_back(std::make_unique<LockOwner>(100 + i));
    must_lock(*owners[i], key(i), kX);
  }
  for (int i = 0; i + 1 < kOwners; ++i) {
    waits.push_back(wait_in_thread(*owners[i], key(i + 1), kX));
  }
  LockOwner& last = *owners.back();
  EXPECT_EQ(manager_.lock(last, key(kOwners), kX, kLong).code(), ErrorCode::kDeadlock);
  EXPECT_EQ(manager_.last_deadlock()->cycle.size(), static_cast<std::size_t>(kOwners));
  for (int i = kOwners - 1; i >= 0; --i) {
    if (i + 1 < kOwners) {
      EXPECT_EQ(waits[i].get(), ErrorCode::kOk) << i;
    }
    manager_.release_all(*owners[i]);
  }
}

TEST_F(DeadlockTest, ALongQueueIsNotADeadlock) {
  constexpr int kOwners = 100;
  std::vector<std::unique_ptr<LockOwner>> owners;
  std::vector<std::future<ErrorCode>> waits;
  must_lock(a_, "k", kX);
  for (int i = 0; i < kOwners; ++i) {
    owners.push_back(std::make_unique<LockOwner>(100 + i));
    waits.push_back(wait_in_thread(*owners[i], "k", i % 3 == 0 ? kS : kX));
  }
  manager_.release_all(a_);
  for (int i = 0; i < kOwners; ++i) {
    EXPECT_EQ(waits[i].get(), ErrorCode::kOk) << i;
    manager_.release_all(*owners[i]);
  }
  EXPECT_EQ(manager_.deadlock_count(), 0u);
}

TEST_F(DeadlockTest, TheReportNamesTheCycleAndTheVictim) {
  EXPECT_FALSE(manager_.last_deadlock().has_value());
  must_lock(a_, "i", kX);
  must_lock(b_, "j", kX);
  must_lock(c_, "k", kX);
  auto a = wait_in_thread(a_, "j", kS);
  auto b = wait_in_thread(b_, "k", kX);
  const auto before = std::chrono::system_clock::now();
  EXPECT_EQ(manager_.lock(c_, "i", kS, kLong).code(), ErrorCode::kDeadlock);
  const auto info = manager_.last_deadlock();
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->victim_id, 3u);
  EXPECT_GE(info->found_at, before);
  EXPECT_LE(info->found_at, std::chrono::system_clock::now());
  std::string cycle;
  for (const auto& wait : info->cycle) {
    cycle += std::to_string(wait.owner_id) + wait.key + (wait.mode == kX ? "X " : "S ");
  }
  EXPECT_EQ(cycle, "3iS 1jS 2kX ");
  manager_.release_all(c_);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, AsManyOfTheLatestAreKeptAsIsSaidTheNewestFirst) {
  const auto numbers = [this] {
    std::string text;
    for (const auto& info : manager_.latest_deadlocks()) text += std::to_string(info.number) + " ";
    return text;
  };
  const auto deadlock = [this] {
    must_lock(a_, "j", kX);
    must_lock(b_, "k", kX);
    auto a = wait_in_thread(a_, "k", kX);
    EXPECT_EQ(manager_.lock(b_, "j", kX, kLong).code(), ErrorCode::kDeadlock);
    manager_.release_all(b_);
    EXPECT_EQ(a.get(), ErrorCode::kOk);
    manager_.release_all(a_);
  };
  for (int i = 0; i < 6; ++i) deadlock();
  EXPECT_EQ(numbers(), "6 5 4 3 2 ");
  manager_.set_deadlocks_kept(2);
  EXPECT_EQ(numbers(), "6 5 ");
  deadlock();
  EXPECT_EQ(numbers(), "7 6 ");
  manager_.set_deadlocks_kept(0);
  deadlock();
  EXPECT_EQ(numbers(), "");
  EXPECT_EQ(manager_.deadlock_count(), 8u);
}

TEST_F(DeadlockTest, WhoWaitsForWhomIsTold) {
  EXPECT_TRUE(manager_.waits().empty());
  must_lock(a_, "key1", kS);
  must_lock(b_, "key1", kS);
  manager_.lock_gap(a_, "key2", "key3");
  auto c = wait_in_thread(c_, "key1", kX);
  std::string waits;
  for (const auto& wait : manager_.waits()) {
    waits += std::to_string(wait.owner_id) + (wait.mode == kX ? "X" : "S") + wait.key + ":" +
             std::to_string(wait.blocker_id) + " ";
    EXPECT_FALSE(wait.is_insert);
  }
  EXPECT_EQ(waits, "3Xkey1:1 3Xkey1:2 ");
  manager_.release_all(b_);
  auto insert = std::async(std::launch::async,
                           [this] { return manager_.await_insert(b_, "key2a", kLong).code(); });
  test::await([&] { return sleepers_.contain(b_); });
  std::size_t inserts = 0;
  for (const auto& wait : manager_.waits()) {
    if (!wait.is_insert) continue;
    ++inserts;
    EXPECT_EQ(wait.owner_id, 2u);
    EXPECT_EQ(wait.blocker_id, 1u);
    EXPECT_EQ(wait.key, "key2a");
  }
  EXPECT_EQ(inserts, 1u);
  manager_.release_all(a_);
  EXPECT_EQ(insert.get(), ErrorCode::kOk);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  EXPECT_TRUE(manager_.waits().empty());
}

TEST_F(DeadlockTest, WithoutDetectionACycleLastsUntilATimeout) {
  manager_.set_deadlock_detect(false);
  must_lock(a_, "j", kX);
  must_lock(b_, "k", kX);
  auto a = wait_in_thread(a_, "k", kX);
  EXPECT_EQ(manager_.lock(b_, "j", kX, {.timeout_ms = 20}).code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(manager_.deadlock_count(), 0u);
  manager_.set_deadlock_detect(true);
  EXPECT_EQ(manager_.lock(b_, "j", kX, kLong).code(), ErrorCode::kDeadlock)
      << "waits that began without detection are edges";
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, AnOwnerThatDoesNotLookClosesACycleUnseen) {
  must_lock(a_, "j", kX);
  must_lock(b_, "k", kX);
  auto a = wait_in_thread(a_, "k", kX);
  b_.set_deadlock_detect(false);
  EXPECT_EQ(manager_.lock(b_, "j", kX, {.timeout_ms = 20}).code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(manager_.deadlock_count(), 0u);
  b_.set_deadlock_detect(true);
  EXPECT_EQ(manager_.lock(b_, "j", kX, kLong).code(), ErrorCode::kDeadlock);
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

TEST_F(DeadlockTest, ACycleThatIsNotWaitedForIsATimeout) {
  must_lock(a_, "j", kX);
  must_lock(b_, "k", kX);
  auto a = wait_in_thread(a_, "k", kX);
  EXPECT_EQ(manager_.lock(b_, "j", kX, kNoWait).code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(manager_.deadlock_count(), 0u);
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

}  // namespace
}  // namespace basalt::lock
