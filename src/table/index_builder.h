#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "kv/build_directory.h"
#include "kv/database.h"
#include "kv/external_sort.h"
#include "table/cursor.h"
#include "table/table.h"

namespace basalt::table {

// Gives new indexes of a table the entries of its rows.
//
// How         One pass over the rows makes the entries of all of them; each index's are sorted,
//             written to files and ingested.
// Requires    That nobody writes to the table, and that nobody has changes of it that may still be
//             committed; that the indexes are not unique, have no entries, and that nobody reads
//             them yet. Their columns are stored.
// Errors      kInterrupted; those of files as in kv::ExternalSort, kv::SortedFiles and
//             kv::Database::ingest(); kCorruption if a row does not decode. Entries may be there
//             then, or some of the indexes'.
class IndexBuilder {
 public:
  // `indexes`: their numbers in `table`. `memory_bytes` is for sorting.
  IndexBuilder(kv::Database& database, const Table& table, std::span<const std::size_t> indexes,
               const Interruption& interruption, std::size_t memory_bytes);

  // Returns the number of rows.
  Result<std::uint64_t> run();

 private:
  struct Build {
    std::size_t index_number;
    std::unique_ptr<kv::BuildDirectory> directory;
    std::unique_ptr<kv::ExternalSort> sort;
  };

  Status begin();
  codec::ReadPlan plan() const;
  Result<std::uint64_t> scan();
  Status add_row(std::string_view primary_key);
  Status write(Build& build);
  Status check_interruption();

  kv::Database& database_;
  const Table& table_;
  const Interruption& interruption_;
  const std::size_t memory_bytes_;
  std::vector<Build> builds_;
  std::vector<std::uint8_t> record_;
  std::uint64_t steps_ = 0;
  std::string key_;
  std::string value_;
};

}  // namespace basalt::table
