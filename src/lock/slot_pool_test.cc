#include "lock/slot_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace basalt::lock {
namespace {

constexpr std::size_t kSizes[] = {1, 8, 9, 49, 72, 255, 256, 257, 5000};

TEST(SlotPool, BlocksAreAlignedAndDoNotOverlap) {
  SlotPool pool;
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (int round = 0; round < 200; ++round) {
    for (const std::size_t size : kSizes) {
      auto* const block = static_cast<char*>(pool.allocate(size));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % SlotPool::kAlignment, 0u);
      std::memset(block, static_cast<char>(blocks.size()), size);
      blocks.emplace_back(block, size);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, size] = blocks[i];
    for (std::size_t j = 0; j < size; ++j) ASSERT_EQ(block[j], static_cast<char>(i));
    if (SlotPool::rounded(size) > SlotPool::kLargestPooled) pool.give_back(block, size);
  }
}

TEST(SlotPool, ABlockGivenBackIsTheNextOneOfItsSize) {
  SlotPool pool;
  void* const first = pool.allocate(72);
  void* const second = pool.allocate(80);
  pool.give_back(first, 72);
  pool.give_back(second, 80);
  EXPECT_EQ(pool.allocate(80), second);
  EXPECT_EQ(pool.allocate(71), first);
}

TEST(SlotPool, TakingAndGivingBackForEverNeedsOneChunk) {
  SlotPool pool;
  for (int i = 0; i < 100'000; ++i) {
    void* const secondary = pool.allocate(90);
    void* const row = pool.allocate(60);
    pool.give_back(secondary, 90);
    pool.give_back(row, 60);
  }
  EXPECT_EQ(pool.reserved_bytes(), SlotPool::kFirstChunk);
}

TEST(SlotPool, ManyBlocksCostLittleMoreThanTheirSize) {
  SlotPool pool;
  constexpr std::size_t kBlocks = 1'000'000;
  for (std::size_t i = 0; i < kBlocks; ++i) pool.allocate(72);
  EXPECT_LE(pool.reserved_bytes(), kBlocks * 72 + kBlocks + SlotPool::kLargestChunk);
}

TEST(SlotPool, ResetKeepsNothingButTheFirstChunk) {
  SlotPool pool;
  void* const first = pool.allocate(72);
  for (int i = 0; i < 10'000; ++i) pool.allocate(72);
  pool.reset();
  EXPECT_EQ(pool.reserved_bytes(), SlotPool::kFirstChunk);
  EXPECT_EQ(pool.allocate(72), first);
}

TEST(SlotPool, LargeBlocksGoBackToTheSystem) {
  SlotPool pool;
  void* const block = pool.allocate(4000);
  EXPECT_EQ(pool.reserved_bytes(), 4000u);
  pool.give_back(block, 4000);
  EXPECT_EQ(pool.reserved_bytes(), 0u);
}

}  // namespace
}  // namespace basalt::lock
