#include "block_cache/block_cache.h"

#include <rocksdb/cache.h>
#include <rocksdb/memory_allocator.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "block_cache/block_memory.h"

namespace basalt::block_cache {
namespace {

// While tiered, so many parts in kParts of the capacity are for all but compressed blocks: few if
// each lookup that a compressed block serves saves a read, more if next to nothing is read.
constexpr std::size_t kPartsFew = 1;
constexpr std::size_t kPartsMore = 2;
constexpr std::size_t kParts = 8;
// One miss of a data block in so many lookups is a reason for few of them, or for more. Reads of
// indexes and filters, in so many lookups of data, are a reason for more, and remain one.
constexpr std::uint32_t kMissesForFew = 8;
constexpr std::uint32_t kMissesForMore = 32;
constexpr std::uint32_t kIndexMissesForMore = 64;
// Uncompressed blocks have room while so much of theirs is free. Blocks that are used once take
// theirs from it for that time, so that it is never full to the last byte.
constexpr std::size_t kFreeShare = 32;

// The form is chosen anew after about so many lookups.
constexpr std::uint32_t kLookups = 32 * 1024;
constexpr std::uint32_t kLookupsCounted = 256;  // in one group of blocks, before all are added up
// One miss in so many lookups is many, or next to none.
constexpr std::uint32_t kMissesMany = 16;
constexpr std::uint32_t kMissesFew = 256;
// How much larger blocks are uncompressed, at most, when it is asked whether they would fit.
constexpr std::size_t kExpansion = 3;

// Capacities are changed if they are off by more than such a part.
constexpr std::size_t kSteps = 256;
// Memory that is lost between blocks in use is part of the capacity, beyond such a share of it. Up
// to a half: each size of blocks needs some memory of its own.
constexpr std::size_t kLossShare = 16;
// Uncompressed blocks may hold memory beyond theirs, up to such a share of the capacity, before all
// that are not in use are dropped.
constexpr std::size_t kHoldShare = 8;
// So many chunks at most are given back by who inserts a block; it is a query.
constexpr std::size_t kChunksOfInsert = 16;
// After blocks were dropped to choose anew, so many choices at most pass before it may be undone.
constexpr std::uint32_t kBackoffRoundsMax = 1024;
// Compressed blocks of each size have a chunk with room, and there are about so many sizes.
constexpr std::size_t kLossOfSizes = 8 * BlockMemory::kChunkBytes;

// A block as it is in its file, which is uncompressed if it does not become smaller; its bytes
// follow it in memory.
struct CompressedBlock {
  CompressedBlock(const rdb::Slice& of_key, std::size_t of_bytes, rdb::CompressionType of_type)
      : bytes(static_cast<std::uint32_t>(of_bytes)), type(of_type) {
    std::array<std::uint64_t, 2> words;
    std::memcpy(words.data(), of_key.data(), sizeof words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::atomic_ref(key[i]).store(words[i], std::memory_order_relaxed);
    }
  }

  // Read while the block may be under construction: through atomic_ref only, and never set before.
  std::uint64_t key[2];
  std::uint32_t bytes;
  rdb::CompressionType type;
  std::atomic<bool> was_used{false};

  char* begin() { return reinterpret_cast<char*>(this + 1); }
  rdb::Slice contents() { return {begin(), bytes}; }
};

void destroy(rdb::Cache::ObjectPtr block, rdb::MemoryAllocator* memory) {
  static_cast<CompressedBlock*>(block)->~CompressedBlock();
  memory->Deallocate(block);
}

const rdb::Cache::CacheItemHelper kCompressedHelper(rdb::CacheEntryRole::kDataBlock, destroy);

// In each shard of the cache there must be room for several filters of large files, 5 MB each, even
// if an eighth of the capacity is for them. Where there is not, each lookup reads a filter.
constexpr std::size_t kCapacityOfShard = std::size_t{512} * 1024 * 1024;
constexpr std::size_t kShardBitsMost = 6;

int shard_bits(std::size_t capacity) {
  const std::size_t shards = std::max<std::size_t>(capacity / kCapacityOfShard, 1);
  const std::size_t bits = std::bit_width(shards) - 1;
  return static_cast<int>(std::min(bits, kShardBitsMost));
}

std::shared_ptr<rdb::Cache> make_clock_cache(std::size_t capacity, int bits,
                                             const std::shared_ptr<rdb::MemoryAllocator>& memory) {
  rdb::HyperClockCacheOptions options(capacity);
  options.num_shard_bits = bits;
  // Its table never shrinks: charged, it could take all of a capacity that has become small.
  options.metadata_charge_policy = rdb::kDontChargeCacheMetadata;
  options.memory_allocator = memory;
  return options.MakeSharedCache();
}

// Of the room for blocks of a tiered cache.
std::size_t compressed_part(std::size_t room, std::size_t other_parts) {
  return room / kParts * (kParts - other_parts);
}

// How much memory compressed blocks may hold for such a capacity.
std::size_t memory_for(std::size_t compressed) {
  return compressed + compressed / kLossShare + kLossOfSizes;
}

}  // namespace

// Gives a cache's blocks memory apart from the heap.
class BlockCache::Allocator final : public rdb::MemoryAllocator {
 public:
  const char* Name() const override { return "BlockMemory"; }
  void* Allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void Deallocate(void* block) override { memory_.release(block); }
  std::size_t UsableSize(void* block, std::size_t) const override {
    return BlockMemory::size_of(block);
  }
  BlockMemory& blocks() { return memory_; }

 private:
  BlockMemory memory_;
};

BlockCache::BlockCache(std::size_t capacity)
    : BlockCache(capacity, std::make_shared<Allocator>(), std::make_shared<Allocator>()) {}

// The table of a cache is made for the capacity it has at first.
BlockCache::BlockCache(std::size_t capacity, std::shared_ptr<Allocator> memory,
                       std::shared_ptr<Allocator> compressed_memory)
    : CacheWrapper(make_clock_cache(capacity, shard_bits(capacity), memory), memory),
      memory_(std::move(memory)),
      compressed_memory_(std::move(compressed_memory)),
      compressed_(
          // One shard, from which anything can be driven out at once.
          make_clock_cache(compressed_part(capacity, kPartsFew), 0, compressed_memory_)),
      capacity_(capacity),
      uncompressed_capacity_(capacity),
      compressed_capacity_(compressed_part(capacity, kPartsFew)),
      other_parts_(kPartsFew) {}

BlockCache::~BlockCache() = default;

rdb::Status BlockCache::Insert(const rdb::Slice& key, ObjectPtr object,
                               const CacheItemHelper* helper, std::size_t charge, Handle** handle,
                               Priority priority, const rdb::Slice& compressed,
                               rdb::CompressionType type) {
  if (helper->role != rdb::CacheEntryRole::kDataBlock) {
    if (object != nullptr && handle != nullptr) {
      index_misses_.fetch_add(1, std::memory_order_relaxed);
    }
    const rdb::Status status = target_->Insert(key, object, helper, charge, handle, priority);
    if (object == nullptr && handle != nullptr && status.ok()) {
      reserved_.fetch_add(target_->GetCharge(*handle), std::memory_order_relaxed);
      share_capacity(Blocking::kLittle);
    }
    return status;
  }
  const bool was_read = handle != nullptr;
  if (was_read) misses_.fetch_add(1, std::memory_order_relaxed);
  share_capacity(Blocking::kLittle);
  const bool is_kept_compressed =
      is_tiered() && (!compressed.empty() || helper->IsSecondaryCacheCompatible());
  if (is_kept_compressed) keep_compressed(key, object, *helper, priority, compressed, type);
  // What was written is perhaps not wanted, and drives nothing out.
  const bool is_wanted = was_read && !is_kept_compressed;
  if (is_wanted || has_room()) {
    return target_->Insert(key, object, helper, charge, handle, priority);
  }
  if (was_read) {
    *handle = target_->CreateStandalone(key, object, helper, charge, /*allow_uncharged=*/true);
  } else {
    helper->del_cb(object, memory_allocator());
  }
  return rdb::Status::OK();
}

rdb::Cache::Handle* BlockCache::Lookup(const rdb::Slice& key, const CacheItemHelper* helper,
                                       CreateContext* context, Priority priority,
                                       rdb::Statistics* statistics) {
  Handle* const found = target_->Lookup(key, helper, context, priority, statistics);
  if (helper == nullptr || helper->role != rdb::CacheEntryRole::kDataBlock) return found;
  count_lookup(key);
  if (found != nullptr || helper->create_cb == nullptr || !is_tiered()) return found;
  return take_compressed(key, *helper, context, priority);
}

void BlockCache::StartAsyncLookup(AsyncLookupHandle& lookup) {
  lookup.result_handle =
      Lookup(lookup.key, lookup.helper, lookup.create_context, lookup.priority, lookup.stats);
}

bool BlockCache::Release(Handle* handle, bool erase_if_last_reference) {
  if (erase_if_last_reference && target_->Value(handle) == nullptr) {
    reserved_.fetch_sub(target_->GetCharge(handle), std::memory_order_relaxed);
  }
  return target_->Release(handle, erase_if_last_reference);
}

void BlockCache::Erase(const rdb::Slice& key) {
  target_->Erase(key);
  if (is_tiered()) compressed_->Erase(key);
}

void BlockCache::EraseUnRefEntries() {
  target_->EraseUnRefEntries();
  compressed_->EraseUnRefEntries();
}

void BlockCache::SetCapacity(std::size_t capacity) {
  capacity_.store(capacity, std::memory_order_relaxed);
  drop_uncompressed();
  share_capacity(Blocking::kAll);
}

// Holes between uncompressed blocks are of no use to others, and nobody can tell which blocks lie
// around them.
void BlockCache::drop_uncompressed() {
  const std::lock_guard guard(mutex_);
  const std::size_t capacity = GetCapacity();
  const std::size_t room = capacity - std::min(capacity, reserved_bytes());
  const std::size_t uncompressed = room - compressed_share(room);
  const std::size_t may_hold = uncompressed + capacity / kHoldShare + kLossOfSizes;
  if (memory_->blocks().held_bytes() <= may_hold) return;
  is_tiered_.store(true, std::memory_order_relaxed);
  target_->EraseUnRefEntries();
  // What fits only while memtables are small would be read anew with each of them.
  wait_longer();
}

void BlockCache::wait_longer() {
  backoff_rounds_ = std::min(4 * backoff_rounds_, kBackoffRoundsMax);
  rounds_to_wait_ = backoff_rounds_;
}

bool BlockCache::must_wait() {
  if (rounds_to_wait_ == 0) return false;
  --rounds_to_wait_;
  return true;
}

std::size_t BlockCache::GetUsage() const { return target_->GetUsage() + compressed_->GetUsage(); }

std::size_t BlockCache::held_bytes() const {
  return memory_->blocks().held_bytes() + compressed_memory_->blocks().held_bytes();
}

void BlockCache::begin_with(std::uint64_t entry_bytes) {
  is_tiered_.store(entry_bytes > GetCapacity(), std::memory_order_relaxed);
  share_capacity(Blocking::kAll);
}

bool BlockCache::is_full() const {
  if (!is_tiered()) return !has_room();
  const std::size_t capacity = compressed_capacity_.load(std::memory_order_relaxed);
  return compressed_->GetUsage() + capacity / kFreeShare >= capacity;
}

bool BlockCache::has_room() const {
  const std::size_t capacity = uncompressed_capacity_.load(std::memory_order_relaxed);
  return target_->GetUsage() + capacity / kFreeShare < capacity;
}

void BlockCache::keep_compressed(const rdb::Slice& key, ObjectPtr object,
                                 const CacheItemHelper& helper, Priority priority,
                                 const rdb::Slice& compressed, rdb::CompressionType type) {
  const bool is_compressed = !compressed.empty();
  const std::size_t size = is_compressed ? compressed.size() : helper.size_cb(object);
  const std::size_t bytes = sizeof(CompressedBlock) + size;
  void* const place = compressed_memory_->Allocate(bytes);
  auto* const kept =
      new (place) CompressedBlock(key, size, is_compressed ? type : rdb::kNoCompression);
  rdb::Status status;
  if (is_compressed) {
    std::memcpy(kept->begin(), compressed.data(), size);
  } else {
    status = helper.saveto_cb(object, 0, size, kept->begin());
  }
  if (status.ok()) {
    status = compressed_->Insert(key, kept, &kCompressedHelper,
                                 compressed_memory_->UsableSize(place, bytes), nullptr, priority);
  }
  if (!status.ok()) destroy(kept, compressed_memory_.get());
}

rdb::Cache::Handle* BlockCache::take_compressed(const rdb::Slice& key,
                                                const CacheItemHelper& helper,
                                                CreateContext* context, Priority priority) {
  Handle* const handle = compressed_->BasicLookup(key, nullptr);
  if (handle == nullptr) return nullptr;
  auto& block = *static_cast<CompressedBlock*>(compressed_->Value(handle));
  ObjectPtr object = nullptr;
  std::size_t charge = 0;
  const rdb::Status status =
      helper.create_cb(block.contents(), block.type, rdb::CacheTier::kVolatileTier, context,
                       memory_allocator(), &object, &charge);
  const bool was_used = block.was_used.exchange(true, std::memory_order_relaxed);
  compressed_->Release(handle);
  // A block that cannot be decompressed is read from its file, which has the error to report.
  if (!status.ok() || object == nullptr) return nullptr;
  Handle* used = nullptr;
  if ((was_used || has_room()) &&
      target_->Insert(key, object, &helper, charge, &used, priority).ok()) {
    return used;
  }
  return target_->CreateStandalone(key, object, &helper, charge, /*allow_uncharged=*/true);
}

// Nothing depends on the exact number: two threads may count as one.
void BlockCache::count_lookup(const rdb::Slice& key) {
  const std::size_t group = static_cast<unsigned char>(key[8] ^ key[9]) % counts_.size();
  std::atomic<std::uint32_t>& lookups = counts_[group].lookups;
  const std::uint32_t now = lookups.load(std::memory_order_relaxed) + 1;
  lookups.store(now, std::memory_order_relaxed);
  if (now % kLookupsCounted == 0) choose_form();
}

void BlockCache::choose_form() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return;
  std::uint32_t lookups = 0;
  for (const Count& count : counts_) lookups += count.lookups.load(std::memory_order_relaxed);
  if (lookups < kLookups) return;
  for (Count& count : counts_) count.lookups.store(0, std::memory_order_relaxed);
  const std::uint32_t misses = misses_.exchange(0, std::memory_order_relaxed);
  const std::uint32_t index_misses = index_misses_.exchange(0, std::memory_order_relaxed);
  if (!is_tiered()) {
    if (has_room() || misses < lookups / kMissesMany) return;
    is_tiered_.store(true, std::memory_order_relaxed);
    target_->EraseUnRefEntries();
    return;
  }
  const std::size_t uncompressed = target_->GetUsage() + kExpansion * compressed_->GetUsage();
  if (uncompressed <= GetCapacity() && misses <= lookups / kMissesFew) {
    if (must_wait()) return;
    is_tiered_.store(false, std::memory_order_relaxed);
    compressed_->EraseUnRefEntries();
    return;
  }
  choose_parts(lookups, misses, index_misses);
}

void BlockCache::choose_parts(std::uint32_t lookups, std::uint32_t misses,
                              std::uint32_t index_misses) {
  const bool has_dropped_indexes = std::exchange(has_dropped_indexes_, false);
  if (index_misses > lookups / kIndexMissesForMore && !has_dropped_indexes && is_full()) {
    has_large_indexes_ = true;
  }
  const bool has_more = other_parts_.load(std::memory_order_relaxed) == kPartsMore;
  if (!has_more && (has_large_indexes_ || misses < lookups / kMissesForMore)) {
    if (!has_large_indexes_ && must_wait()) return;
    other_parts_.store(kPartsMore, std::memory_order_relaxed);
  } else if (has_more && !has_large_indexes_ && misses > lookups / kMissesForFew) {
    other_parts_.store(kPartsFew, std::memory_order_relaxed);
    // Those that stay would keep the others' memory from the system.
    target_->EraseUnRefEntries();
    has_dropped_indexes_ = true;
    // What fits with few of them, and not with more, would be dropped again and again.
    wait_longer();
  }
}

std::size_t BlockCache::compressed_share(std::size_t room) const {
  return is_tiered() ? compressed_part(room, other_parts_.load(std::memory_order_relaxed)) : 0;
}

void BlockCache::share_capacity(Blocking blocking) {
  const std::size_t capacity = GetCapacity();
  const BlockMemory& blocks = memory_->blocks();
  const std::size_t used = blocks.used_bytes();
  const std::size_t held = std::max(blocks.held_bytes(), used);
  const std::size_t lost = held - used - std::min(held - used, capacity / kLossShare);
  const std::size_t left = capacity - std::min(capacity / 2, lost);
  const std::size_t reserved = std::min(left, reserved_bytes());
  const std::size_t compressed = compressed_share(left - reserved);
  const std::size_t wanted = left - compressed;
  const auto is_near = [&](std::size_t is, std::size_t should_be) {
    return (is < should_be ? should_be - is : is - should_be) <= capacity / kSteps;
  };
  // RocksDB would take a lock to tell capacities, and this is asked with each block.
  const std::size_t now = compressed_capacity_.load(std::memory_order_relaxed);
  if (is_near(uncompressed_capacity_.load(std::memory_order_relaxed), wanted) &&
      is_near(now, compressed) && compressed_memory_->blocks().held_bytes() <= memory_for(now)) {
    return;
  }
  std::unique_lock guard(mutex_, std::defer_lock);
  if (blocking == Blocking::kAll) {
    guard.lock();
  } else if (!guard.try_lock()) {
    return;
  }
  uncompressed_capacity_.store(wanted, std::memory_order_relaxed);
  compressed_capacity_.store(compressed, std::memory_order_relaxed);
  compressed_->SetCapacity(compressed);
  target_->SetCapacity(wanted);
  if (!give_back(memory_for(compressed), blocking)) return;
  // What is too much leaves a cache only as something as large comes in.
  const std::size_t kept = compressed_->GetUsage();
  if (kept > compressed) {
    constexpr char kKey[16] = {};
    compressed_->Release(compressed_->CreateStandalone(
        {kKey, sizeof kKey}, nullptr, &rdb::kNoopCacheItemHelper, kept - compressed,
        /*allow_uncharged=*/true));
  }
}

// Makes compressed blocks hold no more memory than that, but for what is used at this moment. False
// if the rest is left to the next who comes.
bool BlockCache::give_back(std::size_t held, Blocking blocking) {
  BlockMemory& blocks = compressed_memory_->blocks();
  const std::size_t now = blocks.held_bytes();
  if (now <= held) return true;
  std::vector<std::array<std::uint64_t, 2>> keys;
  const auto visit = [&keys](const void* block) {
    const auto* const kept = static_cast<const CompressedBlock*>(block);
    auto& key = const_cast<std::uint64_t(&)[2]>(kept->key);
    keys.push_back({std::atomic_ref(key[0]).load(std::memory_order_relaxed),
                    std::atomic_ref(key[1]).load(std::memory_order_relaxed)});
  };
  const std::size_t needed = (now - held) / BlockMemory::kChunkBytes + 1;
  const std::size_t chunks =
      blocking == Blocking::kAll ? needed : std::min(needed, kChunksOfInsert);
  for (std::size_t i = 0; i < chunks; ++i) {
    keys.clear();
    if (!blocks.retire_chunk(visit)) return true;
    for (const auto& key : keys) {
      compressed_->Erase({reinterpret_cast<const char*>(key.data()), sizeof key});
    }
  }
  return chunks == needed;
}

}  // namespace basalt::block_cache
