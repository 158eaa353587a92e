#include "server/status_variables.h"

#include <optional>
#include <string_view>

#include "server/introspect/figures.h"
#include "server/plugin.h"

namespace basalt::server {
namespace {

template <unsigned long long (*figure)()>
int show_figure(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                enum_var_type) {
  *static_cast<unsigned long long*>(buffer) = figure();
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

int show_binlog_file(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*,
                     enum_var_type) {
  if (g_plugin == nullptr) return show_text(variable, buffer, "");
  const auto position = the_engine().transactions().binlog_positions().newest();
  return show_text(variable, buffer, position ? std::string_view(position->file) : "");
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
#define BASALT_FIGURE(name, subsystem, kind, value, text) \
  SHOW_FUNC_ENTRY("Rocksdb_" #name, &show_figure<&figure::name>),
#include "server/introspect/figures.def"
#undef BASALT_FIGURE
    // The texts.
    SHOW_FUNC_ENTRY("Rocksdb_binlog_file", &show_binlog_file),
    SHOW_FUNC_ENTRY("Rocksdb_state", &show_state),
    SHOW_FUNC_ENTRY("Rocksdb_state_cause", &show_state_cause),
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace basalt::server
