#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_range.h"
#include "base/row_time.h"
#include "base/status.h"
#include "codec/layout.h"
#include "codec/row_history.h"

// What the dictionary knows of a table. Plain values; the stored form is in
// docs/formats/catalog.md.
namespace basalt::catalog {

using TableId = std::uint32_t;
using IndexId = std::uint32_t;
static_assert(sizeof(IndexId) == kIndexIdBytes);

// What a column is to the rows' system time, in a table WITH SYSTEM VERSIONING.
enum class SystemTime : std::uint8_t {
  kNone,         // its changes make history, if there is any
  kRowEnd,       // when the row became history; those that are current have the end of time there
  kRowStart,     // since when the row is as it is
  kUnversioned,  // its changes make no history
};

struct ColumnDefinition {
  std::string name;
  codec::ColumnKind kind = codec::ColumnKind::kOrderedBytes;
  std::uint32_t record_length = 0;  // as ColumnLayout::record_length
  std::uint16_t collation_id = 0;   // the server's number; 0: none
  bool nullable = false;
  bool stored = true;
  // kNone also in a table that was made by an engine that did not store it, and which the server
  // has not opened since.
  SystemTime system_time = SystemTime::kNone;

  bool operator==(const ColumnDefinition&) const = default;
};

struct KeyPartDefinition {
  std::uint32_t column = 0;
  std::uint32_t prefix_length = 0;  // in characters; 0: the whole column
  bool descending = false;
  // Bytes of the part's data in the server's search keys, without null byte and length bytes.
  std::uint32_t tuple_length = 0;

  bool operator==(const KeyPartDefinition&) const = default;
};

struct IndexDefinition {
  std::string name;
  IndexId id = 0;            // unique in the database, never used again
  std::uint32_t family = 0;  // column family that holds the entries
  bool unique = false;
  std::vector<KeyPartDefinition> parts;
  // The number of leading parts on whose values the server checks a uniqueness of its own: long
  // UNIQUE, WITHOUT OVERLAPS. Writers lock those values, so that checks see all there is.
  std::uint32_t value_lock_parts = 0;

  bool operator==(const IndexDefinition&) const = default;
};

// Whether two indexes differ in name, id and family at most.
bool has_same_columns(const IndexDefinition& one, const IndexDefinition& other);

// How rows expire, in a table whose rows carry their time.
struct RowExpiry {
  static constexpr std::uint32_t kNoColumn = UINT32_MAX;

  RowLifetime lifetime;
  // The column that tells a row's time; none: it is that of the statement which inserted the row.
  std::uint32_t column = kNoColumn;

  bool operator==(const RowExpiry&) const = default;
};

struct TableDefinition {
  TableId id = 0;
  std::string name;  // "database/table" as the server names files
  // Counts definition changes; stored with every row, so that old rows stay readable.
  std::uint32_t schema_version = 1;
  std::vector<ColumnDefinition> columns;
  // The primary key, or a hidden one without parts, is always the first.
  std::vector<IndexDefinition> indexes;
  // How rows that were written for earlier schema versions differ. Not what the server knows.
  codec::RowHistory rows;
  // Set as long as stored rows begin with their time, also when they expire no more. Not what the
  // server knows, but as it was told.
  std::optional<RowExpiry> expiry;
  // It has no rows, and is of no use until those of another table are imported: ALTER TABLE ...
  // DISCARD TABLESPACE. Not what the server knows.
  bool is_discarded = false;

  bool has_hidden_key() const { return indexes.front().parts.empty(); }
  // Null if there is none of that name.
  const IndexDefinition* find_secondary(std::string_view index_name) const;
  bool operator==(const TableDefinition&) const = default;
};
// Definitions do not change: a changed table has another one.
using TablePointer = std::shared_ptr<const TableDefinition>;

// Appends the stored form of `table` to `out`.
void append_definition(const TableDefinition& table, std::string& out);
// Whether the history of the rows fits the columns, and the column that tells their time can: a
// stored form that tells another one is damaged.
bool has_readable_rows(const TableDefinition& table);
// Whether a column can tell the time of rows: 64 bits, unsigned, stored and NOT NULL.
bool can_tell_time(const ColumnDefinition& column);
// kCorruption if `bytes` is not exactly one definition; nothing is read out of bounds.
Result<TableDefinition> parse_definition(std::string_view bytes);

// The first difference that makes `actual`, made from what the server believes, unusable with
// the stored `expected`; empty if there is none. Ids are not compared, nor what `expected` does not
// know of system time, nor how rows expire.
std::string find_difference(const TableDefinition& expected, const TableDefinition& actual);

// Whether `actual` tells what columns are to system time and `expected`, which it does not differ
// from otherwise, does not.
bool lacks_system_time(const TableDefinition& expected, const TableDefinition& actual);

// The number of the column called `name`, in any case of its ASCII letters; the number of columns
// if there is none.
std::size_t find_column(const TableDefinition& table, std::string_view name);

}  // namespace basalt::catalog
