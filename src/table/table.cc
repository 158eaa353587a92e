#include "table/table.h"

#include "base/bytes.h"

namespace basalt::table {
namespace {

bool is_one_integer(const catalog::IndexDefinition& index, const codec::TableLayout& layout) {
  if (index.parts.size() != 1) return false;
  const codec::ColumnKind kind = layout.columns[index.parts[0].column].kind;
  return kind == codec::ColumnKind::kSignedInteger || kind == codec::ColumnKind::kUnsignedInteger;
}

}  // namespace

codec::IndexLayout make_index_layout(const catalog::IndexDefinition& index,
                                     const codec::TableLayout& layout) {
  codec::IndexLayout result;
  result.index_id = index.id;
  result.unique = index.unique;
  for (const catalog::KeyPartDefinition& part : index.parts) {
    BASALT_ASSERT(part.column < layout.columns.size());
    result.parts.push_back({part.column, part.prefix_length, part.descending, part.tuple_length});
  }
  return result;
}

Table::Table(catalog::TablePointer definition, codec::TableLayout layout,
             std::shared_ptr<TableState> state)
    : definition_(std::move(definition)),
      layout_(std::move(layout)),
      state_(std::move(state)),
      primary_(layout_, make_index_layout(definition_->indexes.front(), layout_)),
      has_integer_key_(is_one_integer(definition_->indexes.front(), layout_)) {
  const codec::IndexLayout primary = make_index_layout(definition_->indexes.front(), layout_);
  for (std::size_t i = 1; i < definition_->indexes.size(); ++i) {
    secondaries_.emplace_back(layout_, make_index_layout(definition_->indexes[i], layout_),
                              primary);
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

std::optional<std::uint64_t> Table::ordinal(std::string_view primary_key) const {
  // A stored key may be damaged.
  const bool fits = primary_key.size() > sizeof(catalog::IndexId) &&
                    primary_key.size() <= sizeof(catalog::IndexId) + sizeof(std::uint64_t);
  if (!has_integer_key_ || !fits) return std::nullopt;
  return number_at(primary_key, sizeof(catalog::IndexId),
                   primary_key.size() - sizeof(catalog::IndexId));
}

KeyRange Table::whole_range(std::size_t index_number) const {
  return index_key_range(index(index_number).id);
}

}  // namespace basalt::table
