#include "txn/commit_tickets.h"

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "base/test_support.h"

// Goal: who waits for a place goes on exactly when all places up to it have been left, whatever
// the order in which they are left.
namespace basalt::txn {
namespace {

const auto kNotAtAll = [] { return false; };
const auto kAsLongAsItTakes = [] { return true; };

TEST(CommitTickets, PlacesCountFromOne) {
  CommitTickets order;
  EXPECT_EQ(order.newest(), 0u);
  EXPECT_EQ(order.issue(), 1u);
  EXPECT_EQ(order.issue(), 2u);
  EXPECT_EQ(order.newest(), 2u);
  order.retire(1);
  order.retire(2);
  EXPECT_EQ(order.issue(), 3u);
  EXPECT_EQ(order.newest(), 3u);
}

TEST(CommitTickets, APlaceIsReachedWhenItAndAllBeforeItWereLeft) {
  CommitTickets order;
  EXPECT_TRUE(order.wait_for(0, kNotAtAll)) << "nobody is in the order";
  for (int i = 0; i < 4; ++i) order.issue();
  order.retire(2);
  order.retire(4);
  EXPECT_FALSE(order.wait_for(1, kNotAtAll));
  EXPECT_FALSE(order.wait_for(2, kNotAtAll)) << "the first one is still there";
  order.retire(1);
  EXPECT_TRUE(order.wait_for(2, kNotAtAll));
  EXPECT_FALSE(order.wait_for(4, kNotAtAll));
  order.retire(3);
  EXPECT_TRUE(order.wait_for(4, kNotAtAll));
}

TEST(CommitTickets, LaterPlacesKeepNobodyWaiting) {
  CommitTickets order;
  const std::uint64_t place = order.issue();
  std::thread waiter([&] { EXPECT_TRUE(order.wait_for(place, kAsLongAsItTakes)); });
  order.issue();
  order.retire(place);
  waiter.join();
}

TEST(CommitTickets, AWaitEndsWhenItMayNotGoOn) {
  CommitTickets order;
  const std::uint64_t place = order.issue();
  int questions = 0;
  EXPECT_FALSE(order.wait_for(place, [&] { return ++questions < 3; }));
  EXPECT_EQ(questions, 3);
}

TEST(CommitTickets, ThreadsInAnyOrderAreAllWaitedFor) {
  constexpr int kThreads = 6;
  CommitTickets order;
  std::atomic<std::uint64_t> visible{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t));
      for (int i = 0; i < 3000; ++i) {
        const std::uint64_t place = order.issue();
        if (random() % 4 == 0) std::this_thread::yield();
        ++visible;
        order.retire(place);
      }
    });
  }
  std::thread waiter([&] {
    while (!stop) {
      const std::uint64_t place = order.newest();
      EXPECT_TRUE(order.wait_for(place, kAsLongAsItTakes));
      EXPECT_GE(visible, place);
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  waiter.join();
  EXPECT_EQ(order.newest(), 3000u * kThreads);
}

}  // namespace
}  // namespace basalt::txn
