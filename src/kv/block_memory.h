#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace basalt::kv {

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
// Threads     Safe from any thread; a lock per size class, one for chunks.
// Failure     allocate() ends the process when the system has no memory, as operator new does.
class BlockMemory {
 public:
  BlockMemory() = default;
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;
  // Everything must have been released.
  ~BlockMemory();

  // At least `bytes` bytes, aligned for any type; release() gives them back.
  void* allocate(std::size_t bytes);
  void release(void* block);
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
    std::mutex mutex;
    Chunk* with_room = nullptr;  // guarded by mutex; a list
  };

  static std::size_t class_of(std::size_t bytes);
  static std::size_t piece_size(std::size_t size_class);

  void* allocate_large(std::size_t bytes);
  Chunk* take_chunk(std::size_t size_class);
  void give_back(Chunk* chunk);

  std::array<SizeClass, kClasses> classes_;
  std::mutex chunks_mutex_;
  std::vector<Chunk*> free_chunks_;                              // guarded by chunks_mutex_
  std::vector<std::pair<std::byte*, std::size_t>> regions_;      // guarded by chunks_mutex_
  std::byte* fresh_ = nullptr;                                   // guarded by chunks_mutex_
  std::byte* fresh_end_ = nullptr;                               // guarded by chunks_mutex_
  std::atomic<std::size_t> used_bytes_{0};
  std::atomic<std::size_t> held_bytes_{0};
};

}  // namespace basalt::kv
