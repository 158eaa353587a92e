#include "server/handler/foreign_key_definition.h"

#include <strings.h>

#include <algorithm>
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

bool equal_letters(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
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
    const std::size_t number = table::find_column(table, column.*side);
    if (number == table.columns.size()) return {};
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return numbers;
}

// The foreign keys of one statement's table.
class Maker {
 public:
  // `before`: the table that is altered in place; else null.
  Maker(THD* thd, const HA_CREATE_INFO& info, const ServerTable& translation,
        const TableDefinition* before = nullptr)
      : thd_(thd),
        info_(info),
        child_{&translation.definition, &translation.layout},
        before_(before),
        altered_(info.alter_info == nullptr ? nullptr : info.alter_info->original_table),
        name_(altered_ == nullptr ? translation.definition.name
                                  : dictionary_name({altered_->s->db.str, altered_->s->db.length},
                                                    {altered_->s->table_name.str,
                                                     altered_->s->table_name.length})) {}

  int make(bool is_temporary, std::vector<ForeignKeyDefinition>& keys) {
    keep_known(keys);
    const std::size_t kept = keys.size();
    add_new(keys);
    if (is_temporary && keys.size() > kept) {
      return refuse_all("Temporary tables can't have foreign key constraints.");
    }
    for (std::size_t i = kept; i < keys.size(); ++i) {
      if (!checks() || before_ != nullptr || keys[i].parent == name_) continue;
      const enum_mdl_type lock = altered_ == nullptr ? MDL_SHARED : MDL_SHARED_READ_ONLY;
      if (const int error = hold_parent(thd_, keys[i], lock); error != 0) return error;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const int error = i < kept ? check_kept(keys[i]) : check_new(keys[i], keys);
      if (error != 0) return error;
    }
    return check_references_to();
  }

 private:
  bool checks() const { return !ignores_foreign_keys(thd_); }

  bool is_dropped(std::string_view constraint) const {
    for (const Alter_drop& drop : info_.alter_info->drop_list) {
      if (drop.type == Alter_drop::FOREIGN_KEY && equal_letters(drop.name, constraint)) return true;
    }
    return false;
  }

  void keep_known(std::vector<ForeignKeyDefinition>& keys) {
    if (altered_ == nullptr) return;
    for (const ForeignKeyPointer& key : the_engine().catalog().foreign_keys_of(name_)) {
      last_number_ = std::max(last_number_, catalog::generated_number(key->name, name_));
      if (is_dropped(key->constraint_name())) continue;
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

  std::string parent_of(const Foreign_key& key) const {
    std::string database =
        key.ref_db.str != nullptr ? text_of(key.ref_db) : names_in_sql(name_).database;
    std::string table = text_of(key.ref_table);
    if (lower_case_table_names != 0) {
      my_casedn_str(files_charset_info, database.data());
      my_casedn_str(files_charset_info, table.data());
    }
    return dictionary_name(database, table);
  }

  ForeignKeyDefinition definition_of(const Foreign_key& key) {
    ForeignKeyDefinition definition;
    const LEX_CSTRING& given = key.constraint_name.str != nullptr ? key.constraint_name : key.name;
    const std::string name = given.str == nullptr || given.length == 0
                                 ? catalog::generated_name(name_, ++last_number_)
                                 : text_of(given);
    definition.name = name_.substr(0, name_.find('/') + 1) + name;
    definition.child = child_.definition->name;
    definition.parent = parent_of(key);
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

  // ---- telling the client

  const char* operation() const { return altered_ == nullptr ? "Create " : "Alter "; }

  std::string table_text() const {
    const TableNames names = names_in_sql(name_);
    return quoted_name(thd_, names.database) + "." + quoted_name(thd_, names.table);
  }

  void warn(const std::string& of, const std::string& why) const {
    push_warning_printf(thd_, Sql_condition::WARN_LEVEL_WARN, HA_ERR_CANNOT_ADD_FOREIGN,
                        "%s table %s with foreign key%s constraint failed. %s", operation(),
                        table_text().c_str(), of.c_str(), why.c_str());
  }
  int refuse_all(const std::string& why) const {
    warn("", why);
    return HA_ERR_CANNOT_ADD_FOREIGN;
  }
  int refuse(const ForeignKeyDefinition& key, const std::string& why) const {
    std::string of;
    if (catalog::generated_number(key.name, name_) == 0) {
      of = " " + quoted_name(thd_, key.constraint_name());
    } else {
      for (const catalog::ForeignKeyColumn& column : key.columns) {
        of += (of.empty() ? " (" : ",") + column.child;
      }
      of += ")";
    }
    warn(of, why);
    return HA_ERR_CANNOT_ADD_FOREIGN;
  }

  // ---- what must hold

  int check_kept(const ForeignKeyDefinition& key) const {
    const Columns own = numbers_of(*child_.definition, key, &catalog::ForeignKeyColumn::child);
    if (own.empty() || !checks()) return 0;
    if (table::find_index_on(*child_.definition, own) < child_.definition->indexes.size()) return 0;
    return refuse_dropped_index(key);
  }

  int refuse_dropped_index(const ForeignKeyDefinition& key) const {
    const catalog::TablePointer before = the_engine().catalog().find(name_);
    std::string index = std::string(key.constraint_name());
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
    const auto same = std::ranges::count_if(keys, [&](const ForeignKeyDefinition& other) {
      return equal_letters(other.name, key.name);
    });
    const bool is_new = altered_ == nullptr;
    if (same > 1) return is_new ? HA_ERR_CANNOT_ADD_FOREIGN : HA_ERR_FOUND_DUPP_KEY;
    const bool is_taken = the_engine().catalog().find_foreign_key(key.name, name_) != nullptr;
    return is_taken ? HA_ERR_FOUND_DUPP_KEY : 0;
  }

  int check_new(ForeignKeyDefinition& key, const std::vector<ForeignKeyDefinition>& keys) const {
    if (const int error = check_name(key, keys); error != 0) return error;
    const TableDefinition& child = *child_.definition;
    const Columns own = numbers_of(child, key, &catalog::ForeignKeyColumn::child);
    if (own.empty()) return HA_ERR_CANNOT_ADD_FOREIGN;
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
      if (is_of_another_engine(names)) {
        return refuse(key, "Referenced table " + text +
                               " is of another engine; both must be of ENGINE=ROCKSDB.");
      }
      if (!checks()) return 0;
      return refuse(key, "Referenced table " + text + " not found in the data dictionary.");
    }
    const Result<codec::TableLayout> layout =
        table::make_stored_layout(*parent, g_plugin->collations);
    if (!layout.is_ok()) return refuse(key, layout.status().message());
    return check_parent(key, own, {parent.get(), &layout.value()});
  }

  bool is_of_another_engine(const TableNames& names) const {
    const LEX_CSTRING database = {names.database.c_str(), names.database.size()};
    const LEX_CSTRING table = {names.table.c_str(), names.table.size()};
    handlerton* engine = nullptr;
    return ha_table_exists(thd_, &database, &table, nullptr, nullptr, &engine, nullptr) &&
           engine != g_plugin->hton;
  }

  int check_parent(ForeignKeyDefinition& key, const Columns& own, const Side& parent) const {
    const Columns referenced =
        numbers_of(*parent.definition, key, &catalog::ForeignKeyColumn::parent);
    if (referenced.empty() ||
        table::find_index_on(*parent.definition, referenced) == parent.definition->indexes.size()) {
      return refuse(key,
                    "There is no index in the referenced table where the referenced columns "
                    "appear as the first columns.");
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      const catalog::ColumnDefinition& column = parent.definition->columns[referenced[i]];
      key.columns[i].parent = column.name;
      const codec::ColumnLayout& child_column = child_.layout->columns[own[i]];
      const codec::ColumnLayout& parent_column = parent.layout->columns[referenced[i]];
      const bool takes_null = key.on_update == ReferentialAction::kCascade &&
                              parent_column.nullable && !child_column.nullable;
      if (takes_null || !codec::are_equal_in_keys(child_column, parent_column)) {
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

  THD* const thd_;
  const HA_CREATE_INFO& info_;
  const Side child_;
  const TableDefinition* const before_;
  TABLE* const altered_;
  const std::string name_;  // as the table will be called in the end
  std::uint32_t last_number_ = 0;
};

}  // namespace

int make_foreign_keys(THD* thd, const HA_CREATE_INFO& info, const ServerTable& translation,
                      bool is_temporary, std::vector<ForeignKeyDefinition>& keys) {
  return Maker(thd, info, translation).make(is_temporary, keys);
}

int change_foreign_keys(THD* thd, const HA_CREATE_INFO& info, const TableDefinition& table,
                        const ServerTable& translation, catalog::ForeignKeyChanges& changes) {
  std::vector<ForeignKeyDefinition> keys;
  const int error = Maker(thd, info, translation, &table).make(false, keys);
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
