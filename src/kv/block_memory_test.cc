#include "kv/block_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace basalt::kv {
namespace {

constexpr std::size_t kChunkBytes = 256 * 1024;

// A block with a pattern of its own in every byte.
struct Filled {
  unsigned char* bytes;
  std::size_t size;
  unsigned char pattern;

  bool is_intact() const {
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes[i] != pattern) return false;
    }
    return true;
  }
};

Filled fill(BlockMemory& memory, std::size_t size, unsigned char pattern) {
  auto* const bytes = static_cast<unsigned char*>(memory.allocate(size));
  std::memset(bytes, pattern, size);
  return {bytes, size, pattern};
}

TEST(BlockMemoryTest, ABlockIsAlignedAndAtMostAnEighthLargerThanAskedFor) {
  BlockMemory memory;
  for (std::size_t size = 1; size <= 32 * 1024; size += size < 600 ? 1 : 97) {
    void* const block = memory.allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0U) << size;
    EXPECT_GE(BlockMemory::size_of(block), size);
    EXPECT_LE(BlockMemory::size_of(block), std::max<std::size_t>(256, size + size / 8 + 1));
    EXPECT_EQ(memory.used_bytes(), BlockMemory::size_of(block));
    memory.release(block);
  }
  EXPECT_EQ(memory.used_bytes(), 0U);
}

TEST(BlockMemoryTest, ALargeBlockIsGivenBackToTheSystemAtOnce) {
  BlockMemory memory;
  const Filled block = fill(memory, 3'000'000, 7);
  EXPECT_GE(BlockMemory::size_of(block.bytes), 3'000'000U);
  EXPECT_GE(memory.held_bytes(), 3'000'000U);
  EXPECT_TRUE(block.is_intact());
  memory.release(block.bytes);
  EXPECT_EQ(memory.held_bytes(), 0U);
}

TEST(BlockMemoryTest, ReleasingNothingIsAllowed) {
  BlockMemory memory;
  memory.release(nullptr);
  EXPECT_EQ(memory.used_bytes(), 0U);
}

TEST(BlockMemoryTest, ReleasedBlocksAreUsedAgainByAnyThread) {
  BlockMemory memory;
  std::size_t held = 0;
  for (int round = 0; round < 16; ++round) {
    std::thread([&memory] {
      std::vector<void*> blocks;
      for (int i = 0; i < 500; ++i) blocks.push_back(memory.allocate(8200 + i));
      for (void* const block : blocks) memory.release(block);
    }).join();
    if (round == 0) held = memory.held_bytes();
  }
  EXPECT_LE(memory.held_bytes(), held);
}

TEST(BlockMemoryTest, MemoryGoesBackWhenBlocksAreReleased) {
  BlockMemory memory;
  std::vector<void*> blocks;
  for (int i = 0; i < 5000; ++i) blocks.push_back(memory.allocate(8192));
  EXPECT_GE(memory.held_bytes(), 5000U * 8192U);
  for (void* const block : blocks) memory.release(block);
  EXPECT_EQ(memory.used_bytes(), 0U);
  EXPECT_LE(memory.held_bytes(), kChunkBytes);
}

TEST(BlockMemoryTest, RandomBlocksKeepTheirBytes) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  BlockMemory memory;
  std::map<int, Filled> live;
  std::size_t used = 0;
  for (int step = 0; step < 30'000; ++step) {
    if (live.size() > 300 || (!live.empty() && random() % 2 == 0)) {
      const auto chosen = std::next(live.begin(), static_cast<long>(random() % live.size()));
      ASSERT_TRUE(chosen->second.is_intact()) << "step " << step;
      used -= BlockMemory::size_of(chosen->second.bytes);
      memory.release(chosen->second.bytes);
      live.erase(chosen);
    } else {
      const std::size_t size = random() % 20 == 0 ? random() % 400'000 + 1 : random() % 12'000 + 1;
      const Filled block = fill(memory, size, static_cast<unsigned char>(random()));
      used += BlockMemory::size_of(block.bytes);
      live.emplace(step, block);
    }
    ASSERT_EQ(memory.used_bytes(), used);
    ASSERT_GE(memory.held_bytes(), used);
  }
  for (auto& [step, block] : live) {
    EXPECT_TRUE(block.is_intact()) << "step " << step;
    memory.release(block.bytes);
  }
  EXPECT_EQ(memory.used_bytes(), 0U);
}

TEST(BlockMemoryTest, BlocksOfManyThreadsDoNotOverlap) {
  BlockMemory memory;
  std::vector<std::thread> threads;
  std::atomic<int> damaged = 0;
  for (unsigned char number = 0; number < 4; ++number) {
    threads.emplace_back([&memory, &damaged, number] {
      std::mt19937 random(number);
      std::vector<Filled> live;
      for (int step = 0; step < 5000; ++step) {
        live.push_back(fill(memory, random() % 10'000 + 1, number));
        if (live.size() < 50) continue;
        std::swap(live[random() % live.size()], live.back());
        if (!live.back().is_intact()) ++damaged;
        memory.release(live.back().bytes);
        live.pop_back();
      }
      for (const Filled& block : live) memory.release(block.bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(memory.used_bytes(), 0U);
}

}  // namespace
}  // namespace basalt::kv
