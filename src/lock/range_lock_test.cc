#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "lock/internal/test_support.h"
#include "lock/lock_manager.h"

// Goal: what ranges keep out and what not, how long inserts wait, deadlocks over ranges, and
// escalation.
namespace basalt::lock {
namespace {

using test::is_ready;
using test::kLong;
using test::kNoWait;
using test::kS;
using test::kX;

// In space "idx1".
std::string key(int number) {
  std::string digits = std::to_string(number);
  return "idx1" + std::string(4 - digits.size(), '0') + digits;
}

class RangeLockTest : public testing::Test {
 protected:
  ~RangeLockTest() override {
    for (LockOwner* owner : {&a_, &b_, &c_}) manager_.release_all(*owner);
  }

  std::future<ErrorCode> insert_in_thread(LockOwner& owner, std::string inserted,
                                          WaitPolicy policy = kLong) {
    auto result =
        std::async(std::launch::async, [this, &owner, inserted = std::move(inserted), policy] {
          return manager_.await_insert(owner, inserted, policy).code();
        });
    return result;
  }
  std::future<ErrorCode> waiting_insert(LockOwner& owner, std::string inserted,
                                        WaitPolicy policy = kLong) {
    auto result = insert_in_thread(owner, std::move(inserted), policy);
    test::await_request(manager_, owner);
    return result;
  }

  LockManager manager_{LockManager::Options{.shards = 4}};
  LockOwner a_{1};
  LockOwner b_{2};
  LockOwner c_{3};
};

TEST_F(RangeLockTest, AGapKeepsOthersFromInsertingIntoItAndNobodyFromElsewhere) {
  manager_.lock_gap(a_, key(10), key(20));
  EXPECT_FALSE(manager_.is_insert_blocked(b_, key(9)));
  EXPECT_TRUE(manager_.is_insert_blocked(b_, key(10)));
  EXPECT_TRUE(manager_.is_insert_blocked(b_, key(19)));
  EXPECT_FALSE(manager_.is_insert_blocked(b_, key(20)));
  EXPECT_FALSE(manager_.is_insert_blocked(b_, "idx20015"));
  EXPECT_FALSE(manager_.is_insert_blocked(a_, key(15))) << "the owner itself may insert";
}

TEST_F(RangeLockTest, GapsOfTwoOwnersMayOverlap) {
  manager_.lock_gap(a_, key(10), key(20));
  manager_.lock_gap(b_, key(15), key(30));
  EXPECT_TRUE(manager_.is_insert_blocked(a_, key(16)));
  EXPECT_TRUE(manager_.is_insert_blocked(b_, key(16)));
  EXPECT_FALSE(manager_.is_insert_blocked(a_, key(14)));
}

TEST_F(RangeLockTest, AGapLeavesKeysFreeToBeLocked) {
  manager_.lock_gap(a_, key(10), key(20));
  EXPECT_TRUE(manager_.lock(b_, key(15), kX, kNoWait).is_ok());
}

TEST_F(RangeLockTest, TheEndOfTheOwnerLetsAWaitingInsertGoOn) {
  manager_.lock_gap(a_, key(10), key(20));
  auto insert = waiting_insert(b_, key(15));
  EXPECT_FALSE(is_ready(insert));
  manager_.release_all(a_);
  EXPECT_EQ(insert.get(), ErrorCode::kOk);
  EXPECT_FALSE(manager_.is_insert_blocked(b_, key(15)));
}

TEST_F(RangeLockTest, AnInsertWaitsForEveryOwnerOfARangeAroundIt) {
  manager_.lock_gap(a_, key(10), key(20));
  manager_.lock_gap(c_, key(15), key(16));
  auto insert = waiting_insert(b_, key(15));
  manager_.release_all(a_);
  EXPECT_EQ(insert.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  manager_.release_all(c_);
  EXPECT_EQ(insert.get(), ErrorCode::kOk);
}

// A scan locks its range piece by piece.
TEST_F(RangeLockTest, AGrowingRangeTellsOnlyTheInsertsThatItReaches) {
  manager_.lock_gap(a_, key(10), key(20));
  auto insert = waiting_insert(b_, key(15));
  for (int edge = 20; edge < 1000; ++edge) manager_.lock_gap(c_, key(edge), key(edge + 1));
  manager_.lock_gap(c_, key(5), key(15));
  manager_.lock_gap(c_, "idx2", "idx3");
  EXPECT_EQ(manager_.told_count(), 0u);
  manager_.lock_gap(c_, key(15), key(20));
  EXPECT_EQ(manager_.told_count(), 1u);
  manager_.release_all(a_);
  EXPECT_EQ(insert.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  manager_.release_all(c_);
  EXPECT_EQ(insert.get(), ErrorCode::kOk);
}

TEST_F(RangeLockTest, InsertsOfOneKeyWaitAndGoOnTogether) {
  manager_.lock_gap(a_, key(10), key(20));
  auto first = waiting_insert(b_, key(15));
  auto second = waiting_insert(c_, key(15));
  EXPECT_EQ(manager_.snapshot().size(), 2u);
  manager_.interrupt(b_);
  EXPECT_EQ(first.get(), ErrorCode::kInterrupted);
  EXPECT_EQ(manager_.snapshot().size(), 1u);
  manager_.release_all(a_);
  EXPECT_EQ(second.get(), ErrorCode::kOk);
}

TEST_F(RangeLockTest, AnInsertThatMayNotWaitFailsAtOnce) {
  manager_.lock_gap(a_, key(10), key(20));
  EXPECT_EQ(manager_.await_insert(b_, key(15), kNoWait).code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(manager_.await_insert(b_, key(15), {.timeout_ms = 20}).code(), ErrorCode::kLockTimeout);
  EXPECT_TRUE(manager_.snapshot().empty()) << "nothing may be left of the request";
}

TEST_F(RangeLockTest, AnInterruptEndsAWaitingInsert) {
  manager_.lock_gap(a_, key(10), key(20));
  auto insert = waiting_insert(b_, key(15));
  manager_.interrupt(b_);
  EXPECT_EQ(insert.get(), ErrorCode::kInterrupted);
  EXPECT_TRUE(manager_.snapshot().empty());
}

TEST_F(RangeLockTest, TwoWhoInsertIntoEachOthersGapsAreADeadlock) {
  manager_.lock_gap(a_, key(10), key(20));
  manager_.lock_gap(b_, key(10), key(20));
  a_.add_weight(5);
  auto first = waiting_insert(a_, key(12));
  const ErrorCode second = manager_.await_insert(b_, key(13), kLong).code();
  EXPECT_EQ(second, ErrorCode::kDeadlock);
  manager_.release_all(b_);
  EXPECT_EQ(first.get(), ErrorCode::kOk);
  EXPECT_EQ(manager_.deadlock_count(), 1u);
}

TEST_F(RangeLockTest, ACycleOverAKeyAndAGapIsADeadlock) {
  manager_.lock_gap(a_, key(10), key(20));
  ASSERT_TRUE(manager_.lock(b_, key(5), kX, kNoWait).is_ok());
  auto insert = waiting_insert(b_, key(12));
  b_.add_weight(5);
  EXPECT_EQ(manager_.lock(a_, key(5), kX, kLong).code(), ErrorCode::kDeadlock);
  manager_.release_all(a_);
  EXPECT_EQ(insert.get(), ErrorCode::kOk);
}

// Without the second cycle, the insert waits for one owner only when it begins to wait.
TEST_F(RangeLockTest, ARangeThatComesLaterTakesPartInDeadlocks) {
  manager_.lock_gap(a_, key(10), key(20));
  ASSERT_TRUE(manager_.lock(b_, key(5), kX, kNoWait).is_ok());
  auto insert = waiting_insert(b_, key(12));
  manager_.lock_gap(c_, key(10), key(20));
  b_.add_weight(5);
  EXPECT_EQ(manager_.lock(c_, key(5), kX, kLong).code(), ErrorCode::kDeadlock);
  manager_.release_all(c_);
  manager_.release_all(a_);
  EXPECT_EQ(insert.get(), ErrorCode::kOk);
}

TEST_F(RangeLockTest, RangesAreReported) {
  manager_.lock_gap(a_, key(10), key(20));
  manager_.lock_gap(a_, key(20), key(30));
  auto insert = waiting_insert(b_, key(15));
  const std::vector<RangeInfo> ranges = manager_.range_snapshot();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].owner_id, 1u);
  EXPECT_EQ(ranges[0].mode, RangeMode::kGap);
  EXPECT_EQ(ranges[0].lower, key(10));
  EXPECT_EQ(ranges[0].upper, key(30));
  const std::vector<LockInfo> locks = manager_.snapshot();
  ASSERT_EQ(locks.size(), 1u);
  EXPECT_TRUE(locks[0].is_insert);
  EXPECT_FALSE(locks[0].granted);
  manager_.release_all(a_);
  insert.get();
}

TEST_F(RangeLockTest, GapsCanBeGivenUpWhileKeysStayLocked) {
  manager_.lock_gap(a_, key(10), key(20));
  ASSERT_TRUE(manager_.lock(a_, key(15), kX, kNoWait).is_ok());
  auto insert = waiting_insert(b_, key(12));
  manager_.release_gaps(a_);
  EXPECT_EQ(insert.get(), ErrorCode::kOk);
  EXPECT_TRUE(manager_.holds(a_, key(15), kX));
}

TEST_F(RangeLockTest, TheSpacesOfAnOwnerAreThoseInWhichItHasLockedAKeyOrARange) {
  using Spaces = std::vector<std::uint32_t>;
  EXPECT_EQ(manager_.locked_spaces(a_), Spaces{});
  ASSERT_TRUE(manager_.lock(a_, key(1), kS, kNoWait).is_ok());
  ASSERT_TRUE(manager_.lock(a_, key(2), kX, kNoWait).is_ok());
  ASSERT_TRUE(manager_.lock(a_, "idx0 other", kS, kNoWait).is_ok());
  EXPECT_EQ(manager_.locked_spaces(a_), (Spaces{0x69647830, 0x69647831})) << "idx0 and idx1";
  manager_.lock_gap(b_, key(1), key(2));
  EXPECT_EQ(manager_.locked_spaces(b_), Spaces{0x69647831});
}

TEST_F(RangeLockTest, ARangeOfKeysIsLockedAsItsKeysAre) {
  manager_.lock_range(a_, key(10), key(20));
  for (const int i : {10, 19}) {
    EXPECT_EQ(manager_.lock(b_, key(i), kS, kNoWait).code(), ErrorCode::kLockTimeout) << i;
    EXPECT_TRUE(manager_.holds(a_, key(i), kX)) << i;
  }
  for (const int i : {9, 20}) EXPECT_TRUE(manager_.lock(b_, key(i), kX, kNoWait).is_ok()) << i;
  EXPECT_EQ(manager_.locked_spaces(a_), std::vector<std::uint32_t>{0x69647831});
  manager_.release_all(a_);
  EXPECT_TRUE(manager_.lock(b_, key(10), kX, kNoWait).is_ok());
}

// ---- escalation

TEST_F(RangeLockTest, ManyKeysBecomeARangeThatLocksAsTheyDid) {
  a_.set_most_keys(10);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
  EXPECT_LE(a_.held_count(), 11u);
  EXPECT_EQ(manager_.range_snapshot().size(), 1u);
  EXPECT_GE(a_.weight(), 100u) << "it is no better a victim than before";
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(manager_.holds(a_, key(i), kX)) << i;
    EXPECT_EQ(manager_.lock(b_, key(i), kS, kNoWait).code(), ErrorCode::kLockTimeout) << i;
  }
  EXPECT_TRUE(manager_.lock(b_, key(100), kX, kNoWait).is_ok());
  auto waiter = test::wait_in_thread(manager_, b_, key(50), kS);
  manager_.release_all(a_);
  EXPECT_EQ(waiter.get(), ErrorCode::kOk);
  EXPECT_TRUE(manager_.holds(b_, key(50), kS));
  EXPECT_TRUE(manager_.lock(c_, key(51), kX, kNoWait).is_ok());
}

TEST_F(RangeLockTest, SharedKeysBecomeASharedRange) {
  a_.set_most_keys(10);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kS, kNoWait).is_ok());
  EXPECT_LE(a_.held_count(), 11u);
  EXPECT_TRUE(manager_.lock(b_, key(50), kS, kNoWait).is_ok());
  EXPECT_EQ(manager_.lock(b_, key(51), kX, kNoWait).code(), ErrorCode::kLockTimeout);
  EXPECT_TRUE(manager_.is_insert_blocked(b_, key(52)));
}

TEST_F(RangeLockTest, AnOwnerMayLockAndUnlockKeysOfItsOwnRange) {
  a_.set_most_keys(10);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kS, kNoWait).is_ok());
  bool is_new = true;
  EXPECT_TRUE(manager_.lock(a_, key(5), kS, kNoWait, &is_new).is_ok());
  EXPECT_FALSE(is_new);
  EXPECT_TRUE(manager_.lock(a_, key(5), kX, kNoWait).is_ok()) << "stronger than the range";
  EXPECT_EQ(manager_.lock(b_, key(5), kS, kNoWait).code(), ErrorCode::kLockTimeout);
  manager_.unlock(a_, key(5));
  manager_.unlock(a_, key(6));
  EXPECT_TRUE(manager_.holds(a_, key(6), kS)) << "it stays locked with the range";
}

TEST_F(RangeLockTest, AKeyThatAnotherHasLockedKeepsLocksSingle) {
  ASSERT_TRUE(manager_.lock(b_, key(5), kS, kNoWait).is_ok());
  a_.set_most_keys(10);
  for (int i = 6; i < 40; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
  EXPECT_LE(a_.held_count(), 11u) << "the other's key is outside";
  ASSERT_TRUE(manager_.lock(b_, key(60), kS, kNoWait).is_ok());
  for (int i = 40; i < 60; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
  for (int i = 61; i < 100; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
  EXPECT_TRUE(manager_.holds(b_, key(60), kS));
  for (int i = 6; i < 100; ++i) {
    EXPECT_EQ(manager_.holds(a_, key(i), kX), i != 60) << i;
  }
}

TEST_F(RangeLockTest, WhoWaitsForAKeyGoesOnWaitingWhenItBecomesPartOfARange) {
  a_.set_most_keys(10);
  ASSERT_TRUE(manager_.lock(a_, key(0), kX, kNoWait).is_ok());
  auto waiter = test::wait_in_thread(manager_, b_, key(0), kX);
  for (int i = 1; i < 30; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
  EXPECT_LE(a_.held_count(), 12u);
  EXPECT_EQ(waiter.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  manager_.release_all(a_);
  EXPECT_EQ(waiter.get(), ErrorCode::kOk);
}

TEST_F(RangeLockTest, AKeyOfARangeThatIsUnlockedIsNotGrantedToWhoWaitsBehindIt) {
  a_.set_most_keys(2);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
  auto waiter = test::wait_in_thread(manager_, b_, key(1), kX);
  ASSERT_TRUE(manager_.lock(a_, key(2), kX, kNoWait).is_ok());
  ASSERT_EQ(manager_.range_snapshot().size(), 1u);
  manager_.unlock(a_, key(1));
  EXPECT_TRUE(manager_.lock(a_, key(1), kX, kNoWait).is_ok());
  EXPECT_EQ(waiter.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  manager_.release_all(a_);
  EXPECT_EQ(waiter.get(), ErrorCode::kOk);
}

TEST_F(RangeLockTest, WhoWaitsForAnotherKeepsLocksSingle) {
  ASSERT_TRUE(manager_.lock(b_, key(1), kS, kNoWait).is_ok());
  auto waiter = test::wait_in_thread(manager_, c_, key(1), kX);
  a_.set_most_keys(2);
  for (const int i : {0, 2, 3}) ASSERT_TRUE(manager_.lock(a_, key(i), kS, kNoWait).is_ok());
  manager_.release_all(b_);
  ASSERT_EQ(waiter.get(), ErrorCode::kOk);
  EXPECT_EQ(manager_.lock(a_, key(1), kS, kNoWait).code(), ErrorCode::kLockTimeout);
}

TEST_F(RangeLockTest, WhoWaitsBehindAWeakerLockOfTheOwnerKeepsLocksSingle) {
  ASSERT_TRUE(manager_.lock(a_, key(1), kS, kNoWait).is_ok());
  auto exclusive = test::wait_in_thread(manager_, b_, key(1), kX);
  auto shared = test::wait_in_thread(manager_, c_, key(1), kS);
  a_.set_most_keys(2);
  for (const int i : {0, 2}) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
  manager_.interrupt(b_);
  EXPECT_EQ(exclusive.get(), ErrorCode::kInterrupted);
  EXPECT_EQ(shared.get(), ErrorCode::kOk);
  EXPECT_FALSE(manager_.holds(a_, key(1), kX));
  manager_.clear_interrupt(b_);
}

TEST_F(RangeLockTest, AKeyOfAnothersRangeKeepsLocksSingle) {
  for (const LockMode mode : {kS, kX}) {
    b_.set_most_keys(1);
    for (const int i : {5, 6}) ASSERT_TRUE(manager_.lock(b_, key(i), mode, kNoWait).is_ok());
    ASSERT_EQ(b_.held_count(), 0u);
    a_.set_most_keys(2);
    for (const int i : {4, 7, 8}) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
    EXPECT_EQ(manager_.lock(a_, key(5), kX, kNoWait).code(), ErrorCode::kLockTimeout);
    EXPECT_FALSE(manager_.holds(a_, key(6), kS));
    manager_.release_all(a_);
    manager_.release_all(b_);
  }
}

TEST_F(RangeLockTest, SharedRangesMayOverlap) {
  for (LockOwner* owner : {&a_, &b_}) {
    owner->set_most_keys(2);
    for (const int i : {4, 5, 6}) ASSERT_TRUE(manager_.lock(*owner, key(i), kS, kNoWait).is_ok());
    EXPECT_EQ(owner->held_count(), 0u);
  }
  EXPECT_EQ(manager_.lock(a_, key(5), kX, kNoWait).code(), ErrorCode::kLockTimeout);
}

TEST_F(RangeLockTest, WhoWaitsToUpgradeKeepsLocksSingle) {
  ASSERT_TRUE(manager_.lock(b_, key(1), kS, kNoWait).is_ok());
  ASSERT_TRUE(manager_.lock(c_, key(1), kS, kNoWait).is_ok());
  auto waiter = test::wait_in_thread(manager_, c_, key(1), kX);
  a_.set_most_keys(2);
  for (const int i : {0, 2, 3}) ASSERT_TRUE(manager_.lock(a_, key(i), kS, kNoWait).is_ok());
  manager_.release_all(b_);
  ASSERT_EQ(waiter.get(), ErrorCode::kOk);
  EXPECT_EQ(manager_.lock(a_, key(1), kS, kNoWait).code(), ErrorCode::kLockTimeout);
}

TEST_F(RangeLockTest, ADeadlockOverAnEscalatedRangeIsFound) {
  a_.set_most_keys(10);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
  ASSERT_TRUE(manager_.lock(b_, key(90), kX, kNoWait).is_ok());
  auto waiter = test::wait_in_thread(manager_, b_, key(5), kX);
  // The waiter weighs less.
  auto other =
      std::async(std::launch::async, [&] { return manager_.lock(a_, key(90), kX, kLong).code(); });
  EXPECT_EQ(waiter.get(), ErrorCode::kDeadlock);
  manager_.release_all(b_);
  EXPECT_EQ(other.get(), ErrorCode::kOk);
}

TEST_F(RangeLockTest, AnOwnerCanBeUsedAgainAfterEscalation) {
  a_.set_most_keys(10);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(manager_.lock(a_, key(i), kX, kNoWait).is_ok());
    EXPECT_LE(a_.held_count(), 11u);
    manager_.release_all(a_);
    EXPECT_TRUE(manager_.lock(b_, key(7), kX, kNoWait).is_ok());
    EXPECT_FALSE(manager_.is_insert_blocked(b_, key(8)));
    manager_.release_all(b_);
  }
}

}  // namespace
}  // namespace basalt::lock
