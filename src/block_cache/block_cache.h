#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <rocksdb/advanced_cache.h>

#include "base/mutex.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::block_cache {

// The cache of blocks, which keeps them as they are used, or compressed as they are in files.
//
// Purpose     A compressed block takes half of the room or less, so that more rows are in memory;
//             to decompress it costs more than to find a row, but far less than to read it from a
//             device. A page cache beneath an ordinary block cache is no such second form: with a
//             turnover like the first's it holds the same blocks once more, each on two pages.
// How         Uncompressed: all blocks are kept as they are used, until they no longer fit and more
//             than one lookup in kMissesMany misses. Then tiered: all data blocks that are read or
//             written are kept as in their files, in seven eighths of the capacity, or three
//             quarters if few are missing or indexes need room: compressed, but for those that do
//             not become smaller. Those that are used for the second time are
//             also kept as they are used, in the rest. So what is hot costs no decompression, and a
//             large scan drives out nothing that is hot. When all that is kept would fit
//             uncompressed and next to nothing misses, uncompressed again. A change of form begins
//             with an empty cache: memory that was cut into blocks of one size is of little use to
//             others. Decisions 0013 and 0015 have the figures.
//             Both parts are RocksDB's HyperClockCache. Other blocks (indexes, filters,
//             dictionaries) are never compressed here.
// Budget      What reserves memory of the cache, memtables above all, makes blocks of both forms
//             give way, and leaves them its room when it ends. Compressed blocks give way as they
//             lie together, so that their memory can go back to the system. Uncompressed
//             ones go as others come in; if by that too much memory would be held when the capacity
//             is set, all go that are not in use, and the cache is tiered from then on. What is in
//             use for long (indexes that iterators and files hold) has its room beside the parts.
// Contract    rocksdb::Cache's, for keys of 16 bytes, which all keys of blocks are. Blocks must be
//             given to Insert() with their compressed form, as RocksDB does for those it reads and,
//             with our patch 0007, for those it writes.
// Threads     As rocksdb::Cache: any.
class BlockCache final : public rdb::CacheWrapper {
 public:
  // `capacity`: bytes of all blocks and reservations. What the cache itself needs, about 64 bytes
  // for each, is not of it. `capacity_max`: bytes that SetCapacity() may later go up to, without
  // small blocks falling short of it; address space is taken for them, memory is not.
  explicit BlockCache(std::size_t capacity, std::size_t capacity_max = 0);
  ~BlockCache() override;

  const char* Name() const override { return "BasaltBlockCache"; }

  rdb::Status Insert(const rdb::Slice& key, ObjectPtr object, const CacheItemHelper* helper,
                     std::size_t charge, Handle** handle = nullptr,
                     Priority priority = Priority::LOW, const rdb::Slice& compressed = {},
                     rdb::CompressionType type = rdb::kNoCompression) override;
  Handle* Lookup(const rdb::Slice& key, const CacheItemHelper* helper = nullptr,
                 CreateContext* context = nullptr, Priority priority = Priority::LOW,
                 rdb::Statistics* statistics = nullptr) override;
  void StartAsyncLookup(AsyncLookupHandle& lookup) override;
  using CacheWrapper::Release;
  bool Release(Handle* handle, bool erase_if_last_reference = false) override;
  void Erase(const rdb::Slice& key) override;
  void EraseUnRefEntries() override;
  void SetCapacity(std::size_t capacity) override;
  std::size_t GetCapacity() const override { return capacity_.load(std::memory_order_relaxed); }
  using CacheWrapper::GetUsage;
  std::size_t GetUsage() const override;

  // Before anything is in the cache: chooses its form by the bytes of all entries, uncompressed.
  void begin_with(std::uint64_t entry_bytes);
  // Whether a data block that is read drives others out.
  bool is_full() const;
  bool is_tiered() const { return is_tiered_.load(std::memory_order_relaxed); }
  // Bytes of compressed blocks.
  std::size_t compressed_usage() const { return compressed_->GetUsage(); }
  // Bytes of the machine's memory that all blocks take.
  std::size_t held_bytes() const;
  // Bytes of the capacity that are kept from blocks, for memtables and the like.
  std::size_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
  // Bytes of blocks in use, looked at once in ten calls of SetCapacity(); 0 where others have room
  // beside them.
  std::size_t pinned_bytes() const { return pinned_.load(std::memory_order_relaxed); }

 private:
  class Allocator;
  // Lookups are counted in several groups of blocks, since one counter would slow many cores down.
  struct alignas(64) Count {
    std::atomic<std::uint32_t> lookups{0};
  };

  BlockCache(std::size_t capacity, std::size_t capacity_max, std::shared_ptr<Allocator> memory,
             std::shared_ptr<Allocator> compressed_memory);

  bool has_room() const;
  void keep_compressed(const rdb::Slice& key, ObjectPtr object, const CacheItemHelper& helper,
                       Priority priority, const rdb::Slice& compressed, rdb::CompressionType type);
  Handle* take_compressed(const rdb::Slice& key, const CacheItemHelper& helper,
                          CreateContext* context, Priority priority);
  void count_lookup(const rdb::Slice& key);
  void choose_form();
  void choose_parts(std::uint32_t lookups, std::uint32_t misses, std::uint32_t index_misses)
      BASALT_REQUIRES(mutex_);
  // How much is done at once, and whether for that another may be waited for.
  enum class Blocking : std::uint8_t { kLittle, kAll };
  void drop_uncompressed();
  void wait_longer() BASALT_REQUIRES(mutex_);
  bool must_wait() BASALT_REQUIRES(mutex_);
  void note_pinned() BASALT_REQUIRES(mutex_);
  // Bytes of a capacity that are not reserved.
  std::size_t room_of(std::size_t capacity) const;
  // What compressed blocks get of `room`, of which `pinned` bytes are in use for long.
  std::size_t compressed_share(std::size_t room, std::size_t pinned) const;
  void share_capacity(Blocking blocking);
  bool give_back(std::size_t held, Blocking blocking) BASALT_REQUIRES(mutex_);

  // Apart from each other: only compressed blocks know their keys.
  const std::shared_ptr<Allocator> memory_;
  const std::shared_ptr<Allocator> compressed_memory_;
  const std::shared_ptr<rdb::Cache> compressed_;
  std::atomic<std::size_t> capacity_;
  std::atomic<std::size_t> reserved_{0};
  std::atomic<std::size_t> pinned_{0};
  // What of the capacity is for all but compressed blocks, and for these.
  std::atomic<std::size_t> uncompressed_capacity_;
  std::atomic<std::size_t> compressed_capacity_;
  std::atomic<bool> is_tiered_{false};
  // Since the form was last chosen: lookups of data blocks, and how many of these were read.
  std::array<Count, 16> counts_;
  std::atomic<std::uint32_t> misses_{0};
  // And how many indexes and filters were read.
  std::atomic<std::uint32_t> index_misses_{0};
  // While tiered: so many eighths of the capacity are not for compressed blocks.
  std::atomic<std::size_t> other_parts_;
  std::uint32_t capacities_set_ BASALT_GUARDED_BY(mutex_) = 0;
  bool has_large_indexes_ BASALT_GUARDED_BY(mutex_) = false;
  bool has_dropped_indexes_ BASALT_GUARDED_BY(mutex_) = false;  // since the last choice
  std::uint32_t backoff_rounds_ BASALT_GUARDED_BY(mutex_) = 1;
  std::uint32_t rounds_to_wait_ BASALT_GUARDED_BY(mutex_) = 0;  // before more may be uncompressed
  // A thread holds it while it chooses the form or shares the capacity. Other threads need not wait
  // for that.
  Mutex mutex_{MutexRank::kBlockCache};
};

}  // namespace basalt::block_cache
