#include "block_cache/block_cache.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/test_support.h"

// Goal: what is in the cache is found whatever its form, hot blocks without decompression, and both
// forms together keep to the capacity. Method: blocks of the tests' own, whose "decompression"
// repeats the stored bytes.
namespace basalt::block_cache {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;
constexpr std::size_t kCompressedBytes = 2000;
constexpr std::size_t kUsedBytes = 2 * kCompressedBytes;

using Handle = rdb::Cache::Handle;
using Priority = rdb::Cache::Priority;

std::atomic<int> live_blocks{0};
std::atomic<int> decompressions{0};

struct Block {
  explicit Block(std::string bytes) : contents(std::move(bytes)) { ++live_blocks; }
  ~Block() { --live_blocks; }
  std::string contents;
};

void destroy(rdb::Cache::ObjectPtr block, rdb::MemoryAllocator*) {
  delete static_cast<Block*>(block);
}
std::size_t size_of(rdb::Cache::ObjectPtr block) {
  return static_cast<Block*>(block)->contents.size();
}
rdb::Status save(rdb::Cache::ObjectPtr block, std::size_t offset, std::size_t bytes, char* to) {
  static_cast<Block*>(block)->contents.copy(to, bytes, offset);
  return rdb::Status::OK();
}
// What begins with "bad" cannot be decompressed.
rdb::Status decompress(const rdb::Slice& data, rdb::CompressionType type, rdb::CacheTier,
                       rdb::Cache::CreateContext*, rdb::MemoryAllocator*,
                       rdb::Cache::ObjectPtr* block, std::size_t* charge) {
  if (type == rdb::kNoCompression) {
    *block = new Block(data.ToString());
    *charge = data.size();
    return rdb::Status::OK();
  }
  EXPECT_EQ(type, rdb::kZSTD);
  if (data.starts_with("bad")) return rdb::Status::Corruption();
  ++decompressions;
  *block = new Block(data.ToString() + data.ToString());
  *charge = 2 * data.size();
  return rdb::Status::OK();
}

const rdb::Cache::CacheItemHelper kBasicData(rdb::CacheEntryRole::kDataBlock, destroy);
const rdb::Cache::CacheItemHelper kData(rdb::CacheEntryRole::kDataBlock, destroy, size_of, save,
                                        decompress, &kBasicData);
const rdb::Cache::CacheItemHelper kBasicIndex(rdb::CacheEntryRole::kIndexBlock, destroy);
const rdb::Cache::CacheItemHelper kIndex(rdb::CacheEntryRole::kIndexBlock, destroy, size_of, save,
                                         decompress, &kBasicIndex);

class BlockCacheTest : public testing::Test {
 protected:
  BlockCacheTest() { decompressions = 0; }
  ~BlockCacheTest() override {
    cache_.EraseUnRefEntries();
    EXPECT_EQ(live_blocks, 0);
  }

  // The cache takes keys of 16 bytes only.
  static std::string key(std::uint64_t number) {
    std::string key(16, 'k');
    std::memcpy(key.data(), &number, sizeof number);
    return key;
  }
  static std::string compressed(std::uint64_t number) {
    std::string bytes(kCompressedBytes, 'b');
    std::memcpy(bytes.data() + 3, &number, sizeof number);
    return bytes;
  }

  // As RocksDB does with a block that it has read.
  static Handle* read_into(BlockCache& cache, std::uint64_t number, const std::string& bytes,
                           const rdb::Cache::CacheItemHelper& helper = kData) {
    Handle* handle = nullptr;
    EXPECT_TRUE(cache
                    .Insert(key(number), new Block(bytes + bytes), &helper, 2 * bytes.size(),
                            &handle, Priority::LOW, bytes, rdb::kZSTD)
                    .ok());
    return handle;
  }
  // Looks a block up, and reads it if it is missing.
  static void use(BlockCache& cache, std::uint64_t number, const std::string& bytes,
                  const rdb::Cache::CacheItemHelper& helper = kData) {
    Handle* const handle = cache.Lookup(key(number), &helper);
    cache.Release(handle != nullptr ? handle : read_into(cache, number, bytes, helper));
  }
  Handle* read_in(std::uint64_t number, const std::string& bytes,
                  const rdb::Cache::CacheItemHelper& helper = kData) {
    return read_into(cache_, number, bytes, helper);
  }
  void read_in(std::uint64_t number) { cache_.Release(read_in(number, compressed(number))); }
  // And with one that a compaction writes.
  void write(std::uint64_t number) {
    const std::string bytes = compressed(number);
    EXPECT_TRUE(cache_
                    .Insert(key(number), new Block(bytes + bytes), &kData, 2 * bytes.size(),
                            nullptr, Priority::BOTTOM, bytes, rdb::kZSTD)
                    .ok());
  }
  bool finds(std::uint64_t number, const rdb::Cache::CacheItemHelper& helper = kData) {
    Handle* const handle = cache_.Lookup(key(number), &helper);
    if (handle == nullptr) return false;
    const std::string bytes = compressed(number);
    EXPECT_EQ(static_cast<Block*>(cache_.Value(handle))->contents, bytes + bytes);
    cache_.Release(handle);
    return true;
  }
  // Looks blocks up, and reads those in that are missing, as a scan of all does.
  void scan(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      if (!finds(i)) read_in(i);
    }
  }
  // Blocks from here on are none of a test's. There are many times as many as fit.
  void make_tiered() {
    while (!cache_.is_tiered()) scan(1'000'000, 1'000'000 + 8 * kFit);
    scan(1'000'000, 1'000'000 + 2 * kFit);
  }

  static constexpr std::size_t kCapacity = 4 * kMiB;
  static constexpr std::uint64_t kFit = kCapacity / kUsedBytes;
  BlockCache cache_{kCapacity};
};

TEST_F(BlockCacheTest, WhatFitsIsNotCompressed) {
  for (int round = 0; round < 100; ++round) scan(0, kFit * 3 / 4);
  EXPECT_EQ(decompressions, 0);
  EXPECT_FALSE(cache_.is_tiered());
}

TEST_F(BlockCacheTest, AFewMissesOfAFullCacheCompressNothing) {
  for (int round = 0; round < 100; ++round) {
    scan(0, kFit / 2);
    const auto others = 1000 * static_cast<std::uint64_t>(round + 1);
    scan(others, others + 10);
  }
  EXPECT_FALSE(cache_.is_tiered());
}

TEST_F(BlockCacheTest, ACacheForALargeDatabaseIsTieredFromTheBeginning) {
  BlockCache cache(kCapacity);
  cache.begin_with(kCapacity - 1);
  EXPECT_FALSE(cache.is_tiered());
  cache.begin_with(kCapacity + 1);
  EXPECT_TRUE(cache.is_tiered());
}

TEST_F(BlockCacheTest, WhatDoesNotFitIsKeptCompressed) {
  constexpr std::uint64_t kBlocks = kFit * 5 / 4;
  for (int round = 0; round < 60; ++round) scan(0, kBlocks);
  EXPECT_TRUE(cache_.is_tiered());
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    if (finds(i)) ++found;
  }
  EXPECT_GT(found, kBlocks * 9 / 10);
}

TEST_F(BlockCacheTest, WhatDoesNotBecomeSmallerHasAllTheRoom) {
  make_tiered();
  constexpr std::uint64_t kBlocks = kFit * 2;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    Handle* handle = nullptr;
    auto* const block = new Block(compressed(i) + compressed(i));
    EXPECT_TRUE(cache_.Insert(key(i), block, &kData, kUsedBytes, &handle).ok());
    cache_.Release(handle);
  }
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    if (finds(i)) ++found;
  }
  EXPECT_GT(found, kFit * 3 / 4);
  EXPECT_LE(cache_.GetUsage(), kCapacity);
}

TEST_F(BlockCacheTest, WhenAllFitsAgainNothingIsCompressed) {
  make_tiered();
  // What was kept is forgotten only as other blocks come.
  cache_.EraseUnRefEntries();
  for (int round = 0; round < 1000 && cache_.is_tiered(); ++round) scan(0, kFit / 8);
  EXPECT_FALSE(cache_.is_tiered());
  decompressions = 0;
  for (int round = 0; round < 3; ++round) scan(0, kFit / 8);
  EXPECT_EQ(decompressions, 0);
}

TEST_F(BlockCacheTest, ACompressedBlockIsKeptUncompressedWhenItIsUsedAgain) {
  make_tiered();
  read_in(1);
  decompressions = 0;
  EXPECT_TRUE(finds(1));
  EXPECT_EQ(decompressions, 1);
  EXPECT_TRUE(finds(1));
  EXPECT_EQ(decompressions, 2);
  EXPECT_TRUE(finds(1));
  EXPECT_EQ(decompressions, 2);
}

TEST_F(BlockCacheTest, ManyMissesLeaveMoreToCompressedBlocksThanFew) {
  BlockCache cache(32 * kMiB);
  cache.begin_with(1024 * kMiB);
  const auto share_after = [&](std::uint64_t blocks) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 300'000; ++i) {
      const std::uint64_t number = random() % blocks;
      use(cache, number, compressed(number));
    }
    return cache.compressed_usage() * 100 / cache.GetCapacity();
  };
  constexpr std::uint64_t kFitCompressed = 32 * kMiB * 5 / 8 / kCompressedBytes;
  EXPECT_GT(share_after(4 * kFitCompressed), 80U);
  EXPECT_LT(share_after(kFitCompressed), 76U);
  EXPECT_TRUE(cache.is_tiered());
  EXPECT_GT(share_after(4 * kFitCompressed), 80U);
  cache.EraseUnRefEntries();
}

TEST_F(BlockCacheTest, IndexesThatDoNotFitGetMoreRoom) {
  BlockCache cache(32 * kMiB);
  cache.begin_with(1024 * kMiB);
  std::mt19937_64 random(1);
  for (int i = 0; i < 300'000; ++i) {
    const bool is_index = i % 10 == 0;
    const std::uint64_t number = random() % 100'000 + (is_index ? 1'000'000 : 0);
    use(cache, number, compressed(number), is_index ? kIndex : kData);
  }
  EXPECT_LT(cache.compressed_usage() * 100 / cache.GetCapacity(), 76U);
  cache.EraseUnRefEntries();
}

TEST_F(BlockCacheTest, AWrittenBlockOfATieredCacheIsKeptCompressedOnly) {
  make_tiered();
  const int before = live_blocks;
  write(1);
  EXPECT_LE(live_blocks, before);
  decompressions = 0;
  EXPECT_TRUE(finds(1));
  EXPECT_EQ(decompressions, 1);
}

// Blocks of many sizes, as memory is lost between those, and of other sizes later.
TEST_F(BlockCacheTest, AllBlocksKeepToTheCapacity) {
  constexpr std::size_t kLarge = 64 * kMiB;
  BlockCache cache(kLarge);
  std::mt19937_64 random(1);
  for (const std::size_t least : {1000, 2500}) {
    for (int i = 0; i < 150'000; ++i) {
      const std::uint64_t number = random() % 60'000;
      use(cache, number, std::string(least + number * 7919 % least, 'b'));
      // Steps of the resizing, and what eviction may leave over.
      ASSERT_LE(cache.GetUsage(), kLarge + kLarge / 10);
    }
    EXPECT_TRUE(cache.is_tiered());
    EXPECT_GT(cache.compressed_usage(), kLarge / 2);
    EXPECT_LE(cache.held_bytes(), kLarge + kLarge / 8);
  }
  cache.EraseUnRefEntries();
}

TEST_F(BlockCacheTest, AWrittenBlockDrivesNothingOutOfACacheThatIsNotTiered) {
  scan(0, 2 * kFit);
  ASSERT_FALSE(cache_.is_tiered());
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::uint64_t i = 0; i < 2 * kFit; ++i) before += finds(i) ? 1 : 0;
  for (std::uint64_t i = 0; i < kFit; ++i) write(1'000'000 + i);
  for (std::uint64_t i = 0; i < 2 * kFit; ++i) after += finds(i) ? 1 : 0;
  EXPECT_EQ(after, before);
}

TEST_F(BlockCacheTest, WhatIsReservedMakesBlocksOfBothFormsGiveWay) {
  make_tiered();
  const std::size_t before = cache_.compressed_usage();
  std::vector<Handle*> reservations;
  for (std::uint64_t i = 0; i < 8; ++i) {
    Handle* handle = nullptr;
    ASSERT_TRUE(cache_
                    .Insert(key(1'000'000'000 + i), nullptr, &rdb::kNoopCacheItemHelper,
                            kCapacity / 16, &handle)
                    .ok());
    reservations.push_back(handle);
    EXPECT_LE(cache_.GetUsage(), kCapacity + kCapacity / 20);
  }
  EXPECT_LT(cache_.compressed_usage(), before * 2 / 3);
  for (Handle* handle : reservations) cache_.Release(handle, true);
  make_tiered();
  EXPECT_GT(cache_.compressed_usage(), before * 9 / 10);
}

// As behind a load that had many blocks in memory and is followed by one that needs it elsewhere.
TEST_F(BlockCacheTest, AnIndexHasRoomBesideWhatIsReservedAndMemoryThatIsLost) {
  BlockCache cache(32 * kMiB);
  std::vector<void*> pieces;
  for (int i = 0; i < 2048; ++i) pieces.push_back(cache.memory_allocator()->Allocate(8000));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i % 16 != 0) cache.memory_allocator()->Deallocate(pieces[i]);
  }
  ASSERT_GT(cache.held_bytes(), 14 * kMiB);
  Handle* reservation = nullptr;
  ASSERT_TRUE(
      cache.Insert(key(0), nullptr, &rdb::kNoopCacheItemHelper, 24 * kMiB, &reservation).ok());
  cache.SetCapacity(32 * kMiB);
  int misses = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    use(cache, 1'000'000 + i, compressed(i));
    Handle* index = cache.Lookup(key(1), &kIndex);
    misses += index == nullptr ? 1 : 0;
    cache.Release(index != nullptr ? index : read_into(cache, 1, compressed(1), kIndex));
  }
  EXPECT_LE(misses, 10);
  cache.Release(reservation, true);
  for (std::size_t i = 0; i < pieces.size(); i += 16) {
    cache.memory_allocator()->Deallocate(pieces[i]);
  }
  cache.EraseUnRefEntries();
}

// As those of files that a scan reads, or of level 0.
TEST_F(BlockCacheTest, IndexesInUseLeaveRoomForWhatEachReadNeeds) {
  BlockCache cache(32 * kMiB);
  cache.begin_with(1024 * kMiB);
  std::vector<Handle*> in_use;
  for (std::uint64_t i = 0; i < 8; ++i) {
    in_use.push_back(read_into(cache, 10 + i, std::string(512 * 1024, 'i'), kIndex));
  }
  int misses = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    use(cache, 1'000'000 + i, compressed(i));
    if (i % 100 == 0) cache.SetCapacity(32 * kMiB);  // as a memory budget does again and again
    if (i == 5000) misses = 0;
    Handle* dictionary = cache.Lookup(key(1), &kIndex);
    misses += dictionary == nullptr ? 1 : 0;
    cache.Release(dictionary != nullptr ? dictionary : read_into(cache, 1, compressed(1), kIndex));
  }
  EXPECT_LE(misses, 10);
  EXPECT_GE(cache.pinned_bytes(), 8 * kMiB);
  EXPECT_GT(cache.compressed_usage(), 16 * kMiB);
  // Few of them leave others their room: they are not looked for any more.
  for (std::size_t i = 1; i < in_use.size(); ++i) cache.Release(in_use[i]);
  for (int i = 0; i < 20; ++i) cache.SetCapacity(32 * kMiB);
  EXPECT_EQ(cache.pinned_bytes(), 0);
  cache.Release(in_use[0]);
  cache.EraseUnRefEntries();
}

TEST_F(BlockCacheTest, AnIndexIsNeverCompressed) {
  make_tiered();
  cache_.Release(read_in(1, compressed(1), kIndex));
  EXPECT_TRUE(finds(1, kIndex));
  EXPECT_EQ(decompressions, 0);
}

// As in files of 64 MB with small entries.
TEST_F(BlockCacheTest, LargeFiltersStayInASmallCacheHoweverMuchDataIsRead) {
  BlockCache cache(160 * kMiB);
  cache.begin_with(1024 * kMiB);
  const auto is_there = [&](std::uint64_t number) {
    Handle* const handle = cache.Lookup(key(number), &kIndex);
    if (handle != nullptr) cache.Release(handle);
    return handle != nullptr;
  };
  constexpr std::uint64_t kFilters = 3;
  const std::string filter(5'000'000, 'f');
  for (std::uint64_t i = 0; i < kFilters; ++i) {
    EXPECT_TRUE(cache.Insert(key(i), new Block(filter), &kIndex, filter.size()).ok());
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t number = 1000 + random() % 200'000;
    use(cache, number, compressed(number));
    if (i % 1000 == 0) {
      for (std::uint64_t filter_number = 0; filter_number < kFilters; ++filter_number) {
        ASSERT_TRUE(is_there(filter_number)) << i;
      }
    }
  }
  cache.EraseUnRefEntries();
}

TEST_F(BlockCacheTest, AnErasedBlockIsGoneInBothForms) {
  read_in(1);
  cache_.Erase(key(1));
  EXPECT_FALSE(finds(1));
  make_tiered();
  read_in(2);
  cache_.Erase(key(2));
  EXPECT_FALSE(finds(2));
}

TEST_F(BlockCacheTest, ABlockThatCannotBeDecompressedIsNotFound) {
  make_tiered();
  cache_.Release(read_in(1, "bad block"));
  EXPECT_EQ(cache_.Lookup(key(1), &kData), nullptr);
}

TEST_F(BlockCacheTest, AnAsynchronousLookupFindsACompressedBlock) {
  make_tiered();
  read_in(1);
  const std::string of_1 = key(1);
  rdb::Cache::AsyncLookupHandle lookup(of_1, &kData, nullptr);
  cache_.StartAsyncLookup(lookup);
  cache_.WaitAll(&lookup, 1);
  Handle* const handle = lookup.Result();
  ASSERT_NE(handle, nullptr);
  cache_.Release(handle);
}

TEST_F(BlockCacheTest, ABlockInUseOutlivesItsEviction) {
  make_tiered();
  const std::string bytes = compressed(1);
  Handle* const handle = read_in(1, bytes);
  make_tiered();
  EXPECT_EQ(static_cast<Block*>(cache_.Value(handle))->contents, bytes + bytes);
  cache_.Release(handle);
}

// At 450 bytes an entry, 4 MiB would be 9,500 blocks, of which a table has even a few more.
TEST_F(BlockCacheTest, ACacheThatGrowsKeepsAsManyBlocksAsOneThatBeganLarge) {
  BlockCache cache(kCapacity, 64 * kMiB);
  EXPECT_EQ(cache.GetCapacity(), kCapacity);
  cache.begin_with(1024 * kMiB);
  cache.SetCapacity(64 * kMiB);
  for (std::uint64_t i = 0; i < 150'000; ++i) {
    use(cache, i, std::string(500, 'b'));
  }
  EXPECT_TRUE(cache.is_tiered());
  EXPECT_GT(cache.compressed_usage(), 50 * kMiB);
  cache.EraseUnRefEntries();
}

TEST_F(BlockCacheTest, ASmallerCapacityIsKeptToAsBlocksComeIn) {
  make_tiered();
  cache_.SetCapacity(kMiB);
  EXPECT_EQ(cache_.GetCapacity(), kMiB);
  make_tiered();
  EXPECT_LE(cache_.GetUsage(), kMiB + kMiB / 8);
}

TEST_F(BlockCacheTest, ASmallerCapacityGivesMemoryBackToTheSystemAtOnceAndNoMoreThanThat) {
  BlockCache cache(64 * kMiB);
  cache.begin_with(1024 * kMiB);
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    cache.Release(read_into(cache, i, std::string(1000 + i * 7919 % 3000, 'b')));
  }
  ASSERT_GT(cache.held_bytes(), 45 * kMiB);
  cache.SetCapacity(32 * kMiB);
  EXPECT_LE(cache.held_bytes(), 32 * kMiB) << "seven eighths, and what sizes of blocks lose";
  EXPECT_GE(cache.compressed_usage(), 23 * kMiB);
  cache.EraseUnRefEntries();
}

TEST_F(BlockCacheTest, ThreadsFindWhatTheyLookForWhileTheCapacityChanges) {
  make_tiered();
  std::atomic<bool> must_stop{false};
  std::thread resizer([&] {
    for (std::size_t i = 0; !must_stop; ++i) cache_.SetCapacity(i % 2 == 0 ? kMiB : 32 * kMiB);
  });
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t number = random() % 8000;
        if (!finds(number)) read_in(number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  must_stop = true;
  resizer.join();
}

TEST_F(BlockCacheTest, ThreadsFindWhatTheyLookFor) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t number = random() % 2000;
        if (!finds(number)) read_in(number);
        if (i % 5 == 0) cache_.Erase(key(random() % 2000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace basalt::block_cache
