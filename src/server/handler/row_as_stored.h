#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/virtual_columns.h"
#include "table/row_writer.h"
#include "table/table.h"
#include "txn/transaction.h"
#include "server/mariadb.h"

namespace basalt::server {

// A row that a statement is about to change or remove, as it is stored.
//
// Before a DELETE or REPLACE, and where INSERT ... ON DUPLICATE KEY UPDATE has found a row, the
// server computes all generated columns of that row anew, also those that are stored. What they are
// now need not be what they were: DATE() of a TIMESTAMP depends on the session's time zone. By the
// server's record the row's entries in indexes would not be found, and stay.
//
// Cost      A point read of the row, in tables where an index has such a column, or one that is
//           made of it; of an UPDATE none, which has the row as it was read.
class RowAsStored {
 public:
  // Null if no index of the table depends on generated columns that are stored. `server_table`
  // outlives it.
  static std::unique_ptr<RowAsStored> make(TABLE& server_table);
  explicit RowAsStored(const VirtualColumns& computed)
      : computed_(computed), buffers_(computed_.columns().size()) {}

  // Makes `record`, which tells of the row, one of its own, where all is as it is stored, until the
  // next call. The transaction has locked the row. `hidden_key`: as of RowWriter.
  Status read(TABLE& server_table, const table::Table& table, table::RowWriter& writer,
              txn::Transaction& transaction, std::string_view hidden_key, const uchar*& record);

 private:
  void exchange_buffers();

  VirtualColumns computed_;  // of indexes, made of generated columns that are stored
  std::vector<uchar> row_;
  std::vector<uchar> servers_;
  std::vector<std::string> blobs_;
  std::vector<String> buffers_;  // of each computed column that is a BLOB
};

}  // namespace basalt::server
