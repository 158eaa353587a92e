#include "server/handler/partitioned_tables.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "catalog/partition_names.h"
#include "server/convert/table_layout.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

void log_if_failed(std::string_view what, const Status& status) {
  if (status.is_ok()) return;
  log_message(LogLevel::kError, std::string(what) + ": " + status.message());
}

// Of what cannot be told neither is true.
bool is_there(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}
bool is_missing(const std::string& file) {
  std::error_code error;
  return !std::filesystem::exists(file, error) && !error;
}

Status rename_partition(std::string_view from, std::string_view to) {
  return the_engine().rename_table(from, to, engine::Engine::Renamed::kAppears,
                                   catalog::Catalog::References::kStay, {}, {});
}

Status bring_back(const catalog::RenamedPartition& renamed) {
  const std::string& name = renamed.partition->name;
  const std::string_view table = catalog::table_of_partition(name);
  const std::string_view former = catalog::table_of_partition(renamed.former);
  if (table.empty() || former.empty())
    return Status::ok();  // is another table's, or none's, by now
  // The list goes last: the server has ended before it told us.
  if (is_there(list_of(table))) return the_engine().catalog().forget_renamed_partitions(table);
  if (!is_missing(list_of(table)) || !is_there(list_of(former))) return Status::ok();
  BASALT_TRY(rename_partition(name, renamed.former));
  log_message(LogLevel::kInfo, "'" + name + "' is called '" + renamed.former +
                                   "' again: not all partitions of the table had been renamed");
  return Status::ok();
}

// Of a table that the server has dropped in its recovery; with the list.
Status drop_undone(const std::string& name) {
  const std::vector<catalog::TablePointer> partitions = partitions_of(name);
  if (partitions.empty() || !is_there(list_of(name)) || may_have_definition(name)) {
    return Status::ok();
  }
  BASALT_TRY(drop_partitions(nullptr, partitions));
  std::error_code error;
  std::filesystem::remove(list_of(name), error);
  if (!error) return Status::ok();
  return Status(ErrorCode::kIoError, "remove '" + list_of(name) + "': " + error.message());
}

}  // namespace

std::string list_of(std::string_view name) { return std::string(name).append(".par"); }

bool has_partition_list(std::string_view name) {
  std::error_code error;
  // What cannot be told is taken for a list: nothing is dropped by mistake.
  return std::filesystem::exists(list_of(name), error) || error;
}

bool may_have_definition(const std::string& name) { return !is_missing(name + ".frm"); }

bool is_partition(std::string_view name) { return !catalog::table_of_partition(name).empty(); }

std::vector<catalog::TablePointer> partitions_of(std::string_view name) {
  return the_engine().catalog().all_tables(std::string(name).append(catalog::kPartitionMark));
}

Status drop_partitions(THD* thd, const std::vector<catalog::TablePointer>& partitions) {
  for (const catalog::TablePointer& partition : partitions) {
    BASALT_TRY(drop_by_name(thd, partition->name));
  }
  return Status::ok();
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
    BASALT_TRY(rename_partition(partition->name, new_name));
  }
  std::error_code error;
  std::filesystem::rename(list_of(from), list_of(to), error);
  if (error) {
    return Status(ErrorCode::kIoError, "rename '" + list_of(from) + "': " + error.message());
  }
  forget_renamed_partitions(to);
  return Status::ok();
}

void bring_back_renamed_partitions() {
  Result<std::vector<catalog::RenamedPartition>> renamed =
      the_engine().catalog().renamed_partitions();
  if (!renamed.is_ok()) return log_if_failed("renamed partitions", renamed.status());
  for (const catalog::RenamedPartition& partition : renamed.value()) {
    log_if_failed("renamed partitions", bring_back(partition));
  }
}

Status drop_left_partitions(THD* thd, std::string_view name) {
  const std::vector<catalog::TablePointer> partitions = partitions_of(name);
  if (partitions.empty() || has_partition_list(name)) return catalog::table_not_found(name);
  return drop_partitions(thd, partitions);
}

void forget_renamed_partitions(std::string_view name) {
  // After a power loss the list must not have its former name, which nobody would know any more.
  const std::string list = list_of(name);
  if (my_sync_dir_by_file(list.c_str(), MYF(0)) != 0) {
    return log_message(LogLevel::kError, "renamed partitions: cannot sync the directory of '" +
                                             list + "'; their former names stay noted");
  }
  log_if_failed("renamed partitions", the_engine().catalog().forget_renamed_partitions(name));
}

void note_dropped_in_recovery(std::string_view name) {
  if (!g_plugin->recovers_ddl) return;
  g_plugin->dropped_in_recovery.emplace_back(name);
}

void drop_replaced_tables() {
  Result<std::vector<catalog::TablePointer>> replaced = the_engine().catalog().replaced_tables();
  if (!replaced.is_ok()) return log_if_failed("replaced tables", replaced.status());
  for (const catalog::TablePointer& table : replaced.value()) {
    const bool is_part = is_partition(table->name);
    const std::string name(is_part ? catalog::table_of_partition(table->name) : table->name);
    // The first one last: it is what is known of them.
    std::vector<catalog::TablePointer> tables = partitions_of(name);
    if (!is_part) tables.push_back(table);
    std::ranges::reverse(tables);
    const Status status = drop_partitions(nullptr, tables);
    log_if_failed("replaced tables", status);
    if (!status.is_ok()) continue;
    log_message(LogLevel::kInfo, "dropped '" + name + "', which an ALTER TABLE has replaced");
    for (const std::string& file : {list_of(name), name + ".frm"}) {
      std::error_code error;
      std::filesystem::remove(file, error);
      if (error) log_message(LogLevel::kError, "remove '" + file + "': " + error.message());
    }
  }
}

void drop_all_left_partitions() {
  for (const std::string& name : g_plugin->dropped_in_recovery) {
    log_if_failed("left partitions", drop_undone(name));
  }
  g_plugin->dropped_in_recovery.clear();
  std::set<std::string> names;
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    const std::string_view name = catalog::table_of_partition(table->name);
    if (!name.empty()) names.emplace(name);
  }
  for (const std::string& name : names) {
    if (has_partition_list(name)) continue;
    if (is_servers_own_name(name)) {
      log_if_failed("left partitions", drop_left_partitions(nullptr, name));
      continue;
    }
    log_message(LogLevel::kWarning, "partitions of '" + name + "' are left over: '" +
                                        list_of(name) +
                                        "' is missing; restore that file, or remove them with "
                                        "DROP TABLE");
  }
}

}  // namespace basalt::server
