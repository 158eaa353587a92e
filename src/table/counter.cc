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

std::uint64_t Series::round_up(std::uint64_t value) const {
  if (increment <= 1 || increment > kValueMax - value || value >= greatest) return value;
  const std::uint64_t end = value - 1 + increment;
  // An offset beyond the end counts from behind, modulo 2^64.
  const std::uint64_t rounded = end - (end - offset) % increment;
  return rounded >= greatest ? value : rounded;
}

std::uint64_t Series::after(std::uint64_t value, std::uint64_t count) const {
  BASALT_ASSERT(increment > 0);
  std::uint64_t taken = 0;
  if (value > greatest || __builtin_mul_overflow(increment, count, &taken)) return kValueMax;
  const std::uint64_t base = offset > increment ? 0 : offset;
  std::uint64_t passed = value > base ? value - base : base - value;
  passed -= passed % increment;
  std::uint64_t next = 0;
  if (__builtin_add_overflow(passed, base, &next)) return kValueMax;
  return __builtin_add_overflow(next, taken, &next) ? kValueMax : next;
}

Counter::Counter(catalog::Catalog& catalog, catalog::TableId table, catalog::CounterKind kind)
    : catalog_(catalog), table_(table), kind_(kind), block_(kBlockMin) {}

Status Counter::load(std::uint64_t smallest) {
  const MutexLock guard(mutex_);
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

Status Counter::take(const Series& series, std::uint64_t count, std::uint64_t& first) {
  const MutexLock guard(mutex_);
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  const bool has_more = series.increment == 1 || series.increment <= kValueMax - next;
  const std::uint64_t value = std::max(first, series.round_up(next));
  if (value == kValueMax || !has_more) return Status::of(ErrorCode::kAutoIncrementExhausted);
  first = value;
  if (value > series.greatest) return Status::ok();
  const std::uint64_t after = series.after(value, std::max<std::uint64_t>(count, 1));
  if (after <= next) return Status::ok();
  BASALT_TRY(raise_mark(after));
  next_ = after;
  return Status::ok();
}

Status Counter::advance(std::uint64_t next) {
  if (next <= next_.load(std::memory_order_relaxed)) return Status::ok();
  const MutexLock guard(mutex_);
  if (next <= next_.load(std::memory_order_relaxed)) return Status::ok();
  BASALT_TRY(raise_mark(next));
  next_ = next;
  return Status::ok();
}

Status Counter::restart(std::uint64_t value) {
  const MutexLock guard(mutex_);
  BASALT_TRY(catalog_.store_counter_mark(table_, kind_, value, kv::Durability::kSynced));
  mark_ = value;
  next_ = std::max<std::uint64_t>(value, 1);
  return Status::ok();
}

Status Counter::save() {
  const MutexLock guard(mutex_);
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  if (next == mark_ || mark_ == 0) return Status::ok();
  BASALT_TRY(catalog_.store_counter_mark(table_, kind_, next, kv::Durability::kBuffered));
  mark_ = next;
  return Status::ok();
}

}  // namespace basalt::table
