#include "lock/lock_owner.h"

#include <cstring>
#include <new>

#include "base/assert.h"
#include "lock/internal/lock_request.h"
#include "lock/internal/range_table.h"

namespace basalt::lock {
namespace {

// A shard has one to two buckets a request.
constexpr std::size_t kTableBytes = 12;
// A locked range takes a node of a map and two keys.
constexpr std::size_t kRangeBytes = 176;

}  // namespace

LockOwner::LockOwner(std::uint64_t id, void* user) : id_(id), user_(user) {}

LockOwner::~LockOwner() {
  BASALT_ASSERT(held_count() == 0 && newest_held_ == nullptr && ranges_.empty());
  BASALT_ASSERT(node_.waits_in == nullptr);
}

LockRequest* LockOwner::new_request(std::uint32_t hash, std::string_view key, LockMode mode,
                                    RequestState state) {
  void* const memory = pool_.allocate(LockRequest::bytes_for(key.size()));
  auto* const request = new (memory) LockRequest{.owner = this,
                                                 .hash = hash,
                                                 .key_size = static_cast<std::uint32_t>(key.size()),
                                                 .mode = mode,
                                                 .state = state};
  std::memcpy(static_cast<void*>(request + 1), key.data(), key.size());
  return request;
}

std::size_t LockOwner::memory_bytes() const {
  std::size_t ranges = 0;
  for (const auto& holding : ranges_) {
    for (const IntervalSet& set : holding->ranges) ranges += set.size();
  }
  return pool_.reserved_bytes() + kTableBytes * held_count() + kRangeBytes * ranges;
}

void LockOwner::free_request(LockRequest* request) noexcept {
  pool_.give_back(request, LockRequest::bytes_for(request->key_size));
}

void LockOwner::add_held(LockRequest* request) noexcept {
  request->owner_prev = nullptr;
  request->owner_next = newest_held_;
  if (newest_held_ != nullptr) newest_held_->owner_prev = request;
  newest_held_ = request;
  add(held_, std::size_t{1});
}

void LockOwner::remove_held(LockRequest* request) noexcept {
  (request->owner_prev != nullptr ? request->owner_prev->owner_next : newest_held_) =
      request->owner_next;
  if (request->owner_next != nullptr) request->owner_next->owner_prev = request->owner_prev;
  held_.store(held_count() - 1, kRelaxed);
}

}  // namespace basalt::lock
