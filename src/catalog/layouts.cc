#include "catalog/layouts.h"

#include "base/assert.h"

namespace basalt::catalog {
namespace {

using codec::ColumnKind;

// The longest VARCHAR, in bytes, whose length is one byte.
constexpr std::uint32_t kShortStringMax = 255;

// As the server makes them: it counts the length bytes into the column's.
std::uint8_t length_bytes(const ColumnDefinition& column) {
  if (column.kind == ColumnKind::kVariableString) {
    return column.record_length <= kShortStringMax + 1 ? 1 : 2;
  }
  if (column.kind == ColumnKind::kBlob) {
    return static_cast<std::uint8_t>(column.record_length - sizeof(const char*));
  }
  return 0;
}

}  // namespace

codec::ColumnLayout column_layout(const ColumnDefinition& column) {
  codec::ColumnLayout layout;
  layout.kind = column.kind;
  layout.record_length = column.record_length;
  layout.length_bytes = length_bytes(column);
  layout.nullable = column.nullable;
  layout.stored = column.stored;
  return layout;
}

const codec::Collation* find_collation(const ColumnDefinition& column,
                                       codec::CollationSource& collations) {
  BASALT_DEBUG_ASSERT(codec::is_string(column.kind));
  return collations.find_by_id(column.collation_id, column.kind == ColumnKind::kFixedString);
}

codec::IndexLayout index_layout(const IndexDefinition& index) {
  codec::IndexLayout layout;
  layout.index_id = index.id;
  layout.unique = index.unique;
  for (const KeyPartDefinition& part : index.parts) {
    layout.parts.push_back({part.column, part.prefix_length, part.descending, part.tuple_length});
  }
  return layout;
}

}  // namespace basalt::catalog
