#include "txn/commit_tickets.h"

#include <chrono>

#include "base/assert.h"

namespace basalt::txn {
namespace {

constexpr std::chrono::milliseconds kQuestionInterval{100};

}  // namespace

std::uint64_t CommitTickets::issue() {
  const MutexLock guard(mutex_);
  is_visible_.push_back(false);
  return first_open_ + is_visible_.size() - 1;
}

void CommitTickets::retire(std::uint64_t ticket) {
  const MutexLock guard(mutex_);
  BASALT_ASSERT(ticket >= first_open_ && ticket - first_open_ < is_visible_.size());
  is_visible_[ticket - first_open_] = true;
  const std::uint64_t before = first_open_;
  for (; !is_visible_.empty() && is_visible_.front(); ++first_open_) is_visible_.pop_front();
  BASALT_DEBUG_ASSERT(is_visible_.empty() || !is_visible_.front());
  if (waiters_ > 0 && first_open_ != before) progress_.notify_all();
}

std::uint64_t CommitTickets::newest() const {
  const MutexLock guard(mutex_);
  return first_open_ + is_visible_.size() - 1;
}

bool CommitTickets::wait_for(std::uint64_t ticket, const std::function<bool()>& may_wait) {
  UniqueLock guard(mutex_);
  ++waiters_;
  while (first_open_ <= ticket) {
    guard.unlock();
    const bool goes_on = may_wait();
    guard.lock();
    if (!goes_on) break;
    progress_.wait_for(mutex_, kQuestionInterval,
                       [&]() BASALT_REQUIRES(mutex_) { return first_open_ > ticket; });
  }
  BASALT_DEBUG_ASSERT(waiters_ > 0);
  --waiters_;
  return first_open_ > ticket;
}

}  // namespace basalt::txn
