#pragma once
#include <array>
#include <atomic>
#include <cstddef>

namespace basalt::kv {

// The number of the calling thread, for PerThreadCache: 0, 1, 2, ... in the order of the first
// calls.
std::size_t number_of_thread();

// Objects that nobody uses at the moment, each in a slot of the thread that used it last.
//
// How         What is taken out of a slot belongs to who took it, so that no slot needs more than
//             one atomic exchange. Threads that share a slot find it empty or full, no more.
// Threads     Safe from any thread.
template <typename T>
class PerThreadCache {
 public:
  PerThreadCache() = default;
  PerThreadCache(const PerThreadCache&) = delete;
  PerThreadCache& operator=(const PerThreadCache&) = delete;

  // What the thread has put last; null if it is not there any more.
  T* take() { return slot_of_thread().exchange(nullptr, std::memory_order_acquire); }
  // Returns what was in the slot, for the caller to release; it may be null.
  T* put(T* object) { return slot_of_thread().exchange(object); }
  // Takes what is in all slots, and calls `release` with each. Who puts something meanwhile that is
  // not taken sees what was written with sequential consistency before this call.
  template <typename Release>
  void take_all(const Release& release) {
    for (Slot& slot : slots_) {
      // A look first: most slots have never had one.
      if (slot.idle.load() == nullptr) continue;
      T* const object = slot.idle.exchange(nullptr, std::memory_order_acquire);
      if (object != nullptr) release(object);
    }
  }

 private:
  // A line of the processor's cache, which no other slot shares.
  struct alignas(64) Slot {
    std::atomic<T*> idle{nullptr};
  };
  static constexpr std::size_t kSlots = 256;

  std::atomic<T*>& slot_of_thread() { return slots_[number_of_thread() % kSlots].idle; }

  std::array<Slot, kSlots> slots_;
};

}  // namespace basalt::kv
