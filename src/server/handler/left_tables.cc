#include "server/handler/left_tables.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "catalog/definitions.h"
#include "catalog/partition_names.h"
#include "server/handler/partitioned_tables.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"

namespace basalt::server {
namespace {

// Of a partition, the table: a partition has no file of its own.
std::string_view table_of(std::string_view name) {
  const std::string_view table = catalog::table_of_partition(name);
  return table.empty() ? name : table;
}

// Drops a table without a definition file, or its partitions and their list.
Status drop_with_partitions(THD* thd, const std::string& name) {
  Status status = drop_by_name(thd, name);
  if (!status.is(ErrorCode::kTableNotFound)) return status;
  const std::vector<catalog::TablePointer> partitions = partitions_of(name);
  BASALT_TRY(drop_partitions(thd, partitions));
  std::error_code error;
  std::filesystem::remove(list_of(name), error);
  return partitions.empty() ? std::move(status) : Status::ok();
}

// The copy that an ALTER TABLE makes, whose name no other statement has. Another name of the
// server's may be the only one of a table: #sql-exchange-, #sql-backup-.
bool is_copy(std::string_view name) {
  return name.substr(name.find('/') + 1).starts_with("#sql-alter-");
}

void drop_left(THD* thd, const std::string& name) {
  const Status status = drop_with_partitions(thd, name);
  if (status.is_ok()) {
    log_message(LogLevel::kInfo, "dropped '" + name + "', which a statement that failed has left");
  } else if (!status.is(ErrorCode::kTableNotFound)) {
    log_message(LogLevel::kError, "drop '" + name + "', which is left over: " + status.message());
  }
}

}  // namespace

void LeftTables::note(std::string_view name) {
  if (!is_copy(name)) return;
  const MutexLock guard(mutex_);
  names_.emplace(table_of(name));
}

void LeftTables::drop() {
  std::set<std::string> names;
  {
    const MutexLock guard(mutex_);
    names.swap(names_);
  }
  for (const std::string& name : names) {
    if (!may_have_definition(name)) drop_left(current_thd, name);
  }
}

void warn_of_left_tables() {
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    const std::string& name = table->name;
    if (!catalog::table_of_partition(name).empty() || may_have_definition(name)) continue;
    log_message(LogLevel::kWarning, "the table '" + name + "' is left over: '" + name +
                                        ".frm' is missing; restore that file, or remove it with "
                                        "DROP TABLE");
  }
}

}  // namespace basalt::server
