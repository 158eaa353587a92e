#include "server/status_variables.h"

#include <optional>
#include <string_view>

#include "server/plugin.h"

namespace basalt::server {
namespace {

int show_number(st_mysql_show_var* variable, void* buffer, unsigned long long number) {
  *static_cast<unsigned long long*>(buffer) = number;
  variable->type = SHOW_ULONGLONG;
  variable->value = buffer;
  return 0;
}

int show_text(st_mysql_show_var* variable, void* buffer, std::string_view text) {
  auto* const target = static_cast<char*>(buffer);
  target[text.copy(target, SHOW_VAR_FUNC_BUFF_SIZE - 1)] = '\0';
  variable->type = SHOW_CHAR;
  variable->value = target;
  return 0;
}

int show_newest_id(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                   enum_var_type) {
  return show_number(variable, buffer,
                     g_plugin == nullptr ? 0 : the_engine().catalog().newest_id());
}

template <std::uint64_t (lock::LockManager::*counter)() const>
int show_lock_counter(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                      enum_var_type) {
  return show_number(variable, buffer, g_plugin == nullptr ? 0 : (the_engine().locks().*counter)());
}

int show_log_syncs(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                   enum_var_type) {
  return show_number(variable, buffer,
                     g_plugin == nullptr ? 0 : the_engine().database().wal_sync_count());
}

std::optional<txn::BinlogPosition> newest_position() {
  if (g_plugin == nullptr) return std::nullopt;
  return the_engine().transactions().binlog_positions().newest();
}

int show_binlog_file(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                     enum_var_type) {
  const std::optional<txn::BinlogPosition> position = newest_position();
  return show_text(variable, buffer, position ? std::string_view(position->file) : "");
}

int show_binlog_position(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                         enum_var_type) {
  const std::optional<txn::BinlogPosition> position = newest_position();
  return show_number(variable, buffer, position ? position->offset : 0);
}

int show_state(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  return show_text(variable, buffer,
                   g_plugin == nullptr ? std::string_view()
                                       : name_of(the_engine().database().health().access()));
}

int show_state_cause(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                     enum_var_type) {
  return show_text(variable, buffer,
                   g_plugin == nullptr ? "" : the_engine().database().health().cause());
}

int show_failures(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                  enum_var_type) {
  return show_number(variable, buffer,
                     g_plugin == nullptr ? 0 : the_engine().database().health().failures());
}

int show_loaded_rows(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                     enum_var_type) {
  return show_number(variable, buffer, g_plugin == nullptr ? 0 : the_engine().loaded_rows());
}

int show_decided(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                 enum_var_type) {
  return show_number(variable, buffer,
                     g_plugin == nullptr ? 0 : the_engine().transactions().decided_count());
}

}  // namespace

std::string_view name_of(wal::Access access) {
  switch (access) {
    case wal::Access::kWritable: return "writable";
    case wal::Access::kLowSpace: return "low on space";
    case wal::Access::kReadOnly: return "read-only";
  }
  return "";
}

st_mysql_show_var g_status_variables[] = {
    SHOW_FUNC_ENTRY("Rocksdb_binlog_file", &show_binlog_file),
    SHOW_FUNC_ENTRY("Rocksdb_binlog_position", &show_binlog_position),
    SHOW_FUNC_ENTRY("Rocksdb_bulk_load_rows", &show_loaded_rows),
    SHOW_FUNC_ENTRY("Rocksdb_decided_transactions", &show_decided),
    SHOW_FUNC_ENTRY("Rocksdb_failures", &show_failures),
    SHOW_FUNC_ENTRY("Rocksdb_newest_id", &show_newest_id),
    SHOW_FUNC_ENTRY("Rocksdb_row_lock_current_waits",
                    &show_lock_counter<&lock::LockManager::waiting_count>),
    SHOW_FUNC_ENTRY("Rocksdb_row_lock_deadlocks",
                    &show_lock_counter<&lock::LockManager::deadlock_count>),
    SHOW_FUNC_ENTRY("Rocksdb_row_lock_wait_timeouts",
                    &show_lock_counter<&lock::LockManager::timeout_count>),
    SHOW_FUNC_ENTRY("Rocksdb_row_lock_waits", &show_lock_counter<&lock::LockManager::wait_count>),
    SHOW_FUNC_ENTRY("Rocksdb_state", &show_state),
    SHOW_FUNC_ENTRY("Rocksdb_state_cause", &show_state_cause),
    SHOW_FUNC_ENTRY("Rocksdb_wal_group_syncs", &show_log_syncs),
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace basalt::server
