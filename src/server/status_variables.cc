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

}  // namespace

st_mysql_show_var g_status_variables[] = {
    SHOW_FUNC_ENTRY("Rocksdb_newest_id", &show_newest_id),
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace basalt::server
