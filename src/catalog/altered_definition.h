#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/definitions.h"

// What a table becomes whose rows stay as they were written.
namespace basalt::catalog {

// An index of a table that is called otherwise in what the table becomes.
struct RenamedIndex {
  std::string from;
  std::string to;
};
using RenamedIndexes = std::vector<RenamedIndex>;

// Where a column of what the table becomes is from.
struct ColumnOrigin {
  static constexpr std::uint32_t kNew = UINT32_MAX;

  std::uint32_t before = kNew;  // its number in the table as it was
  // As codec::InitialValue::value: of a new one that is stored, what the rows that are there have
  // in it; of one that may be NULL no longer, what NULL stands for in them.
  std::optional<std::string> initial_value = {};
};

struct TableChange {
  RenamedIndexes indexes;
  // Of each column that the table has then; empty: it has the columns that it had, in their order.
  std::vector<ColumnOrigin> columns;
  // When it happens, in seconds since 1970, where how long rows live may become another: what is
  // expired by then is gone. No compaction may take later what was not, by the table as it was.
  std::uint64_t time = 0;
  // All indexes but the primary key are made of the rows anew. Not in place where rows live longer
  // or shorter then, or tell times by which they expire no more.
  bool remakes_indexes = false;
  // The rows get another primary key: all indexes are made anew, that of the rows too, and rows are
  // as if they had never had other columns.
  bool replaces_primary = false;

  // Where the column `number` is from, of a table that has `number` or more then.
  std::uint32_t column_before(std::size_t number) const {
    return columns.empty() ? static_cast<std::uint32_t>(number) : columns[number].before;
  }
  bool has_initial_value(std::size_t number) const {
    return !columns.empty() && columns[number].initial_value.has_value();
  }
};

// Whether `table` can become `altered` without its rows being written anew.
//
// Columns     may come, go, move and have other names. A stored one that stays may become nullable,
//             or NOT NULL if its origin has an initial value; integers, and strings, may become
//             longer; a string's collation is the caller's to have compared: it may be another one
//             with which the same bytes are the same text.
// Indexes     may be missing, but for the primary key, and have other names and another order. The
//             primary key may be another one if the change says so, which is visible then, as long
//             as the columns of the old one go, or stay as they are, and rows do not expire. Those
//             keep their entries whose columns have not changed in a way that keys show, unless
//             the change makes them anew. All others are new, and made of rows one by one: the
//             server checks nothing of its own on them. Columns of theirs that are not stored have
//             to be computed for each row, by the caller.
// Expiry      Rows that carry their time may live longer or shorter, or expire no more, if the
//             column that tells it is the same. Rows that carry none cannot begin to expire.
// Result      If so, `altered` has the table's id, the next schema version and the history of its
//             rows; the indexes that stay have their ids and families, new ones have no id. Else it
//             is as it was.
bool alter_in_place(const TableDefinition& table, const TableChange& change,
                    TableDefinition& altered);

// What the rows of `table` are read as while `altered`, another primary key of which the change
// tells, gets its own, as alter_in_place() has made it: its columns, and behind them those of the
// old primary key that go, with the primary index that the table has as the only one.
TableDefinition rows_before(const TableDefinition& table, const TableChange& change,
                            const TableDefinition& altered);

// Whether rows that are there would tell the times by which those of `altered` are to expire; also
// where alter_in_place() says no for another reason.
bool keeps_row_times(const TableDefinition& table, const TableChange& change,
                     const TableDefinition& altered);

// Whether rows of `altered` are to live longer or shorter than those of `table`.
bool changes_lifetime(const TableDefinition& table, const TableDefinition& altered);

// The numbers of those indexes of `altered` that `table` lacks, by their ids.
std::vector<std::size_t> new_indexes(const TableDefinition& table, const TableDefinition& altered);

// Whether one of the columns that `names` says is gone, or is of another type; also where
// alter_in_place() would say no.
bool changes_types(const TableDefinition& table, const TableChange& change,
                   const TableDefinition& altered, const std::vector<std::string>& names);

// The numbers of those columns of `altered` that may be NULL in `table`, and may not any more.
std::vector<std::size_t> made_not_null(const TableDefinition& table, const TableChange& change,
                                       const TableDefinition& altered);

// What the column `name` of `table` is called in `altered`; `name` if there is none.
std::string renamed_column(const TableDefinition& table, const TableChange& change,
                           const TableDefinition& altered, const std::string& name);

}  // namespace basalt::catalog
