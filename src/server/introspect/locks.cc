#include <string_view>

#include "server/introspect/names.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

using Show::SLong;

ST_FIELD_INFO g_columns[] = {
    Show::Column("COLUMN_FAMILY_ID", SLong(), NOT_NULL),
    Show::Column("TRANSACTION_ID", SLong(), NOT_NULL),
    Show::Column("KEY", text_type(), NOT_NULL),
    Show::Column("MODE", Show::Varchar(32), NOT_NULL),
    Show::CEnd(),
};

std::string_view name_of(lock::RangeMode mode) {
  switch (mode) {
    case lock::RangeMode::kGap: return "GAP";
    case lock::RangeMode::kShared: return "S RANGE";
    case lock::RangeMode::kExclusive: return "X RANGE";
  }
  return "";
}

// What waits is in ROCKSDB_LOCK_WAITS.
void fill(Rows& rows) {
  for (const lock::LockInfo& lock : the_engine().locks().snapshot()) {
    if (!lock.granted) continue;
    if (!rows.put(owner_of(lock.key).family(), lock.owner_id, hex_of(lock.key),
                  lock.mode == lock::LockMode::kShared ? "S" : "X")) {
      return;
    }
  }
  for (const lock::RangeInfo& range : the_engine().locks().range_snapshot()) {
    if (!rows.put(owner_of(range.lower).family(), range.owner_id,
                  hex_of(range.lower) + "-" + hex_of(range.upper), name_of(range.mode))) {
      return;
    }
  }
}

}  // namespace

int init_locks(void* schema_table) noexcept {
  return init_guarded_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
