#include "server/handler/foreign_key_definition.h"

#include <algorithm>
#include <string>

#include "server/convert/foreign_key_text.h"
#include "server/convert/sql_text.h"
#include "server/foreign_key_failures.h"
#include "server/handler/foreign_key_columns.h"
#include "server/handler/foreign_key_refusals.h"
#include "server/handler/partitioned_tables.h"
#include "server/handler/row_expiry.h"
#include "server/plugin.h"
#include "table/reference_index.h"
#include "table/stored_layout.h"

namespace basalt::server {
namespace {

using catalog::ForeignKeyDefinition;
using catalog::ForeignKeyPointer;
using catalog::ReferentialAction;
using catalog::TableDefinition;
using Columns = std::vector<std::uint32_t>;

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
  // Also where it is not there: an ALTER TABLE may just be giving the name to its copy.
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

// Whether the child's columns, as they are now, can be compared with `columns` of the parent.
bool matches_child(const ForeignKeyDefinition& key, const Columns& columns,
                   const codec::TableLayout& parent) {
  const catalog::TablePointer child = the_engine().catalog().find(key.child);
  if (child == nullptr) return true;
  const Columns referencing = numbers_of(*child, key, &catalog::ForeignKeyColumn::child);
  const Result<codec::TableLayout> layout = table::make_stored_layout(*child, g_plugin->collations);
  if (referencing.empty() || !layout.is_ok()) return false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!codec::are_equal_in_keys(layout.value().columns[referencing[i]],
                                  parent.columns[columns[i]])) {
      return false;
    }
  }
  return true;
}

// The name of the index that the key needs in the table `name`, as it is now.
std::string index_needed(std::string_view name, const ForeignKeyDefinition& key, ColumnName side) {
  const catalog::TablePointer table = the_engine().catalog().find(name);
  if (table == nullptr) return constraint_in_sql(key);
  const Columns columns = numbers_of(*table, key, side);
  const std::size_t number = table::find_index_on(*table, columns);
  const bool is_known = !columns.empty() && number < table->indexes.size();
  return is_known ? table->indexes[number].name : constraint_in_sql(key);
}

TABLE* altered_table(const HA_CREATE_INFO& info) {
  return info.alter_info == nullptr ? nullptr : info.alter_info->original_table;
}

// A table that is altered in place, and how.
struct Before {
  const TableDefinition& table;
  const catalog::TableChange& change;
};

Refusals::Way way_of(const HA_CREATE_INFO& info, const Before* before) {
  if (before != nullptr) return Refusals::Way::kInPlace;
  return altered_table(info) == nullptr ? Refusals::Way::kCreate : Refusals::Way::kCopy;
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

// The foreign keys of one statement's table.
class Maker : private Refusals {
 public:
  // `name` is the table's; `before`: the table that is altered in place, else null.
  Maker(THD* thd, const std::string& name, const HA_CREATE_INFO& info,
        const ServerTable& translation, const Before* before = nullptr)
      : Refusals(thd, name, way_of(info, before)),
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

  void keep_known(std::vector<ForeignKeyDefinition>& keys) {
    if (altered_ == nullptr) return;
    for (const ForeignKeyPointer& key : the_engine().catalog().foreign_keys_of(name_)) {
      last_number_ = std::max(last_number_, catalog::generated_number(key->name, name_));
      if (is_dropped(*key, *info_.alter_info)) {
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
        column.child = new_name(column.child);
      }
      if (key.parent == name_) {
        column.parent = new_name(column.parent);
      }
    }
    return renamed;
  }

  std::string new_name(const std::string& name) const {
    return catalog::renamed_column(before_->table, before_->change, *child_.definition, name);
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
    if (own.empty()) return 0;
    for (const std::uint32_t number : own) {
      const catalog::ColumnDefinition& column = child_.definition->columns[number];
      if (!sets_null(key) || column.nullable || !(checks() || is_in_place())) continue;
      my_error(ER_FK_COLUMN_NOT_NULL, MYF(0), column.name.c_str(), constraint_in_sql(key).c_str());
      return HA_WRONG_CREATE_OPTION;
    }
    if (!checks()) return 0;
    const auto child = &catalog::ForeignKeyColumn::child;
    if (!keeps_index_on(own) && had_index_on(key, child)) return refuse_index_of(key, child);
    if (key.parent != name_) return 0;
    const auto parent = &catalog::ForeignKeyColumn::parent;
    const bool has_index = keeps_index_on(numbers_of(*child_.definition, key, parent));
    return has_index || !had_index_on(key, parent) ? 0 : refuse_index_of(key, parent);
  }

  // False where the index that the key needs has gone before, without checks, and the table is
  // altered in place: a copy has to begin with all that its foreign keys need.
  bool had_index_on(const ForeignKeyDefinition& key, ColumnName side) const {
    if (before_ == nullptr) return true;
    const ForeignKeyPointer old = the_engine().catalog().find_foreign_key(key.name, key.child);
    const Columns columns = numbers_of(before_->table, old == nullptr ? key : *old, side);
    return has_index_on(before_->table, columns);
  }

  int refuse_index_of(const ForeignKeyDefinition& key, ColumnName side) const {
    return refuse_dropped_index(key, index_needed(name_, key, side));
  }

  // Of this table as it will be. Its columns are not missing: the server refuses that before.
  bool keeps_index_on(const Columns& columns) const {
    return columns.empty() || has_index_on(*child_.definition, columns);
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
      return refuse_second(key);
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
      if (sets_null(key) && !column.nullable) return refuse_set_null(key, column.name);
    }
    if (table::find_index_on(child, own) == child.indexes.size()) {
      return refuse(key, "There is no index in table " + table_text() +
                             " where the columns appear as the first columns.");
    }
    if (key.parent == name_) return check_self(key, own);
    return check_other_parent(key, own);
  }

  // An ALTER TABLE that copies cannot make the index as well: InnoDB looks at the table as it was.
  int check_self(ForeignKeyDefinition& key, const Columns& own) const {
    const catalog::TablePointer before = is_copied() ? the_engine().catalog().find(name_) : nullptr;
    if (before != nullptr) {
      const Columns referenced = numbers_of(*before, key, &catalog::ForeignKeyColumn::parent);
      if (!has_index_on(*before, referenced)) return refuse_missing_index(key, *before, referenced);
    }
    return check_parent(key, own, child_);
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

  // What a table is that the dictionary does not have. Empty if there is none.
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
      if (find_given_column(*parent.definition, column.parent) ==
          parent.definition->columns.size()) {
        return refuse_column(key, column.parent);
      }
    }
    const Columns referenced =
        numbers_of(*parent.definition, key, &catalog::ForeignKeyColumn::parent);
    const auto& indexes = parent.definition->indexes;
    if (table::find_index_on(*parent.definition, referenced) == indexes.size()) {
      return refuse_missing_index(key, *parent.definition, referenced);
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      const catalog::ColumnDefinition& column = parent.definition->columns[referenced[i]];
      key.columns[i].parent = column.name;
      const codec::ColumnLayout& child_column = child_.layout->columns[own[i]];
      const codec::ColumnLayout& parent_column = parent.layout->columns[referenced[i]];
      if (refuses_null(key) && !is_in_place() && thd_->is_strict_mode() && parent_column.nullable &&
          !child_column.nullable) {
        return refuse(key, "Column '" + key.columns[i].child +
                               "' is defined as NOT NULL, but the "
                               "referenced column '" +
                               column.name + "' is not, and is cascaded.");
      }
      if (!codec::are_equal_in_keys(child_column, parent_column)) {
        return refuse_parent(key, "Field type or character set for column '" +
                                      key.columns[i].child +
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
      const bool has_index = has_index_on(*child_.definition, columns);
      if (has_index && matches_child(*key, columns, *child_.layout)) continue;
      if (altered_ != nullptr && !has_index) {
        if (!had_index_on(*key, &catalog::ForeignKeyColumn::parent)) continue;
        return refuse_index_of(*key, &catalog::ForeignKeyColumn::parent);
      }
      // Types that do not fit were made without checks.
      if (before_ != nullptr && !can_lead_to(*key, before_->table)) continue;
      return refuse_referenced(*key);
    }
    return 0;
  }

  const HA_CREATE_INFO& info_;
  const Side child_;
  const Before* const before_;
  TABLE* const altered_;
  std::uint32_t last_number_ = 0;
  std::size_t kept_ = 0;  // of the keys: the first ones, which the altered table has
  std::vector<ForeignKeyPointer> dropped_;
};

}  // namespace

bool can_lead_to(const ForeignKeyDefinition& key, const TableDefinition& parent) {
  const Columns columns = numbers_of(parent, key, &catalog::ForeignKeyColumn::parent);
  if (!has_index_on(parent, columns)) return false;
  const Result<codec::TableLayout> layout = table::make_stored_layout(parent, g_plugin->collations);
  return layout.is_ok() && matches_child(key, columns, layout.value());
}

int make_foreign_keys(THD* thd, const TABLE& form, const HA_CREATE_INFO& info,
                      const ServerTable& translation, std::vector<ForeignKeyDefinition>& keys) {
  const TABLE* const altered = altered_table(info);
  const std::string name = name_of(altered == nullptr ? *form.s : *altered->s);
  Maker maker(thd, name, info, translation);
  if (info.tmp_table()) return maker.refuse_temporary();
  const int error = maker.make(keys);
  return error != 0 ? error : check_expiry_and_references(translation.definition, name, keys);
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

namespace {

int refuse_to_lead(THD* thd, const ForeignKeyDefinition& key) {
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_CANNOT_ADD_FOREIGN,
                      "The table lacks the columns, or an index that begins with them, of %s",
                      constraint_with_table(thd, key).c_str());
  return HA_ERR_CANNOT_ADD_FOREIGN;
}

// What was there before a crash is completed, or undone.
bool is_recovery(THD* thd) { return thd == nullptr || !mysqld_server_started; }

}  // namespace

int check_references_to_name(THD* thd, std::string_view from, std::string_view to) {
  if (is_recovery(thd)) return 0;
  const catalog::TablePointer table = the_engine().catalog().find(from);
  if (table == nullptr) return 0;
  if (table->expiry.has_value()) return check_expiry_and_references(*table, to, {});
  for (const ForeignKeyPointer& key : the_engine().catalog().references_by_name(to)) {
    if (!can_lead_to(*key, *table)) return refuse_to_lead(thd, *key);
  }
  return 0;
}

int check_references_to_copy(THD* thd, std::string_view copy, std::string_view name) {
  if (is_recovery(thd) || ignores_foreign_keys(thd)) return 0;
  const catalog::Catalog& catalog = the_engine().catalog();
  const catalog::TablePointer table = catalog.find(copy);
  if (table == nullptr) return 0;
  catalog::TablePointer before = catalog.find_set_aside(name);
  if (before == nullptr) before = catalog.find(name);
  for (const ForeignKeyPointer& key : catalog.references_to(name)) {
    // Its own, and those of the table that goes.
    if (key->child == copy || key->child == name || catalog::is_set_aside(key->child)) continue;
    if (can_lead_to(*key, *table)) continue;
    // What did not fit before was made without checks.
    if (before == nullptr || can_lead_to(*key, *before)) return refuse_to_lead(thd, *key);
  }
  return 0;
}

int change_foreign_keys(THD* thd, const HA_CREATE_INFO& info, const TableDefinition& table,
                        const catalog::TableChange& change, const ServerTable& translation,
                        catalog::ForeignKeyChanges& changes) {
  std::vector<ForeignKeyDefinition> keys;
  const Before before = {table, change};
  Maker maker(thd, table.name, info, translation, &before);
  int error = info.tmp_table() ? maker.refuse_temporary() : maker.make(keys);
  if (error == 0 && !ignores_foreign_keys(thd) && thd->is_strict_mode()) {
    error = check_cascaded_nulls(table, change, translation.definition, keys);
  }
  if (error == 0) error = check_expiry_and_references(table, table.name, keys);
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
  // An ALTER TABLE that has given the name to another engine's table: a foreign key may have come
  // since can_switch_engines() was asked, and is one without a parent now.
  if (thd_sql_command(thd) == SQLCOM_ALTER_TABLE && thd_tablespace_op(thd) == 0) return 0;
  // Foreign keys may lead to a name that no table has.
  if (the_engine().catalog().find(name) == nullptr) return 0;
  const bool drops_database = thd_sql_command(thd) == SQLCOM_DROP_DB;
  const std::string_view database = name.substr(0, name.find('/') + 1);
  for (const ForeignKeyPointer& key : the_engine().catalog().references_by_name(name)) {
    if (key->child == name) continue;
    if (drops_database && key->child.starts_with(database)) continue;
    const TableNames names = names_in_sql(name);
    note_refused_definition(
        thd, (thd_tablespace_op(thd) == 0 ? "cannot drop table " : "cannot empty table ") +
                 quoted_name(thd, names.database) + "." + quoted_name(thd, names.table) +
                 ", which is referenced by\n" + constraint_with_table(thd, *key));
    return HA_ERR_ROW_IS_REFERENCED;
  }
  return 0;
}

}  // namespace basalt::server
