#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/collation.h"

// What the codecs know of a table: where a record holds each column, and which columns an index
// is made of.
//
// A record is the server's row buffer: null bits and columns at fixed offsets. Bits, offsets and
// lengths come from the server's table definition and are not checked against each other.
namespace basalt::codec {

enum class ColumnKind : std::uint8_t {
  kSignedInteger,    // 1..8 bytes, little-endian, two's complement
  kUnsignedInteger,  // 1..8 bytes, little-endian; also ENUM, SET, YEAR and DATE
  kFloat,
  kDouble,
  // Fixed length, memcmp is the SQL order: DECIMAL, TIME, DATETIME, TIMESTAMP, BIT, BINARY(n),
  // INET6.
  kOrderedBytes,
  // CHAR(n): n * mbmaxlen bytes padded with spaces. Trailing spaces are not part of the value.
  kFixedString,
  kVariableString,  // VARCHAR, VARBINARY: 1 or 2 length bytes (little-endian), then the data
  kBlob,            // 1..4 length bytes (little-endian), then an 8-byte pointer to the data
};

constexpr bool is_integer(ColumnKind kind) {
  return kind == ColumnKind::kSignedInteger || kind == ColumnKind::kUnsignedInteger;
}

// Whether the values are strings of any length, which have a collation.
constexpr bool is_string(ColumnKind kind) {
  return kind == ColumnKind::kFixedString || kind == ColumnKind::kVariableString ||
         kind == ColumnKind::kBlob;
}

struct ColumnLayout {
  ColumnKind kind = ColumnKind::kSignedInteger;
  std::uint32_t record_offset = 0;
  // Bytes in the record, length bytes included.
  std::uint32_t record_length = 0;
  std::uint8_t length_bytes = 0;
  bool nullable = false;
  // The byte of the record, and the bit in it, that is set when the column is NULL.
  std::uint32_t null_offset = 0;
  std::uint8_t null_mask = 0;
  // False: VIRTUAL generated; computed by the server and not part of the row.
  bool stored = true;
  // The collation of a string or blob. Null: binary_collation().
  const Collation* collation = nullptr;
};

struct KeyPartLayout {
  std::uint32_t column = 0;
  // 0: the whole column. Otherwise the number of leading characters (bytes if binary).
  std::uint32_t prefix_length = 0;
  bool descending = false;
  // Length of the part's data in a key tuple: without null byte and length bytes. 0 stands for
  // the whole column's data, or for prefix_length bytes.
  std::uint32_t tuple_length = 0;
};

struct IndexLayout {
  std::uint32_t index_id = 0;
  bool unique = false;
  // None, in a primary index: rows are identified by a hidden 8-byte row id.
  std::vector<KeyPartLayout> parts;
};

struct TableLayout {
  std::vector<ColumnLayout> columns;
  std::uint32_t record_length = 0;
  // Whether stored values, of rows and entries, begin with the row's time: base/row_time.h. Codecs
  // read them so; what they make is for the caller to put the time in front of.
  bool has_row_time = false;
};

// A set of a table's columns, by position.
class ColumnSet {
 public:
  explicit ColumnSet(std::size_t columns, bool all = false);

  // The number of columns of the table, in the set or not.
  std::size_t size() const { return size_; }
  void set(std::size_t column);
  void unset(std::size_t column);
  void set_all();
  // Removes the columns that `other` does not have.
  void keep(const ColumnSet& other);
  void clear();
  // False for a column beyond size().
  bool test(std::size_t column) const {
    return column < size_ && (words_[column / 64] >> (column % 64) & 1) != 0;
  }
  std::size_t count() const;
  bool contains(const ColumnSet& other) const;
  bool operator==(const ColumnSet& other) const = default;

 private:
  std::size_t size_;
  std::vector<std::uint64_t> words_;  // bits beyond size_ are zero
};

}  // namespace basalt::codec
