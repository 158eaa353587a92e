#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "lock/lock_mode.h"
#include "lock/request_pool.h"

// One owner's request or lock on one key, or its request that waits for ranges of others; the
// key's bytes follow the struct.
//
// Ownership   Memory of its owner's pool, made and freed by the owner's thread.
// Threads     `owner_next`, `owner_prev`: the owner's thread. `chain_next`, `mode`, `state`: the
//             latch of the shard that the request is in. The rest never changes once it is there.
namespace basalt::lock {

class LockOwner;

enum class RequestState : std::uint8_t {
  kWaiting,    // in the queue, `mode` asked for
  kGranted,    // in the queue, `mode` held; of a request for ranges: nothing blocks it any more
  kUpgrading,  // in the queue, kShared held, kExclusive asked for
  kCancelled,  // out of the queue without having been granted
};

enum class RequestKind : std::uint8_t {
  kKey,         // in the queue of its key
  kInsert,      // waits until the key may be inserted into the ranges that hold it
  kKeyInRange,  // waits until the ranges that hold the key allow to lock it in `mode`
};

struct LockRequest {
  LockRequest* chain_next = nullptr;
  LockRequest* owner_next = nullptr;
  LockRequest* owner_prev = nullptr;
  LockOwner* const owner;
  const std::uint32_t hash;
  const std::uint32_t key_size;
  LockMode mode;
  RequestState state;
  RequestKind kind = RequestKind::kKey;

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_size}; }
  bool is_granted() const {
    return state == RequestState::kGranted || state == RequestState::kUpgrading;
  }
  bool is_waiting() const {
    return state == RequestState::kWaiting || state == RequestState::kUpgrading;
  }
  // The strongest mode this request holds or asks for.
  LockMode wanted() const {
    return state == RequestState::kUpgrading ? LockMode::kExclusive : mode;
  }

  // Whether two requests of one shard are about the same key, and so in the same queue.
  bool is_for(std::uint32_t other_hash, std::string_view other_key) const {
    return hash == other_hash && key() == other_key;
  }
  // Whether a range of another owner that holds the key blocks this request for ranges.
  bool is_blocked_by(RangeMode range) const {
    return kind == RequestKind::kInsert || conflicts(mode, range);
  }

  // Memory of a request with its key.
  static constexpr std::size_t bytes_for(std::size_t key_size) {
    return RequestPool::rounded(sizeof(LockRequest) + key_size);
  }
};

static_assert(sizeof(LockRequest) == 48);
static_assert(LockRequest::bytes_for(1) <= 64 + 1, "the promised cost of a lock");
static_assert(std::is_trivially_destructible_v<LockRequest>);

}  // namespace basalt::lock
