#include "txn/transaction_expiry.h"

#include <algorithm>

#include "base/assert.h"
#include "txn/transaction_manager.h"

namespace basalt::txn {
namespace {

// A row that a source has inserted replaces what is about to expire here: the source's clock may
// have been ahead, and it has looked later than when the statement began, whose time is known.
constexpr std::uint64_t kClockDifference = 60;

}  // namespace

kv::Database& TransactionExpiry::database() const { return manager_.database(); }

void TransactionExpiry::begin(Expiry expiry, std::uint64_t source_time) {
  if (time_) return;
  // So that its end is told, and with it that of its time.
  if (state_ == TransactionState::kIdle) state_ = TransactionState::kActive;
  BASALT_DEBUG_ASSERT(state_ == TransactionState::kActive);
  kv::ExpiryClock& clock = database().expiry_clock();
  std::uint64_t wanted = kv::ExpiryClock::kNow;
  if (expiry == Expiry::kShown) wanted = clock.last_compaction();
  if (expiry == Expiry::kOfSourcesStatement) wanted = source_time;
  if (expiry == Expiry::kOfSource) {
    const std::uint64_t not_ahead = std::min(source_time, clock.now());
    wanted = not_ahead - std::min(not_ahead, kv::ExpiryClock::kSourceSeconds);
    inserts_by_ = std::max<std::uint64_t>(source_time, 1);
    clock.follow_source(wanted);
  }
  time_ = clock.begin_reading(wanted);
}

void TransactionExpiry::end() {
  if (!time_) return;
  database().expiry_clock().end_reading(*time_);
  time_.reset();
  inserts_by_ = 0;
}

std::uint64_t TransactionExpiry::time_of_writes() {
  const std::uint64_t read_time = time();
  if (inserts_by_ == 0) return read_time;
  const std::uint64_t now = database().expiry_clock().now();
  return std::max({read_time, inserts_by_, now + kClockDifference});
}

void TransactionExpiry::note_hidden() {
  BASALT_DEBUG_ASSERT(time_.has_value());
  database().events().add(kv::Event::kRowFiltered);
}

}  // namespace basalt::txn
