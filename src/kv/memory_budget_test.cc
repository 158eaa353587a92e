#include "kv/memory_budget.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "base/test_support.h"
#include "kv/block_cache.h"
#include "kv/test_directory.h"

// Goal: blocks have what the rest of the process leaves of the limit, soon after that changes.
// Method: the share for given figures; and this process, whose size the tests change.
namespace basalt::kv {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

TEST(BlocksShareTest, ATenthOfTheLimitAndAtLeast40MiBStayFree) {
  EXPECT_EQ(BlocksShare::free_bytes(1000 * kMiB), 100 * kMiB);
  EXPECT_EQ(BlocksShare::free_bytes(256 * kMiB), 40 * kMiB);
}

TEST(BlocksShareTest, BlocksHaveWhatTheRestAndTheFreePartLeave) {
  BlocksShare share(1000 * kMiB, 8 * kMiB);
  EXPECT_EQ(share.next(150 * kMiB, 0, 0), 750 * kMiB);
  EXPECT_EQ(share.next(850 * kMiB, 700 * kMiB, 0.1), 750 * kMiB) << "blocks are not of the rest";
}

TEST(BlocksShareTest, WhatTheRestTakesMoreIsGivenUpAtOnce) {
  BlocksShare share(1000 * kMiB, 8 * kMiB);
  share.next(150 * kMiB, 0, 0);
  EXPECT_EQ(share.next(250 * kMiB, 0, 0.1), 650 * kMiB);
}

TEST(BlocksShareTest, WhatTheRestTakesLessIsBelievedWithinSeconds) {
  BlocksShare share(1000 * kMiB, 8 * kMiB);
  share.next(250 * kMiB, 0, 0);
  EXPECT_EQ(share.next(150 * kMiB, 0, 1), 660 * kMiB);
  for (int i = 0; i < 500; ++i) share.next(150 * kMiB, 0, 0.1);
  EXPECT_NEAR(static_cast<double>(share.next(150 * kMiB, 0, 0.1)), 750.0 * kMiB, 1.0 * kMiB);
}

TEST(BlocksShareTest, WhatIsExpectedCountsUntilItIsForgotten) {
  BlocksShare share(1000 * kMiB, 8 * kMiB);
  share.next(150 * kMiB, 0, 0);
  share.expect(50 * kMiB);
  EXPECT_EQ(share.next(150 * kMiB, 0, 0), 700 * kMiB);
  EXPECT_EQ(share.next(150 * kMiB, 0, 10), 750 * kMiB);
}

TEST(BlocksShareTest, BlocksHaveTheirLeastHoweverLargeTheRestIs) {
  BlocksShare share(1000 * kMiB, 8 * kMiB);
  EXPECT_EQ(share.next(5000 * kMiB, 0, 0), 8 * kMiB);
  EXPECT_EQ(share.next(10 * kMiB, 50 * kMiB, 0), 8 * kMiB) << "the highest counts";
}

TEST(MemoryBudgetTest, TheCacheGivesWayToWhatTheProcessTakesElsewhere) {
  const auto cache = std::make_shared<BlockCache>(16 * kMiB);
  const std::uint64_t limit = resident_bytes() + BlocksShare::free_bytes(0) + 100 * kMiB;
  const MemoryBudget budget(limit, 0, cache);
  const auto comes_to = [&](std::uint64_t least, std::uint64_t most) {
    for (int i = 0; i < 600; ++i) {
      const std::size_t capacity = cache->GetCapacity();
      if (capacity == budget.blocks_bytes() && capacity >= least && capacity <= most) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  };
  EXPECT_TRUE(comes_to(50 * kMiB, 110 * kMiB)) << cache->GetCapacity();
  const std::size_t before = cache->GetCapacity();
  void* const elsewhere = mmap(nullptr, 40 * kMiB, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(elsewhere, MAP_FAILED);
  std::memset(elsewhere, 1, 40 * kMiB);
  EXPECT_TRUE(comes_to(0, before - 30 * kMiB)) << cache->GetCapacity();
  munmap(elsewhere, 40 * kMiB);
  EXPECT_TRUE(comes_to(before - 25 * kMiB, limit)) << cache->GetCapacity();
}

}  // namespace
}  // namespace basalt::kv
