#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/mutex.h"

// Where the thread of one owner sleeps while its request is in a queue.
//
// Purpose     Carry "look again" to the sleeper. It carries no decision: what became of the
//             request is in the request itself and in the wait graph, under their own latches.
// Threads     prepare() and wait_until() by the owner's thread, the rest by any thread.
// Lock order  The mutex is a leaf: it may be taken under every latch of the lock manager, and
//             none is taken under it.
namespace basalt::lock {

class WaitSignal {
 public:
  enum class Wake : std::uint8_t { kDecided, kQueueChanged, kInterrupted, kTimeout };

  // Forgets what earlier waits were told, but not an interrupt. Must come before the request
  // is visible in its queue.
  void prepare();
  // Sleeps until there is something to look at. kDecided wins over kInterrupted, that over the
  // other two. kQueueChanged is reported once per change.
  Wake wait_until(std::chrono::steady_clock::time_point deadline);

  // The request was granted, or it was taken out of its queue.
  void decide();
  // The request waits for somebody it did not wait for before.
  void queue_changed();
  void interrupt();
  void clear_interrupt();
  bool is_interrupted() const;

 private:
  mutable Mutex mutex_{MutexRank::kWaitSignal};
  ConditionVariable wake_;
  bool decided_ BASALT_GUARDED_BY(mutex_) = false;
  bool queue_changed_ BASALT_GUARDED_BY(mutex_) = false;
  // Changed under the mutex, so that no sleeper misses it; read without it, too.
  std::atomic<bool> interrupted_{false};
};

}  // namespace basalt::lock
