#include <cstdint>
#include <optional>

#include "kv/reports.h"
#include "server/introspect/names.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

using Show::SLong;
using Show::SShort;

ST_FIELD_INFO g_columns[] = {
    Show::Column("TABLE_SCHEMA", name_type(), NOT_NULL),
    Show::Column("TABLE_NAME", name_type(), NOT_NULL),
    Show::Column("PARTITION_NAME", name_type(), NULLABLE),
    Show::Column("INDEX_NAME", name_type(), NOT_NULL),
    Show::Column("COLUMN_FAMILY", SLong(), NOT_NULL),
    Show::Column("INDEX_NUMBER", SLong(), NOT_NULL),
    Show::Column("INDEX_TYPE", SShort(6), NOT_NULL),
    Show::Column("KV_FORMAT_VERSION", SShort(6), NOT_NULL),
    Show::Column("TTL_DURATION", number_type(), NOT_NULL),
    Show::Column("INDEX_FLAGS", number_type(), NOT_NULL),
    Show::Column("CF", name_type(), NOT_NULL),
    Show::Column("AUTO_INCREMENT", Show::ULonglong(), NULLABLE),
    Show::CEnd(),
};

// MyRocks' numbers.
enum IndexType : int { kPrimary = 1, kSecondary = 2, kHiddenPrimary = 3 };
// The first version of the formats in docs/formats; MyRocks' are 10 and above.
constexpr int kFormatVersion = 1;
// MyRocks' flag of an index whose entries expire.
constexpr int kExpires = 1;

IndexType type_of(const catalog::TableDefinition& table, const catalog::IndexDefinition& index) {
  if (&index != &table.indexes.front()) return kSecondary;
  return table.has_hidden_key() ? kHiddenPrimary : kPrimary;
}

// How long rows live; 0: for ever.
std::uint64_t seconds_of(const catalog::TableDefinition& table) {
  return table.expiry.has_value() ? table.expiry->lifetime.seconds : 0;
}

void fill(Rows& rows) {
  kv::Database& database = the_engine().database();
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    const TableName name = split_name(table->name);
    const int flags = table->expiry.has_value() ? kExpires : 0;
    const std::optional<std::uint64_t> next = the_engine().next_auto_increment(table->id);
    for (const catalog::IndexDefinition& index : table->indexes) {
      if (!rows.put(name.schema, name.table, name.partition, index.name, index.family, index.id,
                    static_cast<int>(type_of(*table, index)), kFormatVersion, seconds_of(*table),
                    flags, kv::family_name(database, index.family), next)) {
        return;
      }
    }
  }
}

}  // namespace

int init_ddl(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
