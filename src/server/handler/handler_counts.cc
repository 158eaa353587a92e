#include <utility>

#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/mariadb.h"

// What a handler does is counted where it does it, in memory of its own, and told once a statement.
namespace basalt::server {

void ha_rocksdb::note_query(bool is_point) {
  if (is_point) {
    ++counts_.point_queries;
  } else {
    ++counts_.range_queries;
  }
  if (cursor_->reads_entries_only()) ++counts_.covered_queries;
}

void ha_rocksdb::tell_counts() {
  if (table_ == nullptr || g_plugin == nullptr) return;
  const StatementCounts counts = std::exchange(counts_, {});
  RowCounters& rows = g_plugin->rows;
  const bool is_system = lex_string_eq(&table_share->db, &MYSQL_SCHEMA_NAME);
  rows.add(is_system ? RowEvent::kSystemRead : RowEvent::kRead, counts.rows_read);
  rows.add(is_system ? RowEvent::kSystemInserted : RowEvent::kInserted, counts.rows_inserted);
  rows.add(is_system ? RowEvent::kSystemUpdated : RowEvent::kUpdated, counts.rows_updated);
  rows.add(is_system ? RowEvent::kSystemDeleted : RowEvent::kDeleted, counts.rows_deleted);
  rows.add(RowEvent::kPointQuery, counts.point_queries);
  rows.add(RowEvent::kRangeQuery, counts.range_queries);
  rows.add(RowEvent::kCovered, counts.covered_queries);
  table::TableCounts& table_counts = table_->state().counts;
  table_counts.add(table::TableCount::kRowsRead, counts.rows_read);
  table_counts.add(table::TableCount::kRowsInserted, counts.rows_inserted);
  table_counts.add(table::TableCount::kRowsUpdated, counts.rows_updated);
  table_counts.add(table::TableCount::kRowsDeleted, counts.rows_deleted);
  if (cursor_ != nullptr) table_counts.add(cursor_->take_read_counts());
}

}  // namespace basalt::server
