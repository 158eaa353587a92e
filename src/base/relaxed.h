#pragma once
#include <atomic>

namespace basalt {

// A value that one thread changes and others may look at, who learn nothing of what else that
// thread has done. Costs what a plain variable does.
template <typename T>
class Relaxed {
 public:
  explicit constexpr Relaxed(T value) : value_(value) {}
  Relaxed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

}  // namespace basalt
