#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

// Memory of one owner's lock requests.
//
// Purpose     Make a request cheaper than a malloc: blocks are cut from chunks of growing size,
//             blocks given back are kept by size for the next one, and all chunks go at once.
// Ownership   Blocks belong to the pool and die with it or at reset(), except large blocks
//             (more than kLargestPooled bytes), each of which must be given back.
// Threads     One at a time.
// Errors      None; out of memory ends the process.
namespace basalt::lock {

class RequestPool {
 public:
  static constexpr std::size_t kAlignment = 8;
  static constexpr std::size_t kLargestPooled = 256;
  static constexpr std::size_t kFirstChunk = 1024;
  static constexpr std::size_t kLargestChunk = 256 * 1024;

  RequestPool() = default;
  ~RequestPool();
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  static constexpr std::size_t rounded(std::size_t size) {
    return (size + kAlignment - 1) / kAlignment * kAlignment;
  }

  // A block of at least `size` bytes (not 0), aligned for a pointer.
  void* allocate(std::size_t size);
  // Takes back a block of allocate(size) with the same `size`.
  void give_back(void* block, std::size_t size) noexcept;
  // Drops all pooled blocks; keeps the first chunk for the next ones. Every large block must
  // have been given back.
  void reset() noexcept;

  // Bytes taken from the system and not returned.
  std::size_t reserved_bytes() const { return chunk_bytes_ + large_bytes_; }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  void add_chunk();

  std::array<FreeBlock*, kLargestPooled / kAlignment + 1> free_ = {};  // [size / kAlignment]
  char* next_ = nullptr;  // unused part of the newest chunk
  char* end_ = nullptr;
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t chunk_bytes_ = 0;
  std::size_t large_bytes_ = 0;
};

}  // namespace basalt::lock
