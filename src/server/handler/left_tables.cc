#include "server/handler/left_tables.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "base/log.h"
#include "catalog/definitions.h"
#include "catalog/partition_names.h"
#include "server/convert/table_layout.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"

namespace basalt::server {
namespace {

// True also where that cannot be found out.
bool may_have_definition_file(const std::string& name) {
  std::error_code error;
  return std::filesystem::exists(name + ".frm", error) || error;
}

void drop_left(THD* thd, const std::string& name) {
  const Status status = drop_by_name(thd, name);
  if (status.is_ok()) {
    log_message(LogLevel::kInfo, "dropped '" + name + "', which a statement that failed has left");
  } else if (!status.is(ErrorCode::kTableNotFound)) {
    log_message(LogLevel::kError, "drop '" + name + "', which is left over: " + status.message());
  }
}

}  // namespace

void LeftTables::note(std::string_view name) {
  const MutexLock guard(mutex_);
  names_.emplace(name);
}

void LeftTables::drop() {
  std::set<std::string> names;
  {
    const MutexLock guard(mutex_);
    names.swap(names_);
  }
  for (const std::string& name : names) {
    if (!may_have_definition_file(name)) drop_left(current_thd, name);
  }
}

void drop_left_copies() {
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    const std::string& name = table->name;
    if (!catalog::table_of_partition(name).empty() || may_have_definition_file(name)) continue;
    if (is_servers_own_name(name)) {
      drop_left(nullptr, name);
      continue;
    }
    log_message(LogLevel::kWarning, "the table '" + name + "' is left over: '" + name +
                                        ".frm' is missing; restore that file, or remove it with "
                                        "DROP TABLE");
  }
}

}  // namespace basalt::server
