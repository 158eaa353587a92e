#include "lock/request_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace basalt::lock {
namespace {

constexpr std::size_t kSizes[] = {1, 8, 9, 49, 72, 255, 256, 257, 5000};

TEST(RequestPool, BlocksAreAlignedAndDoNotOverlap) {
  RequestPool pool;
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (int round = 0; round < 200; ++round) {
    for (const std::size_t size : kSizes) {
      auto* const block = static_cast<char*>(pool.allocate(size));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % RequestPool::kAlignment, 0u);
      std::memset(block, static_cast<char>(blocks.size()), size);
      blocks.emplace_back(block, size);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, size] = blocks[i];
    for (std::size_t j = 0; j < size; ++j) ASSERT_EQ(block[j], static_cast<char>(i));
    if (RequestPool::rounded(size) > RequestPool::kLargestPooled) pool.give_back(block, size);
  }
}

TEST(RequestPool, ABlockGivenBackIsTheNextOneOfItsSize) {
  RequestPool pool;
  void* const first = pool.allocate(72);
  void* const second = pool.allocate(80);
  pool.give_back(first, 72);
  pool.give_back(second, 80);
  EXPECT_EQ(pool.allocate(80), second);
  EXPECT_EQ(pool.allocate(71), first);
}

TEST(RequestPool, TakingAndGivingBackForEverNeedsOneChunk) {
  RequestPool pool;
  for (int i = 0; i < 100'000; ++i) {
    void* const secondary = pool.allocate(90);
    void* const row = pool.allocate(60);
    pool.give_back(secondary, 90);
    pool.give_back(row, 60);
  }
  EXPECT_EQ(pool.reserved_bytes(), RequestPool::kFirstChunk);
}

TEST(RequestPool, ManyBlocksCostLittleMoreThanTheirSize) {
  RequestPool pool;
  constexpr std::size_t kBlocks = 1'000'000;
  for (std::size_t i = 0; i < kBlocks; ++i) pool.allocate(72);
  EXPECT_LE(pool.reserved_bytes(), kBlocks * 72 + kBlocks + RequestPool::kLargestChunk);
}

TEST(RequestPool, ResetKeepsNothingButTheFirstChunk) {
  RequestPool pool;
  void* const first = pool.allocate(72);
  for (int i = 0; i < 10'000; ++i) pool.allocate(72);
  pool.reset();
  EXPECT_EQ(pool.reserved_bytes(), RequestPool::kFirstChunk);
  EXPECT_EQ(pool.allocate(72), first);
}

TEST(RequestPool, LargeBlocksGoBackToTheSystem) {
  RequestPool pool;
  void* const block = pool.allocate(4000);
  EXPECT_EQ(pool.reserved_bytes(), 4000u);
  pool.give_back(block, 4000);
  EXPECT_EQ(pool.reserved_bytes(), 0u);
}

}  // namespace
}  // namespace basalt::lock
