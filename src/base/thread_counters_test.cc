#include "base/thread_counters.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace basalt {
namespace {

TEST(ThreadCounters, NothingThatAThreadAddsIsLostAlsoWhenItEnds) {
  constexpr std::uint64_t kThreads = 8;
  constexpr std::uint64_t kAdditions = 20'000;
  ThreadCounters counters(3);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&counters] {
        for (std::uint64_t i = 0; i < kAdditions; ++i) {
          counters.add(0, 1);
          counters.add(2, i);
        }
      });
    }
  }
  EXPECT_EQ(3 * kThreads * kAdditions, counters.sum(0));
  EXPECT_EQ(0u, counters.sum(1));
  EXPECT_EQ(3 * kThreads * (kAdditions * (kAdditions - 1) / 2), counters.sum(2));
}

TEST(ThreadCounters, OneThreadAddsToSeveralInTurnsAndEachHasItsOwn) {
  ThreadCounters first(1);
  ThreadCounters second(1);
  for (int i = 0; i < 100; ++i) {
    first.add(0, 1);
    second.add(0, 2);
  }
  EXPECT_EQ(100u, first.sum(0));
  EXPECT_EQ(200u, second.sum(0));
}

TEST(ThreadCounters, NewOnesBeginWithZeroWhereOldOnesWere) {
  for (int i = 0; i < 10; ++i) {
    const auto counters = std::make_unique<ThreadCounters>(1);
    counters->add(0, 5);
    EXPECT_EQ(5u, counters->sum(0));
  }
}

TEST(ThreadCounters, AThreadMayOutliveThem) {
  auto counters = std::make_unique<ThreadCounters>(1);
  std::jthread thread([&counters] {
    counters->add(0, 1);
    counters.reset();
    ThreadCounters later(1);
    later.add(0, 7);
    EXPECT_EQ(7u, later.sum(0));
  });
}

// Ends after what the thread has of counters, as it began before.
struct LateCounter {
  ~LateCounter() { counters->add(0, 1); }
  ThreadCounters* counters = nullptr;
};

TEST(ThreadCounters, WhatIsCountedWhileAThreadEndsIsNotLost) {
  ThreadCounters counters(1);
  std::thread([&counters] {
    static thread_local LateCounter late;
    late.counters = &counters;
    counters.add(0, 1);
  }).join();
  EXPECT_EQ(2u, counters.sum(0));
}

}  // namespace
}  // namespace basalt
