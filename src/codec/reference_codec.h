#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/layout.h"

// Values of one table's columns in the keys and the records of another table, for foreign keys.
//
// Purpose     A row of the child finds the rows of the parent that it references, and a row of the
//             parent those that reference it, by one comparison of bytes.
// Ownership   Copies what it needs of the layouts; only the collations must outlive it.
// Threads     All members are const and callable from any thread at once.
// Cost        One pass; no allocation beyond the growth of the output string.
namespace basalt::codec {

// Whether equal values of the two columns are the same bytes in keys, but for nullability and
// direction, and different ones are not: the same kind and collation, and for numbers the same
// size. Strings may have different lengths; CHAR and VARCHAR go together where both are padded with
// spaces.
bool are_equal_in_keys(const ColumnLayout& a, const ColumnLayout& b);

// What a leading part of the other table's index is like.
struct ReferencedPart {
  bool nullable = false;
  bool descending = false;
};

// Makes the beginnings of keys of another table's index from this table's records.
class ReferenceCodec {
 public:
  // `columns` are of this table, in the order of the index's leading parts, which `parts` tells;
  // each equals the part's column in keys. The parts are of whole columns.
  ReferenceCodec(const TableLayout& table, const std::vector<std::uint32_t>& columns,
                 std::uint32_t index_id, const std::vector<ReferencedPart>& parts);
  ~ReferenceCodec();
  ReferenceCodec(ReferenceCodec&&) noexcept;
  ReferenceCodec& operator=(ReferenceCodec&&) noexcept;

  // Index id and the parts with the record's values; false if one of them is NULL.
  bool make_prefix(const std::uint8_t* record, std::string& key) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

// Gives the column `to` of `to_record` the value that `from` has in `from_record`, NULL included.
// False if it cannot hold it: a string is too long, or NULL is not allowed. Then it is undefined.
// The columns are equal in keys and no blobs.
bool copy_column(const ColumnLayout& from, const std::uint8_t* from_record, const ColumnLayout& to,
                 std::uint8_t* to_record);
// Makes a nullable column of the record NULL.
void set_column_null(const ColumnLayout& column, std::uint8_t* record);

}  // namespace basalt::codec
