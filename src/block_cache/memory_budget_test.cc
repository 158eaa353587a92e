#include "block_cache/memory_budget.h"

#include <sys/mman.h>
#include <rocksdb/memory_allocator.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "base/test_support.h"
#include "block_cache/block_cache.h"

// Goal: blocks have what the rest of the process leaves of the limit, soon after that changes.
// Method: the share for given figures; and this process, whose size the tests change.
namespace basalt::block_cache {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::uint64_t kAnyCapacity = std::numeric_limits<std::uint64_t>::max();

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

TEST(GiveBackPaceTest, FreedMemoryGoesBackWhereLittleIsLeftAndNotAgainSoonWhereThatWasOfNoUse) {
  constexpr std::uint64_t kLimit = 1000 * kMiB;
  GiveBackPace pace;
  EXPECT_FALSE(pace.is_due(950 * kMiB, kLimit, 100));
  EXPECT_TRUE(pace.is_due(951 * kMiB, kLimit, 0.1)) << "half of a tenth is left";
  pace.note_given_back(20 * kMiB, kLimit);
  EXPECT_FALSE(pace.is_due(951 * kMiB, kLimit, 1));
  EXPECT_TRUE(pace.is_due(951 * kMiB, kLimit, 1.1));
  for (const double seconds : {4, 8, 16, 32, 64, 64}) {
    pace.note_given_back(10 * kMiB, kLimit);
    EXPECT_FALSE(pace.is_due(951 * kMiB, kLimit, seconds - 0.5)) << seconds;
    EXPECT_TRUE(pace.is_due(951 * kMiB, kLimit, 0.6)) << seconds;
  }
  pace.note_given_back(0, kLimit);
  EXPECT_FALSE(pace.is_due(500 * kMiB, kLimit, 3));
  EXPECT_TRUE(pace.is_due(951 * kMiB, kLimit, 0.1)) << "there was enough in between";
}

// Memory that the tests take beside blocks.
class Elsewhere {
 public:
  explicit Elsewhere(std::size_t bytes)
      : bytes_(bytes),
        begin_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(begin_, MAP_FAILED);
    std::memset(begin_, 1, bytes);
  }
  ~Elsewhere() { munmap(begin_, bytes_); }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  const std::size_t bytes_;
  void* const begin_;
};

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 600; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

void deallocate(rdb::Cache::ObjectPtr block, rdb::MemoryAllocator* memory) {
  memory->Deallocate(block);
}
const rdb::Cache::CacheItemHelper kBlock(rdb::CacheEntryRole::kDataBlock, deallocate);

// Blocks as RocksDB reads them.
void fill(BlockCache& cache, std::uint64_t bytes) {
  constexpr std::size_t kBytes = 8000;
  for (std::uint64_t i = 0; i < bytes / kBytes; ++i) {
    char key[16] = {};
    std::memcpy(key, &i, sizeof i);
    void* const block = cache.memory_allocator()->Allocate(kBytes);
    std::memset(block, 1, kBytes);
    rdb::Cache::Handle* handle = nullptr;
    ASSERT_TRUE(cache.Insert({key, sizeof key}, block, &kBlock, kBytes, &handle).ok());
    cache.Release(handle);
  }
}

class MemoryBudgetTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own memory is in the size of the process";
#endif
  }
};

TEST_F(MemoryBudgetTest, TheCacheGivesWayToWhatTheProcessTakesElsewhere) {
  const auto cache = std::make_shared<BlockCache>(16 * kMiB);
  const std::uint64_t limit = resident_bytes() + BlocksShare::free_bytes(0) + 100 * kMiB;
  const MemoryBudget budget([limit] { return limit; }, 0, cache, kAnyCapacity);
  const auto comes_to = [&](std::uint64_t least, std::uint64_t most) {
    return comes_true([&] {
      const std::size_t capacity = cache->GetCapacity();
      return capacity == budget.blocks_bytes() && capacity >= least && capacity <= most;
    });
  };
  EXPECT_TRUE(comes_to(50 * kMiB, 110 * kMiB)) << cache->GetCapacity();
  const std::size_t before = cache->GetCapacity();
  {
    const Elsewhere taken(40 * kMiB);
    EXPECT_TRUE(comes_to(0, before - 30 * kMiB)) << cache->GetCapacity();
  }
  EXPECT_TRUE(comes_to(before - 25 * kMiB, limit)) << cache->GetCapacity();
}

TEST_F(MemoryBudgetTest, TheCacheFollowsALimitThatChanges) {
  const auto cache = std::make_shared<BlockCache>(16 * kMiB);
  const std::uint64_t enough = resident_bytes() + BlocksShare::free_bytes(0) + 100 * kMiB;
  std::atomic<std::uint64_t> limit = enough;
  const MemoryBudget budget([&] { return limit.load(); }, 0, cache, kAnyCapacity);
  EXPECT_LT(cache->GetCapacity(), 110 * kMiB);
  limit = enough + 60 * kMiB;
  EXPECT_TRUE(comes_true([&] { return cache->GetCapacity() > 120 * kMiB; }));
  limit = enough;
  EXPECT_TRUE(comes_true([&] { return cache->GetCapacity() < 110 * kMiB; }));
}

TEST_F(MemoryBudgetTest, ACapacityThatWasSetIsNotExceededAndGivesWayAllTheSame) {
  const auto cache = std::make_shared<BlockCache>(60 * kMiB);
  const std::uint64_t limit = resident_bytes() + BlocksShare::free_bytes(0) + 100 * kMiB;
  const MemoryBudget budget([limit] { return limit; }, 0, cache, 60 * kMiB);
  EXPECT_EQ(cache->GetCapacity(), 60 * kMiB) << "there is more than that";
  EXPECT_EQ(budget.blocks_bytes(), 60 * kMiB);
  const Elsewhere taken(70 * kMiB);
  EXPECT_TRUE(comes_true([&] { return cache->GetCapacity() < 40 * kMiB; })) << cache->GetCapacity();
}

TEST_F(MemoryBudgetTest, BlocksInUseLeaveRoomForOthersHoweverMuchTheRestTakes) {
  const auto cache = std::make_shared<BlockCache>(40 * kMiB);
  std::vector<rdb::Cache::Handle*> in_use;
  for (std::uint64_t i = 0; i < 20; ++i) {
    char key[16] = {};
    std::memcpy(key, &i, sizeof i);
    void* const block = cache->memory_allocator()->Allocate(kMiB);
    ASSERT_TRUE(
        cache->Insert({key, sizeof key}, block, &kBlock, kMiB, &in_use.emplace_back()).ok());
  }
  {
    const std::uint64_t limit = resident_bytes();
    const MemoryBudget budget([limit] { return limit; }, 0, cache, kAnyCapacity);
    EXPECT_TRUE(comes_true([&] { return cache->GetCapacity() >= 28 * kMiB; }));
  }
  for (rdb::Cache::Handle* handle : in_use) cache->Release(handle);
}

TEST_F(MemoryBudgetTest, ACapacityThatIsSetLaterIsObeyedFromThenOn) {
  const auto cache = std::make_shared<BlockCache>(20 * kMiB);
  const std::uint64_t limit = resident_bytes() + BlocksShare::free_bytes(0) + 100 * kMiB;
  MemoryBudget budget([limit] { return limit; }, 0, cache, 20 * kMiB);
  EXPECT_EQ(cache->GetCapacity(), 20 * kMiB);
  budget.set_capacity_max(40 * kMiB);
  EXPECT_TRUE(comes_true([&] { return cache->GetCapacity() == 40 * kMiB; }));
  budget.set_capacity_max(10 * kMiB);
  EXPECT_TRUE(comes_true([&] { return cache->GetCapacity() == 10 * kMiB; }));
  budget.set_capacity_max(kAnyCapacity);
  EXPECT_TRUE(comes_true([&] { return cache->GetCapacity() > 50 * kMiB; }));
}

TEST_F(MemoryBudgetTest, MemoryOfBlocksThatNobodyReadsGoesBackToTheSystem) {
  const auto cache = std::make_shared<BlockCache>(200 * kMiB);
  fill(*cache, 80 * kMiB);
  const std::uint64_t before = cache->held_bytes();
  ASSERT_GT(before, 75 * kMiB);
  const std::uint64_t limit = resident_bytes() + BlocksShare::free_bytes(0) + 20 * kMiB;
  const MemoryBudget budget([limit] { return limit; }, 0, cache, kAnyCapacity);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(cache->held_bytes(), before) << "all has room";
  const Elsewhere taken(60 * kMiB);
  EXPECT_TRUE(comes_true([&] { return cache->held_bytes() < 45 * kMiB; })) << cache->held_bytes();
}

TEST_F(MemoryBudgetTest, WhatWasFreedGoesBackToTheSystemWhereMemoryIsShort) {
  // All but a few pieces between them, which keep malloc() from giving it back by itself.
  std::vector<std::unique_ptr<char[]>> pieces(64 * kMiB / 1024);
  for (auto& piece : pieces) {
    piece = std::make_unique_for_overwrite<char[]>(1024);
    std::memset(piece.get(), 1, 1024);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i % 256 != 255) pieces[i].reset();
  }
  const std::uint64_t before = resident_bytes();
  const auto cache = std::make_shared<BlockCache>(16 * kMiB);
  const MemoryBudget budget([before] { return before; }, 0, cache, kAnyCapacity);
  EXPECT_TRUE(comes_true([&] { return resident_bytes() < before - 40 * kMiB; }));
}

}  // namespace
}  // namespace basalt::block_cache
