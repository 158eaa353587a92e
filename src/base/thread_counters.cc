#include "base/thread_counters.h"

#include <utility>
#include <vector>

#include "base/assert.h"

namespace basalt {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> number{0};
  return number.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Whether what the thread has visited was given back already: other objects of the thread that end
// later may still count.
thread_local constinit bool has_ended = false;

}  // namespace

constinit thread_local ThreadCounters::Current ThreadCounters::current_;

// The counts of all threads, in a list that only grows. Outlives the counters as long as a thread
// that has added to them.
class ThreadCounters::Shards {
 public:
  using Counts = std::unique_ptr<std::atomic<std::uint64_t>[]>;

  // The counts of one thread at a time.
  struct Shard {
    const Counts counts;
    std::atomic<bool> is_taken{true};
    Shard* next = nullptr;
  };

  explicit Shards(std::size_t size) : size_(size), common_(make()) {}
  ~Shards() {
    for (Shard* shard = first_.load(); shard != nullptr;) {
      delete std::exchange(shard, shard->next);
    }
  }
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  std::size_t size() const { return size_; }

  // Counts that no other thread has; to be given back.
  Shard& take() {
    for (Shard* shard = first_.load(std::memory_order_acquire); shard != nullptr;
         shard = shard->next) {
      // What the thread before has written comes with it.
      if (!shard->is_taken.load(std::memory_order_relaxed) &&
          !shard->is_taken.exchange(true, std::memory_order_acquire)) {
        return *shard;
      }
    }
    auto* const shard = new Shard{make()};
    shard->next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(shard->next, shard, std::memory_order_release)) {
    }
    return *shard;
  }
  static void give_back(Shard& shard) { shard.is_taken.store(false, std::memory_order_release); }
  void add_to_common(std::size_t counter, std::uint64_t n) {
    common_[counter].fetch_add(n, std::memory_order_relaxed);
  }
  std::uint64_t sum(std::size_t counter) const {
    std::uint64_t result = common_[counter].load(std::memory_order_relaxed);
    for (const Shard* shard = first_.load(std::memory_order_acquire); shard != nullptr;
         shard = shard->next) {
      result += shard->counts[counter].load(std::memory_order_relaxed);
    }
    return result;
  }

 private:
  // Behind a thread's counts comes a line of the processor's cache that has no others.
  Counts make() const {
    constexpr std::size_t kLine = 64 / sizeof(std::atomic<std::uint64_t>);
    return std::make_unique<std::atomic<std::uint64_t>[]>(size_ + kLine);
  }

  const std::size_t size_;
  const Counts common_;  // of threads that have ended so far that they have none of their own
  std::atomic<Shard*> first_{nullptr};
};

struct ThreadCounters::Visit {
  std::shared_ptr<Shards> shards;
  Shards::Shard* shard;
};

// The counters that one thread has added to.
struct ThreadCounters::Visits {
  Visits() = default;
  Visits(const Visits&) = delete;
  Visits& operator=(const Visits&) = delete;
  ~Visits() {
    has_ended = true;
    current_ = Current();
    for (const Visit& visit : all) Shards::give_back(*visit.shard);
  }

  std::atomic<std::uint64_t>* counts_of(const std::shared_ptr<Shards>& shards) {
    for (const Visit& visit : all) {
      if (visit.shards == shards) return visit.shard->counts.get();
    }
    // Nobody else has the shards of counters that are gone.
    std::erase_if(all, [](const auto& visit) { return visit.shards.use_count() == 1; });
    all.push_back({shards, &shards->take()});
    return all.back().shard->counts.get();
  }

  std::vector<Visit> all;
};

ThreadCounters::Visits& ThreadCounters::visits() {
  static thread_local Visits visits;
  return visits;
}

ThreadCounters::ThreadCounters(std::size_t size)
    : number_(next_number()), shards_(std::make_shared<Shards>(size)) {}

ThreadCounters::~ThreadCounters() = default;

void ThreadCounters::add_first(std::size_t counter, std::uint64_t n) noexcept {
  BASALT_DEBUG_ASSERT(counter < shards_->size());
  if (has_ended) return shards_->add_to_common(counter, n);
  current_ = {number_, visits().counts_of(shards_)};
  add(counter, n);
}

std::uint64_t ThreadCounters::sum(std::size_t counter) const {
  BASALT_DEBUG_ASSERT(counter < shards_->size());
  return shards_->sum(counter);
}

}  // namespace basalt
