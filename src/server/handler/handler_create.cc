#include <string>

#include "base/failpoint.h"
#include "base/log.h"
#include "catalog/partition_names.h"
#include "server/convert/error_mapping.h"
#include "server/convert/foreign_key_text.h"
#include "server/handler/definition_check.h"
#include "server/handler/exported_tables.h"
#include "server/handler/foreign_key_definition.h"
#include "server/handler/ha_rocksdb.h"
#include "server/handler/index_families.h"
#include "server/handler/partitioned_tables.h"
#include "server/handler/row_expiry.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// The table that an ALTER TABLE copies to the one that is made; empty if that is no copy.
std::string copied_name(std::string_view name, const HA_CREATE_INFO& info) {
  if (!is_servers_own_name(name) || info.alter_info == nullptr || info.tmp_table()) return "";
  const TABLE* const copied = info.alter_info->original_table;
  if (copied == nullptr) return "";
  return dictionary_name({copied->s->db.str, copied->s->db.length},
                         {copied->s->table_name.str, copied->s->table_name.length});
}

// If a copy gets its final name, and its ALTER TABLE gives the table another one: what the table
// was called before. Else empty.
Result<std::string> name_before_copy(std::string_view from, std::string_view to) {
  if (!is_servers_own_name(from) || is_servers_own_name(to)) return std::string();
  Result<std::string> copied = the_engine().catalog().copied_table(from);
  const std::string_view table = is_partition(to) ? catalog::table_of_partition(to) : to;
  if (copied.is_ok() && copied.value() == table) return std::string();
  return copied;
}

}  // namespace

int ha_rocksdb::create(const char* name, TABLE* form, HA_CREATE_INFO* create_info) noexcept {
  const int refused = check_definition(ha_thd(), *form, *create_info);
  if (refused != 0) return refused;
  ServerTable translation = translate_table(*form, table_name_of(name), g_plugin->collations);
  std::vector<catalog::ForeignKeyDefinition> foreign_keys;
  int error = read_expiry(*form, translation.definition);
  if (error == 0) {
    error = make_foreign_keys(ha_thd(), *form, *create_info, translation, foreign_keys);
  }
  const std::string copied = copied_name(table_name_of(name), *create_info);
  if (error == 0 && !copied.empty()) error = await_references_to(copied);
  if (error != 0) return error;
  Status status = the_engine().create_table(
      std::move(translation.definition), create_info->auto_increment_value,
      index_families(*form, table_name_of(name)), std::move(foreign_keys), copied);
  if (!status.is(ErrorCode::kUnsupported)) return report(std::move(status));
  // The server would tell the number alone.
  my_printf_error(ER_WRONG_ARGUMENTS, "ROCKSDB: %s", MYF(0), status.message().c_str());
  return HA_WRONG_CREATE_OPTION;
}

// A table that an ALTER TABLE copies gives its place to the copy only when transactions that have
// written to its children have ended. Told before the rows are copied, too.
int ha_rocksdb::await_references_to(const std::string& copied) {
  return report_replaced(the_engine().await_references(copied, waiter_of(ha_thd())));
}

// The server would tell that a file cannot be made or renamed.
int ha_rocksdb::report_replaced(Status status) {
  if (status.is(ErrorCode::kLockTimeout)) my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
  warn_if_undecided(ha_thd(), status);
  return report(std::move(status));
}

int ha_rocksdb::delete_table(const char* name) noexcept {
  if (const int error = check_not_referenced(ha_thd(), table_name_of(name)); error != 0) {
    return error;
  }
  Status status = drop_by_name(ha_thd(), table_name_of(name));
  // Those of a table that is dropped as a whole have gone before: handlerton/table_hooks.cc.
  if (status.is(ErrorCode::kTableNotFound) && is_partition(table_name_of(name))) return 0;
  return report(std::move(status));
}

int ha_rocksdb::rename_table(const char* from, const char* to) noexcept {
  const std::string_view old_name = table_name_of(from);
  const std::string_view new_name = table_name_of(to);
  if (the_engine().catalog().find(old_name) == nullptr)
    return report(rename_with_partitions(old_name, new_name));
  // A table that a statement has made and filled appears only now.
  const auto renamed = is_servers_own_name(old_name) ? engine::Engine::Renamed::kAppears
                                                     : engine::Engine::Renamed::kWasThere;
  // One that is copied gives its name, and what references it, to the copy.
  using References = catalog::Catalog::References;
  const bool is_replaced = is_servers_own_name(old_name) || is_servers_own_name(new_name);
  if (const int error = is_replaced ? 0 : check_renamed_constraints(old_name, new_name);
      error != 0) {
    return error;
  }
  Result<std::string> copied = name_before_copy(old_name, new_name);
  if (!copied.is_ok()) return report(copied.take_status());
  // Nothing references a partition.
  const std::string known_as = is_partition(new_name) ? "" : copied.value();
  // As in InnoDB, of which RENAME looks at that in any case.
  const bool gets_other_name = known_as.empty() ? !is_replaced : !ignores_foreign_keys(ha_thd());
  if (const int error =
          gets_other_name ? check_references_to_name(ha_thd(), old_name, new_name) : 0;
      error != 0) {
    return error;
  }
  const bool is_copy = is_servers_own_name(old_name) && !is_servers_own_name(new_name) &&
                       !catalog::is_set_aside(old_name);
  if (const int error = is_copy ? check_references_to_copy(ha_thd(), old_name,
                                                           known_as.empty() ? new_name : known_as)
                                : 0;
      error != 0) {
    return error;
  }
  if (const int error = check_expiry_and_name(old_name, new_name); error != 0) return error;
  const auto references = is_replaced && known_as.empty() ? References::kStay : References::kFollow;
  Status status = the_engine().rename_table(old_name, new_name, renamed, references, known_as,
                                            waiter_of(ha_thd()));
  BASALT_HOLDPOINT("table.rename.done");
  return report_replaced(std::move(status));
}

int ha_rocksdb::truncate() noexcept {
  const auto undecided = table_share->tmp_table == NO_TMP_TABLE ? engine::Engine::Undecided::kRefuse
                                                                : engine::Engine::Undecided::kLeave;
  if (const int error = refuse_if_discarded(ha_thd(), *table, opened().definition()); error != 0) {
    return error;
  }
  Status status = the_engine().truncate_table(share_->translation.definition.name, ha_thd(),
                                              undecided, waiter_of(ha_thd()));
  warn_if_undecided(ha_thd(), status);
  return status.is_ok() ? open_replaced() : report(std::move(status));
}

int ha_rocksdb::discard_or_import_tablespace(my_bool discards) noexcept {
  const catalog::TableDefinition& definition = opened().definition();
  const int error = discards ? discard_table(ha_thd(), *table, definition)
                             : import_table(ha_thd(), *table, definition,
                                            share_->translation.primary_key_bytes_max);
  return error != 0 ? error : open_replaced();
}

int ha_rocksdb::open_replaced() {
  lock_shared_ha_data();
  Status status = open_shared_table(*share_);
  unlock_shared_ha_data();
  bind();
  return report(std::move(status));
}

void ha_rocksdb::update_create_info(HA_CREATE_INFO* create_info) noexcept {
  if ((create_info->used_fields & HA_CREATE_USED_AUTO) != 0) return;
  info(HA_STATUS_AUTO);
  create_info->auto_increment_value = stats.auto_increment_value;
}

// Asked when partitions are exchanged, and when a table is made one.
bool ha_rocksdb::check_if_incompatible_data(HA_CREATE_INFO*, uint table_changes) noexcept {
  if (refuse_if_discarded(ha_thd(), *table, opened().definition()) != 0 ||
      check_new_partition(ha_thd()) != 0 ||
      check_partition_expiry(ha_thd(), opened().definition()) != 0) {
    return COMPATIBLE_DATA_NO;
  }
  return table_changes == IS_EQUAL_YES ? COMPATIBLE_DATA_YES : COMPATIBLE_DATA_NO;
}

}  // namespace basalt::server
