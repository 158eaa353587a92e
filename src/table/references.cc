#include "table/references.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/key_range.h"
#include "base/names.h"
#include "table/system_versions.h"

namespace basalt::table {
namespace {

enum class Side : std::uint8_t { kChild, kParent };

// The numbers of a foreign key's columns on one side; empty if one is missing.
std::vector<std::uint32_t> columns_of(const catalog::ForeignKeyDefinition& key, Side side,
                                      const catalog::TableDefinition& table) {
  std::vector<std::uint32_t> numbers;
  for (const catalog::ForeignKeyColumn& column : key.columns) {
    const std::size_t number =
        find_column(table, side == Side::kChild ? column.child : column.parent);
    if (number == table.columns.size()) return {};
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return numbers;
}

// Whether the columns of two tables can be compared by their keys.
bool are_equal_in_keys(const Table& a, const std::vector<std::uint32_t>& of_a, const Table& b,
                       const std::vector<std::uint32_t>& of_b) {
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (!codec::are_equal_in_keys(a.layout().columns[of_a[i]], b.layout().columns[of_b[i]])) {
      return false;
    }
  }
  return true;
}

// From `columns` of `from` to the leading parts of an index of `to`.
std::unique_ptr<const codec::ReferenceCodec> make_codec(const Table& from,
                                                        const std::vector<std::uint32_t>& columns,
                                                        const Table& to, std::size_t index_number) {
  const catalog::IndexDefinition& index = to.index(index_number);
  std::vector<codec::ReferencedPart> parts;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const catalog::KeyPartDefinition& part = index.parts[i];
    parts.push_back({to.layout().columns[part.column].nullable, part.descending});
  }
  return std::make_unique<const codec::ReferenceCodec>(from.layout(), columns, index.id, parts);
}

// Whether the part of the index behind its first `count` is the row's end.
bool goes_on_with_row_end(const catalog::TableDefinition& table,
                          const catalog::IndexDefinition& index, std::size_t count) {
  if (index.parts.size() <= count) return false;
  return table.columns[index.parts[count].column].system_time == catalog::SystemTime::kRowEnd;
}

// Whether the first `count` parts tell one current row from all others.
bool is_unique_on(const catalog::TableDefinition& table, const catalog::IndexDefinition& index,
                  std::size_t count) {
  if (!index.unique || index.parts.size() < count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const catalog::ColumnDefinition& column = table.columns[index.parts[i].column];
    if (column.system_time == catalog::SystemTime::kRowEnd) return false;
  }
  return index.parts.size() == count ||
         (index.parts.size() == count + 1 && goes_on_with_row_end(table, index, count));
}

// What the keys of current rows have behind the first `count` parts, if that is the row's end.
std::string current_part(const Table& table, std::size_t index_number, std::size_t count) {
  const catalog::IndexDefinition& index = table.index(index_number);
  if (!goes_on_with_row_end(table.definition(), index, count)) return {};
  const catalog::KeyPartDefinition& part = index.parts[count];
  const codec::ColumnLayout& column = table.layout().columns[part.column];
  codec::TableLayout row_end;
  row_end.columns = {{.kind = column.kind, .record_length = column.record_length}};
  row_end.record_length = column.record_length;
  if (column.record_length != kEndOfTime.size()) return {};
  const codec::ReferenceCodec codec(row_end, {0}, index.id, {{column.nullable, part.descending}});
  std::string key;
  codec.make_prefix(kEndOfTime.data(), key);
  return key.substr(kIndexIdBytes);
}

// An ALTER TABLE that copies a child has the same foreign key in two or three tables for a while:
// the child, the copy, and the child under the name by which it is set aside. The rows of the child
// count as long as it has its name. In the moment without it those of the copy do, which is whole
// then, as do those of a copy that gets a foreign key which the child has not.
bool has_better_child(const catalog::ForeignKeyDefinition& key,
                      const std::vector<catalog::ForeignKeyPointer>& referencing) {
  if (!catalog::is_being_made(key.child)) return false;
  if (catalog::is_set_aside(key.child)) return true;
  return std::ranges::any_of(referencing, [&](const catalog::ForeignKeyPointer& other) {
    return other->name == key.name && !catalog::is_being_made(other->child);
  });
}

// The child's first index that begins with the columns: the order in which InnoDB looks at its
// foreign keys, and so which of several that a row violates it names.
std::size_t order_of(const ParentReference& reference, const catalog::TableDefinition& child) {
  for (std::size_t i = 0; i < child.indexes.size(); ++i) {
    const auto& parts = child.indexes[i].parts;
    if (parts.size() >= reference.columns.size() &&
        std::equal(reference.columns.begin(), reference.columns.end(), parts.begin(),
                   [](std::uint32_t column, const auto& part) { return part.column == column; })) {
      return i;
    }
  }
  return child.indexes.size();
}

Status bind_parent(const Table& table, TableSource& tables, ParentReference& reference) {
  const catalog::ForeignKeyDefinition& key = *reference.key;
  reference.columns = columns_of(key, Side::kChild, table.definition());
  const std::vector<std::uint32_t>& own = reference.columns;
  Result<std::shared_ptr<const Table>> opened = tables.open_stored(key.parent);
  if (!opened.is_ok()) return opened.take_status();
  const std::shared_ptr<const Table> parent = std::move(opened.value());
  if (parent == nullptr) return Status::ok();
  const auto referenced = columns_of(key, Side::kParent, parent->definition());
  if (own.empty() || referenced.empty()) return Status::ok();
  const std::size_t number = find_index_on(parent->definition(), referenced);
  if (number == parent->index_count()) return Status::ok();
  if (!are_equal_in_keys(table, own, *parent, referenced)) return Status::ok();
  const catalog::IndexDefinition& index = parent->index(number);
  reference.parent = parent;
  reference.index_number = number;
  reference.is_unique = is_unique_on(parent->definition(), index, referenced.size());
  reference.codec = make_codec(table, own, *parent, number);
  reference.current = current_part(*parent, number, referenced.size());
  if (key.references_itself()) reference.own_key = make_codec(table, referenced, *parent, number);
  return Status::ok();
}

Status bind_child(const Table& table, TableSource& tables, ChildReference& reference) {
  const catalog::ForeignKeyDefinition& key = *reference.key;
  Result<std::shared_ptr<const Table>> opened = tables.open_stored(key.child);
  if (!opened.is_ok()) return opened.take_status();
  const std::shared_ptr<const Table> child = std::move(opened.value());
  if (child == nullptr) return Status::ok();
  const auto own = columns_of(key, Side::kParent, table.definition());
  const auto referencing = columns_of(key, Side::kChild, child->definition());
  if (own.empty() || referencing.empty()) return Status::ok();
  for (std::size_t i = 0; i < own.size(); ++i) {
    reference.columns.push_back({own[i], referencing[i]});
  }
  reference.child = child;
  const std::size_t number = find_index_on(child->definition(), referencing);
  if (number == child->index_count()) return Status::ok();
  if (!are_equal_in_keys(table, own, *child, referencing)) return Status::ok();
  reference.index_number = number;
  reference.codec = make_codec(table, own, *child, number);
  reference.current = current_part(*child, number, referencing.size());
  return Status::ok();
}

// Whether a copy that is to replace a table has the foreign key from that table. For the rows that
// are copied it holds, or was not to be checked.
bool is_copied(const catalog::ForeignKeyDefinition& key, const catalog::Catalog& catalog) {
  if (!catalog::is_being_made(key.child)) return false;
  const catalog::ForeignKeyPointer original = catalog.find_foreign_key(key.name, key.child);
  return original != nullptr && original->has_same_rule(key);
}

}  // namespace

Result<std::shared_ptr<const TableReferences>> bind_references(const Table& table,
                                                               const catalog::Catalog& catalog,
                                                               TableSource& tables) {
  auto references = std::make_shared<TableReferences>();
  references->generation = catalog.generation();
  const std::string& name = table.definition().name;
  for (catalog::ForeignKeyPointer& key : catalog.foreign_keys_of(name)) {
    if (is_copied(*key, catalog)) continue;
    ParentReference reference;
    reference.key = std::move(key);
    BASALT_TRY(bind_parent(table, tables, reference));
    references->parents.push_back(std::move(reference));
  }
  std::stable_sort(references->parents.begin(), references->parents.end(),
                   [&](const ParentReference& a, const ParentReference& b) {
                     return order_of(a, table.definition()) < order_of(b, table.definition());
                   });
  const std::vector<catalog::ForeignKeyPointer> referencing = catalog.references_to(name);
  for (const catalog::ForeignKeyPointer& key : referencing) {
    if (has_better_child(*key, referencing)) continue;
    ChildReference reference;
    reference.key = key;
    BASALT_TRY(bind_child(table, tables, reference));
    if (reference.child != nullptr) references->children.push_back(std::move(reference));
  }
  return std::shared_ptr<const TableReferences>(std::move(references));
}

std::size_t find_column(const catalog::TableDefinition& table, std::string_view name) {
  const auto found = std::find_if(
      table.columns.begin(), table.columns.end(),
      [&](const catalog::ColumnDefinition& column) { return is_same_name(column.name, name); });
  return static_cast<std::size_t>(found - table.columns.begin());
}

std::size_t find_index_on(const catalog::TableDefinition& table,
                          const std::vector<std::uint32_t>& columns) {
  std::size_t best = table.indexes.size();
  for (std::size_t i = 0; i < table.indexes.size(); ++i) {
    const catalog::IndexDefinition& index = table.indexes[i];
    if (index.parts.size() < columns.size()) continue;
    const bool begins = std::equal(columns.begin(), columns.end(), index.parts.begin(),
                                   [](std::uint32_t column, const auto& part) {
                                     return part.column == column && part.prefix_length == 0;
                                   });
    if (!begins) continue;
    if (is_unique_on(table, index, columns.size())) return i;
    if (best == table.indexes.size()) best = i;
  }
  return best;
}

}  // namespace basalt::table
