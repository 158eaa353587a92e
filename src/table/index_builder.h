#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
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

// Gives new indexes of a table the entries of its rows.
//
// How         One pass over the rows makes the entries of all of them; each index's are sorted,
//             written to files and ingested. Several threads share both: first the rows, by ranges
//             of the primary key, then each index, by ranges of its keys.
// Requires    That nobody writes to the table, and that nobody has changes of it that may still be
//             committed; that the indexes have no entries, and that nobody reads them yet. Their
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
               const Interruption& interruption, const Resources& resources);

  // Returns the number of rows.
  Result<std::uint64_t> run();

  // A row whose values in that index another one has, too.
  struct Duplicate {
    std::size_t index_number = 0;
    std::string primary_key;
  };
  // The entries of the last kDuplicateKey.
  const Duplicate& duplicate() const { return duplicate_; }

 private:
  struct Build {
    std::size_t index_number;
    std::unique_ptr<bulk::BuildDirectory> directory;
    std::vector<std::unique_ptr<bulk::ExternalSort>> sorts;  // one for each range of rows
  };

  Result<std::vector<KeyRange>> row_ranges();
  Status begin(std::size_t sorts);
  codec::ReadPlan plan() const;
  Result<std::uint64_t> scan(const std::vector<KeyRange>& ranges);
  Status scan_range(std::size_t number, const KeyRange& range, const codec::ReadPlan& read_plan,
                    Watch watch, std::uint64_t& rows);
  Status write(Build& build);

  kv::Database& database_;
  const Table& table_;
  const Interruption& interruption_;
  const Resources resources_;
  std::vector<Build> builds_;
  Duplicate duplicate_;
};

}  // namespace basalt::table
