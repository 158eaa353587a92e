#include "server/settings.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"
#include "server/sysvars.h"

namespace basalt::server {
namespace {

using Show::Column;
using Show::Varchar;

ST_FIELD_INFO g_columns[] = {
    Column("NAME", Varchar(64), NOT_NULL),
    Column("VALUE", Show::ULonglong(), NOT_NULL),
    Column("CHOSEN_BY", Varchar(16), NOT_NULL),
    Column("REASON", Varchar(256), NOT_NULL),
    Show::CEnd(),
};

void fill(Rows& rows) {
  const kv::Database& database = the_engine().database();
  kv::DatabaseOptions given = database.given_options();
  kv::DatabaseOptions used = database.current_options();
  given.batch_bytes_max = given_batch_bytes_max();
  if (given.batch_bytes_max != 0) used.batch_bytes_max = given.batch_bytes_max;
  for (const Setting& setting : explain(database.machine(), given, used)) {
    const char* const chosen_by = setting.is_given ? "configuration" : "engine";
    if (!rows.put(setting.name, setting.value, chosen_by, setting.reason)) return;
  }
}

}  // namespace

int init_settings(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
