#include "base/parallel.h"
#include "base/mutex.h"

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace basalt {
namespace {

// What the parts have come to.
class Outcome {
 public:
  const std::atomic<bool>& has_failed() const { return has_failed_; }

  void add(Status status) {
    if (status.is_ok()) return;
    const MutexLock guard(mutex_);
    if (!first_.is_ok()) return;
    first_ = std::move(status);
    has_failed_.store(true, std::memory_order_relaxed);
  }
  // When all parts have ended.
  Status take() {
    const MutexLock guard(mutex_);
    return std::move(first_);
  }

 private:
  Mutex mutex_{MutexRank::kParallelOutcome};
  Status first_ BASALT_GUARDED_BY(mutex_);
  std::atomic<bool> has_failed_{false};
};

}  // namespace

Status run_in_parallel(std::size_t count, const PartOfWork& part) {
  Outcome outcome;
  const auto run = [&](std::size_t number) {
    if (!outcome.has_failed()) outcome.add(part(number, outcome.has_failed()));
  };
  std::vector<std::thread> threads;
  std::size_t given = 1;
  try {
    threads.reserve(count);
    for (; given < count; ++given) threads.emplace_back(run, given);
  } catch (const std::system_error&) {
    // The calling thread does the rest.
  }
  if (count > 0) run(0);
  for (std::size_t number = given; number < count; ++number) run(number);
  for (std::thread& thread : threads) thread.join();
  return outcome.take();
}

}  // namespace basalt
