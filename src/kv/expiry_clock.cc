#include "kv/expiry_clock.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.h"

namespace basalt::kv {

ExpiryClock::ExpiryClock(Now now)
    : now_(std::move(now)), taken_until_(now_()), last_compaction_(taken_until_) {}

void ExpiryClock::set_now(Now now) {
  const MutexLock guard(mutex_);
  BASALT_ASSERT(readers_.empty());
  now_ = std::move(now);
  taken_until_ = now_();
  last_compaction_ = taken_until_;
}

std::uint64_t ExpiryClock::system_time() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
  return seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds);
}

std::uint64_t ExpiryClock::begin_reading(std::uint64_t wanted) {
  const MutexLock guard(mutex_);
  const std::uint64_t time = std::clamp(wanted, taken_until_, std::max(now_(), taken_until_));
  ++readers_[time];
  return time;
}

std::uint64_t ExpiryClock::last_compaction() const {
  const MutexLock guard(mutex_);
  return last_compaction_;
}

void ExpiryClock::end_reading(std::uint64_t time) {
  const MutexLock guard(mutex_);
  const auto found = readers_.find(time);
  BASALT_ASSERT(found != readers_.end());
  if (--found->second == 0) readers_.erase(found);
}

std::uint64_t ExpiryClock::begin_compaction() {
  const MutexLock guard(mutex_);
  std::uint64_t time = std::max(now_(), taken_until_);
  last_compaction_ = std::max(time, last_compaction_);
  if (!readers_.empty()) time = std::min(time, readers_.begin()->first);
  BASALT_DEBUG_ASSERT(time >= taken_until_);
  taken_until_ = time;
  return time;
}

}  // namespace basalt::kv
