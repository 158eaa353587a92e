#include "kv/expiry_clock.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.h"

namespace basalt::kv {
namespace {

// After so many seconds without a word of the source the replica goes by its clock.
constexpr std::uint64_t kSourceSilenceMax = 3600;

}  // namespace

ExpiryClock::ExpiryClock(Now now)
    : now_(std::move(now)),
      taken_until_(now_()),
      last_compaction_(taken_until_),
      limit_(taken_until_),
      started_(taken_until_) {}

void ExpiryClock::start_with_limit(std::uint64_t limit) {
  const MutexLock guard(mutex_);
  BASALT_ASSERT(readers_.empty());
  taken_until_ = limit;
  last_compaction_ = limit;
  limit_ = limit;
  source_time_ = limit;
  started_ = now_();
}

void ExpiryClock::set_is_replica(std::function<bool()> is_replica) {
  is_replica_ = std::move(is_replica);
}

void ExpiryClock::set_now(Now now) {
  const MutexLock guard(mutex_);
  BASALT_ASSERT(readers_.empty());
  now_ = std::move(now);
  started_ = now_();
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

void ExpiryClock::follow_source(std::uint64_t time) {
  const MutexLock guard(mutex_);
  const std::uint64_t now = now_();
  // One event whose time is ahead must not speak for those that follow.
  source_time_ = std::max(source_time_, std::min(time, now - std::min(now, kSourceSeconds)));
  source_heard_ = std::max<std::uint64_t>(now, 1);
}

std::uint64_t ExpiryClock::taken_until() const {
  const MutexLock guard(mutex_);
  return taken_until_;
}

std::uint64_t ExpiryClock::allowed(std::uint64_t now, bool is_replica) const {
  std::uint64_t time = now;
  if (is_replica) time -= std::min(time, kSourceSeconds);
  // Of a source that was lagging before the start nothing is known yet.
  const std::uint64_t heard = is_replica ? std::max(source_heard_, started_) : source_heard_;
  if (heard != 0 && now < heard + kSourceSilenceMax) time = std::min(time, source_time_);
  return std::max(time, taken_until_);
}

std::uint64_t ExpiryClock::begin_compaction() {
  const bool is_replica = is_replica_();
  const MutexLock guard(mutex_);
  std::uint64_t time = allowed(now_(), is_replica);
  last_compaction_ = std::max(time, last_compaction_);
  if (!readers_.empty()) time = std::min(time, readers_.begin()->first);
  time = std::min(time, limit_);
  BASALT_DEBUG_ASSERT(time >= taken_until_);
  taken_until_ = time;
  return time;
}

std::uint64_t ExpiryClock::limit() const {
  const MutexLock guard(mutex_);
  return limit_;
}

std::uint64_t ExpiryClock::wanted_limit() const {
  const bool is_replica = is_replica_();
  const MutexLock guard(mutex_);
  const std::uint64_t time = allowed(now_(), is_replica);
  if (time <= limit_ || readers_.empty()) return time;
  return std::max(limit_, std::min(time, readers_.begin()->first));
}

std::uint64_t ExpiryClock::set_limit(std::uint64_t limit) {
  const MutexLock guard(mutex_);
  BASALT_ASSERT(limit_ >= taken_until_);
  limit_ = std::max(limit, taken_until_);
  return limit_;
}

}  // namespace basalt::kv
