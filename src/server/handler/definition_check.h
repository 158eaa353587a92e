#pragma once
#include "server/mariadb.h"

namespace basalt::server {

// Judges the clauses of a table that is to be made: by CREATE, by an ALTER that copies, or for a
// partition that is added. What the engine cannot do and somebody may rely on is refused, what has
// no effect is warned about, unless the table that is altered has it already. Returns 0, or an
// error of which the client has been told.
int check_definition(THD* thd, const TABLE& table, const HA_CREATE_INFO& info);

// The same for ALTER TABLE ... CONVERT TABLE ... TO PARTITION, which makes no table.
int check_new_partition(THD* thd);

// Warns of clauses without effect in the definition of `altered` that `table` does not have.
void warn_of_new_clauses(THD* thd, const TABLE& altered, const TABLE& table);

}  // namespace basalt::server
