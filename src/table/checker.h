#pragma once
#include <functional>
#include <string>

#include "base/status.h"
#include "kv/database.h"
#include "table/cursor.h"
#include "table/table.h"

namespace basalt::table {

// Compares every index of a table with its rows, in one snapshot.
//
// Each row must decode and have exactly one entry in every secondary index, equal to the one its
// columns give; each index must have as many entries as there are rows, and each entry must name
// a row. `report` is called once per kind of damage and index. Generated columns that are not
// stored must be filled in by `complete`, which is given the record after the row was unpacked.
class Checker {
 public:
  using Report = std::function<void(const std::string& problem)>;
  using Complete = std::function<Status(std::uint8_t* record)>;

  Checker(kv::Database& database, const Table& table, const Interruption& interruption);

  // `record` is a buffer of the table's record length. Returns whether the table is sound;
  // an error only if the check could not be done.
  Result<bool> run(std::uint8_t* record, const Complete& complete, const Report& report);

 private:
  Status check_rows(std::uint8_t* record, const Complete& complete, const Report& report);
  Status check_entries(std::size_t index_number, const Report& report);
  Status check_entry_of(std::size_t index_number, const std::uint8_t* record,
                        std::string_view primary_key, std::uint64_t& wrong);
  Status check_interruption();

  kv::Database& database_;
  const Table& table_;
  const Interruption& interruption_;
  std::unique_ptr<kv::Snapshot> snapshot_;
  std::uint64_t rows_ = 0;
  std::uint64_t steps_ = 0;
  bool sound_ = true;
  std::string key_;
  std::string value_;
  kv::PinnedValue stored_;
};

}  // namespace basalt::table
