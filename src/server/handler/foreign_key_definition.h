#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "catalog/altered_definition.h"
#include "catalog/foreign_keys.h"
#include "server/convert/table_layout.h"
#include "server/mariadb.h"

namespace basalt::server {

// The foreign keys of a table that CREATE TABLE makes, or an ALTER TABLE that copies: those that
// the statement adds, and those that the altered table has and keeps. `translation` is the new
// table, `form` as the server has it. Checks what InnoDB checks, with its errors. Returns 0, or an
// error of which the client gets to know by it, and by warnings that say why.
int make_foreign_keys(THD* thd, const TABLE& form, const HA_CREATE_INFO& info,
                      const ServerTable& translation,
                      std::vector<catalog::ForeignKeyDefinition>& keys);

// Whether `parent` has an index that the foreign key can lead to, and the child's columns are of
// the same types. Without a child they are.
bool can_lead_to(const catalog::ForeignKeyDefinition& key, const catalog::TableDefinition& parent);

// Whether the foreign keys of a table may have the names that its new name gives them. Else tells
// the client, and returns an error.
int check_renamed_constraints(std::string_view from, std::string_view to);
// Whether the table `from` can be what foreign keys lead to already that reference the name `to`.
// Else tells the client, and returns an error.
int check_references_to_name(THD* thd, std::string_view from, std::string_view to);
// Whether the `copy` of the table `name` can take its place beside the foreign keys that lead to
// it, of which some may have come since it was made. Else tells the client, and returns an error.
int check_references_to_copy(THD* thd, std::string_view copy, std::string_view name);

// The same for an ALTER TABLE in place, which makes `translation` of `table` by `change` and looks
// at no rows.
int change_foreign_keys(THD* thd, const HA_CREATE_INFO& info, const catalog::TableDefinition& table,
                        const catalog::TableChange& change, const ServerTable& translation,
                        catalog::ForeignKeyChanges& changes);

// Whether rows are written without a look at foreign keys.
inline bool ignores_foreign_keys(THD* thd) {
  return thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS);
}

// HA_ERR_ROW_IS_REFERENCED if another table's foreign key keeps the statement from dropping the
// table of that dictionary name, else 0.
int check_not_referenced(THD* thd, std::string_view name);

}  // namespace basalt::server
