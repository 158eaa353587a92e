#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lock/lock_mode.h"

// What the lock manager shows of itself: copies, detached from the live structures.
namespace basalt::lock {

// One lock or one request. An upgrade that waits is two of them.
struct LockInfo {
  std::uint64_t owner_id;
  std::string key;
  LockMode mode;
  bool granted;
  // A request that waits for ranges which hold the key, to insert it.
  bool is_insert = false;
};

// A locked range [lower, upper).
struct RangeInfo {
  std::uint64_t owner_id;
  RangeMode mode;
  std::string lower;
  std::string upper;
};

// A request that waits, and an owner that it waits for. One that waits for several is several of
// these.
struct WaitInfo {
  std::uint64_t owner_id;
  std::uint64_t blocker_id;
  std::string key;
  LockMode mode;  // asked for
  bool is_insert = false;
};

struct DeadlockInfo {
  struct Wait {
    std::uint64_t owner_id;
    std::string key;
    LockMode mode;  // asked for
  };
  std::uint64_t number = 0;  // counted from 1 since the manager was made
  // Each waits for the next one, the last for the first. The first one closed the cycle.
  std::vector<Wait> cycle;
  std::uint64_t victim_id;
  std::chrono::system_clock::time_point found_at;
};

}  // namespace basalt::lock
