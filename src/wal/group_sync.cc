#include "wal/group_sync.h"

#include <algorithm>

namespace basalt::wal {
namespace {

constexpr std::chrono::milliseconds kGatherTimeMax(1);

}  // namespace

Status GroupSync::sync() {
  std::unique_lock guard(mutex_);
  const std::uint64_t wanted = started_ + 1;
  while (finished_ < wanted) {
    if (!is_running_) return run(guard);
    ++waiting_;
    if (waiting_ + 1 == expected_) gathered_.notify_one();
    ended_[wanted % 2].wait(guard);
    --waiting_;
  }
  // A later sync that failed counts as well: what of the WAL is on disk is not known then.
  return last_failed_ >= wanted ? failure_.clone() : Status::ok();
}

Status GroupSync::run(std::unique_lock<std::mutex>& guard) {
  is_running_ = true;
  gather(guard);
  const std::uint64_t number = ++started_;
  before_last_group_ = last_group_;
  last_group_ = waiting_ + 1;
  guard.unlock();
  const auto begin = std::chrono::steady_clock::now();
  Status status = sync_once_();
  const auto end = std::chrono::steady_clock::now();
  guard.lock();
  last_duration_ = end - begin;
  is_running_ = false;
  finished_ = number;
  finished_count_.store(number, std::memory_order_relaxed);
  if (!status.is_ok()) {
    last_failed_ = number;
    failure_ = status.clone();
  }
  // Without the lock: those who wake would only wait for it.
  guard.unlock();
  ended_[number % 2].notify_all();
  ended_[(number + 1) % 2].notify_one();
  return status;
}

void GroupSync::gather(std::unique_lock<std::mutex>& guard) {
  expected_ = (before_last_group_ + last_group_) * 4 / 5;
  if (expected_ > waiting_ + 1) {
    const auto gather_time = std::min<std::chrono::nanoseconds>(last_duration_ / 4, kGatherTimeMax);
    gathered_.wait_for(guard, gather_time, [this] { return waiting_ + 1 >= expected_; });
  }
  expected_ = 0;
}

}  // namespace basalt::wal
