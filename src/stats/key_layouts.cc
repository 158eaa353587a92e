#include "stats/key_layouts.h"

#include <utility>

#include "catalog/layouts.h"
#include "codec/key_splitter.h"

namespace basalt::stats {
namespace {

class SplitterParts final : public index_stats::KeyStructure {
 public:
  SplitterParts(codec::KeySplitter splitter, bool are_overwritten)
      : splitter_(std::move(splitter)), are_overwritten_(are_overwritten) {}

  std::size_t count() const override { return splitter_.part_count(); }
  bool are_overwritten() const override { return are_overwritten_; }
  void split(std::string_view key, std::size_t from, std::uint32_t* ends) const override {
    splitter_.split(key, from, ends);
  }

 private:
  const codec::KeySplitter splitter_;
  const bool are_overwritten_;
};

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
    codec::ColumnLayout column_layout = catalog::column_layout(column);
    if (codec::is_string(column.kind) && (uses_column(primary, i) || uses_column(index, i))) {
      if (collations_ == nullptr) return nullptr;
      column_layout.collation = catalog::find_collation(column, *collations_);
      if (column_layout.collation == nullptr) return nullptr;
    }
    layout.columns.push_back(column_layout);
  }
  if (position == 0) {
    return std::make_shared<SplitterParts>(
        codec::KeySplitter(layout, catalog::index_layout(primary)), true);
  }
  return std::make_shared<SplitterParts>(
      codec::KeySplitter(layout, catalog::index_layout(index), catalog::index_layout(primary)),
      table->expiry.has_value());
}

}  // namespace basalt::stats
