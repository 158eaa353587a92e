// What a SET tells the engine beside storing a value.
#include <string>

#include "base/log.h"
#include "kv/adjustments.h"
#include "server/plugin.h"
#include "server/sysvar_values.h"
#include "server/sysvars.h"

namespace basalt::server {
namespace {

template <typename Value>
Value store(void* target, const void* value) {
  return *static_cast<Value*>(target) = *static_cast<const Value*>(value);
}

// What a SET could not do, when it is too late to refuse it.
void warn(THD* thd, const std::string& sentence) {
  log_message(LogLevel::kWarning, sentence);
  push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR, sentence.c_str());
}

// RocksDB reads 0 as its default at the start, and later as one byte a second.
constexpr const char* kDelayedWriteRate = "delayed_write_rate";
constexpr unsigned long long kDelayedWriteRateDefault = 16 * 1024 * 1024;

// Tells RocksDB of a setting that it obeys.
template <typename Number>
void hand_on(THD* thd, const st_mysql_sys_var* variable, Number number) {
  const RocksdbSetting* const setting = find_rocksdb_setting(variable);
  if (g_plugin == nullptr || setting == nullptr) return;
  std::string text = std::to_string(number);
  if (number == 0 && setting->option == std::string_view(kDelayedWriteRate)) {
    text = std::to_string(kDelayedWriteRateDefault);
  }
  const Status status = the_engine().database().set_option(setting->option, text);
  if (!status.is_ok()) warn(thd, std::string(setting->name) + ": " + status.message());
}

}  // namespace

void apply_flush_log(THD*, st_mysql_sys_var*, void* target, const void* value) {
  store<unsigned long long>(target, value);
  if (g_plugin != nullptr) the_engine().worker().set_sync_wal(!commits_are_synced());
}

// The global value is that of connections to come, and a switch for all, as InnoDB's is.
void apply_deadlock_detect(THD*, st_mysql_sys_var*, void* target, const void* value) {
  store<my_bool>(target, value);
  if (g_plugin != nullptr) the_engine().locks().set_deadlock_detect(detects_deadlocks(nullptr));
}

void apply_deadlocks_kept(THD*, st_mysql_sys_var*, void* target, const void* value) {
  const auto count = store<unsigned>(target, value);
  if (g_plugin != nullptr) the_engine().locks().set_deadlocks_kept(count);
}

void apply_deletion_rate(THD*, st_mysql_sys_var*, void* target, const void* value) {
  const auto bytes = store<unsigned long long>(target, value);
  if (g_plugin != nullptr) kv::set_deletion_rate(the_engine().database(), bytes);
}

void apply_early_compaction(THD*, st_mysql_sys_var*, void* target, const void* value) {
  store<long long>(target, value);
  if (g_plugin != nullptr) kv::set_early_compaction(the_engine().database(), early_compaction());
}

// As in MyRocks the variable stays ON, and each SET to ON is another reset.
void apply_reset_stats(THD* thd, st_mysql_sys_var*, void* target, const void* value) {
  if (store<my_bool>(target, value) == 0 || g_plugin == nullptr) return;
  const Status status = kv::reset_statistics(the_engine().database());
  if (!status.is_ok()) warn(thd, "rocksdb_reset_stats: " + status.message());
}

void apply_expiry(THD*, st_mysql_sys_var*, void* target, const void* value) {
  const bool takes_rows = store<my_bool>(target, value) != 0;
  if (g_plugin != nullptr) the_engine().database().expiry_clock().set_takes_rows(takes_rows);
}

void apply_reserved_disk_space(THD*, st_mysql_sys_var*, void* target, const void* value) {
  const auto bytes = store<unsigned long long>(target, value);
  if (g_plugin != nullptr) the_engine().database().set_reserved_disk_bytes(bytes);
}

void apply_block_cache(THD*, st_mysql_sys_var*, void* target, const void* value) {
  auto bytes = store<unsigned long long>(target, value);
  if (g_plugin == nullptr) return;
  // Gigabytes are given back in seconds, for which no connection is to wait. Another SET may come
  // meanwhile, and be done first.
  const auto& newest = *static_cast<const unsigned long long*>(target);
  unsigned long long done = 0;
  do {
    done = bytes;
    mysql_mutex_unlock(&LOCK_global_system_variables);
    the_engine().database().set_block_cache_bytes(done);
    mysql_mutex_lock(&LOCK_global_system_variables);
    bytes = newest;
  } while (bytes != done);
}

void apply_rocksdb_option(THD* thd, st_mysql_sys_var* variable, void* target, const void* value) {
  hand_on(thd, variable, store<unsigned long long>(target, value));
}

void apply_rocksdb_int(THD* thd, st_mysql_sys_var* variable, void* target, const void* value) {
  hand_on(thd, variable, store<int>(target, value));
}

void apply_background_jobs(THD* thd, st_mysql_sys_var*, void* target, const void* value) {
  const int jobs = store<int>(target, value);
  if (g_plugin == nullptr) return;
  const Status status = the_engine().database().set_background_jobs(jobs);
  if (!status.is_ok()) warn(thd, "rocksdb_max_background_jobs: " + status.message());
}

// In MyRocks' words, which its users' scripts may look for.
void apply_rate_limit(THD* thd, st_mysql_sys_var*, void* target, const void* value) {
  const auto bytes = *static_cast<const unsigned long long*>(value);
  const bool is_same = bytes == *static_cast<unsigned long long*>(target);
  if (g_plugin != nullptr && !is_same && !the_engine().database().set_rate_limit(bytes)) {
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_WRONG_ARGUMENTS,
                 "RocksDB: rocksdb_rate_limiter_bytes_per_sec cannot be dynamically changed to or "
                 "from 0.  Do a clean shutdown if you want to change it from or to 0.");
    return;
  }
  store<unsigned long long>(target, value);
}

void apply_log_level(THD*, st_mysql_sys_var*, void* target, const void* value) {
  const auto level = store<unsigned long>(target, value);
  if (g_plugin != nullptr) the_engine().database().set_log_level(level);
}

// The pause is over before the variable says so.
void apply_pause(THD* thd, st_mysql_sys_var*, void* target, const void* value) {
  const bool is_paused = store<my_bool>(target, value) != 0;
  if (g_plugin == nullptr) return;
  const Status status = the_engine().database().pause_background_work(is_paused);
  if (!status.is_ok()) warn(thd, "rocksdb_pause_background_work: " + status.message());
}

// An option that is wrong fails the SET, which names the whole text; a warning tells what it is.
int check_family_options(THD* thd, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  char buffer[FN_REFLEN];
  int length = sizeof buffer;
  const char* text = value->val_str(value, buffer, &length);
  *static_cast<const char**>(save) = nullptr;
  if (text == nullptr) return 0;
  text = thd_strmake(thd, text, static_cast<std::size_t>(length));
  const Status status = the_engine().database().set_family_options(text);
  if (!status.is_ok()) {
    const std::string sentence = "rocksdb_update_cf_options: " + status.message();
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR, sentence.c_str());
    return 1;
  }
  *static_cast<const char**>(save) = text;
  return 0;
}

void apply_settings_of_start() {
  the_engine().worker().set_sync_wal(!commits_are_synced());
  the_engine().locks().set_deadlocks_kept(g_max_latest_deadlocks);
  kv::set_deletion_rate(the_engine().database(), g_sst_mgr_rate_bytes_per_sec);
  kv::set_early_compaction(the_engine().database(), early_compaction());
}

}  // namespace basalt::server
