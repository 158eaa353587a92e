#include "wal/group_sync.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/test_support.h"

// Goal: nobody returns before a sync that began after the call, and those who wait together share
// one. Method: syncs that a test lets go one by one, and threads that compare counters.
namespace basalt::wal {
namespace {

using basalt::test::await;
using basalt::test::fails_with;
using basalt::test::succeeds;

// A sync that ends when the test allows it.
class Gate {
 public:
  Status pass() {
    std::unique_lock guard(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(guard, [this] { return allowed_ > 0; });
    --allowed_;
    return fails_ ? Status(ErrorCode::kIoError, "no disk") : Status::ok();
  }
  void allow(int count, bool fails = false) {
    const std::lock_guard guard(mutex_);
    allowed_ += count;
    fails_ = fails;
    changed_.notify_all();
  }
  void wait_until_begun(int count) {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [&] { return begun_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
  int allowed_ = 0;
  bool fails_ = false;
};

TEST(GroupSync, AloneEveryCallSyncs) {
  GroupSync group([] { return Status::ok(); });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(succeeds(group.sync()));
  EXPECT_EQ(group.count(), 3u);
}

TEST(GroupSync, ThoseWhoComeDuringASyncShareTheNext) {
  constexpr int kFollowers = 20;
  Gate gate;
  GroupSync group([&] { return gate.pass(); });
  std::vector<std::thread> threads;
  threads.emplace_back([&] { EXPECT_TRUE(succeeds(group.sync())); });
  gate.wait_until_begun(1);
  for (int i = 0; i < kFollowers; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(succeeds(group.sync()));
      EXPECT_GE(group.count(), 2u) << "the first sync began before they came";
    });
  }
  await([&] { return group.waiting() == kFollowers; });
  gate.allow(1);
  gate.wait_until_begun(2);
  EXPECT_EQ(group.waiting(), kFollowers - 1) << "one of them does the sync";
  gate.allow(kFollowers);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(group.count(), 2u);
  EXPECT_EQ(group.waiting(), 0);
}

TEST(GroupSync, AllWhoWaitedForAFailedSyncLearnOfIt) {
  Gate gate;
  GroupSync group([&] { return gate.pass(); });
  std::vector<std::thread> threads;
  threads.emplace_back([&] { EXPECT_TRUE(succeeds(group.sync())); });
  gate.wait_until_begun(1);
  constexpr int kFollowers = 5;
  for (int i = 0; i < kFollowers; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(fails_with(ErrorCode::kIoError, group.sync())); });
  }
  await([&] { return group.waiting() == kFollowers; });
  gate.allow(1);
  gate.wait_until_begun(2);
  gate.allow(kFollowers, true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(group.count(), 2u) << "one failure for all";
  gate.allow(10);
  EXPECT_TRUE(succeeds(group.sync())) << "later calls depend on later syncs";
}

// Two that begin again as soon as their sync has ended: without a moment's wait one is always just
// too late for the sync of the other.
TEST(GroupSync, WhoIsToSyncWaitsAMomentForThoseWhoSyncedBefore) {
  constexpr int kRounds = 100;
  GroupSync group([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return Status::ok();
  });
  const auto sync_often = [&] {
    for (int i = 0; i < kRounds; ++i) EXPECT_TRUE(succeeds(group.sync()));
  };
  std::thread other(sync_often);
  sync_often();
  other.join();
  EXPECT_LT(group.count(), 2 * kRounds * 9 / 10);
}

TEST(GroupSync, WhatWasWrittenBeforeACallIsInTheSyncItWaitsFor) {
  constexpr int kThreads = 8;
  constexpr std::uint64_t kRounds = 2000;
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> durable{0};
  GroupSync group([&] {
    const std::uint64_t covered = written.load();
    std::this_thread::yield();
    durable.store(covered);
    return Status::ok();
  });
  std::atomic<int> violations{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        const std::uint64_t mine = ++written;
        if (!group.sync().is_ok() || durable.load() < mine) ++violations;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(violations, 0);
  EXPECT_LE(group.count(), kThreads * kRounds);
}

}  // namespace
}  // namespace basalt::wal
