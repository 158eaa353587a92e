#include <string_view>
#include <vector>

#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

using Show::Column;
using Show::ULonglong;
using Show::Varchar;

ST_FIELD_INFO g_columns[] = {
    Column("INDEX_ID", ULonglong(), NOT_NULL),
    Column("COLUMN_FAMILY", Varchar(64), NOT_NULL),
    Column("STATE", Varchar(16), NOT_NULL),
    Column("TABLE_NAME", Varchar(FN_REFLEN), NOT_NULL),
    Column("INDEX_NAME", Varchar(NAME_CHAR_LEN), NOT_NULL),
    Column("BYTES", ULonglong(), NOT_NULL),
    Column("HAS_UNDECIDED_CHANGES", ULonglong(), NOT_NULL),
    Show::CEnd(),
};

std::string_view name_of(catalog::IndexState state) {
  switch (state) {
    case catalog::IndexState::kUnknown: return "unknown";
    case catalog::IndexState::kBuilding: return "building";
    case catalog::IndexState::kInUse: return "in use";
    case catalog::IndexState::kDropped: return "dropped";
  }
  return "";
}

void fill(Rows& rows) {
  const Result<std::vector<engine::Engine::StoredIndex>> indexes = the_engine().stored_indexes();
  if (!indexes.is_ok()) return rows.fail("the indexes cannot be listed", indexes.status());
  for (const engine::Engine::StoredIndex& stored : indexes.value()) {
    std::string_view table_name;
    std::string_view index_name;
    if (stored.table != nullptr) {
      table_name = stored.table->name;
      for (const catalog::IndexDefinition& index : stored.table->indexes) {
        if (index.id == stored.id) index_name = index.name;
      }
    }
    if (!rows.put(stored.id, stored.family_name, name_of(stored.state), table_name, index_name,
                  stored.bytes, stored.has_undecided_changes)) {
      return;
    }
  }
}

}  // namespace

int init_index_space(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
