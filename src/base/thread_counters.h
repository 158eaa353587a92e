#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace basalt {

// Counts that many threads add to all the time, and few read now and then.
//
// How         Each thread has counts of its own, which nobody else writes: to add is an addition to
//             memory that no other core wants, without a locked instruction. A thread that ends
//             leaves its counts to one that begins later, so that nothing is lost and memory is
//             that of the most threads there have been at once.
// Exactness   sum() has all that was added before it was called, in this thread's view. Sums of
//             several counters that are read together need not fit each other.
// Threads     Any, also while threads end. All but the calling one must be done with the counters
//             before they are destroyed.
class ThreadCounters {
 public:
  // So many counters, all 0.
  explicit ThreadCounters(std::size_t size);
  ~ThreadCounters();
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(const ThreadCounters&) = delete;

  // `counter` is below the size.
  void add(std::size_t counter, std::uint64_t n) noexcept {
    if (current_.owner != number_) [[unlikely]]
      return add_first(counter, n);
    std::atomic<std::uint64_t>& count = current_.counts[counter];
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  // The sum over all threads. Costs a look at the counts of each.
  std::uint64_t sum(std::size_t counter) const;

 private:
  class Shards;
  struct Visit;
  struct Visits;
  // The counters that the thread has added to last, and its counts there.
  struct Current {
    std::uint64_t owner = 0;
    std::atomic<std::uint64_t>* counts = nullptr;
  };

  void add_first(std::size_t counter, std::uint64_t n) noexcept;
  static Visits& visits();

  // It has 16 bytes, so that there is room for it where a library that is loaded later need not
  // call a function to find it.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Current current_;

  const std::uint64_t number_;  // among all counters that there have been in the process, from 1
  const std::shared_ptr<Shards> shards_;
};

}  // namespace basalt
