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

// A tiered cache gives kPartsFew or kPartsMore of kParts equal parts of its room to everything but
// compressed blocks: few where each lookup that a compressed block serves saves a read, more where
// next to nothing is read. The room is the capacity less what is reserved. Of 800 MB, compressed
// blocks have 700 MB with few parts and 600 MB with more.
constexpr std::size_t kPartsFew = 1;
constexpr std::size_t kPartsMore = 2;
constexpr std::size_t kParts = 8;
// The parts follow the misses among kLookups lookups of data blocks. More than
// lookups/kMissesForFew misses lead to few parts, fewer than lookups/kMissesForMore to more. More
// than lookups/kIndexMissesForMore reads of indexes and filters lead to more parts for good. Of
// 32,768 lookups these are 4,096 misses, 1,024 misses and 512 reads.
constexpr std::uint32_t kMissesForFew = 8;
constexpr std::uint32_t kMissesForMore = 32;
constexpr std::uint32_t kIndexMissesForMore = 64;
// A cache counts as full when less than capacity/kFreeShare of it is free: of 320 MB, less than 10
// MB. Blocks that are used once take their memory from it for that time, so it is never full to the
// last byte.
constexpr std::size_t kFreeShare = 32;

// The form is chosen anew after about kLookups lookups of data blocks. They are counted in groups
// of blocks; each time that a group has counted kLookupsCounted of them, the groups are added up.
// With 16 groups that is after 32,768 to 36,864 lookups.
constexpr std::uint32_t kLookups = 32 * 1024;
constexpr std::uint32_t kLookupsCounted = 256;
// A full cache becomes tiered when at least lookups/kMissesMany of the lookups miss. A tiered one
// becomes uncompressed when at most lookups/kMissesFew miss and all of it would fit. Of 32,768
// lookups these are 2,048 and 128 misses.
constexpr std::uint32_t kMissesMany = 16;
constexpr std::uint32_t kMissesFew = 256;
// All of a tiered cache would fit uncompressed if uncompressed + kExpansion * compressed bytes are
// at most its capacity: 100 MB uncompressed and 200 MB compressed would fit into 700 MB. Blocks are
// taken to be three times as large when they are not compressed.
constexpr std::size_t kExpansion = 3;

// The capacities of the two forms are changed when one is off by more than capacity/kSteps: by 4
// MiB of 1 GiB.
constexpr std::size_t kSteps = 256;
// Memory that is lost between uncompressed blocks counts as used beyond capacity/kLossShare, and up
// to half of the room, since each size of blocks needs some memory of its own. With a capacity
// of 800 MB, blocks of 320 MB that hold 400 MB of memory lose 80 MB, of which 30 MB are taken off
// the capacity. Compressed blocks may hold compressed/kLossShare + kLossOfSizes beside their own
// bytes: 42 MB beside 640 MB.
constexpr std::size_t kLossShare = 16;
// When the capacity changes, uncompressed blocks that are not in use are dropped if all of them
// hold more memory than their own capacity + capacity/kHoldShare + kLossOfSizes: of 800 MB with 100
// MB for them, more than 202 MB.
constexpr std::size_t kHoldShare = 8;
// An insertion of a block gives back at most kChunksOfInsert chunks of memory, 4 MiB, because a
// query waits for it. The next insertion goes on.
constexpr std::size_t kChunksOfInsert = 16;
// After blocks were dropped for another form or other parts, min(4 * the last number,
// kBackoffRoundsMax) choices pass before that may be undone: 4, 16, 64, 256, then 1024 each time.
constexpr std::uint32_t kBackoffRoundsMax = 1024;
// Blocks of each size class have a chunk that is not full, and most blocks are of about eight
// classes: 8 * 256 KiB = 2 MiB.
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

// The bytes in use are looked at each time that the capacity was set so often: about once a second.
constexpr std::uint32_t kCapacitiesForPinned = 10;

// In each shard of the cache there must be room for several filters of large files, 5 MB each, even
// if an eighth of the capacity is for them. Where there is not, each lookup reads a filter. The
// number of shards is capacity/kCapacityOfShard, at least 1, rounded down to a power of two, and at
// most 2^kShardBitsMost: one shard below 1 GiB, two of 1.5 GiB, 64 from 32 GiB on.
constexpr std::size_t kCapacityOfShard = std::size_t{512} * 1024 * 1024;
constexpr std::size_t kShardBitsMost = 6;

int shard_bits(std::size_t capacity) {
  const std::size_t shards = std::max<std::size_t>(capacity / kCapacityOfShard, 1);
  const std::size_t bits = std::bit_width(shards) - 1;
  return static_cast<int>(std::min(bits, kShardBitsMost));
}

// The table of a cache has room for as many blocks as the capacity that it is made with could need,
// at 450 bytes for each: so many of the entries of a cache that grows later would not be kept.
std::shared_ptr<rdb::Cache> make_clock_cache(std::size_t capacity, std::size_t capacity_max,
                                             int bits,
                                             const std::shared_ptr<rdb::MemoryAllocator>& memory) {
  rdb::HyperClockCacheOptions options(std::max(capacity, capacity_max));
  options.num_shard_bits = bits;
  // Its table never shrinks: charged, it could take all of a capacity that has become small.
  options.metadata_charge_policy = rdb::kDontChargeCacheMetadata;
  options.memory_allocator = memory;
  std::shared_ptr<rdb::Cache> cache = options.MakeSharedCache();
  cache->SetCapacity(capacity);
  return cache;
}

// Returns the part of the room of a tiered cache that is for compressed blocks.
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

BlockCache::BlockCache(std::size_t capacity, std::size_t capacity_max)
    : BlockCache(capacity, capacity_max, std::make_shared<Allocator>(),
                 std::make_shared<Allocator>()) {}

BlockCache::BlockCache(std::size_t capacity, std::size_t capacity_max,
                       std::shared_ptr<Allocator> memory,
                       std::shared_ptr<Allocator> compressed_memory)
    : CacheWrapper(make_clock_cache(capacity, capacity_max, shard_bits(capacity), memory)),
      memory_(std::move(memory)),
      compressed_memory_(std::move(compressed_memory)),
      compressed_(
          // One shard, from which anything can be driven out at once.
          make_clock_cache(compressed_part(capacity, kPartsFew),
                           compressed_part(capacity_max, kPartsFew), 0, compressed_memory_)),
      capacity_(capacity),
      uncompressed_capacity_(capacity),
      compressed_capacity_(compressed_part(capacity, kPartsFew)),
      other_parts_(kPartsFew) {
  // RocksDB allocates blocks by the allocator of the cache that it was given. A wrapper's
  // constructor takes none, but leaves it to those who derive from it.
  memory_allocator_ = memory_;
}

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
  const MutexLock guard(mutex_);
  note_pinned();
  const std::size_t capacity = GetCapacity();
  const std::size_t room = room_of(capacity);
  const std::size_t uncompressed = room - compressed_share(room, pinned_bytes());
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
  if (!mutex_.try_lock()) return;
  const MutexLock guard(mutex_, std::adopt_lock);
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

std::size_t BlockCache::room_of(std::size_t capacity) const {
  return capacity - std::min(capacity, reserved_bytes());
}

// To look at all blocks of a large cache takes some ten milliseconds, and is of use only where
// those in use leave others no room: from when they fill all that is not for compressed blocks
// until they fill less than half of it.
void BlockCache::note_pinned() {
  if (++capacities_set_ % kCapacitiesForPinned != 0) return;
  const bool is_overfull =
      target_->GetUsage() > uncompressed_capacity_.load(std::memory_order_relaxed);
  if (!is_overfull && pinned_bytes() == 0) return;
  const std::size_t pinned_or_reserved = target_->GetPinnedUsage();
  const std::size_t pinned = pinned_or_reserved - std::min(pinned_or_reserved, reserved_bytes());
  const std::size_t room = room_of(GetCapacity());
  const std::size_t beside_compressed = room - compressed_share(room, 0);
  pinned_.store(pinned < beside_compressed / 2 ? 0 : pinned, std::memory_order_relaxed);
}

std::size_t BlockCache::compressed_share(std::size_t room, std::size_t pinned) const {
  if (!is_tiered()) return 0;
  const std::size_t left = room - std::min(room, pinned);
  return compressed_part(left, other_parts_.load(std::memory_order_relaxed));
}

void BlockCache::share_capacity(Blocking blocking) {
  const std::size_t capacity = GetCapacity();
  const BlockMemory& blocks = memory_->blocks();
  const std::size_t used = blocks.used_bytes();
  const std::size_t held = std::max(blocks.held_bytes(), used);
  const std::size_t lost = held - used - std::min(held - used, capacity / kLossShare);
  const std::size_t room = room_of(capacity);
  const std::size_t left = room - std::min(room / 2, lost);
  const std::size_t compressed = compressed_share(left, pinned_bytes());
  const std::size_t wanted = capacity - room + left - compressed;
  const auto is_near = [&](std::size_t is, std::size_t should_be) {
    return (is < should_be ? should_be - is : is - should_be) <= capacity / kSteps;
  };
  // RocksDB would take a lock to tell capacities, and this is asked with each block.
  const std::size_t now = compressed_capacity_.load(std::memory_order_relaxed);
  if (is_near(uncompressed_capacity_.load(std::memory_order_relaxed), wanted) &&
      is_near(now, compressed) && compressed_memory_->blocks().held_bytes() <= memory_for(now)) {
    return;
  }
  if (blocking == Blocking::kAll) {
    mutex_.lock();
  } else if (!mutex_.try_lock()) {
    return;
  }
  const MutexLock guard(mutex_, std::adopt_lock);
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
