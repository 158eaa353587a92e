#include "stats/key_layouts.h"

#include <utility>

#include "codec/key_splitter.h"

namespace basalt::stats {
namespace {

class SplitterParts final : public index_stats::KeyStructure {
 public:
  SplitterParts(codec::KeySplitter splitter, bool is_primary)
      : splitter_(std::move(splitter)), is_primary_(is_primary) {}

  std::size_t count() const override { return splitter_.part_count(); }
  bool are_overwritten() const override { return is_primary_; }
  void split(std::string_view key, std::size_t from, std::uint32_t* ends) const override {
    splitter_.split(key, from, ends);
  }

 private:
  const codec::KeySplitter splitter_;
  const bool is_primary_;
};

bool is_string(codec::ColumnKind kind) {
  return kind == codec::ColumnKind::kFixedString || kind == codec::ColumnKind::kVariableString ||
         kind == codec::ColumnKind::kBlob;
}

// Where a record holds a column is not known, and does not matter.
codec::ColumnLayout column_layout(const catalog::ColumnDefinition& definition,
                                  const codec::Collation* collation) {
  codec::ColumnLayout column;
  column.kind = definition.kind;
  column.record_length = definition.record_length;
  column.nullable = definition.nullable;
  column.stored = definition.stored;
  column.collation = collation;
  if (column.kind == codec::ColumnKind::kVariableString) column.length_bytes = 2;
  if (column.kind == codec::ColumnKind::kBlob) column.length_bytes = 4;
  return column;
}

codec::IndexLayout index_layout(const catalog::IndexDefinition& definition) {
  codec::IndexLayout index;
  index.index_id = definition.id;
  index.unique = definition.unique;
  for (const catalog::KeyPartDefinition& part : definition.parts) {
    index.parts.push_back({part.column, part.prefix_length, part.descending, part.tuple_length});
  }
  return index;
}

// The position of the index in its table; the number of indexes if it is not there.
std::size_t position_of(std::uint32_t index_id, const catalog::TableDefinition& table) {
  std::size_t position = 0;
  while (position < table.indexes.size() && table.indexes[position].id != index_id) ++position;
  return position;
}

bool uses_column(const catalog::IndexDefinition& index, std::size_t column) {
  for (const catalog::KeyPartDefinition& part : index.parts) {
    if (part.column == column) return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<const index_stats::KeyStructure> KeyLayouts::find(std::uint32_t index_id) {
  const catalog::TablePointer table = catalog_.find_by_index(index_id);
  if (table == nullptr) return nullptr;
  const std::size_t position = position_of(index_id, *table);
  if (position == table->indexes.size()) return nullptr;
  const catalog::IndexDefinition& primary = table->indexes[0];
  const catalog::IndexDefinition& index = table->indexes[position];

  codec::TableLayout layout;
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    const catalog::ColumnDefinition& column = table->columns[i];
    const codec::Collation* collation = nullptr;
    if (is_string(column.kind) && (uses_column(primary, i) || uses_column(index, i))) {
      const bool is_char = column.kind == codec::ColumnKind::kFixedString;
      if (collations_ != nullptr) {
        collation = collations_->find_by_id(column.collation_id, is_char);
      }
      if (collation == nullptr) return nullptr;
    }
    layout.columns.push_back(column_layout(column, collation));
  }
  if (position == 0) {
    return std::make_shared<SplitterParts>(codec::KeySplitter(layout, index_layout(primary)), true);
  }
  return std::make_shared<SplitterParts>(
      codec::KeySplitter(layout, index_layout(index), index_layout(primary)), false);
}

}  // namespace basalt::stats
