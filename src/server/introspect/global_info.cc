#include <string>

#include "kv/reports.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

ST_FIELD_INFO g_columns[] = {
    Show::Column("TYPE", text_type(), NOT_NULL),
    Show::Column("NAME", text_type(), NOT_NULL),
    Show::Column("VALUE", text_type(), NOT_NULL),
    Show::CEnd(),
};

void fill(Rows& rows) {
  kv::Database& database = the_engine().database();
  const auto position = the_engine().transactions().binlog_positions().newest();
  if (position && (!rows.put("BINLOG", "FILE", position->file) ||
                   !rows.put("BINLOG", "POS", std::to_string(position->offset)))) {
    return;
  }
  const std::string newest = std::to_string(the_engine().catalog().newest_id());
  if (!rows.put("MAX_INDEX_ID", "MAX_INDEX_ID", newest)) return;
  for (const kv::FamilyReport& family : kv::family_reports(database)) {
    if (!rows.put("CF_FLAGS", std::to_string(family.id), family.name + " [0]")) return;
  }
  for (const catalog::DroppedIndex& dropped : the_engine().catalog().dropped_indexes()) {
    const std::string name =
        "cf_id:" + std::to_string(dropped.family) + ",index_id:" + std::to_string(dropped.id);
    if (!rows.put("DDL_DROP_INDEX_ONGOING", name, "")) return;
  }
}

}  // namespace

int init_global_info(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
