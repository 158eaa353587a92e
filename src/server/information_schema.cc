#include "server/information_schema.h"

#include <string>
#include <string_view>
#include <vector>

#include "server/convert/error_mapping.h"
#include "server/plugin.h"
#include "server/settings.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

using Show::CEnd;
using Show::Column;
using Show::ULonglong;
using Show::Varchar;

ST_FIELD_INFO g_settings_columns[] = {
    Column("NAME", Varchar(64), NOT_NULL),
    Column("VALUE", ULonglong(), NOT_NULL),
    Column("CHOSEN_BY", Varchar(16), NOT_NULL),
    Column("REASON", Varchar(256), NOT_NULL),
    CEnd(),
};

ST_FIELD_INFO g_index_space_columns[] = {
    Column("INDEX_ID", ULonglong(), NOT_NULL),
    Column("COLUMN_FAMILY", Varchar(64), NOT_NULL),
    Column("STATE", Varchar(16), NOT_NULL),
    Column("TABLE_NAME", Varchar(FN_REFLEN), NOT_NULL),
    Column("INDEX_NAME", Varchar(NAME_CHAR_LEN), NOT_NULL),
    Column("BYTES", ULonglong(), NOT_NULL),
    Column("HAS_UNDECIDED_CHANGES", ULonglong(), NOT_NULL),
    CEnd(),
};

void store(Field* field, std::string_view text) {
  field->store(text.data(), text.size(), system_charset_info);
}

// Whether the engine, which is a plugin of its own, runs; it does until the statement's end then.
bool keep_engine(THD* thd) {
  const LEX_CSTRING engine = {STRING_WITH_LEN("ROCKSDB")};
  return plugin_lock_by_name(thd, &engine, MYSQL_STORAGE_ENGINE_PLUGIN) != nullptr;
}

int fill_settings(THD* thd, TABLE_LIST* tables, COND*) noexcept {
  if (!keep_engine(thd)) return 0;
  TABLE* table = tables->table;
  const kv::Database& database = the_engine().database();
  for (const Setting& setting :
       explain(database.machine(), database.given_options(), database.current_options())) {
    restore_record(table, s->default_values);
    store(table->field[0], setting.name);
    table->field[1]->store(static_cast<longlong>(setting.value), true);
    store(table->field[2], setting.is_given ? "configuration" : "engine");
    store(table->field[3], setting.reason);
    if (schema_table_store_record(thd, table)) return 1;
  }
  return 0;
}

std::string_view name_of(catalog::IndexState state) {
  switch (state) {
    case catalog::IndexState::kUnknown: return "unknown";
    case catalog::IndexState::kBuilding: return "building";
    case catalog::IndexState::kInUse: return "in use";
    case catalog::IndexState::kDropped: return "dropped";
  }
  return "";
}

int fill_index_space(THD* thd, TABLE_LIST* tables, COND*) noexcept {
  if (!keep_engine(thd)) return 0;
  Result<std::vector<engine::Engine::StoredIndex>> indexes = the_engine().stored_indexes();
  if (!indexes.is_ok()) {
    report_failure("the indexes cannot be listed", indexes.status());
    return 1;
  }
  TABLE* table = tables->table;
  for (const engine::Engine::StoredIndex& stored : indexes.value()) {
    restore_record(table, s->default_values);
    table->field[0]->store(stored.id, true);
    store(table->field[1], stored.family_name);
    store(table->field[2], name_of(stored.state));
    if (stored.table != nullptr) {
      store(table->field[3], stored.table->name);
      for (const catalog::IndexDefinition& index : stored.table->indexes) {
        if (index.id == stored.id) store(table->field[4], index.name);
      }
    }
    table->field[5]->store(static_cast<longlong>(stored.bytes), true);
    table->field[6]->store(stored.has_undecided_changes ? 1 : 0, true);
    if (schema_table_store_record(thd, table)) return 1;
  }
  return 0;
}

}  // namespace

int init_settings_table(void* schema_table) noexcept {
  if (!is_built_for_this_server()) return 1;
  auto* table = static_cast<ST_SCHEMA_TABLE*>(schema_table);
  table->fields_info = g_settings_columns;
  table->fill_table = fill_settings;
  return 0;
}

int init_index_space_table(void* schema_table) noexcept {
  if (!is_built_for_this_server()) return 1;
  auto* table = static_cast<ST_SCHEMA_TABLE*>(schema_table);
  table->fields_info = g_index_space_columns;
  table->fill_table = fill_index_space;
  return 0;
}

}  // namespace basalt::server
