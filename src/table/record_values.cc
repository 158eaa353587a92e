#include "table/record_values.h"

#include <cstring>

namespace basalt::table {

bool is_null_in(const codec::ColumnLayout& column, const std::uint8_t* record) {
  return column.nullable && (record[column.null_offset] & column.null_mask) != 0;
}

std::string_view value_in(const codec::ColumnLayout& column, const std::uint8_t* record) {
  const std::uint8_t* const field = record + column.record_offset;
  const auto* const bytes = reinterpret_cast<const char*>(field);
  std::uint32_t size = 0;
  if (column.kind == codec::ColumnKind::kVariableString) {
    std::memcpy(&size, field, column.length_bytes);
    return {bytes + column.length_bytes, size};
  }
  if (column.kind == codec::ColumnKind::kBlob) {
    const char* data = nullptr;
    std::memcpy(&size, field, column.length_bytes);
    std::memcpy(&data, field + column.length_bytes, sizeof(data));
    return {data, size};
  }
  return {bytes, column.record_length};
}

bool values_differ(const codec::ColumnLayout& column, const std::uint8_t* a,
                   const std::uint8_t* b) {
  if (is_null_in(column, a) != is_null_in(column, b)) return true;
  return !is_null_in(column, a) && value_in(column, a) != value_in(column, b);
}

}  // namespace basalt::table
