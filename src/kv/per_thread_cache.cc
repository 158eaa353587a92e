#include "kv/per_thread_cache.h"

namespace basalt::kv {

std::size_t number_of_thread() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace basalt::kv
