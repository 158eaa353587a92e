#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "server/convert/error_mapping.h"
#include "server/convert/table_layout.h"
#include "server/handler/exported_tables.h"
#include "server/handler/foreign_key_definition.h"
#include "server/handler/ha_rocksdb.h"
#include "server/handler/left_tables.h"
#include "server/handler/partitioned_tables.h"
#include "server/handler/table_version.h"
#include "server/handler/undecided_changes.h"
#include "server/handlerton/hooks.h"
#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

handler* create_handler(handlerton* hton, TABLE_SHARE* share, MEM_ROOT* memory) noexcept {
  return new (memory) ha_rocksdb(hton, share);
}

// The handler's error for the outcome of a drop.
int report_dropped(const Status& status) {
  if (status.is(ErrorCode::kLockTimeout)) return to_handler_error(status, nullptr);
  if (!status.is_ok()) log_message(LogLevel::kError, "DROP TABLE: " + status.message());
  report_failure("the table cannot be dropped", status);
  return to_handler_error(status, nullptr);
}

// Called for tables of any engine whose definition file is missing: absence is not an error. What
// is left of one with partitions is dropped as well.
int drop_table(handlerton*, const char* path) noexcept {
  if (const int error = check_not_referenced(current_thd, table_name_of(path)); error != 0) {
    return error;
  }
  note_dropped_in_recovery(table_name_of(path));
  Status status = drop_by_name(current_thd, table_name_of(path));
  if (status.is(ErrorCode::kTableNotFound)) {
    status = drop_left_partitions(current_thd, table_name_of(path));
  }
  if (status.is(ErrorCode::kTableNotFound)) return ENOENT;
  return report_dropped(status);
}

// Told of the list of a table whose partitions are ours.
int partition_list_changed(const char* path, const char*, chf_create_flags change) noexcept {
  if (change == CHF_RENAME_FLAG) forget_renamed_partitions(table_name_of(path));
  return 0;
}

// Drops the table at `path`, whose partitions are perhaps tables of ours. The partition engine
// deletes its list of the table before it asks us, partition by partition: a refusal then would
// leave half a table, and the end of the server partitions that nobody knows. So they go before.
// Drops of single partitions lock the table first, and are refused there.
int drop_partitioned_table(handlerton* hton, const char* path) noexcept {
  if (g_plugin == nullptr) return HA_ERR_INITIALIZATION;  // the plugin goes
  const std::string_view name = table_name_of(path);
  if (has_partition_list(name)) {
    const std::vector<catalog::TablePointer> partitions = partitions_of(name);
    for (const catalog::TablePointer& table : partitions) {
      const int error = refuse_if_undecided(current_thd, *table);
      if (error != 0) return error;
    }
    for (const catalog::TablePointer& table : partitions) {
      const int error = report_dropped(drop_by_name(current_thd, table->name));
      if (error != 0) return error;
    }
  }
  return g_plugin->drop_partitioned_table(hton, path);
}

void stand_before_partition_engine() {
  if (partition_hton == nullptr || g_plugin->drop_partitioned_table != nullptr) return;
  g_plugin->partition_slot = partition_hton->slot;
  g_plugin->drop_partitioned_table = partition_hton->drop_table;
  partition_hton->drop_table = drop_partitioned_table;
}

void drop_tables_with_prefix(std::string_view prefix) {
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    if (!table->name.starts_with(prefix)) continue;
    const Status status = drop_by_name(current_thd, table->name);
    if (!status.is_ok()) log_message(LogLevel::kError, "DROP DATABASE: " + status.message());
  }
}

// The server has dropped the tables it knows one by one; what is left has no definition file.
void drop_database(handlerton*, char* path) noexcept {
  std::string prefix(table_name_of(path));
  if (!prefix.ends_with('/')) prefix.push_back('/');
  drop_tables_with_prefix(prefix);
}

// After a crash amid an ALTER TABLE in place: whether it was completed, which the server takes from
// 0. `version` is what the table had before; of a table with partitions the server knows none, but
// the `id` of what it has afterwards.
int check_version(handlerton*, const char* path, const LEX_CUSTRING* id,
                  ulonglong version) noexcept {
  const std::string name(table_name_of(path));
  const catalog::TablePointer table = the_engine().catalog().find(name);
  if (table != nullptr) return version_of(*table) != version ? 0 : 1;
  const Result<bool> is_completed = the_engine().catalog().is_completed(
      {name, {reinterpret_cast<const char*>(id->str), id->length}});
  if (!is_completed.is_ok()) {
    log_message(LogLevel::kError, "ALTER TABLE: " + is_completed.status().message());
  }
  return is_completed.is_ok() && is_completed.value() ? 0 : 1;
}

// From here on the server asks for no half-done DDL any more: temporary tables of the last run and
// partitions without a table go, and dropped indexes may be reclaimed. And all engines are there.
int signal_ddl_recovery_done(handlerton*) noexcept {
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    if (!is_temporary_name(table->name)) continue;
    const Status status = drop_by_name(nullptr, table->name);
    if (!status.is_ok()) log_message(LogLevel::kError, "temporary table: " + status.message());
  }
  drop_replaced_tables();
  drop_all_left_partitions();
  warn_of_left_tables();
  remove_left_exports();
  const Status forgotten = the_engine().catalog().forget_alterations();
  if (!forgotten.is_ok()) log_message(LogLevel::kError, "ALTER TABLE: " + forgotten.message());
  g_plugin->recovers_ddl = false;
  the_engine().worker().start_reclaiming();
  stand_before_partition_engine();
  return 0;
}

}  // namespace

void install_table_hooks(handlerton* hton) {
  hton->create = create_handler;
  hton->drop_table = drop_table;
  hton->drop_database = drop_database;
  hton->check_version = check_version;
  hton->create_partitioning_metadata = partition_list_changed;
  hton->signal_ddl_recovery_done = signal_ddl_recovery_done;
  // The server may drop tables before that, when it recovers its DDL log.
  stand_before_partition_engine();
}

void remove_table_hooks() {
  if (g_plugin->drop_partitioned_table == nullptr) return;
  // A server that stops may have ended that engine before: the pointer to it stays as it was.
  const st_plugin_int* const partitions = hton2plugin[g_plugin->partition_slot];
  if (partitions == nullptr || partitions->data != partition_hton) return;
  partition_hton->drop_table = g_plugin->drop_partitioned_table;
}

}  // namespace basalt::server
