#include "base/heap.h"

#include <gtest/gtest.h>
#include <malloc.h>

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

TEST(HeapTest, WhatAThreadHasFreedGoesBackToTheSystem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has a heap of its own";
#endif
  give_freed_memory_back_early();
  // By itself malloc() would keep up to twice this at the end of each heap from now on.
  filled(30 * kMiB).reset();
  std::thread([] {
    const std::size_t before = held_bytes();
    {
      std::vector<std::unique_ptr<char[]>> pieces;
      for (std::size_t i = 0; i < 640; ++i) pieces.push_back(filled(64 * 1024));
      ASSERT_GT(held_bytes(), before + 39 * kMiB);
      // From the end of the heap on.
      while (!pieces.empty()) pieces.pop_back();
    }
    EXPECT_LT(held_bytes(), before + 9 * kMiB);
  }).join();
}

}  // namespace
}  // namespace basalt
