#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "codec/primary_codec.h"
#include "kv/database.h"
#include "table/complete_row.h"
#include "table/table.h"

namespace basalt::table {

// A row whose values in an index another one has, too.
struct DuplicateRow {
  std::size_t index_number = 0;
  std::string primary_key;
  std::string row;  // as stored
};

// A table that gets new indexes, and where its rows are meanwhile. What it refers to outlives it.
struct BuildTables {
  const Table& table;  // with the new indexes
  // Where it has another primary index then: the rows as they are, in the columns and the record
  // layout that `table` has, and perhaps others behind them. Else null.
  const Table* rows_before = nullptr;
  // Where new indexes have columns that are not stored, else null. `record` is as of rows(). Rows
  // are read by one thread then: that of whoever builds.
  const CompleteRow* complete = nullptr;

  const Table& rows() const { return rows_before == nullptr ? table : *rows_before; }
  bool replaces_primary() const { return rows_before != nullptr; }
};

// Makes the entries of new indexes from rows as they are stored; where the primary index is new,
// that is the row with its other key.
//
// Life cycle  read() a row -> make() its entry of each index.
// Threads     Belongs to one.
class EntryMaker {
 public:
  // `indexes`: their numbers in tables.table.
  EntryMaker(const BuildTables& tables, std::span<const std::size_t> indexes);

  // A row of tables.rows(), as stored. What `key` and `row` lie in stays until its entries are
  // made. kCorruption if it does not decode; errors of tables.complete.
  Status read(std::string_view key, std::string_view row);
  void make(std::size_t index_number, std::string& key, std::string& value);

  // The row that the entry of the index `index_number` is of, which others have, too. Rows are read
  // in `snapshot`, or, where the primary index is new, from that: its entries are there before
  // those of the others are. kCorruption without the row.
  Status find_duplicate(kv::Database& database, const kv::Snapshot& snapshot,
                        std::size_t index_number, std::string_view key, std::string_view value,
                        std::optional<DuplicateRow>& duplicate) const;

 private:
  const BuildTables tables_;
  const codec::ReadPlan plan_;
  std::vector<std::uint8_t> record_;
  std::string_view row_;
  std::string new_primary_key_;
  std::string_view primary_key_;  // of the row, as its entries have it
};

}  // namespace basalt::table
