#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/changed_rows.h"

namespace basalt::txn {

// What transactions tell of a table that they change. Shared by all of them.
struct TableChanges {
  // When a commit last changed the table since the start: seconds since 1970, 0: none has.
  std::atomic<std::int64_t> time{0};
  ChangedRows rows;
};

// The tables that one transaction has changed, with how many rows each has got or lost by it.
//
// Marks       A stack, as that of the transaction's savepoints: what came after one can be undone.
// Cost        Of a row that is of the same table as the last one: a comparison and two additions,
//             one of them to what all sessions share. Else it grows with the number of tables. No
//             allocation in the long run.
// Ownership   Shares what it tells, so that a table that was dropped meanwhile is told, too.
// Threads     The transaction's.
class ChangedTables {
 public:
  // The table was changed: it has got so many rows (negative: lost), at once for everybody. 0: one
  // of its rows was updated, of which others hear with the commit.
  void note(const std::shared_ptr<TableChanges>& table, std::int64_t rows) {
    if (tables_.size() == begin() || tables_.back().changes != table) bring_to_end(table);
    if (rows == 0) {
      ++tables_.back().updates;
      return;
    }
    tables_.back().rows += rows;
    table->rows.add(rows);
  }

  void push_mark() { marks_.push_back(tables_.size()); }
  // Takes the top mark off. What came after it is part of what came before.
  void pop_mark();
  // The same, but undoes what came after it.
  void roll_back_to_mark();
  // Undoes everything. No mark is left.
  void roll_back();
  // Everything is committed. Marks stay, with nothing below them.
  void commit();

 private:
  struct ChangedTable {
    std::shared_ptr<TableChanges> changes;
    std::int64_t rows = 0;
    std::uint64_t updates = 0;
  };

  // Where the tables begin that were changed since the top mark.
  std::size_t begin() const { return marks_.empty() ? 0 : marks_.back(); }
  void bring_to_end(const std::shared_ptr<TableChanges>& table);
  void roll_back_from(std::size_t first);

  // Between two marks mostly each once.
  std::vector<ChangedTable> tables_;
  std::vector<std::size_t> marks_;  // as many tables were there
};

}  // namespace basalt::txn
