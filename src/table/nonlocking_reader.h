#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "table/entry_condition.h"
#include "table/index_iterator.h"
#include "table/row_fetcher.h"

namespace basalt::table {

// From entries to rows, for reads without locks: consistent ones, and those of what is newest.
//
// Errors      An entry whose row is missing is kCorruption if both were read at one snapshot, else
//             kInconsistentRead; a read of what is newest passes over it.
// Threads     Belongs to one cursor, whose parts it works with.
class NonLockingReader {
 public:
  NonLockingReader(const Table& table, IndexIterator& iterator, RowFetcher& fetcher,
                   const EntryCondition& condition)
      : table_(table), iterator_(iterator), fetcher_(fetcher), condition_(condition) {}

  // Whether an entry and the row that it leads to may be read at different times.
  bool may_defer_rows() const;

  // Decides about the entry that the iterator is on: if it is kFound its row is unpacked, or if
  // `defers_row` its key is set. Never kPeeked.
  Status qualify(bool defers_row, std::uint8_t* record, Qualified& qualified);
  // The row with the fetcher's primary key.
  Status read_row(std::uint8_t* record, bool& found) {
    return fetcher_.read(iterator_.transaction(), iterator_.view(), record, found);
  }
  // The row whose unique value, of the open secondary index, is `key`; as qualify() does.
  Status find_unique(std::string_view key, bool defers_row, std::uint8_t* record, bool& found);

 private:
  Status is_entry_hidden(std::string_view entry_key, bool& hidden);

  const Table& table_;
  IndexIterator& iterator_;
  RowFetcher& fetcher_;
  const EntryCondition& condition_;
  std::string own_row_;
};

}  // namespace basalt::table
