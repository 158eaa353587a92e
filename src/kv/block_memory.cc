#include "kv/block_memory.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <new>

#include "base/assert.h"

namespace basalt::kv {
namespace {

constexpr std::size_t kChunkBytes = 256 * 1024;
// Address space is taken in such portions: few mappings, however large the cache.
constexpr std::size_t kRegionBytes = 64 * 1024 * 1024;
constexpr std::size_t kSmallest = 256;
constexpr std::size_t kLargest = 32 * 1024;
constexpr std::size_t kStepsPerDoubling = 8;
constexpr std::size_t kPageBytes = 4096;

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
  std::uint32_t used = 0;        // pieces handed out
  std::size_t bytes = 0;         // of a large block, with this header
  Piece* free = nullptr;         // pieces that have been released
  std::byte* untouched = nullptr;  // where pieces begin that were never handed out
  Chunk* next = nullptr;         // in the list of chunks with room
  Chunk* previous = nullptr;

  static Chunk* of(const void* block) {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    return reinterpret_cast<Chunk*>(address / kChunkBytes * kChunkBytes);
  }
  std::byte* begin() { return reinterpret_cast<std::byte*>(this) + sizeof(Chunk); }
  std::byte* end() { return reinterpret_cast<std::byte*>(this) + kChunkBytes; }

  bool has_room(std::size_t piece) {
    return free != nullptr || untouched + piece <= end();
  }
  void* take(std::size_t piece) {
    ++used;
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
    --used;
    free = new (block) Piece{free};
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
  const std::lock_guard guard(size_class.mutex);
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
    const std::lock_guard guard(size_class.mutex);
    const bool was_full = !chunk->has_room(piece);
    chunk->put(block);
    if (was_full) chunk->link(size_class.with_room);
    // The last chunk with room stays, or a class that goes between none and one piece would take
    // and give back a chunk each time.
    const bool is_only_one = size_class.with_room == chunk && chunk->next == nullptr;
    if (chunk->used != 0 || is_only_one) return;
    chunk->unlink(size_class.with_room);
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
  void* place = nullptr;
  {
    const std::lock_guard guard(chunks_mutex_);
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
  }
  held_bytes_.fetch_add(kChunkBytes, std::memory_order_relaxed);
  auto* const chunk = new (place) Chunk;
  chunk->size_class = static_cast<std::uint32_t>(size_class);
  chunk->untouched = chunk->begin();
  return chunk;
}

void BlockMemory::give_back(Chunk* chunk) {
  held_bytes_.fetch_sub(kChunkBytes, std::memory_order_relaxed);
  madvise(chunk, kChunkBytes, MADV_DONTNEED);
  const std::lock_guard guard(chunks_mutex_);
  free_chunks_.push_back(chunk);
}

}  // namespace basalt::kv
