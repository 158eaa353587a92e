#include "kv/group_sync.h"

namespace basalt::kv {

Status GroupSync::sync() {
  std::unique_lock guard(mutex_);
  const std::uint64_t wanted = started_ + 1;
  while (finished_ < wanted) {
    if (!is_running_) return run(guard);
    ++waiting_;
    ended_[wanted % 2].wait(guard);
    --waiting_;
  }
  // A later sync that failed counts as well: what of the log is on disk is not known then.
  return last_failed_ >= wanted ? failure_.clone() : Status::ok();
}

Status GroupSync::run(std::unique_lock<std::mutex>& guard) {
  is_running_ = true;
  const std::uint64_t number = ++started_;
  guard.unlock();
  Status status = sync_once_();
  guard.lock();
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

}  // namespace basalt::kv
