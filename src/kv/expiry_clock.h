#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>

#include "base/mutex.h"

// By which time rows are taken for expired. A compaction takes a row and its index entries one by
// one, and looks at no snapshot: so who reads must not see what a compaction may have taken some
// of, and a compaction must take nothing that who reads may see.
namespace basalt::kv {

// Threads     Safe from any thread.
class ExpiryClock {
 public:
  // Gives seconds since 1970.
  using Now = std::function<std::uint64_t()>;

  explicit ExpiryClock(Now now = system_time);
  ExpiryClock(const ExpiryClock&) = delete;
  ExpiryClock& operator=(const ExpiryClock&) = delete;

  // Compactions before the start have taken nothing but what is expired at this time. Without it
  // that is taken to be the time of the start. Not while anybody reads.
  void set_taken_until(std::uint64_t time);
  // Not while a compaction may begin: each asks from then on whether this server is, or may be, a
  // replica; then they take nothing that is not expired for an hour (kSourceSeconds), as what a
  // source's transaction has found and changed may be. Called by any thread; it must not wait.
  void set_is_replica(std::function<bool()> is_replica);
  // How long a source may take for a transaction, by whose time it has found rows.
  static constexpr std::uint64_t kSourceSeconds = 3600;
  // For tests: another clock. Not while anybody reads.
  void set_now(Now now);
  std::uint64_t now() const { return now_(); }

  // Someone begins to read: rows that are expired at the time returned are not to be seen, and
  // until end_reading() with that time no compaction takes others. It is the time that is `wanted`,
  // or as early as can be, and now at the latest.
  static constexpr std::uint64_t kNow = UINT64_MAX;
  std::uint64_t begin_reading(std::uint64_t wanted = kNow);
  void end_reading(std::uint64_t time);
  // A replica has come to what its source has found at this time, an hour before now at the latest.
  // For the next hour, and as long as that goes on, compactions take nothing that is not expired at
  // such a time: the source may have found, and changed, what is expired by now.
  void follow_source(std::uint64_t time);
  // The latest time at which a compaction has begun; at first that of the start. Who is shown
  // expired rows as long as they are there reads by it: not by an earlier one, or compactions would
  // be held back for ever.
  std::uint64_t last_compaction() const;

  // What is expired at this time may be gone, in part.
  std::uint64_t taken_until() const;
  // A compaction begins, and may take what is expired at the time returned.
  std::uint64_t begin_compaction();

  // Whether compactions take expired rows at all.
  void set_takes_rows(bool takes) { takes_rows_.store(takes, std::memory_order_relaxed); }
  bool takes_rows() const { return takes_rows_.load(std::memory_order_relaxed); }

  static std::uint64_t system_time();

 private:
  Now now_;
  std::function<bool()> is_replica_ = [] { return false; };
  std::atomic<bool> takes_rows_{true};
  mutable Mutex mutex_{MutexRank::kExpiryClock};
  // Compactions may have taken what is expired at this time, and nothing else. At first that is
  // unknown: all that is expired. No reader has an earlier time, also if the clock is set back.
  std::uint64_t taken_until_ BASALT_GUARDED_BY(mutex_);
  std::uint64_t last_compaction_ BASALT_GUARDED_BY(mutex_);
  std::uint64_t source_time_ BASALT_GUARDED_BY(mutex_) = 0;   // the latest
  std::uint64_t source_heard_ BASALT_GUARDED_BY(mutex_) = 0;  // when; 0: never
  // How many read, by their times.
  std::map<std::uint64_t, std::uint64_t> readers_ BASALT_GUARDED_BY(mutex_);
};

// Someone who reads, for a while.
class ExpiryReading {
 public:
  explicit ExpiryReading(ExpiryClock& clock, std::uint64_t wanted = ExpiryClock::kNow)
      : clock_(clock), time_(clock.begin_reading(wanted)) {}
  ~ExpiryReading() { clock_.end_reading(time_); }
  ExpiryReading(const ExpiryReading&) = delete;
  ExpiryReading& operator=(const ExpiryReading&) = delete;
  std::uint64_t time() const { return time_; }

 private:
  ExpiryClock& clock_;
  const std::uint64_t time_;
};

}  // namespace basalt::kv
