#include <algorithm>
#include <string>

#include "kv/reports.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

ST_FIELD_INFO g_columns[] = {
    Show::Column("CF_NAME", name_type(), NOT_NULL),
    Show::Column("OPTION_TYPE", name_type(), NOT_NULL),
    Show::Column("VALUE", text_type(), NOT_NULL),
    Show::CEnd(),
};

// Where MyRocks calls an option otherwise than RocksDB does.
constexpr struct {
  std::string_view rocksdb;
  std::string_view myrocks;
} kNames[] = {
    {"COMPRESSION", "COMPRESSION_TYPE"},
    {"MEMTABLE_PREFIX_BLOOM_SIZE_RATIO", "MEMTABLE_PREFIX_BLOOM_BITS_RATIO"},
    {"MEMTABLE_HUGE_PAGE_SIZE", "MEMTABLE_PREFIX_BLOOM_HUGE_PAGE_TLB_SIZE"},
    {"COMPACTION_OPTIONS_FIFO", "COMPACTION_OPTION_FIFO"},
};

std::string name_of(const std::string& option) {
  std::string name = option;
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  for (const auto& names : kNames) {
    if (name == names.rocksdb) return std::string(names.myrocks);
  }
  return name;
}

void fill(Rows& rows) {
  kv::Database& database = the_engine().database();
  for (const kv::FamilyReport& family : kv::family_reports(database)) {
    for (const auto& [option, value] : kv::family_options(database, family.id)) {
      if (!rows.put(family.name, name_of(option), value)) return;
    }
  }
}

}  // namespace

int init_cf_options(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
