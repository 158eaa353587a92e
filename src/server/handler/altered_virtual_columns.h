#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "catalog/definitions.h"
#include "server/virtual_columns.h"
#include "table/complete_row.h"
#include "server/mariadb.h"

namespace basalt::server {

// Has the server compute the VIRTUAL columns of new indexes, for rows as an ALTER TABLE in place
// reads them.
//
// Errors    In strict mode, as in a copy, a value that does not fit its column is one.
// Warnings  Without it there is one for each such value, which names the number of the row.
// Threads   The statement's alone.
class AlteredVirtualColumns {
 public:
  // `table`: the altered one, as the server has opened it for the statement, with the columns of
  // `definition`, whose new indexes have the numbers `indexes`. It outlives every call.
  AlteredVirtualColumns(TABLE& table, const catalog::TableDefinition& definition,
                        std::span<const std::size_t> indexes);
  AlteredVirtualColumns(const AlteredVirtualColumns&) = delete;
  AlteredVirtualColumns& operator=(const AlteredVirtualColumns&) = delete;

  // Empty if the indexes have no such column. Does not outlive this.
  table::CompleteRow completion();
  // Rows come several times from now on, and have no numbers.
  void stop_warnings();

 private:
  Status compute(std::uint8_t* record);

  TABLE& table_;
  VirtualColumns columns_;
  bool warns_ = true;
};

}  // namespace basalt::server
