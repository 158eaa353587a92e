#include "block_cache/block_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <bitset>
#include <cstdlib>
#include <new>

#include "base/assert.h"

namespace basalt::block_cache {
namespace {

constexpr std::size_t kChunkBytes = BlockMemory::kChunkBytes;
// Address space is taken in such portions: few mappings, however large the cache.
constexpr std::size_t kRegionBytes = 64 * 1024 * 1024;
constexpr std::size_t kSmallest = 256;
constexpr std::size_t kLargest = 32 * 1024;
constexpr std::size_t kStepsPerDoubling = 8;
constexpr std::size_t kPageBytes = 4096;
// Retiring looks at kCandidates chunks and takes the emptiest of them.
constexpr std::size_t kCandidates = 16;

// `bytes` of address space that begins at a multiple of kChunkBytes; nothing is used of it yet.
std::byte* map_aligned(std::size_t bytes) {
  const std::size_t wanted = bytes + kChunkBytes;
  void* const start = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) std::abort();
  auto* const begin = static_cast<std::byte*>(start);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t before = (kChunkBytes - address % kChunkBytes) % kChunkBytes;
  if (before != 0) munmap(begin, before);
  if (const std::size_t after = wanted - before - bytes; after != 0) {
    munmap(begin + before + bytes, after);
  }
  return begin + before;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

// At the start of each chunk, and of each large block, which is found by rounding an address down.
struct alignas(64) BlockMemory::Chunk {
  static constexpr std::uint32_t kLargeBlock = ~0U;

  struct Piece {
    Piece* next;
  };

  std::uint32_t size_class = kLargeBlock;
  std::atomic<std::uint32_t> used{0};  // pieces handed out; changes under the class's lock
  bool is_retired = false;             // changes under both locks
  std::size_t place = 0;               // in the list of chunks in use
  std::size_t bytes = 0;               // of a large block, with this header
  Piece* free = nullptr;               // pieces that have been released
  std::byte* untouched = nullptr;      // where pieces begin that were never handed out
  Chunk* next = nullptr;               // in the list of chunks with room
  Chunk* previous = nullptr;

  static Chunk* of(const void* block) {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    return reinterpret_cast<Chunk*>(address / kChunkBytes * kChunkBytes);
  }
  std::byte* begin() { return reinterpret_cast<std::byte*>(this) + sizeof(Chunk); }
  std::byte* end() { return reinterpret_cast<std::byte*>(this) + kChunkBytes; }

  bool has_room(std::size_t piece) { return free != nullptr || untouched + piece <= end(); }
  void* take(std::size_t piece) {
    used.fetch_add(1, std::memory_order_relaxed);
    if (free != nullptr) {
      Piece* const taken = free;
      free = taken->next;
      return taken;
    }
    void* const taken = untouched;
    untouched += piece;
    return taken;
  }
  void put(void* block) {
    used.fetch_sub(1, std::memory_order_relaxed);
    free = new (block) Piece{free};
  }
  // Calls `visit` for each piece handed out.
  void visit_used(std::size_t piece, const std::function<void(const void*)>& visit) {
    std::bitset<kChunkBytes / kSmallest> is_free;
    const auto number = [&](const void* block) {
      return static_cast<std::size_t>(static_cast<const std::byte*>(block) - begin()) / piece;
    };
    for (const Piece* hole = free; hole != nullptr; hole = hole->next) is_free.set(number(hole));
    for (std::byte* block = begin(); block != untouched; block += piece) {
      if (!is_free.test(number(block))) visit(block);
    }
  }
  void link(Chunk*& head) {
    previous = nullptr;
    next = head;
    if (head != nullptr) head->previous = this;
    head = this;
  }
  void unlink(Chunk*& head) {
    if (previous != nullptr) previous->next = next;
    if (next != nullptr) next->previous = previous;
    if (head == this) head = next;
  }
};

BlockMemory::~BlockMemory() {
  BASALT_ASSERT(used_bytes() == 0);
  for (const auto& [begin, bytes] : regions_) munmap(begin, bytes);
}

std::size_t BlockMemory::class_of(std::size_t bytes) {
  if (bytes <= kSmallest) return 0;
  // Sizes in (2^n, 2^(n+1)] fall into eight classes of 2^(n-3) bytes each.
  const std::size_t doubling = std::bit_width(bytes - 1) - 1;
  const std::size_t step = (bytes - 1 - (std::size_t{1} << doubling)) >> (doubling - 3);
  return (doubling - 8) * kStepsPerDoubling + step + 1;
}

std::size_t BlockMemory::piece_size(std::size_t size_class) {
  if (size_class == 0) return kSmallest;
  const std::size_t doubling = 8 + (size_class - 1) / kStepsPerDoubling;
  const std::size_t step = (size_class - 1) % kStepsPerDoubling;
  return (std::size_t{1} << doubling) + ((step + 1) << (doubling - 3));
}

void* BlockMemory::allocate(std::size_t bytes) {
  if (bytes > kLargest) return allocate_large(bytes);
  const std::size_t number = class_of(bytes);
  const std::size_t piece = piece_size(number);
  used_bytes_.fetch_add(piece, std::memory_order_relaxed);
  SizeClass& size_class = classes_[number];
  const MutexLock guard(size_class.mutex);
  Chunk* chunk = size_class.with_room;
  if (chunk == nullptr) {
    chunk = take_chunk(number);
    chunk->link(size_class.with_room);
  }
  void* const block = chunk->take(piece);
  if (!chunk->has_room(piece)) chunk->unlink(size_class.with_room);
  return block;
}

void BlockMemory::release(void* block) {
  if (block == nullptr) return;
  Chunk* const chunk = Chunk::of(block);
  if (chunk->size_class == Chunk::kLargeBlock) {
    const std::size_t bytes = chunk->bytes;
    used_bytes_.fetch_sub(size_of(block), std::memory_order_relaxed);
    held_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    munmap(chunk, bytes);
    return;
  }
  const std::size_t piece = piece_size(chunk->size_class);
  used_bytes_.fetch_sub(piece, std::memory_order_relaxed);
  SizeClass& size_class = classes_[chunk->size_class];
  {
    const MutexLock guard(size_class.mutex);
    const bool was_full = !chunk->has_room(piece);
    chunk->put(block);
    if (was_full && !chunk->is_retired) chunk->link(size_class.with_room);
    // The last chunk with room stays, or a class that goes between none and one piece would take
    // and give back a chunk each time.
    const bool is_only_one = size_class.with_room == chunk && chunk->next == nullptr;
    if (chunk->used.load(std::memory_order_relaxed) != 0 || is_only_one) return;
    if (!chunk->is_retired) chunk->unlink(size_class.with_room);
    forget(chunk);
  }
  give_back(chunk);
}

std::size_t BlockMemory::size_of(const void* block) {
  const Chunk* const chunk = Chunk::of(block);
  if (chunk->size_class == Chunk::kLargeBlock) return chunk->bytes - sizeof(Chunk);
  return piece_size(chunk->size_class);
}

void* BlockMemory::allocate_large(std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes + sizeof(Chunk));
  auto* const chunk = new (map_aligned(whole)) Chunk;
  chunk->bytes = whole;
  used_bytes_.fetch_add(size_of(chunk->begin()), std::memory_order_relaxed);
  held_bytes_.fetch_add(whole, std::memory_order_relaxed);
  return chunk->begin();
}

BlockMemory::Chunk* BlockMemory::take_chunk(std::size_t size_class) {
  held_bytes_.fetch_add(kChunkBytes, std::memory_order_relaxed);
  const MutexLock guard(chunks_mutex_);
  void* place = nullptr;
  if (!free_chunks_.empty()) {
    place = free_chunks_.back();
    free_chunks_.pop_back();
  } else {
    if (fresh_ == fresh_end_) {
      fresh_ = map_aligned(kRegionBytes);
      fresh_end_ = fresh_ + kRegionBytes;
      regions_.emplace_back(fresh_, kRegionBytes);
    }
    place = fresh_;
    fresh_ += kChunkBytes;
  }
  auto* const chunk = new (place) Chunk;
  chunk->size_class = static_cast<std::uint32_t>(size_class);
  chunk->untouched = chunk->begin();
  chunk->place = chunks_.size();
  chunks_.push_back(chunk);
  return chunk;
}

void BlockMemory::forget(Chunk* chunk) {
  const MutexLock guard(chunks_mutex_);
  chunks_[chunk->place] = chunks_.back();
  chunks_[chunk->place]->place = chunk->place;
  chunks_.pop_back();
}

void BlockMemory::give_back(Chunk* chunk) {
  madvise(chunk, kChunkBytes, MADV_DONTNEED);
  held_bytes_.fetch_sub(kChunkBytes, std::memory_order_relaxed);
  const MutexLock guard(chunks_mutex_);
  free_chunks_.push_back(chunk);
}

std::pair<BlockMemory::Chunk*, std::size_t> BlockMemory::emptiest_chunk() {
  const MutexLock guard(chunks_mutex_);
  Chunk* emptiest = nullptr;
  std::size_t least = 0;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < chunks_.size() && seen < kCandidates; ++i) {
    hand_ = (hand_ + 1) % chunks_.size();
    Chunk* const chunk = chunks_[hand_];
    if (chunk->is_retired) continue;
    ++seen;
    const std::size_t used =
        chunk->used.load(std::memory_order_relaxed) * piece_size(chunk->size_class);
    if (emptiest != nullptr && used >= least) continue;
    emptiest = chunk;
    least = used;
  }
  return {emptiest, emptiest == nullptr ? 0 : emptiest->size_class};
}

bool BlockMemory::retire_chunk(const std::function<void(const void* block)>& visit) {
  const auto [chunk, number] = emptiest_chunk();
  if (chunk == nullptr) return false;
  const std::size_t piece = piece_size(number);
  SizeClass& size_class = classes_[number];
  {
    const MutexLock guard(size_class.mutex);
    {
      const MutexLock chunks_guard(chunks_mutex_);
      // It may have been given back, or taken for another class, since it was found.
      const bool is_still_there = chunk->place < chunks_.size() && chunks_[chunk->place] == chunk &&
                                  chunk->size_class == number && !chunk->is_retired;
      if (!is_still_there) return true;
      chunk->is_retired = true;
    }
    if (chunk->has_room(piece)) chunk->unlink(size_class.with_room);
    chunk->visit_used(piece, visit);
    if (chunk->used.load(std::memory_order_relaxed) != 0) return true;
    forget(chunk);
  }
  give_back(chunk);
  return true;
}

}  // namespace basalt::block_cache
