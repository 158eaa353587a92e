#include "table/pace.h"

#include <algorithm>
#include <thread>

namespace basalt::table {
namespace {

using Clock = std::chrono::steady_clock;

// Writers that wait for a core, or the disk, wait for about as long.
constexpr std::chrono::milliseconds kWork{2};
// With 2 on two cores, 16 writers had 0.69 of their rate and 2.4 times their latency of 99 %, with
// 4 0.81 and 1.9 times; without rests 0.41 and 4.3 times.
constexpr int kRestOfWork = 4;
// A thread that was not given a core for long has given way already.
constexpr std::chrono::milliseconds kRestMax{40};

}  // namespace

Pace::Duration Pace::rest_behind(Duration worked) {
  return std::min<Duration>(kRestOfWork * worked, kRestMax);
}

void Pace::give_way() {
  if (database_ == nullptr) return;
  const Duration worked = Clock::now() - begin_;
  if (worked < kWork) return;
  const std::uint64_t newest = database_->newest_sequence();
  if (newest != seen_) std::this_thread::sleep_for(rest_behind(worked));
  seen_ = database_->newest_sequence();
  begin_ = Clock::now();
}

}  // namespace basalt::table
