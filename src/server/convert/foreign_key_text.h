#pragma once
#include <string>
#include <string_view>

#include "catalog/foreign_keys.h"
#include "server/mariadb.h"

namespace basalt::server {

// A table as SQL names it; the dictionary's names are those of files.
struct TableNames {
  std::string database;
  std::string table;
};
TableNames names_in_sql(std::string_view dictionary_name);
// The dictionary's name of a table, "database/table".
std::string dictionary_name(std::string_view database, std::string_view table);

// A foreign key's name without the database; the dictionary has it encoded as names of tables are.
std::string constraint_in_sql(const catalog::ForeignKeyDefinition& key);
// The dictionary's name of a constraint, "database/constraint"; `table` is one of the database's.
std::string dictionary_constraint(std::string_view table, std::string_view constraint);

// `name`, quoted as the session wants it.
std::string quoted_name(THD* thd, std::string_view name);
// "CONSTRAINT `name` FOREIGN KEY (...) REFERENCES `t` (...) ON DELETE CASCADE".
std::string constraint_text(THD* thd, const catalog::ForeignKeyDefinition& key);
// The constraint behind its table: "`database`.`table`, CONSTRAINT ...", as errors show it.
std::string constraint_with_table(THD* thd, const catalog::ForeignKeyDefinition& key);

}  // namespace basalt::server
