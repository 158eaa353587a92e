#include "block_cache/memory_budget.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/heap.h"
#include "base/machine.h"
#include "block_cache/block_cache.h"
#include "block_cache/block_sizes.h"

namespace basalt::block_cache {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr unsigned kIntervalsForLimit = 10;
// In such a time two thirds of what the rest took more at its highest are forgotten.
constexpr double kForgetSeconds = 10;
constexpr std::uint64_t kFreeParts = 10;
constexpr std::uint64_t kFreeMin = 40 * kMiB;
// Freed memory is given back at most once in kPauseMin seconds. The pause doubles, up to kPauseMax,
// where that was of little use: less than limit/kUsefulShare, 8 MB of 512.
constexpr double kPauseMin = 2;
constexpr double kPauseMax = 64;
constexpr std::uint64_t kUsefulShare = 64;

}  // namespace

std::uint64_t BlocksShare::free_bytes(std::uint64_t limit) {
  return std::max(limit / kFreeParts, kFreeMin);
}

std::uint64_t BlocksShare::next(std::uint64_t resident, std::uint64_t blocks, double seconds) {
  const auto rest = static_cast<double>(resident - std::min(resident, blocks));
  const double forgotten = (highest_rest_ - rest) * std::min(1.0, seconds / kForgetSeconds);
  highest_rest_ = std::max(rest, highest_rest_ - forgotten);
  const std::uint64_t taken = static_cast<std::uint64_t>(highest_rest_) + free_bytes(limit_);
  return std::max(limit_ - std::min(limit_, taken), least_);
}

MemoryBudget::MemoryBudget(std::function<std::uint64_t()> limit, std::uint64_t expected,
                           std::shared_ptr<BlockCache> cache, std::uint64_t capacity_max)
    : limit_(std::move(limit)),
      cache_(std::move(cache)),
      capacity_max_(capacity_max),
      share_(limit_(), kBlockCacheMin) {
  share_.next(resident_bytes(), cache_->held_bytes(), 0);
  share_.expect(expected);
  apply(0);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "rocksdb:memory");
    run();
  });
}

MemoryBudget::~MemoryBudget() {
  {
    const MutexLock guard(mutex_);
    must_stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void MemoryBudget::run() {
  auto last = std::chrono::steady_clock::now();
  const MutexLock guard(mutex_);
  const auto must_stop = [this]() BASALT_REQUIRES(mutex_) { return must_stop_; };
  for (unsigned i = 1; !wake_.wait_for(mutex_, kInterval, must_stop); ++i) {
    if (i % kIntervalsForLimit == 0) share_.set_limit(limit_());
    const auto now = std::chrono::steady_clock::now();
    apply(std::chrono::duration<double>(now - last).count());
    last = now;
  }
}

void MemoryBudget::apply(double seconds) {
  const std::uint64_t held = cache_->held_bytes();
  const std::uint64_t resident = resident_bytes();
  if (resident == 0) return;
  // Blocks that come or go meanwhile are not to be taken for the rest.
  const std::uint64_t blocks =
      share_.next(resident, std::max<std::uint64_t>(held, cache_->held_bytes()), seconds);
  // Reserved bytes are memory of the rest, which has been counted.
  const std::uint64_t reserved = cache_->reserved_bytes();
  // What is in use stays, however small the capacity is.
  const std::uint64_t wanted = std::max(blocks, cache_->pinned_bytes() + kBlockCacheMin) + reserved;
  const std::uint64_t capacity =
      std::min<std::uint64_t>(wanted, capacity_max_.load(std::memory_order_relaxed));
  blocks_bytes_.store(capacity - std::min(capacity, reserved), std::memory_order_relaxed);
  cache_->SetCapacity(capacity);
  give_back_if_short(resident, seconds);
}

void MemoryBudget::give_back_if_short(std::uint64_t resident, double seconds) {
  const std::uint64_t limit = share_.limit();
  if (!give_back_pace_.is_due(resident, limit, seconds)) return;
  // Blocks may have gone since.
  const std::uint64_t before = resident_bytes();
  give_freed_memory_back_now();
  give_back_pace_.note_given_back(before - std::min(before, resident_bytes()), limit);
}

bool GiveBackPace::is_due(std::uint64_t resident, std::uint64_t limit, double seconds) {
  since_ += seconds;
  const bool is_short = resident + BlocksShare::free_bytes(limit) / 2 > limit;
  // What is short the next time is something else.
  if (!is_short) pause_ = std::min(pause_, kPauseMin);
  return is_short && since_ >= pause_;
}

void GiveBackPace::note_given_back(std::uint64_t bytes, std::uint64_t limit) {
  since_ = 0;
  pause_ = bytes > limit / kUsefulShare ? kPauseMin : std::clamp(2 * pause_, kPauseMin, kPauseMax);
}

}  // namespace basalt::block_cache
