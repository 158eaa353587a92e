#include <cstdint>
#include <optional>

#include "server/introspect/names.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

// RocksDB's own counters of this name are compiled out: docs/decisions/0011. What is counted
// elsewhere is shown in their places, and the others are always 0.
namespace basalt::server {
namespace {

using kv::Event;
using table::TableCount;

ST_FIELD_INFO g_columns[] = {
    Show::Column("TABLE_SCHEMA", name_type(), NOT_NULL),
    Show::Column("TABLE_NAME", name_type(), NOT_NULL),
    Show::Column("PARTITION_NAME", name_type(), NULLABLE),
    Show::Column("STAT_TYPE", name_type(), NOT_NULL),
    Show::Column("VALUE", number_type(), NOT_NULL),
    Show::CEnd(),
};

ST_FIELD_INFO g_global_columns[] = {
    Show::Column("STAT_TYPE", name_type(), NOT_NULL),
    Show::Column("VALUE", number_type(), NOT_NULL),
    Show::CEnd(),
};

// What is known: of each table, and of all together.
struct Figure {
  const char* name;
  std::optional<TableCount> of_table;
  std::optional<Event> of_all;
};

constexpr auto kUnknown = std::nullopt;

constexpr Figure kFigures[] = {
    {"USER_KEY_COMPARISON_COUNT", kUnknown, kUnknown},
    {"BLOCK_CACHE_HIT_COUNT", kUnknown, Event::kCacheHit},
    {"BLOCK_READ_COUNT", kUnknown, Event::kCacheMiss},
    {"BLOCK_READ_BYTE", kUnknown, kUnknown},
    {"BLOCK_READ_TIME", kUnknown, kUnknown},
    {"BLOCK_CHECKSUM_TIME", kUnknown, kUnknown},
    {"BLOCK_DECOMPRESS_TIME", kUnknown, kUnknown},
    {"GET_READ_BYTES", TableCount::kGetBytes, Event::kBytesRead},
    {"MULTIGET_READ_BYTES", TableCount::kMultiGetBytes, Event::kMultiGetBytes},
    {"ITER_READ_BYTES", TableCount::kIteratorBytes, Event::kIteratorBytes},
    {"INTERNAL_KEY_SKIPPED_COUNT", kUnknown, Event::kEntrySkipped},
    {"INTERNAL_DELETE_SKIPPED_COUNT", kUnknown, kUnknown},
    {"INTERNAL_RECENT_SKIPPED_COUNT", kUnknown, kUnknown},
    {"INTERNAL_MERGE_COUNT", kUnknown, kUnknown},
    {"GET_SNAPSHOT_TIME", kUnknown, kUnknown},
    {"GET_FROM_MEMTABLE_TIME", kUnknown, kUnknown},
    {"GET_FROM_MEMTABLE_COUNT", TableCount::kGets, Event::kKeyRead},
    {"GET_POST_PROCESS_TIME", kUnknown, kUnknown},
    {"GET_FROM_OUTPUT_FILES_TIME", kUnknown, kUnknown},
    {"SEEK_ON_MEMTABLE_TIME", kUnknown, kUnknown},
    {"SEEK_ON_MEMTABLE_COUNT", TableCount::kSeeks, Event::kSeek},
    {"NEXT_ON_MEMTABLE_COUNT", kUnknown, kUnknown},
    {"PREV_ON_MEMTABLE_COUNT", kUnknown, kUnknown},
    {"SEEK_CHILD_SEEK_TIME", kUnknown, kUnknown},
    {"SEEK_CHILD_SEEK_COUNT", kUnknown, kUnknown},
    {"SEEK_MIN_HEAP_TIME", kUnknown, kUnknown},
    {"SEEK_MAX_HEAP_TIME", kUnknown, kUnknown},
    {"SEEK_INTERNAL_SEEK_TIME", kUnknown, kUnknown},
    {"FIND_NEXT_USER_ENTRY_TIME", kUnknown, kUnknown},
    {"WRITE_WAL_TIME", kUnknown, kUnknown},
    {"WRITE_MEMTABLE_TIME", kUnknown, kUnknown},
    {"WRITE_DELAY_TIME", kUnknown, kUnknown},
    {"WRITE_PRE_AND_POST_PROCESS_TIME", kUnknown, kUnknown},
    {"DB_MUTEX_LOCK_NANOS", kUnknown, kUnknown},
    {"DB_CONDITION_WAIT_NANOS", kUnknown, kUnknown},
    {"MERGE_OPERATOR_TIME_NANOS", kUnknown, kUnknown},
    {"READ_INDEX_BLOCK_NANOS", kUnknown, kUnknown},
    {"READ_FILTER_BLOCK_NANOS", kUnknown, kUnknown},
    {"NEW_TABLE_BLOCK_ITER_NANOS", kUnknown, kUnknown},
    {"NEW_TABLE_ITERATOR_NANOS", kUnknown, kUnknown},
    {"BLOCK_SEEK_NANOS", kUnknown, kUnknown},
    {"FIND_TABLE_NANOS", kUnknown, kUnknown},
    {"BLOOM_MEMTABLE_HIT_COUNT", kUnknown, kUnknown},
    {"BLOOM_MEMTABLE_MISS_COUNT", kUnknown, kUnknown},
    {"BLOOM_SST_HIT_COUNT", kUnknown, Event::kFilterPositive},
    {"BLOOM_SST_MISS_COUNT", kUnknown, Event::kFilterUseful},
    {"KEY_LOCK_WAIT_TIME", kUnknown, kUnknown},
    {"KEY_LOCK_WAIT_COUNT", kUnknown, kUnknown},
    {"IO_THREAD_POOL_ID", kUnknown, kUnknown},
    {"IO_BYTES_WRITTEN", kUnknown, kUnknown},
    {"IO_BYTES_READ", kUnknown, kUnknown},
    {"IO_OPEN_NANOS", kUnknown, kUnknown},
    {"IO_ALLOCATE_NANOS", kUnknown, kUnknown},
    {"IO_WRITE_NANOS", kUnknown, kUnknown},
    {"IO_READ_NANOS", kUnknown, kUnknown},
    {"IO_RANGE_SYNC_NANOS", kUnknown, kUnknown},
    {"IO_LOGGER_NANOS", kUnknown, kUnknown},
};

void fill(Rows& rows) {
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    const TableName name = split_name(table->name);
    const auto state = the_engine().find_state(table->id);
    for (const Figure& figure : kFigures) {
      const std::uint64_t value =
          state != nullptr && figure.of_table ? state->counts.sum(*figure.of_table) : 0;
      if (!rows.put(name.schema, name.table, name.partition, figure.name, value)) return;
    }
  }
}

// What has a name here and is counted by another part of the engine.
std::uint64_t global_value(const Figure& figure) {
  const kv::EventCounters& events = the_engine().database().events();
  if (figure.of_all) return events.count(*figure.of_all);
  const std::string_view name = figure.name;
  if (name == "KEY_LOCK_WAIT_COUNT") return the_engine().locks().wait_count();
  if (name == "IO_BYTES_WRITTEN") {
    return events.count(Event::kWalBytes) + events.count(Event::kFlushBytesWritten) +
           events.count(Event::kCompactionBytesWritten);
  }
  return 0;
}

void fill_global(Rows& rows) {
  for (const Figure& figure : kFigures) {
    if (!rows.put(figure.name, global_value(figure))) return;
  }
}

}  // namespace

int init_perf_context(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

int init_perf_context_global(void* schema_table) noexcept {
  return init_schema_table<g_global_columns, fill_global>(schema_table);
}

}  // namespace basalt::server
