#include "table/table.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/key_range.h"
#include "catalog/layouts.h"

namespace basalt::table {
namespace {

bool is_one_integer(const catalog::IndexDefinition& index, const codec::TableLayout& layout) {
  return index.parts.size() == 1 && codec::is_integer(layout.columns[index.parts[0].column].kind);
}

codec::TableLayout with_row_time(codec::TableLayout layout,
                                 const catalog::TableDefinition& definition) {
  layout.has_row_time = definition.expiry.has_value();
  return layout;
}

}  // namespace

Table::Table(catalog::TablePointer definition, codec::TableLayout layout,
             std::shared_ptr<TableState> state)
    : definition_(std::move(definition)),
      layout_(with_row_time(std::move(layout), *definition_)),
      state_(std::move(state)),
      primary_(layout_, catalog::index_layout(definition_->indexes.front()), definition_->rows),
      has_integer_key_(is_one_integer(definition_->indexes.front(), layout_)),
      has_expiry_(definition_->expiry.has_value()) {
  const codec::IndexLayout primary = catalog::index_layout(definition_->indexes.front());
  for (std::size_t i = 1; i < definition_->indexes.size(); ++i) {
    secondaries_.emplace_back(layout_, catalog::index_layout(definition_->indexes[i]), primary);
  }
  for (const catalog::IndexDefinition& index : definition_->indexes) {
    whole_ranges_.push_back(index_key_range(index.id));
  }
  if (state_->indexes_exist_since.empty()) return;
  for (const catalog::IndexDefinition& index : definition_->indexes) {
    const auto since = state_->indexes_exist_since.find(index.id);
    added_indexes_.push_back(since == state_->indexes_exist_since.end() ? 0 : since->second);
  }
}

bool Table::make_value_lock(std::size_t index_number, const std::uint8_t* record,
                            std::string& key) const {
  const std::size_t parts = index(index_number).value_lock_parts;
  if (index_number != 0) return secondary(index_number).make_value_lock(record, parts, key);
  primary_.make_value_lock(record, parts, key);
  return true;
}

std::uint64_t Table::time_of(const std::uint8_t* record, std::uint64_t otherwise) const {
  BASALT_DEBUG_ASSERT(has_expiry());
  const catalog::RowExpiry& expiry = *definition_->expiry;
  const std::uint64_t time =
      expiry.column == catalog::RowExpiry::kNoColumn
          ? otherwise
          : load_le<std::uint64_t>(record + layout_.columns[expiry.column].record_offset);
  return std::max(time, expiry.lifetime.gone_before);
}

std::optional<std::uint64_t> Table::ordinal(std::string_view primary_key) const {
  // A stored key may be damaged.
  const bool fits = primary_key.size() > sizeof(catalog::IndexId) &&
                    primary_key.size() <= sizeof(catalog::IndexId) + sizeof(std::uint64_t);
  if (!has_integer_key_ || !fits) return std::nullopt;
  return number_at(primary_key, sizeof(catalog::IndexId),
                   primary_key.size() - sizeof(catalog::IndexId));
}

}  // namespace basalt::table
