#include "server/handler/foreign_key_refusals.h"

#include "server/convert/foreign_key_text.h"
#include "server/foreign_key_failures.h"
#include "table/reference_index.h"

namespace basalt::server {

using catalog::ForeignKeyDefinition;

std::string Refusals::table_text() const {
  const TableNames names = names_in_sql(name_);
  return quoted_name(thd_, names.database) + "." + quoted_name(thd_, names.table);
}

std::string Refusals::full_name(const ForeignKeyDefinition& key) const {
  return names_in_sql(name_).database + "/" + constraint_in_sql(key);
}

std::string Refusals::text_of_key(const ForeignKeyDefinition& key) const {
  if (catalog::generated_number(key.name, name_) == 0) {
    return "foreign key " + quoted_name(thd_, constraint_in_sql(key));
  }
  std::string columns;
  for (const catalog::ForeignKeyColumn& column : key.columns) {
    columns += (columns.empty() ? "" : ", ") + column.child;
  }
  return "foreign key (" + columns + ")";
}

int Refusals::warn(int error, const std::string& text) const {
  push_warning_printf(thd_, Sql_condition::WARN_LEVEL_WARN, static_cast<uint>(error), "%s",
                      text.c_str());
  note_refused_definition(thd_, text);
  return error;
}

int Refusals::refuse(const std::string& of, const std::string& why) const {
  const std::string verb = way_ == Way::kCreate ? "Create" : "Alter";
  return warn(HA_ERR_CANNOT_ADD_FOREIGN,
              verb + "  table " + table_text() + " " + of + " constraint failed. " + why);
}

int Refusals::refuse(const ForeignKeyDefinition& key, const std::string& why) const {
  return refuse("with " + text_of_key(key), why);
}

int Refusals::refuse_parent(const ForeignKeyDefinition& key, const std::string& why) const {
  const int error = refuse(key, why);
  tell_missing_index(key);
  return error;
}

int Refusals::refuse_column(const ForeignKeyDefinition& key, const std::string& column) const {
  const int error = refuse(text_of_key(key), "Column " + column + " was not found.");
  tell_missing_index(key);
  return error;
}

int Refusals::refuse_missing_index(const ForeignKeyDefinition& key,
                                   const catalog::TableDefinition& parent,
                                   const std::vector<std::uint32_t>& referenced) const {
  const bool has_prefixes = table::has_prefix_index_on(parent, referenced);
  return refuse_parent(key, std::string("There is ") + (has_prefixes ? "only prefix" : "no") +
                                " index in the referenced table where the referenced columns "
                                "appear as the first columns.");
}

void Refusals::tell_missing_index(const ForeignKeyDefinition& key) const {
  if (!is_in_place()) return;
  const bool is_generated = catalog::generated_number(key.name, name_) != 0;
  const std::string constraint = is_generated ? "" : constraint_in_sql(key);
  my_error(ER_FK_NO_INDEX_PARENT, MYF(0), constraint.c_str(),
           names_in_sql(key.parent).table.c_str());
}

int Refusals::refuse_set_null(const ForeignKeyDefinition& key, const std::string& column) const {
  const int error = refuse(key, "You have defined a SET NULL condition but column '" + column +
                                    "' is defined as NOT NULL.");
  if (is_in_place()) {
    my_error(ER_FK_INCORRECT_OPTION, MYF(0), names_in_sql(name_).table.c_str(),
             full_name(key).c_str());
  }
  return error;
}

std::string Refusals::duplicate_text(const ForeignKeyDefinition& key) const {
  return "CREATE or ALTER TABLE " + table_text() + " failed: duplicate name, " +
         constraint_text(thd_, key);
}

int Refusals::refuse_duplicate(const ForeignKeyDefinition& key) const {
  const int error = warn(HA_ERR_FOUND_DUPP_KEY, duplicate_text(key));
  if (is_in_place()) {
    my_error(ER_DUP_CONSTRAINT_NAME, MYF(0), "FOREIGN KEY", full_name(key).c_str());
  }
  return error;
}

int Refusals::refuse_second(const ForeignKeyDefinition& key) const {
  if (!is_in_place()) {
    note_refused_definition(thd_, duplicate_text(key));
    return HA_ERR_CANNOT_ADD_FOREIGN;
  }
  const int error = warn(HA_ERR_FOUND_DUPP_KEY, duplicate_text(key));
  my_error(ER_FK_FAIL_ADD_SYSTEM, MYF(0), full_name(key).c_str());
  return error;
}

int Refusals::refuse_dropped_index(const ForeignKeyDefinition& key,
                                   const std::string& index) const {
  my_error(ER_DROP_INDEX_FK, MYF(0), index.c_str());
  note_refused_definition(thd_, "table " + table_text() + ": cannot drop index " +
                                    quoted_name(thd_, index) + ", which is needed by\n" +
                                    constraint_with_table(thd_, key));
  return HA_WRONG_CREATE_OPTION;  // the server is not to tell of an index of its own
}

int Refusals::refuse_referenced(const ForeignKeyDefinition& key) const {
  note_refused_definition(thd_, "table " + table_text() + " does not fit what references it:\n" +
                                    constraint_with_table(thd_, key));
  return HA_ERR_CANNOT_ADD_FOREIGN;
}

}  // namespace basalt::server
