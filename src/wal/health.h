#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"

// Whether the database may be written, and if not, why.
//
// States      Writable <-> low on space    [free space falls below the reserve, and rises again]
//             any      -> read-only        [a write, a sync or background work failed]
//             read-only -> writable        [Database::resume(), asked for by an administrator]
// Purpose     A failure is met by one thread, in the background more often than not, and must be
//             known to all: it is logged once, with file and cause, and every later change fails at
//             once with the same text instead of failing again on the same disk.
// Threads     Safe from any thread; check_writable() costs one relaxed load while all is well.
namespace basalt::wal {

enum class Access : std::uint8_t { kWritable, kLowSpace, kReadOnly };

class Health {
 public:
  // `reserved_bytes` are kept free on the device of `directory`, so that what is in memory can be
  // written to files, and the WAL be replayed after a crash, when nothing else fits any more.
  Health(std::string directory, std::uint64_t reserved_bytes);
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  Access access() const { return access_.load(std::memory_order_acquire); }
  // Why it is not writable; empty if it is.
  std::string cause() const;
  // The failures noticed so far, repeated ones of background work included.
  std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

  // Whether rows may be changed: kReadOnly or kNoSpace with cause and remedy.
  Status check_writable() const {
    if (access() == Access::kWritable) [[likely]]
      return Status::ok();
    return refuse(true);
  }
  // Whether what has begun may be ended, and definitions be changed: both are small, and dropping
  // tables is how space is made. kReadOnly.
  Status check_not_read_only() const {
    if (access() != Access::kReadOnly) [[likely]]
      return Status::ok();
    return refuse(false);
  }
  // As check_not_read_only(), for changes of `bytes`: kNoSpace if they do not fit on the device.
  Status check_room_for(std::uint64_t bytes);

  // Turns read-only. The first cause stands until the next clear(). `is_final`: resuming cannot
  // help, only a restart.
  void turn_read_only(std::string_view cause, bool is_final = false);
  // Whether only a restart helps.
  bool is_final() const;
  // How often turn_read_only() was called: to be asked before the cause is believed to be gone.
  std::uint64_t mark() const;
  // The cause is gone. False, and nothing changes, if turn_read_only() was called since `mark`.
  bool clear(std::uint64_t mark);

  // Compactions are tried again by themselves; the database stays writable until they are so far
  // behind that writers would have to wait for them.
  void note_compaction_failure(std::string_view cause);
  void note_compaction_success();
  void note_backlog(bool writers_are_slowed);

  // Bytes that went to files: now and then the free space is measured.
  void note_written(std::uint64_t bytes) {
    if (unmeasured_bytes_.fetch_add(bytes, std::memory_order_relaxed) > kMeasureEveryBytes) {
      measure_space();
    }
  }
  // Measures the free space, and turns low on space or writable again.
  void measure_space();
  void set_reserved_bytes(std::uint64_t bytes);
  // Free for this process as last measured, and kept in reserve.
  std::uint64_t free_bytes() const { return free_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t reserved_bytes() const;

 private:
  static constexpr std::uint64_t kMeasureEveryBytes = std::uint64_t{1} << 20;

  Status refuse(bool with_low_space) const;
  void become(Access access) BASALT_REQUIRES(mutex_);

  const std::string directory_;
  std::atomic<Access> access_{Access::kWritable};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> unmeasured_bytes_{0};
  std::atomic<std::uint64_t> free_bytes_{UINT64_MAX};
  std::atomic<std::uint64_t> device_bytes_{UINT64_MAX};
  std::atomic<std::uint64_t> wanted_reserve_;
  mutable Mutex mutex_{MutexRank::kHealth};
  std::string cause_ BASALT_GUARDED_BY(mutex_);
  std::string since_ BASALT_GUARDED_BY(mutex_);
  std::uint64_t turns_ BASALT_GUARDED_BY(mutex_) = 0;
  bool is_final_ BASALT_GUARDED_BY(mutex_) = false;
  std::string compaction_failure_ BASALT_GUARDED_BY(mutex_);
  bool has_backlog_ BASALT_GUARDED_BY(mutex_) = false;
};

}  // namespace basalt::wal
