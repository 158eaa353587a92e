#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/layout.h"

// How a table's columns have changed while its rows stayed as they were written.
//
// A row holds the columns that the table had when it was written, in the order in which they came
// to the table, and tells its schema version. What a reader needs to know of the past is written
// down here, once for each column that rows hold or held: docs/formats/rows.md, "Older rows".
namespace basalt::codec {

// A column as rows hold it, or held it. A column that rows came to hold in another form, because it
// became wider or may be NULL, or may be NULL no longer, is there once for each form.
struct RowColumn {
  static constexpr std::uint32_t kNoColumn = UINT32_MAX;
  static constexpr std::uint32_t kVariable = UINT32_MAX;
  static constexpr std::uint32_t kPresent = UINT32_MAX;

  std::uint32_t column = kNoColumn;       // of the table; kNoColumn: it was dropped
  std::uint32_t fixed_bytes = kVariable;  // in the row's fixed part; kVariable: its size varies
  bool nullable = false;
  // What a NULL has stood for since the column was made NOT NULL, as InitialValue::value. Nothing
  // if it stands for NULL.
  std::optional<std::string> null_value = {};
  // Rows hold it from this schema version on, and up to the one before `until`.
  std::uint32_t since = 0;
  std::uint32_t until = kPresent;

  bool is_variable() const { return fixed_bytes == kVariable; }
  bool is_in_rows_of(std::uint32_t schema_version) const {
    return since <= schema_version && (until == kPresent || schema_version < until);
  }
  bool operator==(const RowColumn&) const = default;
};

// What rows that are older than a column have in it.
struct InitialValue {
  std::uint32_t column = 0;
  // NULL if there is none. Else a number's bytes in a record, or a string's without padding.
  std::optional<std::string> value;

  bool operator==(const InitialValue&) const = default;
};

struct RowHistory {
  // In the order in which rows hold them. Empty: all rows hold the table's stored columns in their
  // order.
  std::vector<RowColumn> columns;
  // Of each column for which there are older rows.
  std::vector<InitialValue> initial_values;

  bool is_empty() const { return columns.empty(); }
  bool operator==(const RowHistory&) const = default;
};

// Lengthens an integer, little-endian, from its first `from_bytes` bytes, at least one, to
// `to_bytes`.
void lengthen_integer(std::uint8_t* integer, std::size_t from_bytes, std::size_t to_bytes,
                      bool is_signed);

// The value of a stored column, as an InitialValue has it. A blob's data is copied.
std::optional<std::string> value_in_record(const ColumnLayout& column, const std::uint8_t* record);

}  // namespace basalt::codec
