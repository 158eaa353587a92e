#pragma once
#include <cstdint>

#include "base/thread_counters.h"

namespace basalt::server {

// What the server's statements have done with rows. Those of system tables, which are the ones of
// the database mysql, are counted apart from others.
enum class RowEvent : std::uint8_t {
  kRead,
  kInserted,
  kUpdated,
  kDeleted,
  kSystemRead,
  kSystemInserted,
  kSystemUpdated,
  kSystemDeleted,
  kPointQuery,
  kRangeQuery,
  kCovered,
  kSnapshotConflict,
  kCount,  // how many there are
};

// Threads     Any.
class RowCounters {
 public:
  void add(RowEvent event, std::uint64_t n) {
    if (n != 0) counters_.add(static_cast<std::size_t>(event), n);
  }
  std::uint64_t sum(RowEvent event) const { return counters_.sum(static_cast<std::size_t>(event)); }

 private:
  ThreadCounters counters_{static_cast<std::size_t>(RowEvent::kCount)};
};

// What one handler has done since it last told.
struct StatementCounts {
  std::uint64_t rows_read = 0;
  std::uint64_t rows_inserted = 0;
  std::uint64_t rows_updated = 0;
  std::uint64_t rows_deleted = 0;
  std::uint64_t point_queries = 0;
  std::uint64_t range_queries = 0;
  std::uint64_t covered_queries = 0;
};

}  // namespace basalt::server
