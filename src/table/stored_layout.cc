#include "table/stored_layout.h"

#include "base/assert.h"

namespace basalt::table {
namespace {

using codec::ColumnKind;

// The longest VARCHAR, in bytes, whose length is one byte.
constexpr std::uint32_t kShortStringMax = 255;

bool is_string(ColumnKind kind) {
  return kind == ColumnKind::kFixedString || kind == ColumnKind::kVariableString ||
         kind == ColumnKind::kBlob;
}

// As the server makes them: it counts the length bytes into the column's.
std::uint8_t length_bytes(const catalog::ColumnDefinition& column) {
  if (column.kind == ColumnKind::kVariableString) {
    return column.record_length <= kShortStringMax + 1 ? 1 : 2;
  }
  if (column.kind == ColumnKind::kBlob) {
    return static_cast<std::uint8_t>(column.record_length - sizeof(const char*));
  }
  return 0;
}

}  // namespace

Result<codec::TableLayout> make_stored_layout(const catalog::TableDefinition& definition,
                                              codec::CollationSource& collations) {
  codec::TableLayout layout;
  std::uint32_t nullables = 0;
  for (const catalog::ColumnDefinition& column : definition.columns) nullables += column.nullable;
  layout.record_length = (nullables + 7) / 8;
  nullables = 0;
  for (const catalog::ColumnDefinition& definition_of : definition.columns) {
    codec::ColumnLayout column;
    column.kind = definition_of.kind;
    column.record_offset = layout.record_length;
    column.record_length = definition_of.record_length;
    column.length_bytes = length_bytes(definition_of);
    column.nullable = definition_of.nullable;
    column.stored = definition_of.stored;
    if (column.nullable) {
      column.null_offset = nullables / 8;
      column.null_mask = static_cast<std::uint8_t>(1U << nullables % 8);
      ++nullables;
    }
    if (is_string(column.kind)) {
      const bool is_char = column.kind == ColumnKind::kFixedString;
      column.collation = collations.find_by_id(definition_of.collation_id, is_char);
      if (column.collation == nullptr) {
        return Status(ErrorCode::kUnsupported,
                      "the server lacks collation " + std::to_string(definition_of.collation_id) +
                          " of column '" + definition_of.name + "' of '" + definition.name + "'");
      }
    }
    layout.record_length += column.record_length;
    layout.columns.push_back(column);
  }
  BASALT_DEBUG_ASSERT(layout.columns.size() == definition.columns.size());
  return layout;
}

}  // namespace basalt::table
