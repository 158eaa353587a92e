#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/relaxed.h"
#include "lock/lock_mode.h"
#include "lock/request_pool.h"
#include "lock/wait_signal.h"

// Somebody who can hold locks and wait for one: a transaction.
//
// Ownership   Belongs to the caller, at one address for its whole life, and may be used again
//             after LockManager::release_all(). It must hold nothing when it dies.
// Threads     One thread at a time, the owner's; exceptions are named at the functions.
//             LockManager::interrupt() may come from any thread while the owner lives.
namespace basalt::lock {

struct RangeHolding;
struct LockRequest;
enum class RequestState : std::uint8_t;

class LockOwner {
 public:
  static constexpr std::size_t kKeysMax = std::size_t{1} << 20;

  explicit LockOwner(std::uint64_t id, void* user = nullptr);
  ~LockOwner();
  LockOwner(const LockOwner&) = delete;
  LockOwner& operator=(const LockOwner&) = delete;

  // For reports; the lock manager tells owners apart by address.
  std::uint64_t id() const { return id_; }
  // Whatever the caller needs in a WaitObserver; null after LockManager::forget_user(). Any thread.
  void* user() const { return user_.load(std::memory_order_acquire); }

  // Counts `n` changed rows. Of the members of a deadlock the one with the smallest weight()
  // has to give up. release_all() resets the count.
  void add_weight(std::uint64_t n) { add(changed_rows_, n); }
  // Changed rows + keys locked. Any thread; exact in the owner's.
  std::uint64_t weight() const { return changed_rows_.load(kRelaxed) + held_.load(kRelaxed); }
  // Any thread.
  std::uint64_t changed_rows() const { return changed_rows_.load(kRelaxed); }
  // With more locked keys than this the manager tries to lock ranges instead.
  void set_most_keys(std::size_t count) { most_keys_ = count; }
  // Whether a wait of this owner that begins from now on looks for deadlocks, if the manager does.
  void set_deadlock_detect(bool is_on) { deadlock_detect_ = is_on; }
  // How long its waits may last, for reports: those that wait say it themselves. Any thread.
  void set_reported_timeout_ms(std::int64_t timeout) { reported_timeout_ms_ = timeout; }
  std::int64_t reported_timeout_ms() const { return reported_timeout_ms_; }
  // Whether it has locked any key or range. The owner's thread.
  bool holds_locks() const { return held_count() != 0 || !ranges_.empty(); }
  // Memory that its locks take, with their share of the lock table. The owner's thread.
  std::size_t memory_bytes() const;
  // Whether its waits end at their beginning: LockManager::interrupt(). Any thread.
  bool is_interrupted() const { return signal_.is_interrupted(); }
  // Locked keys, without ranges. Any thread; exact in the owner's.
  std::size_t held_count() const { return held_.load(kRelaxed); }

 private:
  friend class LockManager;
  friend class RangeTable;
  friend class Shard;
  friend class WaitGraph;

  static constexpr auto kRelaxed = std::memory_order_relaxed;

  // Written by the owner's thread only, so no read-modify-write is needed.
  template <typename Count>
  static void add(std::atomic<Count>& count, Count n) {
    count.store(count.load(kRelaxed) + n, kRelaxed);
  }

  // A request of this owner's memory that is in no list yet.
  LockRequest* new_request(std::uint32_t hash, std::string_view key, LockMode mode,
                           RequestState state);
  // Gives back the memory of a request that is in no list any more.
  void free_request(LockRequest* request) noexcept;
  void add_held(LockRequest* request) noexcept;
  void remove_held(LockRequest* request) noexcept;

  // What the wait graph knows of this owner. Guarded by the graph's mutex.
  struct Node {
    LockRequest* waits_in = nullptr;  // not null: the owner's thread is inside a wait
    bool is_victim = false;
    std::uint64_t visited_in = 0;  // the last search that came by
    LockOwner* reached_from = nullptr;
  };

  const std::uint64_t id_;
  std::atomic<void*> user_;
  std::atomic<std::uint64_t> changed_rows_ = 0;
  std::atomic<std::size_t> held_ = 0;
  Relaxed<std::int64_t> reported_timeout_ms_{0};
  LockRequest* newest_held_ = nullptr;
  RequestPool pool_;
  std::size_t most_keys_ = kKeysMax;
  bool deadlock_detect_ = true;
  std::size_t escalates_at_ = 0;  // not before so many keys are locked, after a failed attempt
  std::vector<std::unique_ptr<RangeHolding>> ranges_;  // changed under the latch of their shard
  std::vector<std::unique_ptr<RangeHolding>> spare_ranges_;
  WaitSignal signal_;
  Node node_;
};

}  // namespace basalt::lock
