#include "wal/health.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/remedies.h"
#include "base/time_text.h"

namespace basalt::wal {
namespace {

// A reserve must not make a small device useless.
constexpr std::uint64_t kReserveShareMax = 10;
// Free space must be this much above the reserve before rows are taken again: numerator of 4.
constexpr std::uint64_t kEnoughQuarters = 5;

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string remedy(bool is_final) {
  if (is_final) return "restart the server when the cause is gone";
  return "remove the cause, then " + std::string(remedies().resume);
}

}  // namespace

Health::Health(std::string directory, std::uint64_t reserved_bytes)
    : directory_(std::move(directory)), wanted_reserve_(reserved_bytes) {}

std::string Health::cause() const {
  const MutexLock guard(mutex_);
  return cause_;
}

bool Health::is_final() const {
  const MutexLock guard(mutex_);
  return is_final_;
}

void Health::become(Access access) { access_.store(access, std::memory_order_release); }

Status Health::refuse(bool with_low_space) const {
  const MutexLock guard(mutex_);
  switch (access()) {
    case Access::kWritable: return Status::ok();
    case Access::kLowSpace:
      if (!with_low_space) return Status::ok();
      return Status(ErrorCode::kNoSpace, cause_ + "; free space, or drop or truncate tables");
    case Access::kReadOnly: break;
  }
  return Status(ErrorCode::kReadOnly, "the engine is read-only since " + since_ + ": " + cause_ +
                                          "; " + std::string(remedy(is_final_)));
}

Status Health::check_room_for(std::uint64_t bytes) {
  BASALT_TRY(check_not_read_only());
  // Small changes live on the reserve.
  if (bytes < kMeasureEveryBytes || free_bytes() == UINT64_MAX) return Status::ok();
  measure_space();
  if (bytes + reserved_bytes() / 2 <= free_bytes()) return Status::ok();
  return Status(ErrorCode::kNoSpace, "changes of " + in_mib(bytes) +
                                         " do not fit on the device of '" + directory_ +
                                         "', where " + in_mib(free_bytes()) +
                                         " are free; free space, or make the transaction smaller");
}

void Health::turn_read_only(std::string_view cause, bool is_final) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  {
    const MutexLock guard(mutex_);
    ++turns_;
    is_final_ = is_final_ || is_final;
    if (access() == Access::kReadOnly) return;
    cause_ = cause;
    since_ = time_text(std::chrono::system_clock::now());
    become(Access::kReadOnly);
  }
  log_message(LogLevel::kError, "the engine is read-only now: " + std::string(cause) +
                                    "; reads go on; " + std::string(remedy(is_final)));
}

std::uint64_t Health::mark() const {
  const MutexLock guard(mutex_);
  return turns_;
}

bool Health::clear(std::uint64_t mark) {
  {
    const MutexLock guard(mutex_);
    if (turns_ != mark) return false;
    if (access() != Access::kReadOnly) return true;
    cause_.clear();
    is_final_ = false;
    become(Access::kWritable);
  }
  log_message(LogLevel::kInfo, "the engine is writable again");
  measure_space();
  return true;
}

void Health::note_compaction_failure(std::string_view cause) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  bool is_new = false;
  bool has_backlog = false;
  {
    const MutexLock guard(mutex_);
    // Each attempt writes another file: the text tells nothing new.
    is_new = compaction_failure_.empty();
    compaction_failure_ = cause;
    has_backlog = has_backlog_;
  }
  if (is_new) {
    log_message(LogLevel::kError,
                "a compaction failed: " + std::string(cause) + "; it is tried again");
  }
  if (has_backlog) turn_read_only("compactions fail and writers would wait: " + std::string(cause));
}

void Health::note_compaction_success() {
  const MutexLock guard(mutex_);
  compaction_failure_.clear();
}

void Health::note_backlog(bool writers_are_slowed) {
  std::string failure;
  {
    const MutexLock guard(mutex_);
    has_backlog_ = writers_are_slowed;
    failure = compaction_failure_;
  }
  if (!writers_are_slowed || failure.empty()) return;
  turn_read_only("compactions fail and writers would wait: " + failure);
}

void Health::set_reserved_bytes(std::uint64_t bytes) {
  wanted_reserve_ = bytes;
  measure_space();
}

std::uint64_t Health::reserved_bytes() const {
  return std::min(wanted_reserve_.load(std::memory_order_relaxed),
                  device_bytes_.load(std::memory_order_relaxed) / kReserveShareMax);
}

void Health::measure_space() {
  unmeasured_bytes_.store(0, std::memory_order_relaxed);
  struct statvfs device {};
  if (statvfs(directory_.c_str(), &device) != 0) return;
  const std::uint64_t free = static_cast<std::uint64_t>(device.f_bavail) * device.f_frsize;
  free_bytes_.store(free, std::memory_order_relaxed);
  device_bytes_.store(static_cast<std::uint64_t>(device.f_blocks) * device.f_frsize,
                      std::memory_order_relaxed);
  const std::uint64_t reserve = reserved_bytes();
  const Access before = access();
  const bool is_low = before == Access::kWritable && free < reserve;
  const bool is_enough = before == Access::kLowSpace && free >= reserve / 4 * kEnoughQuarters;
  if (!is_low && !is_enough) [[likely]]
    return;
  std::string text;
  {
    const MutexLock guard(mutex_);
    if (access() != before) return;
    if (is_low) {
      cause_ = "the device of '" + directory_ + "' has only " + in_mib(free) +
               " free, and the engine keeps " + in_mib(reserve) + " in reserve; make room, or " +
               std::string(remedies().lower_reserve);
      since_ = time_text(std::chrono::system_clock::now());
      text = cause_ + "; rows are not changed until there is more";
    } else {
      cause_.clear();
      text = "the device of '" + directory_ + "' has " + in_mib(free) +
             " free; rows may be changed again";
    }
    become(is_low ? Access::kLowSpace : Access::kWritable);
  }
  log_message(is_low ? LogLevel::kError : LogLevel::kInfo, text);
}

}  // namespace basalt::wal
