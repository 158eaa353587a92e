#include "block_cache/block_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/test_support.h"

namespace basalt::block_cache {
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
  const std::uint32_t seed = basalt::test::seed();
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

TEST(BlockMemoryTest, RetiringAChunkTellsItsBlocksInUseAndHandsOutNoMoreOfIt) {
  BlockMemory memory;
  std::set<const void*> used;
  for (int i = 0; i < 40; ++i) used.insert(memory.allocate(4000));
  for (int i = 0; i < 10; ++i) {
    const void* const block = *used.begin();
    used.erase(block);
    memory.release(const_cast<void*>(block));
  }
  std::set<const void*> visited;
  EXPECT_TRUE(memory.retire_chunk([&](const void* block) { visited.insert(block); }));
  EXPECT_EQ(visited, used);
  EXPECT_FALSE(memory.retire_chunk([](const void*) {})) << "there is no other chunk";
  void* const other = memory.allocate(4000);
  EXPECT_EQ(memory.held_bytes(), 2 * kChunkBytes) << "the retired chunk has room, but not for this";
  memory.release(other);
  for (const void* block : used) memory.release(const_cast<void*>(block));
  EXPECT_EQ(memory.held_bytes(), kChunkBytes);
  EXPECT_EQ(memory.used_bytes(), 0U);
}

TEST(BlockMemoryTest, AFullChunkIsRetiredToo) {
  BlockMemory memory;
  std::vector<void*> blocks;
  while (memory.held_bytes() <= kChunkBytes) blocks.push_back(memory.allocate(30'000));
  void* const second = blocks.back();
  blocks.pop_back();
  memory.release(second);
  std::size_t visited = 0;
  while (memory.retire_chunk([&](const void*) { ++visited; })) {
  }
  EXPECT_EQ(visited, blocks.size());
  for (void* block : blocks) memory.release(block);
  EXPECT_EQ(memory.held_bytes(), 0U);
}

TEST(BlockMemoryTest, AmongManyChunksAnEmptyOneIsRetiredBeforeAFullOne) {
  BlockMemory memory;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 8 * kChunkBytes / 4096; ++i) blocks.push_back(memory.allocate(4096));
  // All but one of those in one chunk.
  const auto chunk_of = [](const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) / kChunkBytes;
  };
  const std::uintptr_t emptied = chunk_of(blocks[100]);
  for (void*& block : blocks) {
    if (block != blocks[100] && chunk_of(block) == emptied) {
      memory.release(std::exchange(block, nullptr));
    }
  }
  std::vector<const void*> visited;
  memory.retire_chunk([&](const void* block) { visited.push_back(block); });
  EXPECT_EQ(visited, std::vector<const void*>{blocks[100]});
  for (void* block : blocks) memory.release(block);
}

TEST(BlockMemoryTest, ChunksMayBeRetiredWhileOthersTakeAndReleaseTheirBlocks) {
  BlockMemory memory;
  std::atomic<bool> must_stop{false};
  std::thread retirer([&] {
    while (!must_stop) memory.retire_chunk([](const void*) {});
  });
  std::vector<std::thread> users;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    users.emplace_back([&memory, seed] {
      std::mt19937 random(seed);
      std::vector<Filled> blocks;
      for (int i = 0; i < 30'000; ++i) {
        if (blocks.size() < 200 || random() % 2 == 0) {
          blocks.push_back(fill(memory, 256 + random() % 5000, static_cast<unsigned char>(i)));
        } else {
          std::swap(blocks[random() % blocks.size()], blocks.back());
          EXPECT_TRUE(blocks.back().is_intact());
          memory.release(blocks.back().bytes);
          blocks.pop_back();
        }
      }
      for (const Filled& block : blocks) memory.release(block.bytes);
    });
  }
  for (std::thread& user : users) user.join();
  must_stop = true;
  retirer.join();
  EXPECT_EQ(memory.used_bytes(), 0U);
}

}  // namespace
}  // namespace basalt::block_cache
