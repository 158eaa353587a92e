#include "server/handler/partitioned_tables.h"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "base/log.h"
#include "server/convert/table_layout.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"

namespace basalt::server {
namespace {

// The server's working directory is its data directory.
std::string list_of(std::string_view name) { return std::string(name).append(".par"); }

}  // namespace

bool has_partition_list(std::string_view name) {
  std::error_code error;
  // What cannot be told is taken for a list: nothing is dropped by mistake.
  return std::filesystem::exists(list_of(name), error) || error;
}

bool is_partition(std::string_view name) { return name.find(kPartitionMark) != name.npos; }

std::vector<catalog::TablePointer> partitions_of(std::string_view name) {
  return the_engine().catalog().all_tables(std::string(name).append(kPartitionMark));
}

Status rename_with_partitions(std::string_view from, std::string_view to) {
  if (!has_partition_list(from)) return catalog::table_not_found(from);
  if (has_partition_list(to)) {
    return Status(ErrorCode::kTableExists, "'" + list_of(to) + "' already exists");
  }
  for (const catalog::TablePointer& partition : partitions_of(from)) {
    const std::string new_name = std::string(to) + partition->name.substr(from.size());
    if (the_engine().catalog().find(new_name) != nullptr) {
      BASALT_TRY(drop_by_name(current_thd, new_name));
    }
    BASALT_TRY(the_engine().rename_table(partition->name, new_name,
                                         engine::Engine::Renamed::kAppears,
                                         catalog::Catalog::References::kStay, {}, {}));
  }
  std::error_code error;
  std::filesystem::rename(list_of(from), list_of(to), error);
  if (!error) return Status::ok();
  return Status(ErrorCode::kIoError, "rename '" + list_of(from) + "': " + error.message());
}

Status drop_left_partitions(THD* thd, std::string_view name) {
  const std::vector<catalog::TablePointer> partitions = partitions_of(name);
  if (partitions.empty() || has_partition_list(name)) return catalog::table_not_found(name);
  for (const catalog::TablePointer& partition : partitions) {
    BASALT_TRY(drop_by_name(thd, partition->name));
  }
  return Status::ok();
}

void drop_all_left_partitions() {
  std::set<std::string> names;
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    const std::size_t mark = table->name.find(kPartitionMark);
    if (mark == std::string::npos) continue;
    names.insert(table->name.substr(0, mark));
  }
  for (const std::string& name : names) {
    if (has_partition_list(name)) continue;
    if (is_servers_own_name(name)) {
      const Status status = drop_left_partitions(nullptr, name);
      if (!status.is_ok()) log_message(LogLevel::kError, "left partitions: " + status.message());
      continue;
    }
    log_message(LogLevel::kWarning, "partitions of '" + name + "' are left over: '" +
                                        list_of(name) +
                                        "' is missing; restore that file, or remove them with "
                                        "DROP TABLE");
  }
}

}  // namespace basalt::server
