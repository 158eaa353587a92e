#include <string>

#include "kv/reports.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

using Show::SLong;

ST_FIELD_INFO g_columns[] = {
    Show::Column("COLUMN_FAMILY", SLong(), NOT_NULL),
    Show::Column("INDEX_NUMBER", SLong(), NOT_NULL),
    Show::Column("SST_NAME", name_type(), NOT_NULL),
    Show::Column("NUM_ROWS", number_type(), NOT_NULL),
    Show::Column("DATA_SIZE", number_type(), NOT_NULL),
    Show::Column("ENTRY_DELETES", number_type(), NOT_NULL),
    Show::Column("ENTRY_SINGLEDELETES", number_type(), NOT_NULL),
    Show::Column("ENTRY_MERGES", number_type(), NOT_NULL),
    Show::Column("ENTRY_OTHERS", number_type(), NOT_NULL),
    Show::Column("DISTINCT_KEYS_PREFIX", Show::Varchar(800), NOT_NULL),
    Show::CEnd(),
};

// Entries of secondary indexes are removed by single removals, rows by others: table/row_writer.cc.
bool is_secondary(std::uint32_t id) {
  const catalog::TablePointer table = the_engine().catalog().find_by_index(id);
  return table != nullptr && table->indexes.front().id != id;
}

// For each number of leading parts, as MyRocks writes them.
std::string distinct_prefixes(const index_stats::IndexProperties& properties) {
  std::string text;
  for (const std::uint64_t count : properties.distinct) {
    if (!text.empty()) text += ",";
    text += std::to_string(count);
  }
  return text;
}

bool put_file(Rows& rows, const kv::FileReport& file) {
  for (const kv::FileReport::Index& index : file.indexes) {
    const bool is_single = is_secondary(index.id);
    const std::uint64_t removals = index.properties.deletions;
    if (!rows.put(file.family, index.id, file.name, index.properties.puts, index.properties.bytes,
                  is_single ? 0 : removals, is_single ? removals : 0, 0, 0,
                  distinct_prefixes(index.properties))) {
      return false;
    }
  }
  return true;
}

void fill(Rows& rows) {
  const Result<std::vector<kv::FileReport>> files = kv::file_reports(the_engine().database());
  if (!files.is_ok()) return rows.fail("the files cannot be listed", files.status());
  for (const kv::FileReport& file : files.value()) {
    if (!put_file(rows, file)) return;
  }
}

}  // namespace

int init_index_file_map(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
