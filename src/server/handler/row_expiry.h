#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "catalog/altered_definition.h"
#include "catalog/foreign_keys.h"
#include "server/mariadb.h"

// How rows expire, as the COMMENT of a table says: docs/user-guide.md, Rows that expire.
namespace basalt::server {

// Sets how rows of `definition` are to expire, which is made of `table` (translate_table()), or of
// the partition of it that is stored under the definition's name. Returns 0, or an error of which
// the client has been told: what cannot be is refused.
int read_expiry(const TABLE& table, catalog::TableDefinition& definition);

// Whether the COMMENT says that rows expire, of the table or of one of its partitions; null: false.
bool says_rows_expire(const TABLE_SHARE* share);

// A table that becomes a partition, or exchanges rows with one: 0 if its rows expire as the COMMENT
// of the partition's table says, else an error of which the client has been told. 0 for other
// statements.
int check_partition_expiry(THD* thd, const catalog::TableDefinition& table);

// A partition of `table`, which CONVERT PARTITION ... TO TABLE makes a table with the same COMMENT:
// 0 if that says how its rows expire, else an error of which the client has been told. 0 for other
// statements and partitions.
int check_converted_expiry(THD* thd, const TABLE& table, const catalog::TableDefinition& part);

// What of the COMMENT of the table has no effect on how rows expire.
std::vector<std::string> expiry_warnings(const TABLE& table);

// Rows that expire reference nothing, and are not referenced: they go when nobody looks. Tells the
// client, and returns an error, if the table has one of these foreign keys, or is one to which
// others lead by `name`.
int check_expiry_and_references(const catalog::TableDefinition& table, std::string_view name,
                                const std::vector<catalog::ForeignKeyDefinition>& foreign_keys);

// The same of a table that gets another name, to which others may lead.
int check_expiry_and_name(std::string_view name, std::string_view new_name);

// Whether rows of the table that is stored as `name`, or of another partition of its table, have
// their time. The server asks each partition how a table may be altered, and takes the answer that
// allows most.
bool has_expiring_part(std::string_view name);

// Whether all parts of the table that is stored as `name` can become those of `altered` by `change`
// without rows being written anew for their time. Tells the client of an error, and then returns
// it.
int check_times_are_kept(const TABLE& altered, std::string_view name,
                         const catalog::TableChange& change,
                         const catalog::TableDefinition& altered_definition, bool& are_kept);

// Whether rows of one of these parts are to live longer or shorter. The server has all partitions
// of a table change in the dictionary, or none.
bool changes_lifetimes(const TABLE& altered, std::string_view name,
                       const catalog::TableDefinition& altered_definition);

}  // namespace basalt::server
