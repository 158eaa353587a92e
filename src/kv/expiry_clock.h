#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>

#include "base/mutex.h"

// By which time rows are taken for expired. A compaction takes a row and its index entries one by
// one, and looks at no snapshot: so who reads must not see what a compaction may have taken some
// of, and a compaction must take nothing that who reads may see. That holds across restarts by a
// limit that is stored before a compaction goes by it: Database::renew_expiry_limit().
namespace basalt::kv {

// Threads     Safe from any thread.
class ExpiryClock {
 public:
  // Gives seconds since 1970.
  using Now = std::function<std::uint64_t()>;

  explicit ExpiryClock(Now now = system_time);
  ExpiryClock(const ExpiryClock&) = delete;
  ExpiryClock& operator=(const ExpiryClock&) = delete;

  // Compactions before the start have taken nothing but what is expired at the limit, nor do those
  // that follow until it is another. Without it that is taken to be the time of the start. Not
  // while anybody reads.
  void start_with_limit(std::uint64_t limit);
  // Not while a compaction may begin: each asks from then on whether this server is, or may be, a
  // replica; then they take nothing that is not expired for an hour (kSourceSeconds), as what a
  // source's transaction has found and changed may be. Called by any thread; it must not wait.
  void set_is_replica(std::function<bool()> is_replica);
  // How long a source may take for a transaction, by whose time it has found rows.
  static constexpr std::uint64_t kSourceSeconds = 3600;
  // For tests: another clock, by which this is the start. Not while anybody reads.
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
  // such a time: the source may have found, and changed, what is expired by now. So may one that
  // was behind at the start: for an hour from then on compactions of a replica take nothing that is
  // not expired at the limit of before, unless the source is heard of.
  void follow_source(std::uint64_t time);
  // The latest time at which a compaction has begun; at first that of the start. Who is shown
  // expired rows as long as they are there reads by it: not by an earlier one, or compactions would
  // be held back for ever.
  std::uint64_t last_compaction() const;

  // What is expired at this time may be gone, in part.
  std::uint64_t taken_until() const;
  // A compaction begins, and may take what is expired at the time returned, which is the limit at
  // the latest.
  std::uint64_t begin_compaction();
  std::uint64_t limit() const;
  // What the limit should be: what a compaction would go by that began now. It is earlier than the
  // limit where the clock was set back, or a source has come, as far as nothing was taken.
  std::uint64_t wanted_limit() const;
  // Returns what the limit is from now on: not before what was taken. A later one than before must
  // be known to the next start already, an earlier one must become known to it.
  std::uint64_t set_limit(std::uint64_t limit);

  // Whether compactions take expired rows at all.
  void set_takes_rows(bool takes) { takes_rows_.store(takes, std::memory_order_relaxed); }
  bool takes_rows() const { return takes_rows_.load(std::memory_order_relaxed); }

  static std::uint64_t system_time();

 private:
  // What compactions may take as far as the clock and a source allow.
  std::uint64_t allowed(std::uint64_t now, bool is_replica) const BASALT_REQUIRES(mutex_);

  Now now_;
  std::function<bool()> is_replica_ = [] { return false; };
  std::atomic<bool> takes_rows_{true};
  mutable Mutex mutex_{MutexRank::kExpiryClock};
  // Compactions may have taken what is expired at this time, and nothing else. At first that is
  // unknown: all that is expired. No reader has an earlier time, also if the clock is set back.
  std::uint64_t taken_until_ BASALT_GUARDED_BY(mutex_);
  std::uint64_t last_compaction_ BASALT_GUARDED_BY(mutex_);
  std::uint64_t limit_ BASALT_GUARDED_BY(mutex_);
  std::uint64_t started_ BASALT_GUARDED_BY(mutex_);
  // The latest. A source that was not heard of since the start may be at what was taken before.
  std::uint64_t source_time_ BASALT_GUARDED_BY(mutex_) = 0;
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
