#include "kv/reports.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

ST_FIELD_INFO g_columns[] = {
    Show::Column("CF_NAME", name_type(), NOT_NULL),
    Show::Column("STAT_TYPE", name_type(), NOT_NULL),
    Show::Column("VALUE", number_type(), NOT_NULL),
    Show::CEnd(),
};

constexpr struct {
  const char* name;
  const char* property;
} kFigures[] = {
    {"NUM_IMMUTABLE_MEM_TABLE", "rocksdb.num-immutable-mem-table"},
    {"MEM_TABLE_FLUSH_PENDING", "rocksdb.mem-table-flush-pending"},
    {"COMPACTION_PENDING", "rocksdb.compaction-pending"},
    {"CUR_SIZE_ACTIVE_MEM_TABLE", "rocksdb.cur-size-active-mem-table"},
    {"CUR_SIZE_ALL_MEM_TABLES", "rocksdb.cur-size-all-mem-tables"},
    {"NUM_ENTRIES_ACTIVE_MEM_TABLE", "rocksdb.num-entries-active-mem-table"},
    {"NUM_ENTRIES_IMM_MEM_TABLES", "rocksdb.num-entries-imm-mem-tables"},
    {"NON_BLOCK_CACHE_SST_MEM_USAGE", "rocksdb.estimate-table-readers-mem"},
    {"NUM_LIVE_VERSIONS", "rocksdb.num-live-versions"},
};

void fill(Rows& rows) {
  kv::Database& database = the_engine().database();
  for (const kv::FamilyReport& family : kv::family_reports(database)) {
    for (const auto& figure : kFigures) {
      if (!rows.put(family.name, figure.name,
                    kv::number_property(database, family.id, figure.property))) {
        return;
      }
    }
  }
}

}  // namespace

int init_cfstats(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
