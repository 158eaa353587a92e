#include "lock/wait_signal.h"

namespace basalt::lock {

void WaitSignal::prepare() {
  const MutexLock guard(mutex_);
  decided_ = false;
  queue_changed_ = false;
}

WaitSignal::Wake WaitSignal::wait_until(std::chrono::steady_clock::time_point deadline) {
  const MutexLock guard(mutex_);
  wake_.wait_until(mutex_, deadline, [this]() BASALT_REQUIRES(mutex_) {
    return decided_ || interrupted_ || queue_changed_;
  });
  if (decided_) return Wake::kDecided;
  if (interrupted_) return Wake::kInterrupted;
  if (!queue_changed_) return Wake::kTimeout;
  queue_changed_ = false;
  return Wake::kQueueChanged;
}

// The notifications below stay under the mutex: once it is free, the sleeper may have left and
// taken the condition variable with it.

void WaitSignal::decide() {
  const MutexLock guard(mutex_);
  decided_ = true;
  wake_.notify_one();
}

void WaitSignal::queue_changed() {
  const MutexLock guard(mutex_);
  queue_changed_ = true;
  wake_.notify_one();
}

void WaitSignal::interrupt() {
  const MutexLock guard(mutex_);
  interrupted_ = true;
  wake_.notify_one();
}

void WaitSignal::clear_interrupt() {
  // Each statement begins with this, and hardly any was interrupted.
  if (!interrupted_.load(std::memory_order_acquire)) return;
  const MutexLock guard(mutex_);
  interrupted_ = false;
}

bool WaitSignal::is_interrupted() const { return interrupted_.load(std::memory_order_acquire); }

}  // namespace basalt::lock
