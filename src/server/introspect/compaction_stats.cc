#include <cstdlib>
#include <string_view>

#include "kv/reports.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

ST_FIELD_INFO g_columns[] = {
    Show::Column("CF_NAME", name_type(), NOT_NULL),
    Show::Column("LEVEL", text_type(), NOT_NULL),
    Show::Column("TYPE", text_type(), NOT_NULL),
    Show::Column("VALUE", Show::Double(MAX_DOUBLE_STR_LENGTH), NOT_NULL),
    Show::CEnd(),
};

void fill(Rows& rows) {
  kv::Database& database = the_engine().database();
  for (const kv::FamilyReport& family : kv::family_reports(database)) {
    for (const auto& [name, value] : kv::map_property(database, family.id, "rocksdb.cfstats")) {
      // "compaction.L0.NumFiles"
      constexpr std::string_view kPrefix = "compaction.";
      const std::string_view rest(name);
      if (!rest.starts_with(kPrefix)) continue;
      const std::size_t point = rest.find('.', kPrefix.size());
      if (point == std::string_view::npos) continue;
      const std::string_view level = rest.substr(kPrefix.size(), point - kPrefix.size());
      if (!rows.put(family.name, level, rest.substr(point + 1),
                    std::strtod(value.c_str(), nullptr))) {
        return;
      }
    }
  }
}

}  // namespace

int init_compaction_stats(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
