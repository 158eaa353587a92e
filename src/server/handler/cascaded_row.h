#pragma once
#include <string_view>
#include <vector>

#include "base/status.h"
#include "table/reference_enforcer.h"
#include "table/row_writer.h"
#include "table/system_versions.h"
#include "table/table.h"
#include "txn/transaction.h"
#include "server/mariadb.h"

namespace basalt::server {

// The row that a statement holds in the server's records and is about to change, where a trigger or
// a function of the statement has perhaps changed it since it was read: by way of a foreign key, as
// the server lets neither change the statement's table itself.
//
// InnoDB changes what is stored and not what was read, and so does this. The records are made what
// they would have been had the row been read now, so that triggers AFTER the change and the binary
// log are told of that, too.
class CascadedRow {
 public:
  struct Access {
    TABLE& server_table;
    const table::Table& table;
    table::RowWriter& writer;
    txn::Transaction& transaction;         // has locked the row
    std::string_view hidden_key;           // of the row, without a visible primary key
    table::ReferenceEnforcer* references;  // null: nobody looks at foreign keys
  };

  enum class Outcome {
    kIsThere,  // the records tell of it
    kGone,     // there is nothing to be updated
    kRemoved,  // what the statement wanted has been done
  };

  // What `access` refers to outlives the calls.
  explicit CascadedRow(const Access& access) : access_(access), versions_(access.table) {}

  // Before `old_record` becomes `new_record`: columns that are the same in both get the values that
  // are stored.
  // kUnsupported: the row was perhaps given another primary key, and another one its own; what the
  // server has looked at itself does not hold any more; or the server does not hold the row in its
  // own two records. kInterrupted: an expression cannot be computed, of which the client knows.
  Status refresh_update(const uchar* old_record, const uchar* new_record, Outcome& outcome);
  // Before the row of `record`, one of the server's two, is removed. kUnsupported as above.
  Status refresh_removal(const uchar* record, Outcome& outcome);

 private:
  // Reads the row of `record` into row_.
  Status read(const uchar* record, bool& exists);
  bool is_as_read(const uchar* record) const;
  bool may_have_moved() const;
  Status take_unchanged();

  const Access access_;
  const table::SystemVersions versions_;
  std::vector<uchar> row_;
};

}  // namespace basalt::server
