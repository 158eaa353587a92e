#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "bulk/build_directory.h"
#include "bulk/external_sort.h"
#include "bulk/sst_writer.h"
#include "kv/database.h"
#include "table/entry_files.h"
#include "table/interruption.h"
#include "table/table.h"

namespace basalt::table {

// A row whose values in an index another one has, too, as of a snapshot.
struct DuplicateRow {
  std::size_t index_number = 0;
  std::string primary_key;
  std::string row;  // as stored
};

// Reads the row of `duplicate.primary_key`. kCorruption if it is not there.
Status read_duplicate(kv::Database& database, const Table& table, const kv::Snapshot& snapshot,
                      DuplicateRow& duplicate);

// What entries of the indexes are made of: their columns, and those of the primary key.
codec::ReadPlan plan_of_entries(const Table& table, std::span<const std::size_t> indexes);

// Gives new indexes of a table the entries of its rows.
//
// How         One pass over the rows makes the entries of all of them; each index's are sorted,
//             written to files and ingested. Several threads share both: first the rows, by ranges
//             of the primary key, then each index, by ranges of its keys.
// Rows        Those of a snapshot. What is committed later is an IndexUpdater's.
// Requires    That the indexes have no entries, and that nobody reads or writes them yet. Their
//             columns are stored.
// Errors      kDuplicateKey, if rows have the same values in a unique index: duplicate() tells of
//             one; kInterrupted; those of files as in bulk::ExternalSort, bulk::SstWriter and
//             kv::Database::index_files() and ingest(); kCorruption if a row does not decode.
//             Entries may be there then, or some of the indexes'.
class IndexBuilder {
 public:
  // What a build may take of the machine: bytes for sorting, beside some for each file that it
  // writes, and threads, the caller's included.
  struct Resources {
    std::size_t memory_bytes;
    std::size_t threads;
  };

  // `indexes`: their numbers in `table`. `interruption` is asked by all threads.
  IndexBuilder(kv::Database& database, const Table& table, std::span<const std::size_t> indexes,
               const kv::Snapshot& snapshot, const Interruption& interruption,
               const Resources& resources);

  // Returns the number of rows.
  Result<std::uint64_t> run();

  const std::optional<DuplicateRow>& duplicate() const { return duplicate_; }

 private:
  struct Build {
    std::size_t index_number;
    std::unique_ptr<bulk::BuildDirectory> directory;
    std::vector<std::unique_ptr<bulk::ExternalSort>> sorts;  // one for each range of rows
  };

  Result<std::vector<KeyRange>> row_ranges();
  Status begin(std::size_t sorts);
  Result<std::uint64_t> scan(const std::vector<KeyRange>& ranges);
  Status scan_range(std::size_t number, const KeyRange& range, Watch watch, std::uint64_t& rows);
  Status write(Build& build);

  kv::Database& database_;
  const Table& table_;
  const kv::Snapshot& snapshot_;
  const codec::ReadPlan plan_;
  const Interruption& interruption_;
  const Resources resources_;
  std::vector<Build> builds_;
  std::optional<DuplicateRow> duplicate_;
  // Rows of earlier times are expired, and get no entries; 0: none is.
  std::uint64_t expired_before_ = 0;
};

}  // namespace basalt::table
