#include "server/handler/foreign_key_columns.h"

#include <algorithm>

#include "server/convert/foreign_key_text.h"
#include "server/convert/sql_text.h"
#include "server/plugin.h"
#include "table/reference_index.h"

namespace basalt::server {
namespace {

using catalog::ForeignKeyColumn;
using catalog::ForeignKeyDefinition;
using catalog::ForeignKeyPointer;
using catalog::TableChange;
using catalog::TableDefinition;
using Columns = std::vector<std::uint32_t>;

bool gets_another_type(const std::string& column, const Alter_inplace_info& info) {
  List_iterator_fast<Create_field> fields(info.alter_info->create_list);
  while (const Create_field* const field = fields++) {
    if (field->field == nullptr || !equal_names(text_of(field->field->field_name), column))
      continue;
    return !field->field->is_equal(*field);
  }
  return false;
}

// The dictionary's name of a key that the statement adds to `table`; it has no number yet.
std::string name_of(const Foreign_key& key, const std::string& table) {
  const LEX_CSTRING& given = key.constraint_name.str != nullptr ? key.constraint_name : key.name;
  const bool has_name = given.str != nullptr && given.length != 0;
  return has_name ? dictionary_constraint(table, text_of(given)) : table + "_ibfk_0";
}

void refuse_in_child(const std::string& column, const std::string& constraint) {
  my_error(ER_FK_COLUMN_CANNOT_CHANGE, MYF(0), column.c_str(), constraint.c_str());
}

void refuse_in_parent(const std::string& column, const std::string& constraint,
                      const std::string& child) {
  my_error(ER_FK_COLUMN_CANNOT_CHANGE_CHILD, MYF(0), column.c_str(), constraint.c_str(),
           child.c_str());
}

// Whether the column of the table is not in `altered`.
bool goes(const TableChange& change, const TableDefinition& altered, std::uint32_t column) {
  for (std::size_t i = 0; i < altered.columns.size(); ++i) {
    if (change.column_before(i) == column) return false;
  }
  return true;
}

// The child and the parent of a foreign key, with the columns that it has there.
struct Pair {
  const TableDefinition& child;
  const TableDefinition& parent;
  Columns referencing = {};
  Columns referenced = {};

  // Whether both have the columns, and the indexes on them. Without checks they may have gone.
  bool find(const ForeignKeyDefinition& key) {
    referencing = numbers_of(child, key, &ForeignKeyColumn::child);
    referenced = numbers_of(parent, key, &ForeignKeyColumn::parent);
    return has_index_on(child, referencing) && has_index_on(parent, referenced);
  }
  bool cascades_null(std::size_t i) const {
    return parent.columns[referenced[i]].nullable && !child.columns[referencing[i]].nullable;
  }
};

// The table of before and after the statement.
struct ChangedTable {
  const TableDefinition& table;
  const TableChange& change;
  const TableDefinition& altered;

  bool was_nullable(std::uint32_t column) const {
    const std::uint32_t before = change.column_before(column);
    return before != catalog::ColumnOrigin::kNew && table.columns[before].nullable;
  }
};

// As check_cascaded_nulls(), of one foreign key that has its columns' names of after.
int check_pair(const ChangedTable& alteration, const ForeignKeyDefinition& key, Pair pair) {
  if (!refuses_null(key) || !pair.find(key)) return 0;
  for (std::size_t i = 0; i < key.columns.size(); ++i) {
    if (!pair.cascades_null(i)) continue;
    const bool is_new_in_child =
        &pair.child == &alteration.altered && alteration.was_nullable(pair.referencing[i]);
    const bool is_new_in_parent =
        &pair.parent == &alteration.altered && !alteration.was_nullable(pair.referenced[i]);
    if (is_new_in_child) {
      my_error(ER_FK_COLUMN_NOT_NULL, MYF(0), key.columns[i].child.c_str(),
               constraint_in_sql(key).c_str());
    } else if (is_new_in_parent) {
      const TableNames child = names_in_sql(key.child);
      refuse_in_parent(key.columns[i].parent, constraint_in_sql(key),
                       child.database + "." + child.table);
    } else {
      continue;
    }
    return HA_WRONG_CREATE_OPTION;
  }
  return 0;
}

// Of a key that leads to the altered table.
bool is_dropped_self(const ForeignKeyDefinition& key, const Alter_info& info) {
  return key.child == key.parent && is_dropped(key, info);
}

}  // namespace

std::size_t find_given_column(const TableDefinition& table, const std::string& name) {
  const auto found = std::ranges::find_if(
      table.columns, [&](const auto& column) { return equal_names(column.name, name); });
  return static_cast<std::size_t>(found - table.columns.begin());
}

Columns numbers_of(const TableDefinition& table, const ForeignKeyDefinition& key, ColumnName side) {
  Columns numbers;
  for (const ForeignKeyColumn& column : key.columns) {
    const std::size_t number = find_given_column(table, column.*side);
    if (number == table.columns.size()) return {};
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return numbers;
}

bool has_index_on(const TableDefinition& table, const Columns& columns) {
  return !columns.empty() && table::find_index_on(table, columns) < table.indexes.size();
}

bool refuses_null(const ForeignKeyDefinition& key) {
  return key.on_update == catalog::ReferentialAction::kCascade &&
         key.on_delete == catalog::ReferentialAction::kRestrict;
}

bool is_dropped(const ForeignKeyDefinition& key, const Alter_info& info) {
  const std::string name = constraint_in_sql(key);
  for (const Alter_drop& drop : info.drop_list) {
    if (drop.type == Alter_drop::FOREIGN_KEY && equal_names(drop.name, name)) return true;
  }
  return false;
}

bool changes_foreign_keys(const TableDefinition& table, const TableChange& change,
                          const TableDefinition& altered, const Alter_info& info) {
  std::vector<std::string> names;
  for (const ForeignKeyPointer& key : the_engine().catalog().foreign_keys_of(table.name)) {
    if (is_dropped(*key, info)) continue;
    for (const ForeignKeyColumn& column : key->columns) names.push_back(column.child);
  }
  for (const ForeignKeyPointer& key : the_engine().catalog().references_to(table.name)) {
    if (is_dropped_self(*key, info)) continue;
    const Columns columns = numbers_of(table, *key, &ForeignKeyColumn::parent);
    const bool may_change = !has_index_on(table, columns);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!may_change || goes(change, altered, columns[i])) names.push_back(key->columns[i].parent);
    }
  }
  return catalog::changes_types(table, change, altered, names);
}

// InnoDB's errors of types have the dictionary's names.
bool refuse_changed_types(const std::string& name, const Alter_inplace_info& info) {
  for (const ForeignKeyPointer& key : the_engine().catalog().foreign_keys_of(name)) {
    for (const ForeignKeyColumn& column : key->columns) {
      if (is_dropped(*key, *info.alter_info) || !gets_another_type(column.child, info)) continue;
      refuse_in_child(column.child, key->name);
      return true;
    }
  }
  for (const ForeignKeyPointer& key : the_engine().catalog().references_to(name)) {
    if (is_dropped_self(*key, *info.alter_info)) continue;
    for (const ForeignKeyColumn& column : key->columns) {
      if (!gets_another_type(column.parent, info)) continue;
      refuse_in_parent(column.parent, key->name, key->child);
      return true;
    }
  }
  for (const Key& key : info.alter_info->key_list) {
    if (key.type != Key::FOREIGN_KEY || key.old) continue;
    List_iterator_fast<Key_part_spec> columns(const_cast<List<Key_part_spec>&>(key.columns));
    while (const Key_part_spec* const column = columns++) {
      if (!gets_another_type(text_of(column->field_name), info)) continue;
      refuse_in_child(text_of(column->field_name),
                      name_of(static_cast<const Foreign_key&>(key), name));
      return true;
    }
  }
  return false;
}

bool is_of_foreign_key(const std::string& name, const Field& field, const Alter_info& info) {
  for (const ForeignKeyPointer& key : the_engine().catalog().foreign_keys_of(name)) {
    if (is_dropped(*key, info)) continue;
    for (const ForeignKeyColumn& column : key->columns) {
      if (equal_names(text_of(field.field_name), column.child)) return true;
    }
  }
  return false;
}

int check_cascaded_nulls(const TableDefinition& table, const TableChange& change,
                         const TableDefinition& altered,
                         const std::vector<ForeignKeyDefinition>& keys) {
  const ChangedTable alteration = {table, change, altered};
  for (const ForeignKeyDefinition& key : keys) {
    const catalog::TablePointer other = the_engine().catalog().find(key.parent);
    const TableDefinition* const parent = key.parent == table.name ? &altered : other.get();
    if (key.id == 0 || parent == nullptr) continue;
    if (const int error = check_pair(alteration, key, {altered, *parent}); error != 0) return error;
  }
  for (const ForeignKeyPointer& key : the_engine().catalog().references_to(table.name)) {
    const catalog::TablePointer child = the_engine().catalog().find(key->child);
    if (child == nullptr || key->child == table.name) continue;
    ForeignKeyDefinition renamed = *key;
    for (ForeignKeyColumn& column : renamed.columns) {
      column.parent = catalog::renamed_column(table, change, altered, column.parent);
    }
    const int error = check_pair(alteration, renamed, {*child, altered});
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace basalt::server
