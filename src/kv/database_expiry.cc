// The stored limit of what compactions may take as expired: docs/formats/catalog.md.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/log.h"
#include "kv/database.h"

namespace basalt::kv {
namespace {

constexpr std::string_view kLimitKey = "\x0B";
// Nobody notices what is less.
constexpr std::uint64_t kAheadMax = 3600;

// Nothing if it is not the value of such a record.
std::optional<std::uint64_t> limit_of(std::string_view value) {
  std::uint64_t limit = 0;
  if (!consume_varint(value, limit) || !value.empty()) return std::nullopt;
  return limit;
}

}  // namespace

Status Database::store_expiry_limit(std::uint64_t limit) {
  std::string value;
  append_varint(value, limit);
  WriteBatch change;
  change.put(kSystemFamily, kLimitKey, value);
  return write(change, Durability::kSynced);
}

Status Database::load_expiry_limit(std::optional<std::uint64_t> manifest_time) {
  const MutexLock guard(expiry_limit_mutex_);
  PinnedValue value;
  bool found = false;
  BASALT_TRY(get(kSystemFamily, kLimitKey, {}, value, found));
  std::optional<std::uint64_t> limit;
  if (found) limit = limit_of(value.view());
  // Of a WAL that was damaged later limits may be lost.
  const bool is_known = limit.has_value() && !options_.accept_wal_damage;
  if (!is_known) limit = std::max(limit.value_or(0), manifest_time.value_or(0));
  expiry_clock_.start_with_limit(*limit);
  BASALT_DEBUG_ASSERT(expiry_clock_.taken_until() == *limit);
  if (*limit > expiry_clock_.now() + kAheadMax) {
    log_message(LogLevel::kWarning,
                "compactions may have taken rows that expire by a clock that is " +
                    std::to_string(*limit - expiry_clock_.now()) +
                    " seconds ahead, and until then rows are taken for expired by that time; check "
                    "the clock, and if it was wrong before, load these rows into a new database");
  }
  return is_known ? Status::ok() : store_expiry_limit(*limit);
}

bool Database::has_lifetimes() {
  for (const Family& family : families()) {
    if (lifetimes_->has_lifetimes(family.id)) return true;
  }
  return false;
}

Status Database::renew_expiry_limit(std::uint64_t step) {
  BASALT_DEBUG_ASSERT(step != 0);
  if (is_paused_ || !expiry_clock_.takes_rows() || !has_lifetimes()) return Status::ok();
  const MutexLock guard(expiry_limit_mutex_);
  const std::uint64_t before = expiry_clock_.limit();
  const std::uint64_t wanted = expiry_clock_.wanted_limit();
  if (wanted >= before + step) {
    BASALT_TRY(store_expiry_limit(wanted));
    expiry_clock_.set_limit(wanted);
  } else if (wanted + step <= before) {
    // One that fails leaves a later limit than need be.
    return store_expiry_limit(expiry_clock_.set_limit(wanted));
  }
  return Status::ok();
}

void Database::lower_expiry_limit() {
  const MutexLock guard(expiry_limit_mutex_);
  if (expiry_clock_.limit() <= expiry_clock_.taken_until()) return;
  store_expiry_limit(expiry_clock_.set_limit(0)).ignore("a later limit than need be is right, too");
}

}  // namespace basalt::kv
