#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lock/internal/test_support.h"
#include "lock/lock_manager.h"

// Goal: what a WaitObserver is told, when, and what it may do meanwhile.
namespace basalt::lock {
namespace {

using test::kLong;
using test::kNoWait;
using test::kS;
using test::kX;
using test::wait_in_thread;

class Recorder final : public WaitObserver {
 public:
  void wait_begins(LockOwner& waiter) override { add("begin " + name(waiter)); }
  void wait_ends(LockOwner& waiter) override { add("end " + name(waiter)); }
  void waits_for(LockOwner& waiter, LockOwner& holder) override {
    add(name(waiter) + " for " + name(holder));
    if (on_waits_for) on_waits_for(waiter, holder);
  }

  std::vector<std::string> events() const {
    const std::lock_guard guard(mutex_);
    return events_;
  }
  // Returns when `count` events have been recorded.
  void await(std::size_t count) const {
    test::await([&] { return events().size() >= count; });
  }

  std::function<void(LockOwner&, LockOwner&)> on_waits_for;

 private:
  static std::string name(const LockOwner& owner) { return std::to_string(owner.id()); }
  void add(std::string event) {
    const std::lock_guard guard(mutex_);
    events_.push_back(std::move(event));
  }

  mutable std::mutex mutex_;
  std::vector<std::string> events_;
};

class LockObserverTest : public testing::Test {
 protected:
  ~LockObserverTest() override {
    for (LockOwner* owner : {&a_, &b_, &c_, &d_}) manager_.release_all(*owner);
  }
  void must_lock(LockOwner& owner, std::string_view key, LockMode mode) {
    ASSERT_TRUE(manager_.lock(owner, key, mode, kNoWait).is_ok());
  }

  Recorder recorder_;
  LockManager manager_{LockManager::Options{}, &recorder_};
  LockOwner a_{1}, b_{2}, c_{3}, d_{4};
};

using Events = std::vector<std::string>;

TEST_F(LockObserverTest, NothingIsSaidAboutLocksThatNeedNoWait) {
  must_lock(a_, "k", kX);
  EXPECT_FALSE(manager_.lock(b_, "k", kX, kNoWait).is_ok());
  EXPECT_EQ(recorder_.events(), Events{});
}

TEST_F(LockObserverTest, AWaitIsReportedWithHoldersAndEarlierRequestsBetweenBeginAndEnd) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  auto c = wait_in_thread(manager_, c_, "k", kX);
  recorder_.await(3);
  auto d = wait_in_thread(manager_, d_, "k", kX);
  recorder_.await(7);
  EXPECT_EQ(recorder_.events(), (Events{"begin 3", "3 for 1", "3 for 2",  //
                                        "begin 4", "4 for 1", "4 for 2", "4 for 3"}));
  manager_.release_all(a_);
  manager_.release_all(b_);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  manager_.release_all(c_);
  EXPECT_EQ(d.get(), ErrorCode::kOk);
  EXPECT_EQ(recorder_.events().back(), "end 4");
  EXPECT_EQ(recorder_.events().size(), 9u);
}

TEST_F(LockObserverTest, AnOwnerThatUpgradesBecomesABlockerOfSharedRequestsAndIsReported) {
  must_lock(a_, "k", kS);
  must_lock(b_, "k", kS);
  auto c = wait_in_thread(manager_, c_, "k", kX);
  recorder_.await(3);
  auto d = wait_in_thread(manager_, d_, "k", kS);
  recorder_.await(5);
  EXPECT_EQ(recorder_.events().back(), "4 for 3") << "shared locks are not in its way";
  auto a = wait_in_thread(manager_, a_, "k", kX);
  recorder_.await(8);
  auto last = recorder_.events();
  last.erase(last.begin(), last.begin() + 5);
  std::sort(last.begin(), last.end());
  EXPECT_EQ(last, (Events{"1 for 2", "4 for 1", "begin 1"}));
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
  manager_.release_all(a_);
  EXPECT_EQ(c.get(), ErrorCode::kOk);
  manager_.release_all(c_);
  EXPECT_EQ(d.get(), ErrorCode::kOk);
}

TEST_F(LockObserverTest, AWaitThatEndsInADeadlockIsNotReportedAsAWaitForAnybody) {
  must_lock(a_, "j", kX);
  must_lock(b_, "k", kX);
  auto a = wait_in_thread(manager_, a_, "k", kX);
  recorder_.await(2);
  EXPECT_EQ(manager_.lock(b_, "j", kX, kLong).code(), ErrorCode::kDeadlock);
  EXPECT_EQ(recorder_.events(), (Events{"begin 1", "1 for 2", "begin 2", "end 2"}));
  manager_.release_all(b_);
  EXPECT_EQ(a.get(), ErrorCode::kOk);
}

TEST_F(LockObserverTest, AHolderCannotGoAwayWhileItIsReported) {
  std::atomic<bool> is_reported = false;
  std::atomic<bool> is_gone = false;
  recorder_.on_waits_for = [&](LockOwner&, LockOwner&) {
    is_reported = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_FALSE(is_gone);
  };
  must_lock(a_, "k", kX);
  auto b = test::lock_in_thread(manager_, b_, "k", kX);
  test::await([&] { return is_reported.load(); });
  manager_.release_all(a_);
  is_gone = true;
  EXPECT_EQ(b.get(), ErrorCode::kOk);
}

TEST_F(LockObserverTest, BothSidesOfAWaitCanBeInterruptedFromTheReport) {
  recorder_.on_waits_for = [&](LockOwner& waiter, LockOwner& holder) {
    manager_.interrupt(waiter);
    manager_.interrupt(holder);
  };
  must_lock(a_, "k", kX);
  must_lock(b_, "j", kX);
  EXPECT_EQ(manager_.lock(b_, "k", kX, kLong).code(), ErrorCode::kInterrupted);
  EXPECT_EQ(manager_.lock(a_, "j", kX, kLong).code(), ErrorCode::kInterrupted);
}

TEST_F(LockObserverTest, TheUserPointerIsFoundThroughTheOwnerUntilItIsForgotten) {
  int session = 0;
  LockOwner owner(7, &session);
  EXPECT_EQ(owner.user(), &session);
  manager_.forget_user(owner);
  EXPECT_EQ(owner.user(), nullptr);
}

TEST_F(LockObserverTest, AUserIsForgottenWhenNoReportLooksAtItAnyMore) {
  int session = 0;
  LockOwner holder(7, &session);
  std::atomic<bool> is_reported = false;
  std::atomic<bool> is_gone = false;
  recorder_.on_waits_for = [&](LockOwner&, LockOwner& reported) {
    EXPECT_EQ(reported.user(), &session);
    is_reported = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_FALSE(is_gone);
  };
  must_lock(holder, "k", kX);
  auto b = test::lock_in_thread(manager_, b_, "k", kX);
  test::await([&] { return is_reported.load(); });
  manager_.forget_user(holder);
  is_gone = true;
  manager_.release_all(holder);
  EXPECT_EQ(b.get(), ErrorCode::kOk);
}

// Says that nobody is left as soon as it is asked.
class Deserted final : public WaitObserver {
 public:
  void wait_begins(LockOwner&) override {}
  void wait_ends(LockOwner&) override {}
  void waits_for(LockOwner&, LockOwner&) override {}
  bool is_abandoned(LockOwner&) override { return true; }
};

TEST(AbandonedWaitTest, AWaitEndsWhenNobodyIsLeftForWhomItWaits) {
  Deserted observer;
  LockManager manager({}, &observer);
  LockOwner holder(1);
  LockOwner waiter(2);
  basalt::test::must(manager.lock(holder, "key", kX, kNoWait));
  EXPECT_TRUE(
      basalt::test::fails_with(ErrorCode::kInterrupted, manager.lock(waiter, "key", kS, kLong)));
  manager.release_all(holder);
  EXPECT_TRUE(basalt::test::succeeds(manager.lock(waiter, "key", kS, kNoWait)));
  manager.release_all(waiter);
}

}  // namespace
}  // namespace basalt::lock
