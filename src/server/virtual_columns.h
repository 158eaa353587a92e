#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codec/layout.h"
#include "server/mariadb.h"

namespace basalt::server {

// Columns of a table that are VIRTUAL, with those others of which they are made, computed as the
// server does when it reads a row: from what the row has, generated columns that are stored
// included, whatever these would be if they were computed now.
//
// Threads   The statement's alone.
class VirtualColumns {
 public:
  // What the client is told of values that do not fit, or cannot be computed. With kNone they are
  // what a reader is given: they are rounded, cut off or NULL.
  enum class Conditions : std::uint8_t { kAll, kErrors, kNone };

  // `table` outlives it.
  explicit VirtualColumns(TABLE& table) : table_(table) {}

  // A column of the table. One that is stored counts for nothing.
  void add(const Field& column);

  // Whether a VIRTUAL column is made of generated columns that are stored.
  static bool is_made_of_stored(const Field& column);

  bool is_empty() const { return columns_.empty(); }
  const std::vector<Field*>& columns() const { return columns_; }
  // From and to the record that the fields point to. What is made of BLOBs stays until the next
  // call. False if the client has been told of an error.
  bool compute(Conditions told);
  // The same of a row in `record`, which is another one than the server's, in which it leaves its
  // marks. `layout`: of the table, with places of its own. BLOBs' data are moved to `blobs`.
  bool compute_in(const codec::TableLayout& layout, std::uint8_t* record,
                  std::vector<std::string>& blobs, Conditions told);

 private:
  TABLE& table_;
  std::vector<Field*> columns_;  // each behind those that it is made of
};

}  // namespace basalt::server
