#include "table/stored_layout.h"

#include <span>

#include "base/assert.h"
#include "catalog/layouts.h"

namespace basalt::table {

Result<codec::TableLayout> make_stored_layout(const catalog::TableDefinition& definition,
                                              codec::CollationSource& collations) {
  return with_stored_columns({}, definition, collations);
}

Result<codec::TableLayout> with_stored_columns(codec::TableLayout layout,
                                               const catalog::TableDefinition& definition,
                                               codec::CollationSource& collations) {
  BASALT_DEBUG_ASSERT(layout.columns.size() <= definition.columns.size());
  const auto columns = std::span(definition.columns).subspan(layout.columns.size());
  const std::uint32_t null_bits = layout.record_length;
  std::uint32_t nullables = 0;
  for (const catalog::ColumnDefinition& column : columns) nullables += column.nullable;
  layout.record_length += (nullables + 7) / 8;
  nullables = 0;
  for (const catalog::ColumnDefinition& definition_of : columns) {
    codec::ColumnLayout column = catalog::column_layout(definition_of);
    column.record_offset = layout.record_length;
    if (column.nullable) {
      column.null_offset = null_bits + nullables / 8;
      column.null_mask = static_cast<std::uint8_t>(1U << nullables % 8);
      ++nullables;
    }
    if (codec::is_string(column.kind)) {
      column.collation = catalog::find_collation(definition_of, collations);
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
