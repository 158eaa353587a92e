#include "table/references.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/key_range.h"
#include "table/reference_index.h"
#include "table/system_versions.h"

namespace basalt::table {
namespace {

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

// From `columns` of `from` to the beginning of the keys of an index of `to`, which has them all or
// the first ones.
std::unique_ptr<const codec::ReferenceCodec> make_codec(const Table& from,
                                                        const std::vector<std::uint32_t>& columns,
                                                        const Table& to, std::size_t index_number) {
  const ReferenceParts of_index = reference_parts(to.definition(), index_number);
  const std::size_t count = std::min(columns.size(), of_index.in_key);
  const auto in_key =
      std::vector(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<codec::ReferencedPart> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const catalog::KeyPartDefinition& part = of_index.parts[i];
    parts.push_back({to.layout().columns[part.column].nullable, part.descending});
  }
  return std::make_unique<const codec::ReferenceCodec>(from.layout(), in_key,
                                                       to.index(index_number).id, parts);
}

// All values of a table's columns in a form that only such values of other columns have.
codec::ReferenceCodec make_values_codec(const Table& of,
                                        const std::vector<std::uint32_t>& columns) {
  return {of.layout(), columns, 0, std::vector<codec::ReferencedPart>(columns.size())};
}

// Null if the beginning of the keys of `to`'s index tells them all.
std::unique_ptr<const ReferencedValues> make_values(const Table& from,
                                                    const std::vector<std::uint32_t>& columns,
                                                    const Table& to,
                                                    const std::vector<std::uint32_t>& of_to,
                                                    std::size_t index_number) {
  if (of_to.size() <= reference_parts(to.definition(), index_number).in_key) return nullptr;
  return std::make_unique<const ReferencedValues>(
      ReferencedValues{make_values_codec(from, columns), make_values_codec(to, of_to), of_to});
}

// What the keys of current rows have behind the first `count` parts, if that is the row's end.
std::string current_part(const Table& table, std::size_t index_number, std::size_t count) {
  const ReferenceParts parts = reference_parts(table.definition(), index_number);
  if (!goes_on_with_row_end(table.definition(), parts, count)) return {};
  const catalog::KeyPartDefinition& part = parts.parts[count];
  const codec::ColumnLayout& column = table.layout().columns[part.column];
  codec::TableLayout row_end;
  row_end.columns = {{.kind = column.kind, .record_length = column.record_length}};
  row_end.record_length = column.record_length;
  if (column.record_length != kEndOfTime.size()) return {};
  const codec::ReferenceCodec codec(row_end, {0}, table.index(index_number).id,
                                    {{column.nullable, part.descending}});
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

// The table's first index that begins with the columns, as a whole, on either side of a foreign
// key: the order in which InnoDB looks at the foreign keys of a table. So is decided which of
// several that a row violates is named, and whether one child's rows go before they are in the way
// of another's.
std::size_t order_of(const std::vector<std::uint32_t>& columns,
                     const catalog::TableDefinition& table) {
  for (std::size_t i = 0; i < table.indexes.size(); ++i) {
    if (begins_with_whole(table, i, columns)) return i;
  }
  return table.indexes.size();
}

// The parent. One that an ALTER TABLE copies has no name for a moment, when it is set aside and its
// copy has not taken its place: its definition_lock() is held then.
Result<std::shared_ptr<const Table>> open_parent(const std::string& name,
                                                 const catalog::Catalog& catalog,
                                                 TableSource& tables) {
  Result<std::shared_ptr<const Table>> opened = tables.open_stored(name);
  if (!opened.is_ok() || opened.value() != nullptr) return opened;
  const catalog::TablePointer set_aside = catalog.find_set_aside(name);
  return set_aside == nullptr ? std::move(opened) : tables.open_stored(set_aside->name);
}

Status bind_parent(const Table& table, const catalog::Catalog& catalog, TableSource& tables,
                   ParentReference& reference) {
  const catalog::ForeignKeyDefinition& key = *reference.key;
  reference.columns = columns_of(key, &catalog::ForeignKeyColumn::child, table.definition());
  const std::vector<std::uint32_t>& own = reference.columns;
  Result<std::shared_ptr<const Table>> opened = open_parent(key.parent, catalog, tables);
  if (!opened.is_ok()) return opened.take_status();
  const std::shared_ptr<const Table> parent = std::move(opened.value());
  if (parent == nullptr) return Status::ok();
  const auto referenced = columns_of(key, &catalog::ForeignKeyColumn::parent, parent->definition());
  if (own.empty() || referenced.empty()) return Status::ok();
  const std::size_t number = find_index_on(parent->definition(), referenced);
  if (number == parent->index_count()) return Status::ok();
  if (!are_equal_in_keys(table, own, *parent, referenced)) return Status::ok();
  reference.parent = parent;
  reference.index_number = number;
  reference.is_unique = is_unique_on(parent->definition(), number, referenced.size());
  reference.tells_one_row = tells_one_row(parent->definition(), number, referenced.size());
  reference.codec = make_codec(table, own, *parent, number);
  reference.values = make_values(table, own, *parent, referenced, number);
  reference.current = current_part(*parent, number, referenced.size());
  if (!key.references_itself()) return Status::ok();
  reference.own_key =
      reference.values == nullptr
          ? make_codec(table, referenced, *parent, number)
          : std::make_unique<const codec::ReferenceCodec>(make_values_codec(table, referenced));
  return Status::ok();
}

Status bind_child(const Table& table, TableSource& tables, ChildReference& reference) {
  const catalog::ForeignKeyDefinition& key = *reference.key;
  Result<std::shared_ptr<const Table>> opened = tables.open_stored(key.child);
  if (!opened.is_ok()) return opened.take_status();
  const std::shared_ptr<const Table> child = std::move(opened.value());
  if (child == nullptr) return Status::ok();
  const auto own = columns_of(key, &catalog::ForeignKeyColumn::parent, table.definition());
  const auto referencing = columns_of(key, &catalog::ForeignKeyColumn::child, child->definition());
  if (own.empty() || referencing.empty()) return Status::ok();
  // No row of the child references one of a parent that was made with other types, without checks.
  if (!are_equal_in_keys(table, own, *child, referencing)) return Status::ok();
  for (std::size_t i = 0; i < own.size(); ++i) {
    reference.columns.push_back({own[i], referencing[i]});
  }
  reference.child = child;
  const std::size_t number = find_index_on(child->definition(), referencing);
  if (number == child->index_count()) return Status::ok();
  reference.index_number = number;
  reference.codec = make_codec(table, own, *child, number);
  reference.values = make_values(table, own, *child, referencing, number);
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

std::string definition_lock(const catalog::TableDefinition& table) {
  std::string key;
  append_be32(key, table.id);
  return key;
}

Result<std::shared_ptr<const TableReferences>> bind_references(const Table& table,
                                                               const catalog::Catalog& catalog,
                                                               TableSource& tables) {
  auto references = std::make_shared<TableReferences>();
  references->generation = catalog.reference_generation();
  const std::string& name = table.definition().name;
  for (catalog::ForeignKeyPointer& key : catalog.foreign_keys_of(name)) {
    if (is_copied(*key, catalog)) continue;
    ParentReference reference;
    reference.key = std::move(key);
    BASALT_TRY(bind_parent(table, catalog, tables, reference));
    references->parents.push_back(std::move(reference));
  }
  std::ranges::stable_sort(references->parents, {}, [&](const ParentReference& reference) {
    return order_of(reference.columns, table.definition());
  });
  const std::vector<catalog::ForeignKeyPointer> referencing = catalog.references_to(name);
  for (const catalog::ForeignKeyPointer& key : referencing) {
    if (has_better_child(*key, referencing)) continue;
    ChildReference reference;
    reference.key = key;
    BASALT_TRY(bind_child(table, tables, reference));
    if (reference.child != nullptr) references->children.push_back(std::move(reference));
  }
  std::ranges::stable_sort(references->children, {}, [&](const ChildReference& reference) {
    return order_of(
        columns_of(*reference.key, &catalog::ForeignKeyColumn::parent, table.definition()),
        table.definition());
  });
  return std::shared_ptr<const TableReferences>(std::move(references));
}

std::vector<std::uint32_t> columns_of(const catalog::ForeignKeyDefinition& key,
                                      std::string catalog::ForeignKeyColumn::*side,
                                      const catalog::TableDefinition& table) {
  std::vector<std::uint32_t> numbers;
  for (const catalog::ForeignKeyColumn& column : key.columns) {
    const std::size_t number = catalog::find_column(table, column.*side);
    if (number == table.columns.size()) return {};
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return numbers;
}

bool is_parent_bound_alike(const catalog::ForeignKeyDefinition& key,
                           const catalog::TableDefinition& before,
                           const catalog::TableDefinition& altered) {
  const auto bound = columns_of(key, &catalog::ForeignKeyColumn::parent, before);
  const auto binds = columns_of(key, &catalog::ForeignKeyColumn::parent, altered);
  if (bound.empty() || binds.empty()) return bound.empty() && binds.empty();
  const std::size_t number = find_index_on(before, bound);
  const std::size_t new_number = find_index_on(altered, binds);
  const bool is_found = number != before.indexes.size();
  if (!is_found || new_number == altered.indexes.size()) {
    return !is_found && new_number == altered.indexes.size();
  }
  // An index that is not unique has rows read, as `before` tells, and those that are written later
  // have another form.
  return before.indexes[number].id == altered.indexes[new_number].id &&
         is_unique_on(before, number, bound.size());
}

}  // namespace basalt::table
