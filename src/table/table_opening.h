#pragma once
#include <cstdint>

#include "base/status.h"
#include "kv/database.h"
#include "table/table.h"
#include "txn/transaction_manager.h"

namespace basalt::table {

// Which index gives the greatest auto-increment value: its first part is the column.
struct AutoIncrementSource {
  bool exists = false;
  std::size_t index_number = 0;
  std::size_t column = 0;
};

// Sets the counters of a table that is opened for the first time since the engine started: above
// their stored marks and above every value in the table.
Status load_counters(kv::Database& database, const Table& table,
                     const AutoIncrementSource& auto_increment);

// The value above those of the rows that there are, whoever has inserted them.
Result<std::uint64_t> next_auto_increment(kv::Database& database, const Table& table,
                                          const AutoIncrementSource& auto_increment);

// Sets the bound of the table's primary keys, when it is opened for the first time since the engine
// started. Not while a transaction that has changed it has not ended, whose rows are perhaps not
// seen yet; nor where the last row cannot be read: what is sound of a damaged table must be found.
void load_greatest_key(kv::Database& database, txn::TransactionManager& transactions,
                       const Table& table);

// The value of an integer or floating-point column of a record, as AUTO_INCREMENT counts it:
// negative values are 0.
std::uint64_t counter_value(const codec::ColumnLayout& column, const std::uint8_t* record);

}  // namespace basalt::table
