#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/test_support.h"
#include "lock/lock_manager.h"

// What the tests of this folder share.
namespace basalt::lock::test {

using basalt::test::await;

constexpr LockMode kS = LockMode::kShared;
constexpr LockMode kX = LockMode::kExclusive;
constexpr WaitPolicy kNoWait = {.may_wait = false};
// Longer than any test: that it runs out means that a wait did not end.
constexpr WaitPolicy kLong = {.timeout_ms = 300'000};

// A lock() in a thread of its own.
inline std::future<ErrorCode> lock_in_thread(LockManager& manager, LockOwner& owner,
                                             std::string key, LockMode mode,
                                             WaitPolicy policy = kLong) {
  return std::async(std::launch::async, [&manager, &owner, key = std::move(key), mode, policy] {
    return manager.lock(owner, key, mode, policy).code();
  });
}

inline bool has_waiting_request(const LockManager& manager, const LockOwner& owner) {
  const auto locks = manager.snapshot();
  return std::any_of(locks.begin(), locks.end(), [&](const LockInfo& lock) {
    return lock.owner_id == owner.id() && !lock.granted;
  });
}

// Returns when the request of `owner` is in its queue.
inline void await_request(const LockManager& manager, const LockOwner& owner) {
  await([&] { return has_waiting_request(manager, owner); });
}

// lock_in_thread() for a request that has to wait, in the queue when this returns.
inline std::future<ErrorCode> wait_in_thread(LockManager& manager, LockOwner& owner,
                                             std::string key, LockMode mode,
                                             WaitPolicy policy = kLong) {
  auto result = lock_in_thread(manager, owner, std::move(key), mode, policy);
  await_request(manager, owner);
  return result;
}

template <typename T>
bool is_ready(const std::future<T>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace basalt::lock::test
