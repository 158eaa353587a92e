#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace basalt::block_cache {

// Memory for cached blocks, apart from the heap.
//
// Purpose     Blocks are allocated by whichever thread reads them and freed by whichever thread
//             needs their room. With the C library's heap, which has an arena for each thread, what
//             one thread frees another cannot use: a cache of 48 MB was seen to occupy 260. Here
//             all threads share one pool, and what is free goes back to the system.
// How         Sizes are rounded up to classes, eight per doubling, so at most an eighth is lost.
//             A chunk of 256 KiB holds pieces of one class; a chunk without pieces in use gives
//             its pages back and may later serve any class. Larger blocks are mappings of their
//             own. Decision 0010 has the figures.
//             Blocks that are released here and there leave holes, and hardly a chunk empty: who
//             needs memory back for something else retires chunks.
// Threads     Safe from any thread; a lock per size class, then one for chunks.
// Failure     allocate() ends the process when the system has no memory, as operator new does.
class BlockMemory {
 public:
  static constexpr std::size_t kChunkBytes = 256 * 1024;

  BlockMemory() = default;
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;
  // Everything must have been released.
  ~BlockMemory();

  // At least `bytes` bytes, aligned for any type; release() gives them back.
  void* allocate(std::size_t bytes);
  void release(void* block);
  // Picks one of the emptiest chunks, hands out nothing more of it, and calls `visit` for each of
  // its blocks in use, which their owner is to release: with the last one, all of the chunk goes
  // back to the system. False when there is no chunk to pick. `visit` may read what the block's
  // owner writes at the same time, so both must do it atomically; it must not call this pool.
  bool retire_chunk(const std::function<void(const void* block)>& visit);
  // How many bytes the block at hand has: what allocate() rounded its size up to.
  static std::size_t size_of(const void* block);

  // Bytes that allocate() has handed out, rounded up as it did.
  std::size_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  // Bytes of chunks in use and of large blocks: what the pool may occupy of the machine's memory.
  std::size_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Chunk;
  // Pieces from 256 bytes to 32 KiB in steps of an eighth.
  static constexpr std::size_t kClasses = 57;

  struct SizeClass {
    Mutex mutex{MutexRank::kBlockClass};
    Chunk* with_room BASALT_GUARDED_BY(mutex) = nullptr;  // a list
  };

  static std::size_t class_of(std::size_t bytes);
  static std::size_t piece_size(std::size_t size_class);

  void* allocate_large(std::size_t bytes);
  Chunk* take_chunk(std::size_t size_class);
  // What chunks without pieces in use come to: under their class's lock, then without it.
  void forget(Chunk* chunk);
  void give_back(Chunk* chunk);
  // One with few pieces in use, and the number of its class; null if there is none.
  std::pair<Chunk*, std::size_t> emptiest_chunk();

  std::array<SizeClass, kClasses> classes_;
  Mutex chunks_mutex_{MutexRank::kBlockChunks};
  std::vector<Chunk*> chunks_ BASALT_GUARDED_BY(chunks_mutex_);  // in use
  std::size_t hand_ BASALT_GUARDED_BY(chunks_mutex_) = 0;
  std::vector<Chunk*> free_chunks_ BASALT_GUARDED_BY(chunks_mutex_);
  std::vector<std::pair<std::byte*, std::size_t>> regions_ BASALT_GUARDED_BY(chunks_mutex_);
  std::byte* fresh_ BASALT_GUARDED_BY(chunks_mutex_) = nullptr;
  std::byte* fresh_end_ BASALT_GUARDED_BY(chunks_mutex_) = nullptr;
  std::atomic<std::size_t> used_bytes_{0};
  std::atomic<std::size_t> held_bytes_{0};
};

}  // namespace basalt::block_cache
