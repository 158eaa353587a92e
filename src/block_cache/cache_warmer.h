#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "rdb/rocksdb_fwd.h"

namespace basalt::block_cache {

class BlockCache;

// Fills the cache when a database is opened, as far as there is room.
//
// Purpose     With direct I/O nothing of a database is in memory at its start, and queries would
//             fetch block by block what can be read in large pieces: for a fifth of the processor
//             time, and at the speed of the device. Where next to nothing of the database fits it
//             is not begun: nobody knows what will be wanted.
// Threads     One of its own, from the construction until all is read, the cache is full, or the
//             destruction, which waits for it.
// Errors      End it. Queries that meet the same report it.
class CacheWarmer {
 public:
  using Families = std::vector<std::shared_ptr<rdb::ColumnFamilyHandle>>;

  // `families`: of tables, to be read in this order, and let go then. `file_bytes`: of all tables.
  // `database` must outlive the loader.
  CacheWarmer(rdb::DB& database, Families families, std::shared_ptr<const BlockCache> cache,
              std::uint64_t file_bytes);
  ~CacheWarmer();
  CacheWarmer(const CacheWarmer&) = delete;
  CacheWarmer& operator=(const CacheWarmer&) = delete;

 private:
  // False when it is to end.
  bool load(rdb::DB& database, rdb::ColumnFamilyHandle& family, const BlockCache& cache) const;

  std::atomic<bool> must_stop_{false};
  std::thread thread_;
};

}  // namespace basalt::block_cache
