#include "table/counter.h"

#include <algorithm>
#include <limits>

namespace basalt::table {
namespace {

// Small at first: what a crash skips is visible to users of AUTO_INCREMENT.
constexpr std::uint64_t kBlockMin = 32;
constexpr std::uint64_t kBlockMax = 1024;
constexpr std::uint64_t kValueMax = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Counter::Counter(catalog::Catalog& catalog, catalog::TableId table, catalog::CounterKind kind)
    : catalog_(catalog), table_(table), kind_(kind), block_(kBlockMin) {}

Status Counter::load(std::uint64_t smallest) {
  const std::lock_guard guard(mutex_);
  Result<std::uint64_t> stored = catalog_.counter_mark(table_, kind_);
  if (!stored.is_ok()) return stored.take_status();
  mark_ = stored.value();
  next_ = std::max({smallest, mark_, std::uint64_t{1}});
  return Status::ok();
}

Status Counter::raise_mark(std::uint64_t next) {
  if (next <= mark_) return Status::ok();
  const std::uint64_t mark = next > kValueMax - block_ ? kValueMax : next + block_;
  BASALT_TRY(catalog_.store_counter_mark(table_, kind_, mark, kv::Durability::kBuffered));
  mark_ = mark;
  block_ = std::min(block_ * 2, kBlockMax);
  return Status::ok();
}

Status Counter::take(std::uint64_t offset, std::uint64_t increment, std::uint64_t count,
                     std::uint64_t& first) {
  BASALT_ASSERT(increment > 0);
  const std::lock_guard guard(mutex_);
  std::uint64_t value = next_.load(std::memory_order_relaxed);
  // The server ignores an offset above the increment; so do we.
  if (offset > increment) offset = 0;
  const std::uint64_t base = offset % increment;
  const std::uint64_t beyond = (value % increment + increment - base) % increment;
  const std::uint64_t gap = beyond == 0 ? 0 : increment - beyond;
  if (value == kValueMax || gap > kValueMax - 1 - value) {
    return Status::of(ErrorCode::kAutoIncrementExhausted);
  }
  value += gap;
  const std::uint64_t room = (kValueMax - value) / increment;
  const std::uint64_t next = value + std::min(std::max<std::uint64_t>(count, 1), room) * increment;
  BASALT_TRY(raise_mark(next == value ? kValueMax : next));
  first = value;
  next_ = next == value ? kValueMax : next;
  return Status::ok();
}

Status Counter::skip(std::uint64_t value) {
  if (value < next_.load(std::memory_order_relaxed)) return Status::ok();
  const std::lock_guard guard(mutex_);
  if (value < next_.load(std::memory_order_relaxed)) return Status::ok();
  const std::uint64_t next = value == kValueMax ? kValueMax : value + 1;
  BASALT_TRY(raise_mark(next));
  next_ = next;
  return Status::ok();
}

Status Counter::restart(std::uint64_t value) {
  const std::lock_guard guard(mutex_);
  BASALT_TRY(catalog_.store_counter_mark(table_, kind_, value, kv::Durability::kSynced));
  mark_ = value;
  next_ = std::max<std::uint64_t>(value, 1);
  return Status::ok();
}

Status Counter::save() {
  const std::lock_guard guard(mutex_);
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  if (next == mark_ || mark_ == 0) return Status::ok();
  BASALT_TRY(catalog_.store_counter_mark(table_, kind_, next, kv::Durability::kBuffered));
  mark_ = next;
  return Status::ok();
}

}  // namespace basalt::table
