#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "codec/primary_codec.h"
#include "codec/secondary_codec.h"
#include "kv/database.h"

// What the optimizer is told of a table.
namespace basalt::stats {

// Sizes of a table. Estimates, from file metadata and memtables.
struct TableSize {
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;    // stored bytes of the primary index
  std::uint64_t index_bytes = 0;  // of all secondary indexes
};

// Shared by all sessions that have the table open.
//
// Threads     Safe from any thread. size() and rows() read atomics unless a refresh is due.
class TableStatistics {
 public:
  TableStatistics(kv::Database& database, catalog::Catalog& catalog,
                  catalog::TablePointer table);

  // Refreshed when the last refresh is older than a second and something was written since.
  TableSize size();
  // Counts rows that statements inserted (positive) or deleted, committed or not.
  void note_rows(std::int64_t difference) {
    changed_rows_.fetch_add(difference, std::memory_order_relaxed);
  }

  // Rows per distinct value of the first `parts` (extended) parts of an index: at least 1; from
  // the last analyze(), else a guess that shrinks with every part.
  std::uint64_t rows_per_value(std::size_t index_number, std::size_t parts);

  // Reads the whole index in order and stores how many distinct prefixes it has.
  // `common_parts(a, b)` gives the number of equal leading parts of two keys; `is_interrupted`
  // is asked now and then. Returns the number of entries.
  using CommonParts = std::function<std::size_t(std::string_view, std::string_view)>;
  Result<std::uint64_t> analyze(std::size_t index_number, std::size_t parts,
                                const CommonParts& common_parts,
                                const std::function<bool()>& is_interrupted);
  // The number of rows that analyze() found in the primary index.
  void set_exact_rows(std::uint64_t rows);

  // Number of entries in [lower, upper) of an index: exact when small, estimated otherwise, and
  // never 0 unless there is none.
  Result<std::uint64_t> entries_in_range(std::size_t index_number, const kv::KeyRange& range);

 private:
  kv::KeyRange range_of(std::size_t index_number) const;
  std::uint64_t estimate_entries(std::size_t index_number, const kv::KeyRange& range,
                                 std::uint64_t index_entries);
  std::uint64_t guess_rows(const kv::RangeSize& size);
  void refresh();

  kv::Database& database_;
  catalog::Catalog& catalog_;
  const catalog::TablePointer table_;
  std::atomic<std::int64_t> changed_rows_{0};
  std::atomic<std::uint64_t> base_rows_{0};
  std::atomic<std::uint64_t> row_bytes_{0};
  std::atomic<std::uint64_t> index_bytes_{0};
  std::atomic<std::int64_t> refreshed_at_ms_{0};
  std::mutex mutex_;
  bool exact_rows_known_ = false;  // guarded by mutex_
  // Per index; empty where never analyzed. Guarded by mutex_.
  std::vector<catalog::IndexStatistics> analyzed_;
};

}  // namespace basalt::stats
