#include "lock/request_pool.h"

#include <algorithm>
#include <new>

#include "base/assert.h"

namespace basalt::lock {

RequestPool::~RequestPool() { BASALT_ASSERT(large_bytes_ == 0); }

void* RequestPool::allocate(std::size_t size) {
  size = rounded(size);
  if (size > kLargestPooled) [[unlikely]] {
    large_bytes_ += size;
    return ::operator new(size);
  }
  FreeBlock*& head = free_[size / kAlignment];
  if (head != nullptr) {
    FreeBlock* const block = head;
    head = block->next;
    return block;
  }
  if (static_cast<std::size_t>(end_ - next_) < size) [[unlikely]]
    add_chunk();
  void* const block = next_;
  next_ += size;
  return block;
}

void RequestPool::give_back(void* block, std::size_t size) noexcept {
  size = rounded(size);
  if (size > kLargestPooled) [[unlikely]] {
    large_bytes_ -= size;
    ::operator delete(block);
    return;
  }
  FreeBlock*& head = free_[size / kAlignment];
  head = new (block) FreeBlock{head};
}

void RequestPool::reset() noexcept {
  BASALT_ASSERT(large_bytes_ == 0);
  if (chunks_.empty()) return;
  free_.fill(nullptr);
  next_ = chunks_.front().get();
  end_ = next_ + kFirstChunk;
  chunk_bytes_ = kFirstChunk;
  if (chunks_.size() == 1) return;
  chunks_.resize(1);
  chunks_.shrink_to_fit();
}

// The rest of the newest chunk, less than one block, is given up.
void RequestPool::add_chunk() {
  const std::size_t size = std::clamp(chunk_bytes_, kFirstChunk, kLargestChunk);
  chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
  next_ = chunks_.back().get();
  end_ = next_ + size;
  chunk_bytes_ += size;
}

}  // namespace basalt::lock
