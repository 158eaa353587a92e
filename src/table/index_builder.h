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
#include "kv/database.h"
#include "table/entry_files.h"
#include "table/entry_maker.h"
#include "table/interruption.h"
#include "table/table.h"

namespace basalt::table {

// Gives new indexes of a table the entries of its rows.
//
// How         One pass over the rows makes the entries of all of them; each index's are sorted,
//             written to files and ingested. Several threads share both: first the rows, by ranges
//             of the primary key, then each index, by ranges of its keys.
// Rows        Those of a snapshot. What is committed later is an IndexUpdater's.
// Requires    That the indexes have no entries, and that nobody reads or writes them yet. Their
//             columns are stored, or computed by tables.complete.
// Errors      kDuplicateKey, if rows have the same values in a unique index: duplicate() tells of
//             one; kInterrupted; those of files as in bulk::ExternalSort, bulk::SstWriter and
//             kv::Database::index_files() and ingest(); those of EntryMaker::read().
//             Entries may be there then, or some of the indexes'.
class IndexBuilder {
 public:
  // What a build may take of the machine: bytes for sorting, beside some for each file that it
  // writes, and threads, the caller's included.
  using Resources = FileResources;

  // `indexes`: their numbers in tables.table, in their order. `interruption` is asked by all
  // threads.
  IndexBuilder(kv::Database& database, const BuildTables& tables,
               std::span<const std::size_t> indexes, const kv::Snapshot& snapshot,
               const Interruption& interruption, const Resources& resources);

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
  const BuildTables tables_;
  const std::vector<std::size_t> indexes_;
  const kv::Snapshot& snapshot_;
  const Interruption& interruption_;
  const Resources resources_;
  std::vector<Build> builds_;
  std::optional<DuplicateRow> duplicate_;
  // Rows of earlier times are expired, and get no entries; 0: none is.
  std::uint64_t expired_before_ = 0;
};

}  // namespace basalt::table
