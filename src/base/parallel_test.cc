#include "base/parallel.h"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "base/test_support.h"

namespace basalt {
namespace {

using test::fails_with;
using test::succeeds;

TEST(RunInParallel, EachPartIsDoneOnce) {
  for (const std::size_t count : {0, 1, 2, 7}) {
    std::mutex mutex;
    std::multiset<std::size_t> done;
    EXPECT_TRUE(succeeds(run_in_parallel(count, [&](std::size_t number, const auto&) {
      const std::lock_guard guard(mutex);
      done.insert(number);
      return Status::ok();
    })));
    ASSERT_EQ(done.size(), count);
    for (std::size_t number = 0; number < count; ++number) EXPECT_EQ(done.count(number), 1u);
  }
}

TEST(RunInParallel, PartsRunSideBySideAndTheFirstInTheCallingThread) {
  std::atomic<int> running{0};
  const std::thread::id caller = std::this_thread::get_id();
  EXPECT_TRUE(succeeds(run_in_parallel(3, [&](std::size_t number, const auto&) {
    EXPECT_EQ(number == 0, std::this_thread::get_id() == caller);
    ++running;
    test::await([&] { return running == 3; });
    return Status::ok();
  })));
}

TEST(RunInParallel, WhatFailedFirstIsReturnedAndTheOthersHearOfIt) {
  EXPECT_TRUE(
      fails_with(ErrorCode::kNoSpace,
                 run_in_parallel(3, [](std::size_t number, const std::atomic<bool>& has_failed) {
                   if (number == 2) return Status::of(ErrorCode::kNoSpace);
                   test::await([&] { return has_failed.load(); });
                   return Status::of(ErrorCode::kInterrupted);
                 })));
}

}  // namespace
}  // namespace basalt
