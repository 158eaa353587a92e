#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/thread_annotations.h"

// Mutexes whose rules are checked.
//
// What a mutex guards is said by BASALT_GUARDED_BY and proved by clang; in which order mutexes are
// taken is said by their ranks, and asserted in builds with BASALT_DEBUG, each time one is taken:
// so a deadlock that needs two threads and bad luck is found by one thread without any. Elsewhere
// a Mutex is a std::mutex, and nothing else.
namespace basalt {

// From those that are taken first to those that are taken last.
enum class MutexRank : std::uint8_t {
#define BASALT_MUTEX(rank, name, guards) rank,
#include "base/mutex_ranks.def"
#undef BASALT_MUTEX
};

// As the documentation calls it.
const char* mutex_name(MutexRank rank);

class Mutex;

#ifdef BASALT_DEBUG
// What the calling thread holds. A violated order, or a mutex that is not held, ends the process.
void note_mutex_taken(const Mutex& mutex, MutexRank rank);
void note_mutex_given_up(const Mutex& mutex, MutexRank rank);
void assert_mutex_held(const Mutex& mutex, MutexRank rank);
// It is held, and was taken after all others that are.
void assert_mutex_newest(const Mutex& mutex, MutexRank rank);
#endif

class BASALT_CAPABILITY("mutex") Mutex {
 public:
#ifdef BASALT_DEBUG
  constexpr explicit Mutex(MutexRank rank) noexcept : rank_(rank) {}
#else
  constexpr explicit Mutex(MutexRank) noexcept {}
#endif
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() BASALT_ACQUIRE() {
    // Before it waits: an order that is wrong is to be reported, not to end in a deadlock.
    note_taken();
    mutex_.lock();
  }
  // The order counts here, too: who holds it goes on to take others.
  bool try_lock() BASALT_TRY_ACQUIRE(true) {
    if (!mutex_.try_lock()) return false;
    note_taken();
    return true;
  }
  void unlock() BASALT_RELEASE() {
    note_given_up();
    mutex_.unlock();
  }
  // For the analysis where it does not see who has taken it; asserted with BASALT_DEBUG.
  void assert_held() const BASALT_ASSERT_CAPABILITY(this) {
#ifdef BASALT_DEBUG
    assert_mutex_held(*this, rank_);
#endif
  }

 private:
  friend class ConditionVariable;

#ifdef BASALT_DEBUG
  void note_taken() const { note_mutex_taken(*this, rank_); }
  void note_given_up() const { note_mutex_given_up(*this, rank_); }
  void assert_newest() const { assert_mutex_newest(*this, rank_); }
#else
  void note_taken() const {}
  void note_given_up() const {}
  void assert_newest() const {}
#endif

  std::mutex mutex_;
#ifdef BASALT_DEBUG
  const MutexRank rank_;
#endif
};

#ifndef BASALT_DEBUG
static_assert(sizeof(Mutex) == sizeof(std::mutex) && alignof(Mutex) == alignof(std::mutex));
#endif

// Holds a mutex for a block.
class BASALT_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) BASALT_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // The caller has taken it.
  MutexLock(Mutex& mutex, std::adopt_lock_t) BASALT_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() BASALT_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// The same; it may be given up and taken again meanwhile.
class BASALT_SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(Mutex& mutex) BASALT_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~UniqueLock() BASALT_RELEASE() {
    if (is_held_) mutex_.unlock();
  }
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;

  void lock() BASALT_ACQUIRE() {
    mutex_.lock();
    is_held_ = true;
  }
  void unlock() BASALT_RELEASE() {
    is_held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool is_held_ = true;
};

// A std::condition_variable for them. A thread that waits may hold other mutexes only if it has
// taken them before: it takes this one again while it holds them.
//
// The analysis takes a predicate for a function of its own, to be told what is held:
// `[this]() BASALT_REQUIRES(mutex_) { return is_done_; }`.
class ConditionVariable {
 public:
  ConditionVariable() = default;
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  void notify_one() noexcept { variable_.notify_one(); }
  void notify_all() noexcept { variable_.notify_all(); }

  void wait(Mutex& mutex) BASALT_REQUIRES(mutex) {
    Held held(mutex);
    variable_.wait(held.lock);
  }
  template <typename Predicate>
  void wait(Mutex& mutex, Predicate predicate)
      BASALT_REQUIRES(mutex) BASALT_NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex);
    variable_.wait(held.lock, predicate);
  }
  // What the predicate says in the end.
  template <typename Duration, typename Predicate>
  bool wait_for(Mutex& mutex, const Duration& duration, Predicate predicate)
      BASALT_REQUIRES(mutex) BASALT_NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex);
    return variable_.wait_for(held.lock, duration, predicate);
  }
  template <typename Predicate>
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline, Predicate predicate)
      BASALT_REQUIRES(mutex) BASALT_NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex);
    return variable_.wait_until(held.lock, deadline, predicate);
  }

 private:
  // A mutex that the caller holds, as std::condition_variable wants it. The thread does nothing
  // while it waits, so the mutex counts as held all the time.
  struct Held {
    explicit Held(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) { mutex.assert_newest(); }
    ~Held() { lock.release(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable variable_;
};

}  // namespace basalt
