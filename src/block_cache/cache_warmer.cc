#include "block_cache/cache_warmer.h"

#include <pthread.h>
#include <rocksdb/db.h>

#include <utility>

#include "block_cache/block_cache.h"

namespace basalt::block_cache {
namespace {

constexpr std::size_t kReadBytes = 1024 * 1024;
// How many entries it goes over before it looks whether it should end.
constexpr int kStride = 1024;
// The cache is filled at the start if at least one of kDatabaseSizesMax bytes in files has room.
// What is loaded in vain costs a few seconds of the device. What is not loaded costs a request for
// each block, until the cache has been filled by such requests.
constexpr std::uint64_t kDatabaseSizesMax = 8;

}  // namespace

CacheWarmer::CacheWarmer(rdb::DB& database, Families families,
                         std::shared_ptr<const BlockCache> cache, std::uint64_t file_bytes) {
  if (file_bytes == 0 || file_bytes > kDatabaseSizesMax * cache->GetCapacity()) return;
  thread_ = std::thread(
      [this, &database, families = std::move(families), cache = std::move(cache)]() mutable {
        pthread_setname_np(pthread_self(), "rocksdb:load");
        for (auto& family : families) {
          if (!load(database, *family, *cache)) break;
          family.reset();
        }
        families.clear();
      });
}

CacheWarmer::~CacheWarmer() {
  must_stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

bool CacheWarmer::load(rdb::DB& database, rdb::ColumnFamilyHandle& family,
                       const BlockCache& cache) const {
  rdb::ReadOptions options;
  options.readahead_size = kReadBytes;
  options.ignore_range_deletions = true;
  const std::unique_ptr<rdb::Iterator> entries(database.NewIterator(options, &family));
  int number = 0;
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    if (++number % kStride != 0) continue;
    if (must_stop_.load(std::memory_order_relaxed) || cache.is_full()) return false;
  }
  return entries->status().ok() && !must_stop_.load(std::memory_order_relaxed);
}

}  // namespace basalt::block_cache
