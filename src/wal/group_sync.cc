#include "wal/group_sync.h"

#include <algorithm>

namespace basalt::wal {
namespace {

constexpr std::chrono::milliseconds kGatherTimeMax(1);

}  // namespace

Status GroupSync::sync() {
  UniqueLock guard(mutex_);
  const std::uint64_t wanted = started_ + 1;
  while (finished_ < wanted && is_running_) {
    ++waiting_;
    if (waiting_ + 1 == expected_) gathered_.notify_one();
    ended_[wanted % 2].wait(mutex_);
    --waiting_;
  }
  // A later sync that failed counts as well: what of the WAL is on disk is not known then.
  if (finished_ >= wanted) return last_failed_ >= wanted ? failure_.clone() : Status::ok();
  const std::uint64_t number = begin();
  guard.unlock();
  const auto before = std::chrono::steady_clock::now();
  Status status = sync_once_();
  const auto after = std::chrono::steady_clock::now();
  guard.lock();
  end(number, status, after - before);
  // Without the lock: those who wake would only wait for it.
  guard.unlock();
  ended_[number % 2].notify_all();
  ended_[(number + 1) % 2].notify_one();
  return status;
}

std::uint64_t GroupSync::begin() {
  is_running_ = true;
  gather();
  before_last_group_ = last_group_;
  last_group_ = waiting_ + 1;
  return ++started_;
}

void GroupSync::end(std::uint64_t number, const Status& status, std::chrono::nanoseconds duration) {
  last_duration_ = duration;
  is_running_ = false;
  finished_ = number;
  finished_count_.store(number, std::memory_order_relaxed);
  if (status.is_ok()) return;
  last_failed_ = number;
  failure_ = status.clone();
}

void GroupSync::gather() {
  expected_ = (before_last_group_ + last_group_) * 4 / 5;
  if (expected_ > waiting_ + 1) {
    const auto gather_time = std::min<std::chrono::nanoseconds>(last_duration_ / 4, kGatherTimeMax);
    gathered_.wait_for(mutex_, gather_time,
                       [this]() BASALT_REQUIRES(mutex_) { return waiting_ + 1 >= expected_; });
  }
  expected_ = 0;
}

}  // namespace basalt::wal
