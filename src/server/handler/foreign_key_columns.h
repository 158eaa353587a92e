#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "catalog/altered_definition.h"
#include "catalog/foreign_keys.h"
#include "server/mariadb.h"

// Columns of foreign keys, also those that an ALTER TABLE in place gives another type or
// nullability.
namespace basalt::server {

using ColumnName = std::string catalog::ForeignKeyColumn::*;  // of the child, or of the parent

// As catalog::find_column(), by the name that the client has given: also letters that are not
// ASCII may have the other case.
std::size_t find_given_column(const catalog::TableDefinition& table, const std::string& name);

// The numbers of the key's columns in the table; none if it lacks one.
std::vector<std::uint32_t> numbers_of(const catalog::TableDefinition& table,
                                      const catalog::ForeignKeyDefinition& key, ColumnName side);
// Whether there are columns, and an index on them.
bool has_index_on(const catalog::TableDefinition& table, const std::vector<std::uint32_t>& columns);

// Whether a column that may be NULL is not to be cascaded to one that may not. InnoDB looks at that
// in strict mode, where nothing is written for DELETE, or RESTRICT, and of new keys not in place.
// Of others an UPDATE to NULL is refused.
bool refuses_null(const catalog::ForeignKeyDefinition& key);

// Whether the statement drops the foreign key of its table.
bool is_dropped(const catalog::ForeignKeyDefinition& key, const Alter_info& info);

// Whether a column that is of a foreign key, here or in another table, goes or gets another type.
// The server refuses that, or looks at the rows, where it copies. Foreign keys do not count that
// the statement drops, nor types where the key leads to no index of the table, as one may that was
// made without checks.
bool changes_foreign_keys(const catalog::TableDefinition& table, const catalog::TableChange& change,
                          const catalog::TableDefinition& altered, const Alter_info& info);

// Tells the client of a column of a foreign key of `name`, or of one to it, or of one that the
// statement adds, that gets another type. Whether there is one.
bool refuse_changed_types(const std::string& name, const Alter_inplace_info& info);

// Whether the column is of a foreign key of the table `name` that the statement does not drop.
bool is_of_foreign_key(const std::string& name, const Field& field, const Alter_info& info);

// Whether NULL could be cascaded to a column that is NOT NULL as soon as `table` is `altered`, and
// cannot yet. Then the client is told, and an error returned. `keys` are those that the table has
// afterwards, with the names of then.
int check_cascaded_nulls(const catalog::TableDefinition& table, const catalog::TableChange& change,
                         const catalog::TableDefinition& altered,
                         const std::vector<catalog::ForeignKeyDefinition>& keys);

}  // namespace basalt::server
