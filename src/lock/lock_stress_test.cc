#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "lock/internal/test_support.h"
#include "lock/lock_manager.h"

// Goal: with everything at once, at full speed: never two conflicting grants, no wait without an
// end, nothing left behind. Sanitizers watch the rest.
namespace basalt::lock {
namespace {

using test::kLong;
using test::kNoWait;
using test::kS;
using test::kX;

// Counts the owners that believe to hold a key. They are counted while the lock is held, so that
// two conflicting counts at one time are two conflicting grants.
class Witness {
 public:
  void enter(LockMode mode, bool is_upgrade) {
    if (mode == kS) {
      ++shared_;
      EXPECT_EQ(exclusive_, 0);
    } else {
      EXPECT_EQ(shared_, is_upgrade ? 1 : 0);
      EXPECT_EQ(++exclusive_, 1);
    }
  }
  void leave(LockMode mode, bool was_upgraded) {
    if (mode == kX) {
      EXPECT_EQ(--exclusive_, 0);
    }
    if (mode == kS || was_upgraded) --shared_;
  }

 private:
  std::atomic<int> shared_ = 0;
  std::atomic<int> exclusive_ = 0;
};

class LockStressTest : public testing::Test {
 protected:
  static constexpr int kThreads = 8;
  static constexpr int kKeys = 6;
  static constexpr int kTransactions = 1500;

  struct Held {
    LockMode mode;
    bool was_upgraded;
  };
  using HeldKeys = std::array<std::optional<Held>, kKeys>;

  // All keys are of one space.
  static std::string name(int key) { return "row " + std::to_string(key); }

  void run_all();
  void run_transactions(std::uint64_t seed, LockOwner& owner);
  // False if the transaction must end.
  bool lock_one(std::mt19937_64& random, LockOwner& owner, HeldKeys& held);
  void leave_all(HeldKeys& held) {
    for (int key = 0; key < kKeys; ++key) leave(held, key);
  }
  void leave(HeldKeys& held, int key) {
    if (held[key]) witnesses_[key].leave(held[key]->mode, held[key]->was_upgraded);
    held[key].reset();
  }

  LockManager manager_{LockManager::Options{.shards = 4}};
  std::array<Witness, kKeys> witnesses_;
  bool escalates_ = false;
};

bool LockStressTest::lock_one(std::mt19937_64& random, LockOwner& owner, HeldKeys& held) {
  const int key = static_cast<int>(random() % kKeys);
  const LockMode mode = random() % 2 == 0 ? kS : kX;
  const WaitPolicy policies[] = {kNoWait, {.timeout_ms = 1}, kLong, kLong, kLong};
  const WaitPolicy& policy = policies[random() % std::size(policies)];
  bool is_new = false;
  const Status status = manager_.lock(owner, name(key), mode, policy, &is_new);
  if (!status.is_ok()) {
    EXPECT_FALSE(is_new);
    EXPECT_FALSE(status.is(ErrorCode::kLockTimeout) && policy.timeout_ms == kLong.timeout_ms &&
                 policy.may_wait)
        << "a wait did not end";
    if (status.is(ErrorCode::kInterrupted)) manager_.clear_interrupt(owner);
    return false;
  }
  // A range has keys that were not asked for.
  EXPECT_TRUE(escalates_ || is_new == !held[key].has_value());
  if (!held[key]) {
    witnesses_[key].enter(mode, false);
    held[key] = Held{mode, false};
  } else if (mode > held[key]->mode) {
    witnesses_[key].enter(mode, true);
    held[key] = Held{mode, true};
  }
  EXPECT_TRUE(manager_.holds(owner, name(key), mode));
  return true;
}

void LockStressTest::run_transactions(std::uint64_t seed, LockOwner& owner) {
  std::mt19937_64 random(seed);
  HeldKeys held;
  for (int i = 0; i < kTransactions; ++i) {
    if (escalates_) owner.set_most_keys(1 + random() % 3);
    for (auto steps = 1 + random() % 5; steps > 0 && lock_one(random, owner, held); --steps) {
      const int key = static_cast<int>(random() % kKeys);
      if (held[key] && random() % 4 == 0) {
        leave(held, key);
        manager_.unlock(owner, name(key));
      }
      owner.add_weight(random() % 3);
      if (random() % 4 == 0) std::this_thread::yield();
    }
    leave_all(held);
    manager_.release_all(owner);
    EXPECT_EQ(owner.held_count(), 0u);
  }
}

void LockStressTest::run_all() {
  const std::uint64_t seed = basalt::test::seed();
  std::vector<std::unique_ptr<LockOwner>> owners;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) owners.push_back(std::make_unique<LockOwner>(i));
  // None is done before another begins: there would be no conflicts.
  std::latch all_are_there(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      all_are_there.arrive_and_wait();
      run_transactions(seed + i, *owners[i]);
    });
  }
  std::atomic<bool> is_over = false;
  std::thread meddler([&] {
    std::mt19937_64 random(seed - 1);
    while (!is_over) {
      manager_.interrupt(*owners[random() % kThreads]);
      for (const LockInfo& lock : manager_.snapshot()) EXPECT_LT(lock.owner_id, 1u * kThreads);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  for (auto& thread : threads) thread.join();
  is_over = true;
  meddler.join();
  EXPECT_TRUE(manager_.snapshot().empty());
  EXPECT_TRUE(manager_.range_snapshot().empty());
  EXPECT_GT(manager_.deadlock_count(), 0u);
}

TEST_F(LockStressTest, ConflictingLocksAreNeverHeldAtOnceAndEveryWaitEnds) { run_all(); }

TEST_F(LockStressTest, NorAreConflictingRangesThatLocksBecome) {
  escalates_ = true;
  run_all();
}

TEST_F(LockStressTest, AStreamOfSharedLocksDoesNotStarveAnExclusiveRequest) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      LockOwner owner(10 + i);
      while (!is_over) {
        EXPECT_TRUE(manager_.lock(owner, "k", kS, kLong).is_ok());
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        manager_.release_all(owner);
      }
    });
  }
  LockOwner writer(1);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(manager_.lock(writer, "k", kX, kLong).is_ok());
    manager_.release_all(writer);
  }
  is_over = true;
  for (auto& reader : readers) reader.join();
}

// Timeouts that expire while grants arrive: the narrow window of each wait's end.
TEST_F(LockStressTest, ATimeoutThatMeetsAGrantLeavesTheKeyInOrder) {
  std::vector<std::thread> threads;
  std::atomic<int> granted = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      LockOwner owner(i);
      for (int round = 0; round < 300; ++round) {
        if (manager_.lock(owner, "k", kX, {.timeout_ms = 1}).is_ok()) {
          witnesses_[0].enter(kX, false);
          ++granted;
          std::this_thread::sleep_for(std::chrono::microseconds(300 + 100 * (round % 8)));
          witnesses_[0].leave(kX, false);
          manager_.unlock(owner, "k");
        }
        EXPECT_EQ(owner.held_count(), 0u);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(granted, 0);
  EXPECT_TRUE(manager_.snapshot().empty());
}

}  // namespace
}  // namespace basalt::lock
