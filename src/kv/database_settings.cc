// What an administrator changes while the database is open.
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "block_cache/block_cache.h"
#include "block_cache/memory_budget.h"
#include "kv/database.h"
#include "kv/given_options.h"
#include "kv/rocksdb_options.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {

DatabaseOptions Database::given_options() const {
  const MutexLock guard(given_mutex_);
  return given_;
}

DatabaseOptions Database::current_options() const {
  const DatabaseOptions given = given_options();
  DatabaseOptions current = with_defaults_for(machine_, given);
  if (budget_ != nullptr) {
    const std::uint64_t bytes = budget_->blocks_bytes();
    current.block_cache_bytes =
        given.block_cache_bytes == 0 ? bytes : std::min(bytes, given.block_cache_bytes);
  }
  return current;
}

std::uint64_t Database::budgeted_bytes_max(const DatabaseOptions& given) const {
  return given.block_cache_bytes == 0 ? std::numeric_limits<std::uint64_t>::max()
                                      : cache_capacity(with_defaults_for(machine_, given));
}

// Without the mutex: much memory may go back to the system.
void Database::set_block_cache_bytes(std::uint64_t bytes) {
  DatabaseOptions given;
  {
    const MutexLock guard(given_mutex_);
    given_.block_cache_bytes = bytes;
    given = given_;
  }
  if (budget_ != nullptr) {
    budget_->set_capacity_max(budgeted_bytes_max(given));
  } else {
    cache_->SetCapacity(cache_capacity(with_defaults_for(machine_, given)));
  }
}

void Database::set_reserved_disk_bytes(std::uint64_t bytes) {
  const MutexLock guard(given_mutex_);
  given_.reserved_disk_bytes = bytes;
  health_->set_reserved_bytes(with_defaults_for(machine_, given_).reserved_disk_bytes);
}

Status Database::set_background_jobs(int jobs) {
  BASALT_DEBUG_ASSERT(jobs >= 0);
  const MutexLock guard(given_mutex_);
  DatabaseOptions given = given_;
  given.background_jobs = jobs;
  BASALT_TRY(set_option("max_background_jobs",
                        std::to_string(with_defaults_for(machine_, given).background_jobs)));
  given_.background_jobs = jobs;
  return Status::ok();
}

Status Database::set_option(const std::string& name, const std::string& value) {
  return rdb::from_rocksdb(db_->SetDBOptions({{name, value}}));
}

Status Database::set_family_options(std::string_view text) {
  const MutexLock guard(resume_mutex_);
  const rdb::ColumnFamilyOptions base = db_->GetOptions(family_handle(kDefaultFamily));
  return family_options_->change(
      text, base, [&](const std::string& family, const FamilyOptions::Options& changed) -> Status {
        const std::optional<FamilyId> id = find_family(family);
        if (!id || changed.empty()) return Status::ok();
        BASALT_ASSERT(*id != kSystemFamily);
        const FamilyHold hold = hold_family(*id);
        if (hold == nullptr) return Status::ok();
        return rdb::from_rocksdb(db_->SetOptions(hold.get(), {changed.begin(), changed.end()}));
      });
}

Status Database::set_compacts_weekly(FamilyId family, bool is_set) {
  // No round number, which could be an administrator's.
  constexpr std::uint64_t kWeek = 7 * 24 * 3600 + 1;
  const MutexLock guard(resume_mutex_);
  const FamilyHold hold = hold_family(family);
  if (hold == nullptr) return Status::ok();
  const std::uint64_t before = is_set ? 0 : kWeek;
  const std::uint64_t after = is_set ? kWeek : 0;
  if (db_->GetOptions(hold.get()).periodic_compaction_seconds != before) return Status::ok();
  return rdb::from_rocksdb(
      db_->SetOptions(hold.get(), {{"periodic_compaction_seconds", std::to_string(after)}}));
}

bool Database::set_rate_limit(std::uint64_t bytes) {
  const std::shared_ptr<rdb::RateLimiter> limiter = db_->GetDBOptions().rate_limiter;
  if (limiter == nullptr || bytes == 0) return false;
  limiter->SetBytesPerSecond(static_cast<std::int64_t>(bytes));
  return true;
}

void Database::set_log_level(unsigned long level) {
  BASALT_ASSERT(level <= rdb::InfoLogLevel::FATAL_LEVEL);
  const std::shared_ptr<rdb::Logger> log = db_->GetDBOptions().info_log;
  if (log != nullptr) log->SetInfoLogLevel(static_cast<rdb::InfoLogLevel>(level));
}

Status Database::pause_background_work(bool is_paused) {
  BASALT_DEBUG_ASSERT(db_ != nullptr);
  // RocksDB counts.
  if (is_paused_.exchange(is_paused) == is_paused) return Status::ok();
  return rdb::from_rocksdb(is_paused ? db_->PauseBackgroundWork() : db_->ContinueBackgroundWork());
}

Status Database::check_not_paused() const {
  if (!is_paused_) return Status::ok();
  return Status(ErrorCode::kInvalidArgument,
                "flushes and compactions are paused, and would be waited for without end");
}

Status Database::flush_and_compact_level0() {
  BASALT_TRY(renew_expiry_limit(1));
  BASALT_TRY(flush());
  for (const FamilyHold& hold : families_.hold_all()) {
    rdb::ColumnFamilyHandle* const family = hold.get();
    rdb::ColumnFamilyMetaData files;
    db_->GetColumnFamilyMetaData(family, &files);
    std::vector<std::string> names;
    for (const rdb::SstFileMetaData& file : files.levels.front().files) {
      if (!file.being_compacted) names.push_back(file.name);
    }
    if (names.empty()) continue;
    // The level that takes files of level 0: with levels that grow from below it is not the first.
    int target = 1;
    while (target + 1 < static_cast<int>(files.levels.size()) &&
           files.levels[static_cast<std::size_t>(target)].files.empty()) {
      ++target;
    }
    const rdb::Status status = db_->CompactFiles(rdb::CompactionOptions(), family, names, target);
    // Others may have compacted them meanwhile.
    if (!status.ok() && !status.IsAborted() && !status.IsInvalidArgument()) {
      return rdb::from_rocksdb(status);
    }
  }
  return Status::ok();
}

}  // namespace basalt::kv
