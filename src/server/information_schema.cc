#include "server/information_schema.h"

#include <string_view>

#include "server/plugin.h"
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

void store(Field* field, std::string_view text) {
  field->store(text.data(), text.size(), system_charset_info);
}

int fill_settings(THD* thd, TABLE_LIST* tables, COND*) noexcept {
  // The engine is a plugin of its own and stays until the statement's end.
  const LEX_CSTRING engine = {STRING_WITH_LEN("ROCKSDB")};
  if (plugin_lock_by_name(thd, &engine, MYSQL_STORAGE_ENGINE_PLUGIN) == nullptr) return 0;
  TABLE* table = tables->table;
  for (const kv::Setting& setting : the_engine().database().settings()) {
    restore_record(table, s->default_values);
    store(table->field[0], setting.name);
    table->field[1]->store(static_cast<longlong>(setting.value), true);
    store(table->field[2], setting.is_given ? "configuration" : "engine");
    store(table->field[3], setting.reason);
    if (schema_table_store_record(thd, table)) return 1;
  }
  return 0;
}

}  // namespace

int init_settings_table(void* schema_table) noexcept {
  auto* table = static_cast<ST_SCHEMA_TABLE*>(schema_table);
  table->fields_info = g_settings_columns;
  table->fill_table = fill_settings;
  return 0;
}

}  // namespace basalt::server
