#include "lock/lock_owner.h"

#include <cstring>
#include <new>

#include "base/assert.h"
#include "lock/internal/range_table.h"
#include "lock/internal/slot.h"

namespace basalt::lock {
namespace {

// A shard has one to two buckets a slot.
constexpr std::size_t kTableBytes = 12;
// Of a locked range: a node of a map and two keys.
constexpr std::size_t kRangeBytes = 176;

}  // namespace

LockOwner::LockOwner(std::uint64_t id, void* user) : id_(id), user_(user) {}

LockOwner::~LockOwner() {
  BASALT_ASSERT(held_count() == 0 && newest_held_ == nullptr && ranges_.empty());
  BASALT_ASSERT(node_.waits_in == nullptr);
}

Slot* LockOwner::new_slot(std::uint32_t hash, std::string_view key, LockMode mode,
                          SlotState state) {
  void* const memory = pool_.allocate(Slot::bytes_for(key.size()));
  auto* const slot = new (memory) Slot{.owner = this,
                                       .hash = hash,
                                       .key_size = static_cast<std::uint32_t>(key.size()),
                                       .mode = mode,
                                       .state = state};
  std::memcpy(static_cast<void*>(slot + 1), key.data(), key.size());
  return slot;
}

std::size_t LockOwner::memory_bytes() const {
  std::size_t ranges = 0;
  for (const auto& holding : ranges_) {
    for (const IntervalSet& set : holding->ranges) ranges += set.size();
  }
  return pool_.reserved_bytes() + kTableBytes * held_count() + kRangeBytes * ranges;
}

void LockOwner::free_slot(Slot* slot) noexcept {
  pool_.give_back(slot, Slot::bytes_for(slot->key_size));
}

void LockOwner::add_held(Slot* slot) noexcept {
  slot->owner_prev = nullptr;
  slot->owner_next = newest_held_;
  if (newest_held_ != nullptr) newest_held_->owner_prev = slot;
  newest_held_ = slot;
  add(held_, std::size_t{1});
}

void LockOwner::remove_held(Slot* slot) noexcept {
  (slot->owner_prev != nullptr ? slot->owner_prev->owner_next : newest_held_) = slot->owner_next;
  if (slot->owner_next != nullptr) slot->owner_next->owner_prev = slot->owner_prev;
  held_.store(held_count() - 1, kRelaxed);
}

}  // namespace basalt::lock
