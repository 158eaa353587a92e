#include "server/handler/foreign_key_definition.h"

#include <algorithm>
#include <span>
#include <string>

#include "server/convert/foreign_key_text.h"
#include "server/plugin.h"
#include "table/references.h"
#include "table/stored_layout.h"

namespace basalt::server {
namespace {

using catalog::ForeignKeyDefinition;
using catalog::ForeignKeyPointer;
using catalog::ReferentialAction;
using catalog::TableDefinition;
using Columns = std::vector<std::uint32_t>;

std::string text_of(const LEX_CSTRING& name) {
  return name.str == nullptr ? std::string() : std::string(name.str, name.length);
}

// As the server compares names of columns and constraints.
bool equal_names(const std::string& a, const std::string& b) {
  return my_strcasecmp(system_charset_info, a.c_str(), b.c_str()) == 0;
}

// The number of columns if there is none of the name.
std::size_t find_column(const TableDefinition& table, const std::string& name) {
  const auto found = std::ranges::find_if(
      table.columns, [&](const auto& column) { return equal_names(column.name, name); });
  return static_cast<std::size_t>(found - table.columns.begin());
}

// What is not written in the definition InnoDB takes as RESTRICT, and so it does SET DEFAULT.
ReferentialAction action_of(enum_fk_option option) {
  switch (option) {
    case FK_OPTION_UNDEF:
    case FK_OPTION_RESTRICT:
    case FK_OPTION_SET_DEFAULT: break;
    case FK_OPTION_NO_ACTION: return ReferentialAction::kNoAction;
    case FK_OPTION_CASCADE: return ReferentialAction::kCascade;
    case FK_OPTION_SET_NULL: return ReferentialAction::kSetNull;
  }
  return ReferentialAction::kRestrict;
}

bool sets_null(const ForeignKeyDefinition& key) {
  return key.on_delete == ReferentialAction::kSetNull ||
         key.on_update == ReferentialAction::kSetNull;
}

// Keeps the parent of a new key as it is until the statement ends: while rows are copied and looked
// up there, nobody may take one away, since no foreign key leads there yet.
int hold_parent(THD* thd, const ForeignKeyDefinition& key, enum_mdl_type lock) {
  if (the_engine().catalog().find(key.parent) == nullptr) return 0;
  const TableNames names = names_in_sql(key.parent);
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::TABLE, names.database.c_str(), names.table.c_str(), lock,
                   MDL_TRANSACTION);
  const double seconds = static_cast<double>(thd->variables.lock_wait_timeout);
  // It tells the client.
  return thd->mdl_context.acquire_lock(&request, seconds) ? HA_ERR_LOCK_WAIT_TIMEOUT : 0;
}

// A table that takes part, as far as the new foreign keys need to know it.
struct Side {
  const TableDefinition* definition = nullptr;
  const codec::TableLayout* layout = nullptr;
};

Columns numbers_of(const TableDefinition& table, const ForeignKeyDefinition& key,
                   std::string catalog::ForeignKeyColumn::*side) {
  Columns numbers;
  for (const catalog::ForeignKeyColumn& column : key.columns) {
    const std::size_t number = find_column(table, column.*side);
    if (number == table.columns.size()) return {};
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return numbers;
}

// Whether the index begins with the columns, of some with their first bytes alone.
bool begins_with_prefixes(const catalog::IndexDefinition& index, const Columns& columns) {
  return columns.size() <= index.parts.size() &&
         std::ranges::equal(columns, std::span(index.parts).first(columns.size()), {}, {},
                            &catalog::KeyPartDefinition::column);
}

TABLE* altered_table(const HA_CREATE_INFO& info) {
  return info.alter_info == nullptr ? nullptr : info.alter_info->original_table;
}

std::string name_of(const TABLE_SHARE& table) {
  return dictionary_name({table.db.str, table.db.length},
                         {table.table_name.str, table.table_name.length});
}

// The dictionary's name of the table that a foreign key of the table `child` leads to.
std::string parent_of(const Foreign_key& key, std::string_view child) {
  std::string database =
      key.ref_db.str != nullptr ? text_of(key.ref_db) : names_in_sql(child).database;
  std::string table = text_of(key.ref_table);
  if (lower_case_table_names != 0) {
    my_casedn_str(files_charset_info, database.data());
    my_casedn_str(files_charset_info, table.data());
  }
  return dictionary_name(database, table);
}

// Tells the client why a foreign key of a statement's table is refused.
class Refusals {
 protected:
  // `name` is the table's.
  Refusals(THD* thd, bool is_altered, const std::string& name)
      : thd_(thd), is_altered_(is_altered), name_(name) {}

  std::string table_text() const {
    const TableNames names = names_in_sql(name_);
    return quoted_name(thd_, names.database) + "." + quoted_name(thd_, names.table);
  }

  // `of` begins with "foreign key".
  int refuse(const std::string& of, const std::string& why) const {
    push_warning_printf(thd_, Sql_condition::WARN_LEVEL_WARN, HA_ERR_CANNOT_ADD_FOREIGN,
                        "%s  table %s %s constraint failed. %s", is_altered_ ? "Alter" : "Create",
                        table_text().c_str(), of.c_str(), why.c_str());
    return HA_ERR_CANNOT_ADD_FOREIGN;
  }
  int refuse_all(const std::string& why) const { return refuse("with foreign key", why); }
  int refuse(const ForeignKeyDefinition& key, const std::string& why) const {
    return refuse("with " + text_of_key(key), why);
  }
  int refuse_column(const ForeignKeyDefinition& key, const std::string& column) const {
    return refuse(text_of_key(key), "Column " + column + " was not found.");
  }
  std::string text_of_key(const ForeignKeyDefinition& key) const {
    if (catalog::generated_number(key.name, name_) == 0) {
      return "foreign key " + quoted_name(thd_, constraint_in_sql(key));
    }
    std::string columns;
    for (const catalog::ForeignKeyColumn& column : key.columns) {
      columns += (columns.empty() ? "" : ", ") + column.child;
    }
    return "foreign key (" + columns + ")";
  }
  int refuse_duplicate(const ForeignKeyDefinition& key) const {
    push_warning_printf(thd_, Sql_condition::WARN_LEVEL_WARN, HA_ERR_FOUND_DUPP_KEY,
                        "CREATE or ALTER TABLE %s failed: duplicate name, %s", table_text().c_str(),
                        constraint_text(thd_, key).c_str());
    return HA_ERR_FOUND_DUPP_KEY;
  }

  THD* const thd_;
  const bool is_altered_;
  const std::string name_;  // as the table will be called in the end
};

// The foreign keys of one statement's table.
class Maker : private Refusals {
 public:
  // `name` is the table's; `before`: the table that is altered in place, else null.
  Maker(THD* thd, const std::string& name, const HA_CREATE_INFO& info,
        const ServerTable& translation, const TableDefinition* before = nullptr)
      : Refusals(thd, altered_table(info) != nullptr, name),
        info_(info),
        child_{&translation.definition, &translation.layout},
        before_(before),
        altered_(altered_table(info)) {}

  int make(std::vector<ForeignKeyDefinition>& keys) {
    keep_known(keys);
    kept_ = keys.size();
    add_new(keys);
    for (std::size_t i = kept_; i < keys.size(); ++i) {
      if (!checks() || before_ != nullptr || keys[i].parent == name_) continue;
      const enum_mdl_type lock = altered_ == nullptr ? MDL_SHARED : MDL_SHARED_READ_ONLY;
      if (const int error = hold_parent(thd_, keys[i], lock); error != 0) return error;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const int error = i < kept_ ? check_kept(keys[i]) : check_new(keys[i], keys);
      if (error != 0) return error;
    }
    return check_references_to();
  }

  // A permanent table of the same name has nothing to do with it.
  int refuse_temporary() {
    std::vector<ForeignKeyDefinition> keys;
    add_new(keys);
    return keys.empty() ? 0 : refuse_all("Temporary tables can't have foreign key constraints.");
  }

 private:
  bool checks() const { return !ignores_foreign_keys(thd_); }

  bool is_dropped(const ForeignKeyDefinition& key) const {
    const std::string name = constraint_in_sql(key);
    for (const Alter_drop& drop : info_.alter_info->drop_list) {
      if (drop.type == Alter_drop::FOREIGN_KEY && equal_names(drop.name, name)) return true;
    }
    return false;
  }

  void keep_known(std::vector<ForeignKeyDefinition>& keys) {
    if (altered_ == nullptr) return;
    for (const ForeignKeyPointer& key : the_engine().catalog().foreign_keys_of(name_)) {
      last_number_ = std::max(last_number_, catalog::generated_number(key->name, name_));
      if (is_dropped(*key)) {
        dropped_.push_back(key);
        continue;
      }
      keys.push_back(with_new_names(*key));
      keys.back().child = child_.definition->name;
    }
  }

  // With the names that columns have after an ALTER TABLE in place. One that copies cannot give
  // columns of foreign keys other names.
  ForeignKeyDefinition with_new_names(const ForeignKeyDefinition& key) const {
    ForeignKeyDefinition renamed = key;
    if (before_ == nullptr) return renamed;
    for (catalog::ForeignKeyColumn& column : renamed.columns) {
      if (key.child == name_) {
        column.child = catalog::renamed_column(*before_, *child_.definition, column.child);
      }
      if (key.parent == name_) {
        column.parent = catalog::renamed_column(*before_, *child_.definition, column.parent);
      }
    }
    return renamed;
  }

  void add_new(std::vector<ForeignKeyDefinition>& keys) {
    if (info_.alter_info == nullptr) return;
    for (const Key& key : info_.alter_info->key_list) {
      if (key.type != Key::FOREIGN_KEY || key.old) continue;
      keys.push_back(definition_of(static_cast<const Foreign_key&>(key)));
    }
  }

  ForeignKeyDefinition definition_of(const Foreign_key& key) {
    ForeignKeyDefinition definition;
    const LEX_CSTRING& given = key.constraint_name.str != nullptr ? key.constraint_name : key.name;
    definition.name =
        given.str == nullptr || given.length == 0
            ? name_.substr(0, name_.find('/') + 1) + catalog::generated_name(name_, ++last_number_)
            : dictionary_constraint(name_, text_of(given));
    definition.child = child_.definition->name;
    definition.parent = parent_of(key, name_);
    // A self-reference is to the table's final name, too.
    List_iterator_fast<Key_part_spec> own(const_cast<List<Key_part_spec>&>(key.columns));
    List_iterator_fast<Key_part_spec> referenced(const_cast<List<Key_part_spec>&>(key.ref_columns));
    while (const Key_part_spec* column = own++) {
      const Key_part_spec* const other = referenced++;
      definition.columns.push_back(
          {text_of(column->field_name), text_of((other != nullptr ? other : column)->field_name)});
    }
    definition.on_delete = action_of(key.delete_opt);
    definition.on_update = action_of(key.update_opt);
    return definition;
  }

  // ---- what must hold

  int check_kept(const ForeignKeyDefinition& key) const {
    const Columns own = numbers_of(*child_.definition, key, &catalog::ForeignKeyColumn::child);
    if (own.empty() || !checks()) return 0;
    for (const std::uint32_t number : own) {
      const catalog::ColumnDefinition& column = child_.definition->columns[number];
      if (!sets_null(key) || column.nullable) continue;
      my_error(ER_FK_COLUMN_NOT_NULL, MYF(0), column.name.c_str(), constraint_in_sql(key).c_str());
      return HA_WRONG_CREATE_OPTION;
    }
    if (table::find_index_on(*child_.definition, own) < child_.definition->indexes.size()) return 0;
    return refuse_dropped_index(key);
  }

  int refuse_dropped_index(const ForeignKeyDefinition& key) const {
    const catalog::TablePointer before = the_engine().catalog().find(name_);
    std::string index = constraint_in_sql(key);
    if (before != nullptr) {
      const bool is_child = key.child == child_.definition->name;
      const Columns columns = numbers_of(
          *before, key,
          is_child ? &catalog::ForeignKeyColumn::child : &catalog::ForeignKeyColumn::parent);
      const std::size_t number = table::find_index_on(*before, columns);
      if (!columns.empty() && number < before->indexes.size()) index = before->indexes[number].name;
    }
    my_error(ER_DROP_INDEX_FK, MYF(0), index.c_str());
    return HA_WRONG_CREATE_OPTION;  // the server is not to tell of an index of its own
  }

  int check_name(const ForeignKeyDefinition& key,
                 const std::vector<ForeignKeyDefinition>& keys) const {
    const std::string name = constraint_in_sql(key);
    if (system_charset_info->numchars(name.data(), name.data() + name.size()) > NAME_CHAR_LEN) {
      my_error(ER_TOO_LONG_IDENT, MYF(0), name.c_str());
      return HA_WRONG_CREATE_OPTION;
    }
    const auto has_name = [&](const ForeignKeyDefinition& other) {
      return equal_names(other.name, key.name);
    };
    const auto first_new = keys.begin() + static_cast<std::ptrdiff_t>(kept_);
    if (std::count_if(first_new, keys.end(), has_name) > 1) {
      return refuse(key, "Another foreign key of the statement has this name.");
    }
    const bool is_taken = std::any_of(keys.begin(), first_new, has_name) || is_unchanged(key) ||
                          the_engine().catalog().find_foreign_key(key.name, name_) != nullptr;
    return is_taken ? refuse_duplicate(key) : 0;
  }

  // Whether the statement drops the very foreign key that it adds: as it copies the rows, it would
  // not check them (table/references.cc).
  bool is_unchanged(const ForeignKeyDefinition& key) const {
    return std::ranges::any_of(dropped_, [&](const ForeignKeyPointer& dropped) {
      return equal_names(dropped->name, key.name) && dropped->has_same_rule(key);
    });
  }

  int check_new(ForeignKeyDefinition& key, const std::vector<ForeignKeyDefinition>& keys) const {
    if (const int error = check_name(key, keys); error != 0) return error;
    const TableDefinition& child = *child_.definition;
    const Columns own = numbers_of(child, key, &catalog::ForeignKeyColumn::child);
    if (own.empty()) return refuse_all("A column of it was not found.");
    for (std::size_t i = 0; i < own.size(); ++i) {
      const catalog::ColumnDefinition& column = child.columns[own[i]];
      key.columns[i].child = column.name;
      if (sets_null(key) && !column.nullable) {
        return refuse(key, "You have defined a SET NULL condition but column '" + column.name +
                               "' is defined as NOT NULL.");
      }
    }
    if (table::find_index_on(child, own) == child.indexes.size()) {
      return refuse(key, "There is no index in table " + table_text() +
                             " where the columns appear as the first columns.");
    }
    if (key.parent == name_) return check_parent(key, own, child_);
    return check_other_parent(key, own);
  }

  int check_other_parent(ForeignKeyDefinition& key, const Columns& own) const {
    const catalog::TablePointer parent = the_engine().catalog().find(key.parent);
    const TableNames names = names_in_sql(key.parent);
    const std::string text =
        quoted_name(thd_, names.database) + "." + quoted_name(thd_, names.table);
    if (parent == nullptr) {
      if (const std::string why = why_not_referenced(names); !why.empty()) {
        return refuse(key, "Referenced table " + text + why);
      }
      if (!checks()) return 0;
      return refuse(key, "Referenced table " + text + " not found in the data dictionary.");
    }
    const Result<codec::TableLayout> layout =
        table::make_stored_layout(*parent, g_plugin->collations);
    if (!layout.is_ok()) return refuse(key, layout.status().message());
    return check_parent(key, own, {parent.get(), &layout.value()});
  }

  // Of a table that the dictionary does not have: what it is then. Empty if there is none.
  std::string why_not_referenced(const TableNames& names) const {
    const LEX_CSTRING database = {names.database.c_str(), names.database.size()};
    const LEX_CSTRING table = {names.table.c_str(), names.table.size()};
    handlerton* engine = nullptr;
    LEX_CSTRING partitions = {nullptr, 0};
    bool is_sequence = false;
    if (!ha_table_exists(thd_, &database, &table, nullptr, &partitions, &engine, &is_sequence)) {
      return "";
    }
    if (engine == view_pseudo_hton) return " is a view.";
    if (partitions.length != 0) return " has partitions; a foreign key cannot lead to them.";
    return engine == g_plugin->hton ? "" : " is of another engine; both must be of ENGINE=ROCKSDB.";
  }

  int check_parent(ForeignKeyDefinition& key, const Columns& own, const Side& parent) const {
    for (const catalog::ForeignKeyColumn& column : key.columns) {
      if (find_column(*parent.definition, column.parent) == parent.definition->columns.size()) {
        return refuse_column(key, column.parent);
      }
    }
    const Columns referenced =
        numbers_of(*parent.definition, key, &catalog::ForeignKeyColumn::parent);
    const auto& indexes = parent.definition->indexes;
    if (table::find_index_on(*parent.definition, referenced) == indexes.size()) {
      const bool has_prefixes = std::ranges::any_of(
          indexes, [&](const auto& index) { return begins_with_prefixes(index, referenced); });
      return refuse(key, std::string("There is ") + (has_prefixes ? "only prefix" : "no") +
                             " index in the referenced table where the referenced columns appear "
                             "as the first columns.");
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      const catalog::ColumnDefinition& column = parent.definition->columns[referenced[i]];
      key.columns[i].parent = column.name;
      const codec::ColumnLayout& child_column = child_.layout->columns[own[i]];
      const codec::ColumnLayout& parent_column = parent.layout->columns[referenced[i]];
      if (key.on_update == ReferentialAction::kCascade && parent_column.nullable &&
          !child_column.nullable) {
        return refuse(key, "Column '" + key.columns[i].child +
                               "' is defined as NOT NULL, but the "
                               "referenced column '" +
                               column.name + "' is not, and is cascaded.");
      }
      if (!codec::are_equal_in_keys(child_column, parent_column)) {
        return refuse(key, "Field type or character set for column '" + key.columns[i].child +
                               "' does not match referenced column '" + column.name + "'.");
      }
    }
    return 0;
  }

  // Foreign keys of other tables that lead to this one, which was missing or is replaced.
  int check_references_to() const {
    if (!checks()) return 0;
    for (const ForeignKeyPointer& key : the_engine().catalog().references_to(name_)) {
      if (key->child == name_) continue;
      const Columns columns =
          numbers_of(*child_.definition, with_new_names(*key), &catalog::ForeignKeyColumn::parent);
      const bool has_index = !columns.empty() && table::find_index_on(*child_.definition, columns) <
                                                     child_.definition->indexes.size();
      if (has_index && matches_child(*key, columns)) continue;
      if (altered_ != nullptr && !has_index) return refuse_dropped_index(*key);
      return HA_ERR_CANNOT_ADD_FOREIGN;
    }
    return 0;
  }

  bool matches_child(const ForeignKeyDefinition& key, const Columns& columns) const {
    const catalog::TablePointer child = the_engine().catalog().find(key.child);
    if (child == nullptr) return true;
    const Columns referencing = numbers_of(*child, key, &catalog::ForeignKeyColumn::child);
    const Result<codec::TableLayout> layout =
        table::make_stored_layout(*child, g_plugin->collations);
    if (referencing.empty() || !layout.is_ok()) return false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!codec::are_equal_in_keys(layout.value().columns[referencing[i]],
                                    child_.layout->columns[columns[i]])) {
        return false;
      }
    }
    return true;
  }

  const HA_CREATE_INFO& info_;
  const Side child_;
  const TableDefinition* const before_;
  TABLE* const altered_;
  std::uint32_t last_number_ = 0;
  std::size_t kept_ = 0;  // of the keys: the first ones, which the altered table has
  std::vector<ForeignKeyPointer> dropped_;
};

}  // namespace

int make_foreign_keys(THD* thd, const TABLE& form, const HA_CREATE_INFO& info,
                      const ServerTable& translation, std::vector<ForeignKeyDefinition>& keys) {
  const TABLE* const altered = altered_table(info);
  Maker maker(thd, name_of(altered == nullptr ? *form.s : *altered->s), info, translation);
  return info.tmp_table() ? maker.refuse_temporary() : maker.make(keys);
}

int check_renamed_constraints(std::string_view from, std::string_view to) {
  for (const ForeignKeyPointer& key : the_engine().catalog().foreign_keys_of(from)) {
    ForeignKeyDefinition renamed = *key;
    renamed.name = catalog::renamed_constraint(key->name, from, to);
    if (the_engine().catalog().find_foreign_key(renamed.name, from) == nullptr) continue;
    my_error(ER_DUP_CONSTRAINT_NAME, MYF(0), "FOREIGN KEY", constraint_in_sql(renamed).c_str());
    return HA_ERR_FOUND_DUPP_KEY;
  }
  return 0;
}

std::string name_before_copy(THD* thd, std::string_view from, std::string_view to) {
  if (thd == nullptr || thd_sql_command(thd) != SQLCOM_ALTER_TABLE) return "";
  if (!is_servers_own_name(from) || is_servers_own_name(to)) return "";
  if ((thd->lex->alter_info.flags & ALTER_RENAME) == 0) return "";
  const TABLE_LIST* const table = thd->lex->first_select_lex()->table_list.first;
  if (table == nullptr) return "";
  std::string name = dictionary_name({table->db.str, table->db.length},
                                     {table->table_name.str, table->table_name.length});
  return name == to ? "" : name;  // of a statement that fails the table gets its name back
}

int change_foreign_keys(THD* thd, const HA_CREATE_INFO& info, const TableDefinition& table,
                        const ServerTable& translation, catalog::ForeignKeyChanges& changes) {
  std::vector<ForeignKeyDefinition> keys;
  Maker maker(thd, table.name, info, translation, &table);
  const int error = info.tmp_table() ? maker.refuse_temporary() : maker.make(keys);
  if (error != 0) return error;
  for (const ForeignKeyPointer& key : the_engine().catalog().foreign_keys_of(table.name)) {
    const bool is_kept = std::ranges::find(keys, key->id, &ForeignKeyDefinition::id) != keys.end();
    if (!is_kept) changes.dropped.push_back(key->id);
  }
  std::erase_if(keys, [](const ForeignKeyDefinition& key) { return key.id != 0; });
  changes.added = std::move(keys);
  return 0;
}

int check_not_referenced(THD* thd, std::string_view name) {
  if (thd == nullptr || ignores_foreign_keys(thd)) return 0;
  // The server completes what was allowed before a crash.
  if (!mysqld_server_started) return 0;
  const bool drops_database = thd_sql_command(thd) == SQLCOM_DROP_DB;
  const std::string_view database = name.substr(0, name.find('/') + 1);
  for (const ForeignKeyPointer& key : the_engine().catalog().references_to(name)) {
    if (key->child == name || is_servers_own_name(key->child)) continue;
    if (drops_database && key->child.starts_with(database)) continue;
    return HA_ERR_ROW_IS_REFERENCED;
  }
  return 0;
}

}  // namespace basalt::server
