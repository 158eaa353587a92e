#include "base/mutex.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include "base/assert.h"

namespace basalt {
namespace {

constexpr const char* kNames[] = {
#define BASALT_MUTEX(rank, name, guards) name,
#include "base/mutex_ranks.def"
#undef BASALT_MUTEX
};

}  // namespace

const char* mutex_name(MutexRank rank) { return kNames[static_cast<std::size_t>(rank)]; }

#ifdef BASALT_DEBUG
namespace {

struct HeldMutex {
  const Mutex* mutex;
  MutexRank rank;
};

// Far more than any thread holds. Room for all ranks would not fit under sanitizers: a plugin that
// is loaded late has 1.6 KB for its thread-local data.
constexpr std::size_t kHeldMax = 16;

// In the order of their ranks, which is the one in which they were taken.
struct HeldMutexes {
  std::array<HeldMutex, kHeldMax> mutexes;  // no two have the same rank
  std::size_t count;

  HeldMutex* begin() { return mutexes.data(); }
  HeldMutex* end() { return begin() + count; }
  HeldMutex* find(const Mutex& mutex) {
    return std::find_if(begin(), end(),
                        [&](const HeldMutex& held) { return held.mutex == &mutex; });
  }
};

HeldMutexes& held_mutexes() {
  thread_local HeldMutexes held{};
  return held;
}

// `what` the thread does with the mutex, and the one that it had better not hold.
[[noreturn]] void report(MutexRank mutex, const char* what, const char* other = "") {
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(), "%s %s%s (docs/locking.md has the order)",
                mutex_name(mutex), what, other);
  fatal_error(text.data(), __FILE__, __LINE__);
}

}  // namespace

void note_mutex_taken(const Mutex& mutex, MutexRank rank) {
  HeldMutexes& held = held_mutexes();
  if (held.count > 0) {
    const MutexRank newest = held.mutexes[held.count - 1].rank;
    if (rank <= newest) report(rank, "is taken while the thread holds ", mutex_name(newest));
  }
  if (held.count == kHeldMax) report(rank, "is taken by a thread that holds too many others");
  held.mutexes[held.count++] = {&mutex, rank};
}

void note_mutex_given_up(const Mutex& mutex, MutexRank rank) {
  HeldMutexes& held = held_mutexes();
  HeldMutex* const found = held.find(mutex);
  if (found == held.end()) report(rank, "is given up by a thread that does not hold it");
  std::copy(found + 1, held.end(), found);
  --held.count;
}

void assert_mutex_held(const Mutex& mutex, MutexRank rank) {
  HeldMutexes& held = held_mutexes();
  if (held.find(mutex) == held.end()) report(rank, "is not held");
}

void assert_mutex_newest(const Mutex& mutex, MutexRank rank) {
  assert_mutex_held(mutex, rank);
  HeldMutexes& held = held_mutexes();
  const HeldMutex& newest = held.mutexes[held.count - 1];
  if (newest.mutex != &mutex) {
    report(rank, "is waited with while the thread holds ", mutex_name(newest.rank));
  }
}
#endif

}  // namespace basalt
