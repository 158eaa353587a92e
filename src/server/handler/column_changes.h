#pragma once
#include <optional>
#include <vector>

#include "catalog/altered_definition.h"
#include "server/convert/table_layout.h"
#include "server/mariadb.h"

// Columns of an ALTER TABLE that leaves rows as they are.
namespace basalt::server {

// Whether each value of `field` is the same text or number in the other column, whose values the
// engine finds in the same bytes: integers and strings that become longer, and strings whose bytes
// are the same in the other character set.
bool can_convert_column(const Field& field, const Column_definition& to);

// Whether parts of an index's keys are the same bytes with a longer string. In the server's words.
Compare_keys compare_key_part(const Field& field, const Column_definition& to,
                              const KEY_PART_INFO& part, const KEY_PART_INFO& new_part);

// Where the columns of `altered` come from, and what the rows of `table` have in those that are
// new: the defaults in its record[0], where the server has put them. `translation` is of `altered`.
// Nothing if it is not for the engine to say, as new values have to be computed for each row, or
// looked at. With `replaces_null` a column that is made NOT NULL may have NULLs, for which rows
// have its type's zero then; else the caller sees to it that there are none.
std::optional<catalog::TableChange> find_changes(const TABLE& table, const TABLE& altered,
                                                 const Alter_inplace_info& info,
                                                 const ServerTable& translation,
                                                 bool replaces_null);

// Whether something that was computed of a generated column is kept, in rows or in an index.
bool keeps_generated_values(const TABLE& table);

// Whether what was computed of a generated column, and is kept in rows or in an index, might be
// another value by the definition of `altered`, though its expression and the columns of which it
// is made are the same to the server: numbers with another text, other values of a generated ENUM,
// and another collation of the table, which expressions take for what has none.
bool changes_kept_values(const TABLE& table, const TABLE& altered, const Alter_info& info);

// Whether rows may belong to other partitions because others, or in another order, are the columns
// that KEY, RANGE COLUMNS or LIST COLUMNS distribute them by. KEY takes them in the order that they
// have in the table, and the server does not follow names that columns exchange.
bool moves_rows(const TABLE& table, const TABLE& altered, const catalog::TableChange& change);

}  // namespace basalt::server
