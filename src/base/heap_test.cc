#include "base/heap.h"

#include <malloc.h>
#include <stdlib.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace basalt {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;

// What all heaps hold, free memory included.
std::size_t held_bytes() { return mallinfo2().arena; }

std::unique_ptr<char[]> filled(std::size_t bytes) {
  auto memory = std::make_unique_for_overwrite<char[]>(bytes);
  std::memset(memory.get(), 1, bytes);
  return memory;
}

// How much more the heaps hold after a thread has taken and freed 40 MiB in small pieces.
std::size_t bytes_kept() {
  // From now on malloc() by itself would keep up to twice this at the end of each heap.
  filled(30 * kMiB).reset();
  std::size_t kept = 0;
  std::thread([&kept] {
    const std::size_t before = held_bytes();
    std::vector<std::unique_ptr<char[]>> pieces;
    pieces.reserve(640);  // a buffer taken among the pieces would hold the end of the heap
    for (std::size_t i = 0; i < 640; ++i) pieces.push_back(filled(64 * 1024));
    EXPECT_GT(held_bytes(), before + 39 * kMiB);
    // From the end of the heap on.
    while (!pieces.empty()) pieces.pop_back();
    kept = held_bytes() - before;
  }).join();
  return kept;
}

class HeapTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer has a heap of its own";
#endif
  }
};

// In a process of its own: what malloc() has learnt stays.
TEST_F(HeapTest, WhatTheEnvironmentChoosesStands) {
  const auto is_left_alone = [] {
    setenv("MALLOC_TOP_PAD_", "131072", 1);
    give_freed_memory_back_early();
    return bytes_kept() > 30 * kMiB;
  };
  EXPECT_EXIT(exit(is_left_alone() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(HeapTest, WhatAThreadHasFreedGoesBackToTheSystem) {
  give_freed_memory_back_early();
  EXPECT_LT(bytes_kept(), 9 * kMiB);
}

}  // namespace
}  // namespace basalt
