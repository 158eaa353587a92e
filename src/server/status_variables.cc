#include "server/status_variables.h"

#include "server/plugin.h"

namespace basalt::server {
namespace {

int show_newest_id(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                   enum_var_type) {
  auto* const value = static_cast<unsigned long long*>(buffer);
  *value = g_plugin == nullptr ? 0 : the_engine().catalog().newest_id();
  variable->type = SHOW_ULONGLONG;
  variable->value = buffer;
  return 0;
}

template <std::uint64_t (lock::LockManager::*counter)() const>
int show_lock_counter(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                      enum_var_type) {
  auto* const value = static_cast<unsigned long long*>(buffer);
  *value = g_plugin == nullptr ? 0 : (the_engine().locks().*counter)();
  variable->type = SHOW_ULONGLONG;
  variable->value = buffer;
  return 0;
}

}  // namespace

st_mysql_show_var g_status_variables[] = {
    SHOW_FUNC_ENTRY("Rocksdb_newest_id", &show_newest_id),
    SHOW_FUNC_ENTRY("Rocksdb_row_lock_deadlocks",
                    &show_lock_counter<&lock::LockManager::deadlock_count>),
    SHOW_FUNC_ENTRY("Rocksdb_row_lock_wait_timeouts",
                    &show_lock_counter<&lock::LockManager::timeout_count>),
    SHOW_FUNC_ENTRY("Rocksdb_row_lock_waits", &show_lock_counter<&lock::LockManager::wait_count>),
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace basalt::server
