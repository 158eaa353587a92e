#include "kv/reports.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

ST_FIELD_INFO g_columns[] = {
    Show::Column("STAT_TYPE", name_type(), NOT_NULL),
    Show::Column("VALUE", number_type(), NOT_NULL),
    Show::CEnd(),
};

constexpr struct {
  const char* name;
  const char* property;
} kFigures[] = {
    {"DB_BACKGROUND_ERRORS", "rocksdb.background-errors"},
    {"DB_NUM_SNAPSHOTS", "rocksdb.num-snapshots"},
    {"DB_OLDEST_SNAPSHOT_TIME", "rocksdb.oldest-snapshot-time"},
    {"DB_BLOCK_CACHE_USAGE", "rocksdb.block-cache-usage"},
};

void fill(Rows& rows) {
  kv::Database& database = the_engine().database();
  // Snapshots that nobody uses and that are kept for the next statement are no figure.
  database.release_idle();
  for (const auto& figure : kFigures) {
    if (!rows.put(figure.name,
                  kv::number_property(database, kv::kDefaultFamily, figure.property))) {
      return;
    }
  }
}

}  // namespace

int init_dbstats(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
