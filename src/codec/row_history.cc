#include "codec/row_history.h"

#include <cstring>

#include "base/assert.h"
#include "codec/internal/record_field.h"

namespace basalt::codec {

void lengthen_integer(std::uint8_t* integer, std::size_t from_bytes, std::size_t to_bytes,
                      bool is_signed) {
  BASALT_ASSERT(from_bytes != 0 && from_bytes <= to_bytes);
  const bool is_negative = is_signed && (integer[from_bytes - 1] & 0x80) != 0;
  std::memset(integer + from_bytes, is_negative ? 0xFF : 0, to_bytes - from_bytes);
}

std::optional<std::string> value_in_record(const ColumnLayout& column, const std::uint8_t* record) {
  if (column.nullable && is_null(record, column.null_offset, column.null_mask)) return {};
  const std::uint8_t* const field = record + column.record_offset;
  switch (column.kind) {
    case ColumnKind::kVariableString:
      return std::string(variable_string_at(field, column.length_bytes));
    case ColumnKind::kBlob: return std::string(blob_at(field, column.length_bytes));
    case ColumnKind::kFixedString:
    case ColumnKind::kSignedInteger:
    case ColumnKind::kUnsignedInteger:
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:
    case ColumnKind::kOrderedBytes: break;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(field), column.record_length);
  return std::string(column.kind == ColumnKind::kFixedString
                         ? strip_spaces(bytes, space_of(column.collation))
                         : bytes);
}

}  // namespace basalt::codec
