#include "kv/reports.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

using Show::SLong;

ST_FIELD_INFO g_columns[] = {
    Show::Column("SST_NAME", name_type(), NOT_NULL),
    Show::Column("COLUMN_FAMILY", SLong(), NOT_NULL),
    Show::Column("DATA_BLOCKS", number_type(), NOT_NULL),
    Show::Column("ENTRIES", number_type(), NOT_NULL),
    Show::Column("RAW_KEY_SIZE", number_type(), NOT_NULL),
    Show::Column("RAW_VALUE_SIZE", number_type(), NOT_NULL),
    Show::Column("DATA_BLOCK_SIZE", number_type(), NOT_NULL),
    Show::Column("INDEX_BLOCK_SIZE", number_type(), NOT_NULL),
    Show::Column("INDEX_PARTITIONS", SLong(), NOT_NULL),
    Show::Column("TOP_LEVEL_INDEX_SIZE", number_type(), NOT_NULL),
    Show::Column("FILTER_BLOCK_SIZE", number_type(), NOT_NULL),
    Show::Column("COMPRESSION_ALGO", name_type(), NOT_NULL),
    Show::Column("CREATION_TIME", number_type(), NOT_NULL),
    Show::Column("FILE_CREATION_TIME", number_type(), NOT_NULL),
    Show::Column("OLDEST_KEY_TIME", number_type(), NOT_NULL),
    Show::Column("FILTER_POLICY", name_type(), NOT_NULL),
    Show::Column("COMPRESSION_OPTIONS", text_type(), NOT_NULL),
    Show::CEnd(),
};

void fill(Rows& rows) {
  const Result<std::vector<kv::FileReport>> files = kv::file_reports(the_engine().database());
  if (!files.is_ok()) return rows.fail("the files cannot be listed", files.status());
  for (const kv::FileReport& file : files.value()) {
    if (!rows.put(file.name, file.family, file.data_blocks, file.entries, file.raw_key_bytes,
                  file.raw_value_bytes, file.data_bytes, file.index_bytes, file.index_partitions,
                  file.top_level_index_bytes, file.filter_bytes, file.compression, file.created,
                  file.file_created, file.oldest_key, file.filter_policy,
                  file.compression_options)) {
      return;
    }
  }
}

}  // namespace

int init_sst_props(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
